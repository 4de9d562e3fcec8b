//! The files of a finished sweep: JSON, JSON lines, CSV, SQLite, and the Verilog of every point.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

pub(crate) use super::command::arguments;
use super::{Plan, Results, Spec, database};
use crate::error::{Failure, Result};
use crate::output::{Bundle, Earlier, Layout, remove_stale, replace};
use crate::params::plain;

/// Writes everything into `dir`, and removes the Verilog of points that are not part of the sweep any more. Each file
/// appears whole or not at all.
///
/// # Errors
/// A folder that cannot be written.
pub fn write(dir: &Path, spec: &Spec, plan: &Plan, results: &Results) -> Result<()> {
    let verilog = dir.join("verilog");
    let mut tops = BTreeSet::new();
    for planned in plan.points.iter().filter(|p| p.design.is_ok()) {
        let (params, _) = crate::point::split(planned.params.clone());
        let design = spec.block.elaborate(&params)?;
        let folder = verilog.join(design.top_name());
        let mut bundle = Bundle::new(Layout::Flat);
        bundle.add(spec.block.family(), spec.block.about().name, &design)?;
        bundle.write(&folder, &Earlier::default())?;
        Earlier::find(&folder, &bundle)?.remove(&folder)?;
        tops.insert(design.top_name().to_owned());
    }
    remove_stale(&verilog, &tops)?;
    write_results(dir, results)
}

/// Writes the four forms of results into `dir`, each file whole or not at all.
///
/// # Errors
/// A folder that cannot be written.
pub fn write_results(dir: &Path, results: &Results) -> Result<()> {
    let bug = |e: serde_json::Error| Failure::Check(format!("cannot write JSON: {e}"));
    let pretty = serde_json::to_string_pretty(results).map_err(bug)? + "\n";
    replace(&dir.join("results.json"), pretty.as_bytes())?;
    let rows = rows(results);
    let mut lines = String::new();
    for row in &rows {
        lines += &(serde_json::to_string(row).map_err(bug)? + "\n");
    }
    replace(&dir.join("results.jsonl"), lines.as_bytes())?;
    replace(&dir.join("results.csv"), &csv(results, &rows)?)?;
    replace(&dir.join("results.sqlite"), &database::build(results)?)
}

/// One flat object a point: parameters, status, numbers.
fn rows(results: &Results) -> Vec<Map<String, Value>> {
    let metrics = results.metrics();
    let row = |point: &super::PointResult| {
        let mut row = point.parameters.clone();
        row.insert("top".into(), json!(point.top));
        row.insert("passed".into(), json!(point.passed()));
        row.insert("message".into(), json!(point.complaint()));
        for name in &metrics {
            row.insert(name.clone(), point.value(name).cloned().unwrap_or(Value::Null));
        }
        row
    };
    results.points.iter().map(row).collect()
}

fn csv(results: &Results, rows: &[Map<String, Value>]) -> Result<Vec<u8>> {
    let failed = |e: csv::Error| Failure::Check(format!("cannot write CSV: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(first) = rows.first() {
        writer.write_record(first.keys()).map_err(failed)?;
    }
    for row in rows {
        let cell = |value: &Value| if value.is_null() { String::new() } else { plain(value) };
        writer.write_record(row.values().map(cell)).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Failure::Check(format!("cannot write the CSV file of {}: {e}", results.name)))
}
