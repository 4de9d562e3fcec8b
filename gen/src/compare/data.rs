//! A comparison as data: JSON with everything, CSV with a line for each cell and bandwidth.

use models::cycles::comparison::{Bound, Race};
use models::cycles::{Event, Events};
use serde_json::{Map, Value, json};

use super::{Cell, Energy, EnergyPart, Found, Job, Phase};
use crate::error::{Failure, Result};

/// Everything.
///
/// # Errors
/// A step of a ladder with an event that its machine does not make.
pub fn json(found: &Found<'_>) -> Result<Value> {
    let comparison = found.comparison;
    let machine = |number: usize| {
        let (machine, row) = (&comparison.machines[number], &found.rows[number]);
        let notes: Map<String, Value> =
            machine.notes.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect();
        json!({
            "name": machine.name, "about": machine.about(), "says": row.about, "products_a_cycle": row.peak,
            "area_mm2": machine.area, "memory_mbit": machine.memory, "source": machine.source, "notes": notes,
            "copies": found.copies[number],
            "energy": machine.energy.as_ref().map(|table| json!({ "file": table.place, "title": table.title })),
        })
    };
    let cell = |cell: &Cell<'_>| {
        let times: Vec<Value> = comparison
            .bandwidths
            .iter()
            .filter_map(|&bandwidth| {
                let (time, bound) = found.time(cell, bandwidth)?;
                let energy = found.energy(cell, bandwidth);
                let energy: Option<Map<String, Value>> = energy
                    .map(|energy| nanojoules(&energy, cell.job).map(|(name, value)| (name, value.into())).collect());
                Some(json!({
                    "bandwidth": bandwidth, "time_cycles": time, "waits_for": bound.name(), "energy": energy,
                }))
            })
            .collect();
        let cost = cell.cost.as_ref().ok();
        json!({
            "machine": comparison.machines[cell.machine].name, "model": comparison.models[cell.model].name,
            "phase": cell.job.phase.name(), "batch": cell.job.batch, "context": cell.job.context,
            "cycles": cost.map(|cost| cost.cycles), "bytes": cost.map(|cost| cost.bytes),
            "products": cost.map(|cost| cost.products), "busy": cost.map(|cost| found.busy(cell.machine, cost)),
            "no_room": cell.cost.as_ref().err(), "times": times, "events": cost.map(|cost| events(&cost.events)),
        })
    };
    let winners: Vec<Value> = found
        .winners()
        .iter()
        .map(|winner| {
            let (name, ratio, why) = end(found, &winner.race);
            json!({
                "model": comparison.models[winner.model].name, "phase": winner.job.phase.name(),
                "batch": winner.job.batch, "context": winner.job.context, "bandwidth": winner.bandwidth,
                "fastest": name, "ratio": ratio, "why": why,
            })
        })
        .collect();
    let models: Vec<Value> =
        comparison.models.iter().map(|model| json!({ "name": model.name, "parameters": model.parameters })).collect();
    let steps: Vec<Value> = found
        .steps()?
        .into_iter()
        .map(|(step, ratio)| json!({ "step": step.name, "paper": step.paper, "here": ratio, "why": step.why }))
        .collect();
    Ok(json!({
        "title": comparison.title, "about": comparison.about, "part": comparison.part.name(),
        "latency": comparison.latency, "margin": comparison.margin, "models": models,
        "machines": (0..comparison.machines.len()).map(machine).collect::<Vec<_>>(),
        "cells": found.cells().iter().map(cell).collect::<Vec<_>>(), "winners": winners, "unused": found.unused(),
        "steps": steps,
    }))
}

/// Name, lead and reason; a machine that is alone has no lead.
fn end<'a>(found: &'a Found<'_>, race: &Race) -> (Option<&'a str>, Option<f64>, Option<&'static str>) {
    match *race {
        Race::Nobody | Race::Even => (None, None, None),
        Race::Won { by, ratio, why } => {
            (Some(&found.comparison.machines[by].name), ratio.is_finite().then_some(ratio), Some(why.name()))
        }
    }
}

/// Nanojoules of each part and of all, and those for each new token, by the names of columns.
pub(super) fn nanojoules(energy: &Energy, job: Job) -> impl Iterator<Item = (String, f64)> + use<> {
    let (all, work) = (energy.total() / 1e3, job.work());
    let parts = EnergyPart::ALL.map(|part| (format!("{}_nj", part.name()), energy.of(part) / 1e3));
    let each = all / (work.sequences * work.tokens) as f64;
    parts.into_iter().chain([("energy_nj".to_owned(), all), ("energy_per_token_nj".to_owned(), each)])
}

/// Events by name: kind, bits, and how many there are.
fn events(events: &Events) -> Value {
    let one = |(event, count): (&Event, u64)| {
        (event.name.to_string(), json!({ "kind": event.kind, "bits": event.bits, "count": count }))
    };
    Value::Object(events.iter().map(one).collect())
}

const COLUMNS: [&str; 17] = [
    "machine",
    "model",
    "part",
    "phase",
    "batch",
    "context",
    "bandwidth",
    "area_mm2",
    "copies",
    "cycles",
    "bytes",
    "products",
    "busy",
    "time_cycles",
    "waits_for",
    "fastest",
    "no_room",
];

/// A line for each machine, model, work and bandwidth.
///
/// # Errors
/// None that a caller can mend.
pub fn csv(found: &Found<'_>) -> Result<Vec<u8>> {
    let failed = |e: csv::Error| Failure::Check(format!("cannot write CSV: {e}"));
    let comparison = found.comparison;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let none = nanojoules(&Energy::default(), Job { phase: Phase::Token, batch: 1, context: 1 });
    let columns = COLUMNS.map(str::to_owned).into_iter().chain(none.map(|(name, _)| name));
    writer.write_record(columns.collect::<Vec<_>>()).map_err(failed)?;
    let winners = found.winners();
    let of = |value: Option<String>| value.unwrap_or_default();
    for cell in found.cells() {
        for (number, &bandwidth) in comparison.bandwidths.iter().enumerate() {
            let cost = cell.cost.as_ref().ok();
            let time = found.time(&cell, bandwidth);
            let machine = &comparison.machines[cell.machine];
            let record: [String; COLUMNS.len()] = [
                machine.name.clone(),
                comparison.models[cell.model].name.clone(),
                comparison.part.name().to_owned(),
                cell.job.phase.name().to_owned(),
                cell.job.batch.to_string(),
                cell.job.context.to_string(),
                bandwidth.to_string(),
                of(machine.area.map(|area| area.to_string())),
                found.copies[cell.machine].to_string(),
                of(cost.map(|cost| cost.cycles.to_string())),
                of(cost.map(|cost| cost.bytes.to_string())),
                of(cost.map(|cost| cost.products.to_string())),
                of(cost.map(|cost| found.busy(cell.machine, cost).to_string())),
                of(time.map(|(time, _)| time.to_string())),
                time.map_or(Bound::Capacity, |(_, bound)| bound).name().to_owned(),
                found.wins(&cell, &winners, number).to_string(),
                of(cell.cost.as_ref().err().cloned()),
            ];
            let energy = found.energy(&cell, bandwidth);
            let shown = nanojoules(&energy.unwrap_or_default(), cell.job)
                .map(|(_, value)| if energy.is_some() { value.to_string() } else { String::new() });
            writer.write_record(record.into_iter().chain(shown)).map_err(failed)?;
        }
    }
    writer.into_inner().map_err(|e| Failure::Check(format!("cannot write CSV: {e}")))
}
