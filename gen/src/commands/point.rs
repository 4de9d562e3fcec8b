//! `point`: the stages of a sweep on one set of parameters.

use std::path::PathBuf;

use serde_json::Value;

use super::target::Target;
use crate::catalogue::{Catalogue, Known, Params};
use crate::error::{Failure, Result};
use crate::params::{ParamArgs, plain, show};
use crate::point::{self, Options, Point, Stage, StageResult, Status, Store, assign, is_work};
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Stages to run
    #[arg(long, value_name = "STAGE,..", value_enum, value_delimiter = ',', default_values = ["gen", "lint", "sim", "synth"])]
    stages: Vec<Stage>,
    #[command(flatten)]
    options: Options,
    /// Folder of stored results; stages whose results are there do not run again
    #[arg(long, value_name = "DIR", default_value = point::STORE)]
    store: PathBuf,
    /// The keys that the results must have, from the machine that planned the sweep. Its tools may differ from the
    /// tools here
    #[arg(long, value_name = "STAGE=KEY,..", value_delimiter = ',', hide = true)]
    keys: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.resolve(catalogue)?;
    let stages = point::in_order(&args.stages)?;
    let options = args.options.clone().checked(&stages)?;
    let point = Point::new(&entry, params)?;
    for expected in &args.keys {
        let Some((stage, key)) =
            stages.iter().find_map(|s| Some((*s, expected.strip_prefix(s.name())?.strip_prefix('=')?)))
        else {
            return Err(Failure::Usage(format!("`--keys {expected}`: no such stage here")));
        };
        let here = point.key(stage, &options)?;
        if here.hash != key {
            let tools: Vec<_> = here.tools.values().map(String::as_str).collect();
            return Err(Failure::Usage(format!(
                "senbazuru or the tools of {stage} differ from the machine that planned the sweep; here: senbazuru {}, {}",
                env!("CARGO_PKG_VERSION"),
                tools.join(", ")
            )));
        }
    }
    let results = point::run(&point, &stages, &options, &Store::new(&args.store))?;
    if args.json {
        report::json(&results)?;
    } else {
        report::print(&text(&point, &results))?;
    }
    let passed = results.iter().all(|r| r.status == Status::Passed);
    if passed { Ok(()) } else { Err(Failure::Reported) }
}

impl Args {
    /// The block with its parameters, and the settings of its work.
    fn resolve(&self, catalogue: &Catalogue) -> Result<(Known, Params)> {
        let entry = catalogue.find(&self.target.block)?.clone();
        let (work, set): (Vec<String>, Vec<String>) =
            self.target.params.set.iter().cloned().partition(|pair| is_work(pair));
        let mut params = ParamArgs { set, config: self.target.params.config.clone() }.resolve(&*entry)?;
        for pair in work {
            let bad = |what: String| Failure::Usage(format!("`--set {pair}`: {what}"));
            let (name, text) = pair.split_once('=').ok_or_else(|| bad("write it as NAME=VALUE".to_owned()))?;
            if params.contains_key(name) {
                return Err(bad(format!("`{name}` is set twice")));
            }
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
            assign(&*entry, name, value, &mut params).map_err(bad)?;
        }
        if let Some(name) = params.keys().find(|name| is_work(name) && !self.stages.contains(&Stage::Cycles)) {
            return Err(Failure::Usage(format!("`{name}` is of the work of the stage `cycles`: add it to --stages")));
        }
        Ok((entry, params))
    }
}

fn text(point: &Point, results: &[StageResult]) -> String {
    let mut table = Table::new(["stage", "number", "value"]);
    let mut complaints = String::new();
    for result in results {
        for (name, value) in &result.metrics {
            table.row([result.stage.to_string(), name.clone(), plain(value)]);
        }
        if let Some(message) = &result.message {
            complaints += &format!("{} failed: {}\n", result.stage, message.lines().next().unwrap_or_default());
        }
    }
    let all = point.params.clone().into_iter().chain(point.work.clone()).collect();
    format!("{}: {}\n\n{}{complaints}", point.block(), show(&all), report::table(&table))
}
