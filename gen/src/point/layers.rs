//! A part of a language model as the work of the stage `cycles`.
//!
//! Its settings stand beside a block's parameters as `work.model`, `work.context` and so on, so they can be axes.

use models::cycles::Part;
use models::cycles::comparison::time;
use models::cycles::shapes::Model;
use models::decoder::Described;
use models::schemes::Settings;
use serde_json::{Map, Value, json};

use super::PREFIX;
use crate::catalogue::{Entry, Params, similar};
use crate::compare::{Job, LATENCY, MOST_BATCH, MOST_CONTEXT, MOST_LATENCY, Phase};
use crate::error::{Failure, Result};
use crate::params::plain;

/// Names of the numbers; the last one needs a bandwidth.
const NAMES: [&str; 5] = ["cycles", "bytes", "products", "busy", "time_cycles"];

/// What is counted.
pub(super) struct Layers {
    model: Described,
    part: Part,
    job: Job,
    latency: u32,
    bandwidth: Option<f64>,
    settings: Settings,
}

/// A whole number of some range.
fn whole(name: &str, value: &Value, most: u64) -> Result<u64, String> {
    let found = value.as_u64().filter(|number| (1..=most).contains(number));
    found.ok_or_else(|| format!("`{name}` is {}, allowed: 1 to {most}", plain(value)))
}

/// One of some words.
fn word<T: Copy>(name: &str, value: &Value, all: &[T], of: impl Fn(T) -> &'static str) -> Result<T, String> {
    let found = all.iter().copied().find(|one| value.as_str() == Some(of(*one)));
    let names: Vec<&str> = all.iter().map(|one| of(*one)).collect();
    found.ok_or_else(|| format!("`{name}` is {}, allowed: {}", plain(value), names.join(", ")))
}

impl Layers {
    /// The work that some settings say; others have their usual values.
    ///
    /// # Errors
    /// A setting that there is not, or a value that is not allowed.
    pub fn of(entry: &dyn Entry, work: &Params) -> Result<Self, String> {
        let block = entry.about().name;
        let Some((_, choices)) = entry.counts() else {
            return Err(format!("{block} has no settings of work: nobody counts its costs of decoder layers"));
        };
        let (mut model, mut part, mut latency, mut bandwidth) = (None, Part::Layer, LATENCY, None);
        let mut job = Job { phase: Phase::Token, batch: 1, context: 1024 };
        let mut options = Vec::new();
        for (name, value) in work {
            match name.strip_prefix(PREFIX).unwrap_or(name) {
                "model" => {
                    let text =
                        value.as_str().ok_or_else(|| format!("`{name}` is {value}, wanted is a name or a path"))?;
                    model = Some(Described::find(text).map_err(|e| crate::commands::chain(&e))?);
                }
                "part" => part = word(name, value, &Part::ALL, Part::name)?,
                "phase" => job.phase = word(name, value, &Phase::ALL, Phase::name)?,
                "batch" => job.batch = whole(name, value, MOST_BATCH)?,
                "context" => job.context = whole(name, value, MOST_CONTEXT)?,
                "latency" => latency = whole(name, value, MOST_LATENCY)? as u32,
                "bandwidth" => {
                    let found = value.as_f64().filter(|bytes| *bytes > 0.0 && *bytes <= 1e9);
                    let wanted = || format!("`{name}` is {}, allowed: bytes a cycle above 0", plain(value));
                    bandwidth = Some(found.ok_or_else(wanted)?);
                }
                option if choices.iter().any(|choice| choice.name == option) => {
                    options.push(format!("{option}={}", plain(value)));
                }
                _ => {
                    let known = ["model", "part", "phase", "batch", "context", "latency", "bandwidth"];
                    let all: Vec<String> = known
                        .into_iter()
                        .chain(choices.iter().map(|choice| choice.name))
                        .map(|known| format!("{PREFIX}{known}"))
                        .collect();
                    let names: Vec<&str> = all.iter().map(String::as_str).collect();
                    let near = similar(name, &names);
                    let hint = near.first().map(|near| format!(" did you mean {near}?")).unwrap_or_default();
                    return Err(format!("{block} has no setting `{name}`;{hint} there are: {}", names.join(", ")));
                }
            }
        }
        let settings =
            Settings::parse(&choices, &options.join(",")).map_err(|e| format!("a setting of work: {e:#}"))?;
        let model = match model {
            Some(model) => model,
            None => Described::find(models::default_model::NAME).map_err(|e| format!("{e:#}"))?,
        };
        Ok(Self { model, part, job, latency, bandwidth, settings })
    }

    /// Everything that the cost depends on.
    pub fn told(&self) -> Value {
        json!({
            "model": format!("{:?}", Model::from(&self.model.config)), "part": self.part.name(), "job": self.job,
            "latency": self.latency, "bandwidth": self.bandwidth, "settings": self.settings.to_string(),
        })
    }

    /// Names of the numbers.
    pub fn names(&self) -> &'static [&'static str] {
        if self.bandwidth.is_some() { &NAMES } else { &NAMES[..4] }
    }

    /// The cost on a block.
    ///
    /// # Errors
    /// Parameters that the block refuses; work that it has no room for.
    pub fn count(&self, entry: &dyn Entry, params: &Params) -> Result<Map<String, Value>> {
        let costs = entry.costs(params, &self.settings, self.latency)?;
        let cost = self.part.cost(&*costs, &Model::from(&self.model.config), self.job.work());
        let cost = cost.map_err(|e| Failure::Check(format!("no room: {e:#}")))?;
        let mut numbers = crate::compare::metrics(&cost);
        let busy = cost.products as f64 / cost.cycles.max(1) as f64 / costs.peak();
        numbers.insert("busy".into(), json!(busy));
        if let Some(bandwidth) = self.bandwidth {
            numbers.insert("time_cycles".into(), json!(time(&cost, 1.0, bandwidth).0));
        }
        Ok(numbers)
    }
}
