//! The table of a sweep: its columns and its cells.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::curves::Curves;
use super::names::{heading, url};
use crate::params::plain;
use crate::point::{Stage, Status};
use crate::present::numbers::{shown, significant};
use crate::sweep::{PointResult, Results};

/// Columns and rows, as the template wants them.
#[derive(Serialize)]
pub(super) struct Table {
    groups: Vec<Group>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Values that are the same at all points, and therefore have no column.
    constant: Vec<Constant>,
    /// Examples for the box that filters.
    example: String,
}

/// Columns under one heading.
#[derive(Serialize)]
struct Group {
    name: &'static str,
    columns: usize,
}

#[derive(Serialize)]
struct Column {
    name: String,
    heading: String,
    unit: &'static str,
    number: bool,
    /// First of its group.
    first: bool,
}

#[derive(Serialize)]
struct Row {
    passed: bool,
    message: Option<String>,
    cells: Vec<Cell>,
    command: String,
    top: Option<String>,
    /// Path from the page to the Verilog, ending in a slash.
    verilog: Option<String>,
    files: Vec<File>,
    stages: Vec<StageLine>,
}

#[derive(Serialize)]
struct Cell {
    /// For sorting and filtering; nothing when there is no value.
    value: String,
    shown: String,
}

#[derive(Serialize)]
struct File {
    name: String,
    url: String,
}

#[derive(Serialize)]
struct StageLine {
    stage: Stage,
    passed: bool,
    seconds: String,
    message: Option<String>,
}

#[derive(Serialize)]
struct Constant {
    name: String,
    heading: String,
    unit: &'static str,
    value: String,
}

