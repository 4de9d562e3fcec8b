//! The results of a sweep, as its files and its report hold them.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Plan, Plot, Spec};
use crate::catalogue::Params;
use crate::error::{Failure, Result};
use crate::flows::tools::Versions;
use crate::point::{StageResult, Status, Store};

/// A finished sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this form: 1.
    pub schema: u32,
    /// Name of the sweep.
    pub name: String,
    /// Heading.
    pub title: String,
    /// The question of the sweep.
    pub about: String,
    /// Block.
    pub block: String,
    /// Name and version of the generator.
    pub generator: String,
    /// The file, relative to where the sweep was started when it was given so.
    pub file: String,
    /// The axes had the few values of a quick look.
    #[serde(default)]
    pub small: bool,
    /// The command that made the sweep.
    #[serde(default)]
    pub command: String,
    /// Parameters with several values, in the order of the file, and the parameters that follow from them.
    pub axes: Vec<String>,
    /// Curves of the report.
    pub plots: Vec<Plot>,
    /// Versions of all tools that were used.
    pub tools: Versions,
    /// Combinations that the block refuses.
    pub illegal: Vec<Illegal>,
    /// The points, in the order of the axes.
    pub points: Vec<PointResult>,
}

/// A combination that the block refuses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Illegal {
    /// All parameters.
    pub parameters: Params,
    /// The block's reason.
    pub reason: String,
}

/// The results of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// All parameters.
    pub parameters: Params,
    /// The parameters that are not at their defaults: `rows = 16, columns = 8`.
    pub label: String,
    /// Top module; its files are in `verilog/<top>`.
    pub top: Option<String>,
    /// The command that makes this point alone.
    pub command: String,
    /// The results of the stages, in running order.
    pub stages: Vec<StageResult>,
    /// Why there is no result, or not for every stage: a design that cannot be elaborated, a job that was lost.
    pub missing: Option<String>,
}

impl PointResult {
    /// All stages ran and passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.missing.is_none() && self.stages.iter().all(|s| s.status == Status::Passed)
    }

    /// A parameter or a number of any stage.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.parameters.get(name).or_else(|| self.stages.iter().find_map(|s| s.metrics.get(name)))
    }

    /// The failed stages, with their messages in one line.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let stage = |s: &StageResult| s.message.as_ref().map(|m| format!("{}: {}", s.stage, first(m)));
        let lines: Vec<_> = self.missing.iter().map(|m| first(m)).chain(self.stages.iter().filter_map(stage)).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

impl Results {
    /// Names of all numbers, in the order of the stages.
    #[must_use]
    pub fn metrics(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.points.iter().flat_map(|p| &p.stages).flat_map(|s| s.metrics.keys()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Reads `results.json` of a folder that a sweep wrote.
    ///
    /// # Errors
    /// A folder without results, or with results of another version.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("results.json");
        let text = fs::read_to_string(&path).map_err(|e| Failure::file("read", &path, &e))?;
        serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))
    }
}

/// Takes the results of all points out of the store; `lost` says why a point has no result, and `command` makes the
/// sweep again.
///
/// # Errors
/// A store that cannot be read.
pub fn collect(
    spec: &Spec,
    plan: &Plan,
    store: &Store,
    command: String,
    lost: impl Fn(usize) -> Option<String>,
) -> Result<Results> {
    let mut results = Results {
        schema: 1,
        name: spec.name.clone(),
        title: spec.title.clone(),
        about: spec.about.clone(),
        block: spec.block.about().name.to_owned(),
        generator: concat!("senbazuru ", env!("CARGO_PKG_VERSION")).into(),
        file: spec.path.display().to_string(),
        small: spec.small,
        command,
        axes: spec.axes.iter().map(|a| a.name.clone()).chain(spec.derived.iter().map(|d| d.0.clone())).collect(),
        plots: spec.plots.clone(),
        tools: Versions::new(),
        illegal: plan
            .illegal
            .iter()
            .map(|(parameters, reason)| Illegal { parameters: parameters.clone(), reason: reason.clone() })
            .collect(),
        points: Vec::new(),
    };
    for (number, planned) in plan.points.iter().enumerate() {
        let mut result = PointResult {
            parameters: planned.params.clone(),
            label: planned.label.clone(),
            top: None,
            command: super::command::command(spec, &planned.params),
            stages: Vec::new(),
            missing: planned.design.as_ref().err().cloned(),
        };
        if let Ok(ready) = &planned.design {
            result.top = Some(ready.top.clone());
            for key in &ready.keys {
                results.tools.extend(key.tools.clone());
                match store.get(key)? {
                    Some(found) => result.stages.push(found),
                    None if result.missing.is_none() => {
                        let why = lost(number).map(|why| format!("no result: {why}"));
                        result.missing =
                            why.or_else(|| Some(format!("no result of {}: the job did not end", key.stage)));
                    }
                    None => {}
                }
            }
        }
        results.points.push(result);
    }
    Ok(results)
}
