//! A comparison as the results of a sweep: so it has the same files and the same page.

use models::cycles::comparison::time;
use serde_json::{Map, Value, json};

use super::count::metrics;
use super::data::nanojoules;
use super::{Cell, Comparison, Found};
use crate::error::Result;
use crate::flows::tools::Versions;
use crate::params::show;
use crate::point::{Stage, StageResult, Status};
use crate::present::page::lines;
use crate::sweep::{Plot, PointResult, Results};

/// Points of a drawn curve.
const POINTS: u32 = 25;

/// The axes, in the order of columns.
const AXES: [&str; 6] = ["accelerator", "model", "phase", "batch", "context", "bandwidth"];

/// A point for each machine, model, work and bandwidth. Work that a machine has no room for has no numbers.
#[must_use]
pub fn results(found: &Found<'_>, command: &str) -> Results {
    let comparison = found.comparison;
    let winners = found.winners();
    let mut points = Vec::new();
    for cell in found.cells() {
        for (number, &bandwidth) in comparison.bandwidths.iter().enumerate() {
            let wins = found.wins(&cell, &winners, number);
            points.push(point(found, &cell, (bandwidth, wins), command));
        }
    }
    Results {
        schema: 1,
        name: "compare".to_owned(),
        title: comparison.title.clone(),
        about: comparison.about.clone(),
        block: "compare".to_owned(),
        generator: concat!("senbazuru ", env!("CARGO_PKG_VERSION")).to_owned(),
        file: comparison.place.clone(),
        small: false,
        command: command.to_owned(),
        axes: AXES.map(str::to_owned).to_vec(),
        plots: plots(found),
        tools: Versions::new(),
        illegal: Vec::new(),
        points,
    }
}

fn point(found: &Found<'_>, cell: &Cell<'_>, (bandwidth, wins): (f64, bool), command: &str) -> PointResult {
    let comparison = found.comparison;
    let machine = &comparison.machines[cell.machine];
    let values: [Value; AXES.len()] = [
        machine.name.clone().into(),
        comparison.models[cell.model].name.clone().into(),
        cell.job.phase.name().into(),
        cell.job.batch.into(),
        cell.job.context.into(),
        json!(bandwidth),
    ];
    let parameters: Map<String, Value> = AXES.iter().map(|name| (*name).to_owned()).zip(values).collect();
    let mut numbers = Map::new();
    if let (Ok(cost), Some((cycles, bound))) = (cell.cost, found.time(cell, bandwidth)) {
        numbers = metrics(cost);
        numbers.insert("busy".into(), json!(found.busy(cell.machine, cost)));
        numbers.insert("copies".into(), json!(found.copies[cell.machine]));
        numbers.insert("time_cycles".into(), json!(cycles));
        numbers.insert("time_of_one_cycles".into(), json!(time(cost, 1.0, bandwidth).0));
        numbers.insert("waits_for".into(), bound.name().into());
        numbers.insert("fastest".into(), if wins { "yes" } else { "no" }.into());
        if let Some(energy) = found.energy(cell, bandwidth) {
            numbers.extend(nanojoules(&energy, cell.job).map(|(name, value)| (name, json!(value))));
        }
        if let Some(area) = machine.area {
            numbers.insert("area_mm2".into(), json!(area));
        }
    }
    let stage = StageResult {
        stage: Stage::Cycles,
        key: String::new(),
        block: machine.name.clone(),
        parameters: Map::new(),
        top: String::new(),
        // No room is an answer.
        status: Status::Passed,
        message: cell.cost.as_ref().err().map(|reason| format!("no room: {reason}")),
        metrics: numbers,
        details: Value::Null,
        tools: Versions::new(),
        seconds: 0.0,
    };
    PointResult {
        label: show(&parameters),
        parameters,
        top: None,
        command: command.to_owned(),
        stages: vec![stage],
        missing: None,
    }
}

/// For each work that is shown: time over bandwidth; and where areas are known, time of one machine over its area.
fn plots(found: &Found<'_>) -> Vec<Plot> {
    let comparison = found.comparison;
    let all_areas = comparison.machines.iter().all(|machine| machine.area.is_some());
    let middle = comparison.bandwidths.get(comparison.bandwidths.len() / 2);
    let mut plots = Vec::new();
    for cell in found.shown().iter().filter(|cell| cell.machine == 0) {
        let model = &comparison.models[cell.model];
        let title = format!("{}: {}", model.name, cell.job.short());
        let conditions = vec![
            format!("model == {}", Value::from(model.name.as_str())),
            format!("phase == '{}'", cell.job.phase.name()),
            format!("batch == {}", cell.job.batch),
            format!("context == {}", cell.job.context),
        ];
        let plot = |title: String, x: &str, y: &str, pareto: bool, conditions: Vec<String>| Plot {
            title,
            x: x.to_owned(),
            y: y.to_owned(),
            series: Some("accelerator".to_owned()),
            log: true,
            joined: !pareto,
            pareto,
            conditions,
        };
        plots.push(plot(title.clone(), "bandwidth", "time_cycles", false, conditions.clone()));
        if let (true, Some(bandwidth)) = (all_areas, middle) {
            let at = conditions.into_iter().chain([format!("bandwidth == {bandwidth}")]).collect();
            let title = format!("{title}, {bandwidth} B a cycle");
            plots.push(plot(title, "area_mm2", "time_of_one_cycles", true, at));
        }
    }
    plots
}

/// Cycles over bandwidth, as SVG: a curve a machine, for the first work that is shown.
///
/// # Errors
/// No machine has room for the work.
pub fn curves(found: &Found<'_>) -> Result<String> {
    let comparison = found.comparison;
    let shown = found.shown();
    let Some(first) = shown.first() else { return lines("", ["", ""], &[]) };
    let [least, most] = comparison.curve;
    let step = |k: u32| least * (most / least).powf(f64::from(k) / f64::from(POINTS - 1));
    let places: Vec<f64> = (0..POINTS).map(step).collect();
    let mut series = Vec::new();
    for cell in shown.iter().filter(|cell| (cell.model, cell.job) == (first.model, first.job)) {
        let at = |&x: &f64| found.time(cell, x).map(|(cycles, _)| [x, cycles]);
        series.push((comparison.machines[cell.machine].name.as_str(), places.iter().filter_map(at).collect()));
    }
    let title = title(comparison, first);
    lines(&title, ["bytes a cycle of memory", "cycles"], &series)
}

fn title(comparison: &Comparison, cell: &Cell<'_>) -> String {
    let words = format!("{}, {}", cell.job.words(), comparison.what(&comparison.models[cell.model]));
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