impl Table {
    /// The table of a sweep in `dir`, to which `folder` leads from the page.
    pub(super) fn new(results: &Results, curves: &[Curves], dir: &Path, folder: &str) -> Self {
        let mut table =
            Self { groups: vec![], columns: vec![], rows: vec![], constant: vec![], example: String::new() };
        let mut values: Vec<Vec<Option<Value>>> = Vec::new();
        let parameters: Vec<String> =
            results.points.first().map(|p| p.parameters.keys().cloned().collect()).unwrap_or_default();
        let (axes, others): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|n| results.axes.contains(n));
        // In the order in which the sweep's file names them.
        let axes = results.axes.iter().filter(|n| axes.contains(n)).cloned();
        table.group(results, "parameters", axes.chain(others), &mut values);
        let (latency, size) =
            metrics(results, Stage::Gen).into_iter().partition::<Vec<_>, _>(|name| name.ends_with("_cycles"));
        table.group(results, "latency", latency.into_iter(), &mut values);
        let mut stages: Vec<Stage> = Stage::ALL.into_iter().filter(|s| *s != Stage::Gen).collect();
        stages.sort_by_key(|stage| group_of(*stage).0);
        for stage in stages {
            let mut names = metrics(results, stage);
            // The figures after optimisation come before the figures without it.
            names.sort_by_key(|name| name.ends_with("_strash"));
            table.group(results, group_of(stage).1, names.into_iter(), &mut values);
        }
        table.group(results, group_of(Stage::Gen).1, size.into_iter(), &mut values);
        let fronts: Vec<_> = curves.iter().filter(|c| c.has_front()).collect();
        for (number, curves) in fronts.iter().enumerate() {
            let name = if number == 0 { "pareto".to_owned() } else { format!("pareto_{}", number + 1) };
            let heading = format!("{}, {}", heading(&curves.plot.x).0, heading(&curves.plot.y).0);
            table.columns.push(Column { name, heading, unit: "", number: false, first: number == 0 });
            let on = |i: usize| Some(Value::from(if curves.on_front(i) { "front" } else { "" }));
            values.push((0..results.points.len()).map(on).collect());
        }
        if !fronts.is_empty() {
            table.groups.push(Group { name: "Pareto", columns: fronts.len() });
        }
        for (i, point) in results.points.iter().enumerate() {
            let cell = |v: &Vec<Option<Value>>| match &v[i] {
                Some(value) => Cell { value: plain(value), shown: shown(value) },
                None => Cell { value: String::new(), shown: "–".into() },
            };
            table.rows.push(row(point, values.iter().map(cell).collect(), dir, folder));
        }
        table.example = table.example_filter();
        table
    }

    /// Adds the columns of a group; values that are the same everywhere go to the constants.
    fn group(
        &mut self,
        results: &Results,
        group: &'static str,
        names: impl Iterator<Item = String>,
        values: &mut Vec<Vec<Option<Value>>>,
    ) {
        let before = self.columns.len();
        for name in names {
            let column: Vec<_> = results.points.iter().map(|p| p.value(&name).cloned()).collect();
            let (heading, unit) = heading(&name);
            let same = column.iter().all(|v| *v == column[0]);
            // A single point shows its axes and all its numbers.
            if same && (column.len() > 1 || group == "parameters" && !results.axes.contains(&name)) {
                let value = column.first().cloned().flatten().map(|v| shown(&v)).unwrap_or_default();
                self.constant.push(Constant { name, heading, unit, value });
                continue;
            }
            let number = column.iter().flatten().all(Value::is_number);
            self.columns.push(Column { name, heading, unit, number, first: self.columns.len() == before });
            values.push(column);
        }
        if self.columns.len() > before {
            self.groups.push(Group { name: group, columns: self.columns.len() - before });
        }
    }

    /// A condition and a word that this sweep has.
    fn example_filter(&self) -> String {
        let last = self.rows.last();
        let value = |i: usize| last.map(|r| r.cells[i].value.clone()).unwrap_or_default();
        let of = |number: bool| self.columns.iter().position(|c| c.number == number);
        let condition = of(true).map(|i| format!("{}>={}", self.columns[i].name, value(i)));
        let word = of(false).filter(|i| !self.columns[*i].name.starts_with("pareto")).map(value);
        condition.into_iter().chain(word).filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Place and heading of a stage's numbers: the costs of a design come first, since readers look for them first.
fn group_of(stage: Stage) -> (u8, &'static str) {
    match stage {
        Stage::Synth => (0, "synthesis"),
        Stage::Fpga => (1, "FPGA"),
        Stage::Layout => (2, "layout"),
        Stage::Cycles => (3, "work"),
        Stage::Energy => (4, "energy"),
        Stage::Sim => (5, "co-simulation"),
        Stage::Prove => (6, "proofs"),
        Stage::Lint => (7, "lint"),
        Stage::Gen => (8, "Verilog"),
    }
}

/// Names of the numbers of a stage.
fn metrics(results: &Results, stage: Stage) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in
        results.points.iter().flat_map(|p| &p.stages).filter(|s| s.stage == stage).flat_map(|s| s.metrics.keys())
    {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn row(point: &PointResult, cells: Vec<Cell>, dir: &Path, folder: &str) -> Row {
    let top = point.top.as_ref();
    let verilog = top.filter(|top| dir.join("verilog").join(top).is_dir());
    let path = verilog.map(|top| format!("{folder}verilog/{}/", url(top)));
    let mut names: Vec<String> = Vec::new();
    if let Some(top) = verilog
        && let Ok(entries) = fs::read_dir(dir.join("verilog").join(top))
    {
        names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|n| n.ends_with(".v"));
        names.sort();
    }
    let stage = |s: &crate::point::StageResult| StageLine {
        stage: s.stage,
        passed: s.status == Status::Passed,
        seconds: significant(s.seconds.max(0.001), 2),
        message: s.message.clone(),
    };
    Row {
        passed: point.passed(),
        message: point.complaint(),
        cells,
        command: point.command.clone(),
        top: point.top.clone(),
        files: names
            .iter()
            .map(|n| File { name: n.clone(), url: format!("{}{}", path.as_deref().unwrap_or_default(), url(n)) })
            .collect(),
        verilog: path,
        stages: point.stages.iter().map(stage).collect(),
    }
}
