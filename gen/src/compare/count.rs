//! Costs of all cells: from the store, or counted and stored at once. So a comparison that was stopped goes on.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Instant;

use models::cycles::shapes::Model;
use models::cycles::{Cost, Costs, Event, Events};
use serde_json::{Map, Value, json};

use super::energy::Price;
use super::machine::{Kind, Machine};
use super::{Comparison, Job};
use crate::error::{Failure, Result};
use crate::flows::tools::Versions;
use crate::parallel::while_true;
use crate::point::{Key, Stage, StageResult, Status, Store, computed};
use crate::present::progress::Progress;

/// A cost, or why a machine has no room for the work.
pub type Counted = Result<Cost, String>;

/// A machine with its costs: by model, then by work.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the machine says of itself.
    pub about: String,
    /// Multiply-accumulates a cycle.
    pub peak: f64,
    /// Its costs.
    pub costs: Vec<Vec<Counted>>,
    /// Its energies, where it has a table and room for the work.
    pub prices: Vec<Vec<Option<Price>>>,
    /// Names of events that come with time.
    pub steady: BTreeSet<String>,
}

/// Counts the costs of all machines.
///
/// # Errors
/// Parameters that a block refuses, a store that cannot be used.
pub fn count(comparison: &Comparison, store: &Store, threads: NonZeroUsize) -> Result<Vec<Row>> {
    let Comparison { machines, models, jobs, .. } = comparison;
    let progress = Progress::new(machines.len() * models.len() * jobs.len(), "counting cycles");
    let rows: Vec<Mutex<Option<Result<Row>>>> = machines.iter().map(|_| Mutex::new(None)).collect();
    let all: Vec<_> = machines.iter().zip(&rows).collect();
    while_true(threads, &all, |(machine, row)| {
        let found = row_of(machine, comparison, store, &progress);
        let good = found.is_ok();
        if let Ok(mut row) = row.lock() {
            *row = Some(found);
        }
        good
    });
    let of = |row: Mutex<Option<Result<Row>>>| row.into_inner().ok().flatten();
    let found: Vec<Option<Result<Row>>> = rows.into_iter().map(of).collect();
    // A machine that failed stops the ones after it.
    if let Some(failure) = found.iter().find_map(|row| row.as_ref()?.as_ref().err()) {
        return Err(failure.clone());
    }
    let missing = || Failure::Check("a machine was not counted".to_owned());
    found.into_iter().map(|row| row.unwrap_or_else(|| Err(missing()))).collect()
}

fn row_of(machine: &Machine, comparison: &Comparison, store: &Store, progress: &Progress) -> Result<Row> {
    let costs = machine.costs(comparison.latency)?;
    let (mut all, mut prices, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for described in &comparison.models {
        let model = Model::from(&described.config);
        let (mut of_model, mut priced) = (Vec::new(), Vec::new());
        for &job in &comparison.jobs {
            let cost = cell(machine, &*costs, (&model, job), comparison, store)?;
            let price = match (&machine.energy, &cost) {
                (Some(table), Ok(cost)) => {
                    let steady = comparison.part.steady(&*costs, &model, job.work());
                    names.extend(steady.iter().map(|(event, _)| event.name.to_string()));
                    Some(Price::new(table, (&machine.name, [machine.area, machine.memory]), cost, &steady)?)
                }
                _ => None,
            };
            of_model.push(cost);
            priced.push(price);
            progress.step();
        }
        all.push(of_model);
        prices.push(priced);
    }
    Ok(Row { about: costs.about(), peak: costs.peak(), costs: all, prices, steady: names })
}

fn cell(
    machine: &Machine,
    costs: &dyn Costs,
    (model, job): (&Model, Job),
    comparison: &Comparison,
    store: &Store,
) -> Result<Counted> {
    let part = comparison.part;
    let count = || part.cost(costs, model, job.work()).map_err(|e| format!("{e:#}"));
    let Kind::Block { entry, params, settings } = &machine.kind else { return Ok(count()) };
    let block = entry.about().name;
    let hash = computed(
        "cost of a layer",
        &json!({
            "block": block, "parameters": params, "settings": settings.to_string(), "latency": comparison.latency,
            "model": format!("{model:?}"), "part": part.name(), "work": job,
        }),
    )?;
    let key = Key { stage: Stage::Cycles, hash, tools: Versions::new() };
    if let Some(found) = store.get(&key)?.and_then(|found| known(&found)) {
        return Ok(found);
    }
    let (start, found) = (Instant::now(), count());
    store.put(&StageResult {
        stage: Stage::Cycles,
        key: key.hash,
        block: block.to_owned(),
        parameters: params.clone(),
        top: String::new(),
        status: if found.is_ok() { Status::Passed } else { Status::Failed },
        message: found.as_ref().err().cloned(),
        metrics: found.as_ref().map(metrics).unwrap_or_default(),
        details: found.as_ref().map(|cost| details(&cost.events)).unwrap_or_default(),
        tools: key.tools,
        seconds: start.elapsed().as_secs_f64(),
    })?;
    Ok(found)
}

/// Numbers of a cost by name.
pub(crate) fn metrics(cost: &Cost) -> Map<String, Value> {
    let all = [("cycles", cost.cycles), ("bytes", cost.bytes), ("products", cost.products)];
    all.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Events of a cost.
fn details(events: &Events) -> Value {
    let one = |(event, count): (&Event, u64)| json!([event.name, event.kind, event.bits, count]);
    events.iter().map(one).collect()
}

fn events(details: &Value) -> Option<Events> {
    let mut all = Events::default();
    for one in details.as_array()? {
        let text = |at: usize| Some(one.get(at)?.as_str()?.to_owned().into());
        let event = Event { name: text(0)?, kind: text(1)?, bits: one.get(2)?.as_u64()? };
        all.add(event, one.get(3)?.as_u64()?);
    }
    Some(all)
}

/// A stored cost. A damaged one counts as absent.
fn known(found: &StageResult) -> Option<Counted> {
    let number = |name: &str| found.metrics.get(name)?.as_u64();
    match found.status {
        Status::Failed => found.message.clone().map(Err),
        Status::Passed => {
            let [cycles, bytes, products] = [number("cycles")?, number("bytes")?, number("products")?];
            Some(Ok(Cost { cycles, bytes, products, events: events(&found.details)? }))
        }
    }
}
