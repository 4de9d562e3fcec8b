//! The work of each stage on a point, and the numbers that it leaves.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sim::{RunOptions, SourceFile};

use super::key::{Key, Point};
use super::options::Options;
use super::stage::Stage;
use super::store::{StageResult, Status};
use crate::error::{Failure, Result};
use crate::flows::prove::Verdict;
use crate::flows::workspace::Workspace;
use crate::flows::{energy, fpga, layout, lint, prove, synth, timing};

/// Numbers, the rest, and why it failed.
struct Found {
    metrics: Map<String, Value>,
    details: Value,
    message: Option<String>,
}

pub(super) fn run(point: &Point, key: &Key, options: &Options) -> Result<StageResult> {
    let start = Instant::now();
    let found = match key.stage {
        Stage::Gen => Ok(generate(point)),
        Stage::Lint => check(point),
        Stage::Sim => simulate(point, options),
        Stage::Synth => synthesise(point, options),
        Stage::Cycles => work(point),
        Stage::Fpga => on_fpga(point, options),
        Stage::Layout => laid_out(point, options),
        Stage::Energy => energy(point, options),
        Stage::Prove => properties(point, options),
    };
    // A fault of the design is a result. A missing tool, a killed tool or a full disk is none.
    let found = match found {
        Ok(found) => found,
        Err(Failure::Check(message)) => Found { metrics: Map::new(), details: Value::Null, message: Some(message) },
        Err(other) => return Err(other),
    };
    let known = names(key.stage, point, options);
    debug_assert!(found.metrics.keys().all(|n| known.contains(n)), "{}: {:?}, {known:?}", key.stage, found.metrics);
    Ok(StageResult {
        stage: key.stage,
        key: key.hash.clone(),
        block: point.block().to_owned(),
        parameters: point.params.clone().into_iter().chain(point.work.clone()).collect(),
        top: point.sources.top.clone(),
        status: if found.message.is_none() { Status::Passed } else { Status::Failed },
        message: found.message,
        metrics: found.metrics,
        details: found.details,
        tools: key.tools.clone(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The names of the numbers that a stage leaves at this point. A file that asks for others is wrong before anything runs.
pub(super) fn names(stage: Stage, point: &Point, options: &Options) -> Vec<String> {
    let of = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    match stage {
        Stage::Gen => generate(point).metrics.keys().cloned().collect(),
        Stage::Lint => of(&["lint_messages"]),
        Stage::Sim => of(&["sim_cycles", "sim_compared", "sim_input_stalls", "sim_output_stalls"]),
        Stage::Synth => {
            let always = ["gates", "flip_flops", "memory_bits"];
            let mapped = options.liberty.first().into_iter().flat_map(|_| ["area", "delay_ps"]);
            let timed = options.period.iter().flat_map(|_| ["slack_ns", "least_period_ns"]);
            let flat = ["and_nodes_strash", "levels_strash", "and_nodes", "levels"];
            let graph = (!options.hierarchical).then_some(flat).into_iter().flatten();
            of(&always.into_iter().chain(mapped).chain(timed).chain(graph).collect::<Vec<_>>())
        }
        Stage::Fpga => of(&["fpga_luts", "fpga_flip_flops", "fpga_dsps", "fpga_block_rams", "fpga_mhz"]),
        Stage::Layout => of(&[
            "layout_cells",
            "layout_cell_area_um2",
            "layout_core_um2",
            "layout_die_um2",
            "layout_utilisation",
            "layout_wire_mm",
            "layout_vias",
            "layout_mhz",
            "layout_mhz_without_wires",
            "layout_drc",
        ]),
        Stage::Energy => of(&["energy_pj_per_cycle", "energy_pj_per_vector", "clock_energy_share", "leakage_nw"]),
        Stage::Cycles => work_names(point),
        Stage::Prove => of(&["properties", "properties_held"]),
    }
}

fn numbers(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.into_iter().filter(|(_, v)| v.is_number()).collect(),
        _ => Map::new(),
    }
}

fn generate(point: &Point) -> Found {
    let bytes: usize = point.sources.files.iter().map(|f| f.text.len()).sum();
    let lines: usize = point.sources.files.iter().map(|f| f.text.lines().count()).sum();
    let mut metrics = numbers(json!({
        "verilog_bytes": bytes,
        "verilog_lines": lines,
        "modules": point.manifest.modules.len(),
        "instances": point.manifest.modules.iter().map(|m| m.instances).sum::<u64>(),
    }));
    metrics.extend(point.manifest.timing.columns().into_iter().map(|(name, cycles)| (name, Value::from(cycles))));
    let details = serde_json::to_value(&point.manifest).unwrap_or(Value::Null);
    Found { metrics, details, message: None }
}

fn check(point: &Point) -> Result<Found> {
    let checks = lint::lint(&point.sources)?;
    let messages: Vec<_> =
        checks.iter().flat_map(|c| c.messages.iter().map(move |m| format!("{}: {m}", c.tool))).collect();
    let metrics = numbers(json!({ "lint_messages": messages.len() }));
    let message = (!messages.is_empty()).then(|| messages.join("\n"));
    Ok(Found { metrics, details: json!(checks), message })
}

fn simulate(point: &Point, options: &Options) -> Result<Found> {
    let design = sim::Design::from(&point.entry.elaborate(&point.params)?);
    debug_assert!(design.files.iter().map(|f: &SourceFile| &f.text).eq(point.sources.files.iter().map(|f| &f.text)));
    let run = RunOptions { seed: options.seed, vectors: options.vectors, ..RunOptions::default() };
    let report = sim::run(&*point.entry.bench(&point.params)?, &design, &run)?;
    let metrics = numbers(json!({
        "sim_cycles": report.cycles,
        "sim_compared": report.compared,
        "sim_input_stalls": report.input_stalls,
        "sim_output_stalls": report.output_stalls,
    }));
    Ok(Found { metrics, details: json!({ "seed": options.seed, "vectors": options.vectors }), message: None })
}

fn synthesise(point: &Point, options: &Options) -> Result<Found> {
    let how = synth::Options {
        liberty: options.liberty.clone(),
        hierarchical: options.hierarchical,
        memories: options.memories,
        jobs: None,
        prove: None,
        period: options.period,
    };
    let report = synth::synthesise(&point.sources, &point.manifest, &how)?;
    let mut metrics = numbers(json!({
        "gates": report.total.gates,
        "flip_flops": report.total.flip_flops,
        "memory_bits": report.total.memory_bits,
        "area": report.mapped.as_ref().map(|m| m.area),
        "delay_ps": report.mapped.as_ref().and_then(|m| m.delay_ps),
    }));
    if let Some(timing) = &report.timing {
        metrics.extend(numbers(json!({ "slack_ns": timing.slack_ns, "least_period_ns": timing.least_period_ns })));
    }
    if let Some(aig) = &report.aig {
        metrics.extend(numbers(json!({
            "and_nodes_strash": aig.strash.and_nodes,
            "levels_strash": aig.strash.levels,
            "and_nodes": aig.dc2.and_nodes,
            "levels": aig.dc2.levels,
        })));
    }
    let details = serde_json::to_value(&report).unwrap_or(Value::Null);
    Ok(Found { metrics, details, message: None })
}

fn energy(point: &Point, options: &Options) -> Result<Found> {
    let design = sim::Design::from(&point.entry.elaborate(&point.params)?);
    let run = RunOptions { seed: options.seed, vectors: options.vectors, ..RunOptions::default() };
    let report = energy::measure(&design, &*point.entry.bench(&point.params)?, &options.library(), &run)?;
    let picojoules = report.energy.total() * 1e12;
    let metrics = numbers(json!({
        "energy_pj_per_cycle": picojoules / report.cycles as f64,
        "energy_pj_per_vector": picojoules / report.vectors as f64,
        "clock_energy_share": report.energy.clock / report.energy.total(),
        "leakage_nw": report.leakage.map(|watts| watts * 1e9),
    }));
    Ok(Found { metrics, details: json!(report), message: None })
}

fn on_fpga(point: &Point, options: &Options) -> Result<Found> {
    let how = fpga::Options {
        device: options.device,
        freq: 200.0,
        seed: options.seed,
        out_of_context: options.out_of_context,
        hierarchical: options.hierarchical,
        place: true,
    };
    let report = fpga::build(&point.sources, &fpga::Ports::from(&point.manifest), &how)?;
    let metrics = numbers(json!({
        "fpga_luts": report.luts,
        "fpga_flip_flops": report.flip_flops,
        "fpga_dsps": report.dsps,
        "fpga_block_rams": report.block_rams,
        "fpga_mhz": report.mhz,
    }));
    Ok(Found { metrics, details: json!(report), message: None })
}

/// Names of the numbers of the work. A setting that is not allowed has no numbers.
fn work_names(point: &Point) -> Vec<String> {
    #[cfg(feature = "standard")]
    if let Ok(Some(layers)) = point.layers() {
        return layers.names();
    }
    point.entry.work_columns().iter().map(|&name| name.to_owned()).collect()
}

fn laid_out(point: &Point, options: &Options) -> Result<Found> {
    let layout = layout::build(&point.sources, &point.manifest, &options.layout.flow())?;
    let report = &layout.report;
    // A block without a path from register to register has a clock for its ports only.
    let mhz = |paths: &timing::Paths| 1000.0 / paths.register_period_ns.unwrap_or(paths.least_period_ns);
    let metrics = numbers(json!({
        "layout_cells": report.cells,
        "layout_cell_area_um2": report.cell_area_um2,
        "layout_core_um2": report.core_area_um2,
        "layout_die_um2": report.die_area_um2,
        "layout_utilisation": report.utilisation,
        "layout_wire_mm": report.wire_um / 1000.0,
        "layout_vias": report.vias,
        "layout_mhz": mhz(&report.with_wires),
        "layout_mhz_without_wires": mhz(&report.without_wires),
        "layout_drc": report.drc_violations,
    }));
    Ok(Found { metrics, details: json!(report), message: report.faults() })
}

fn work(point: &Point) -> Result<Found> {
    #[cfg(feature = "standard")]
    if let Some(layers) = point.layers()? {
        let metrics = layers.count(&*point.entry, &point.params)?;
        return Ok(Found { metrics, details: Value::Null, message: None });
    }
    let found = point.entry.work(&point.params)?;
    let metrics = found.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    Ok(Found { metrics, details: Value::Null, message: None })
}

fn properties(point: &Point, options: &Options) -> Result<Found> {
    let traces = Workspace::new()?;
    let how = prove::Options {
        depth: options.depth,
        cover_depth: options.cover_depth,
        induction: false,
        solver: "z3".into(),
        limit: Duration::from_secs(600),
        traces: traces.path("."),
    };
    if !point.sources.has_formal() {
        return Err(Failure::Check(format!("{} has no properties at these parameters", point.block())));
    }
    let properties = prove::prove(&point.sources, &how)?;
    let silent: Vec<_> = properties.iter().filter(|p| p.verdict == Verdict::Unknown).map(|p| p.name.as_str()).collect();
    if !silent.is_empty() {
        let seconds = how.limit.as_secs();
        return Err(Failure::NoAnswer(format!("{} has none after {seconds} s for {}", how.solver, silent.join(", "))));
    }
    let (good, bad): (Vec<_>, Vec<_>) = properties.iter().partition(|p| p.verdict.is_good());
    let metrics = numbers(json!({ "properties": properties.len(), "properties_held": good.len() }));
    let names: Vec<_> = bad.iter().map(|p| p.name.as_str()).collect();
    let message = (!names.is_empty())
        .then(|| format!("not proved within {} cycles, covers {}: {}", how.depth, how.cover_depth, names.join(", ")));
    Ok(Found { metrics, details: json!(properties), message })
}
