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
use crate::compare::{EnergyPart, EnergyTable, Job, LATENCY, MOST_BATCH, MOST_CONTEXT, MOST_LATENCY, Phase, Price};
use crate::error::{Failure, Result};
use crate::params::plain;

/// Names of the numbers that every work has, that a bandwidth brings, and that energies bring: the sum, then by part.
const NAMES: [&str; 4] = ["cycles", "bytes", "products", "busy"];
const TIME: &str = "time_cycles";
const ENERGY: &str = "energy_pj";

/// Settings of any block, after the prefix.
const SETTINGS: [&str; 10] =
    ["model", "part", "phase", "batch", "context", "latency", "bandwidth", "energy", "area", "memory"];

/// Whether a setting is a file.
pub(super) fn is_path(name: &str) -> bool {
    name.strip_prefix(PREFIX) == Some("energy")
}

/// What is counted.
pub(super) struct Layers {
    model: Described,
    part: Part,
    job: Job,
    latency: u32,
    bandwidth: Option<f64>,
    energy: Option<EnergyTable>,
    /// Square millimetres of logic and Mbit of memory, for powers that grow with them.
    sizes: [Option<f64>; 2],
    settings: Settings,
}

/// A number from 0 on.
fn size(name: &str, value: &Value, unit: &str) -> Result<f64, String> {
    let found = value.as_f64().filter(|size| (0.0..=1e9).contains(size));
    found.ok_or_else(|| format!("`{name}` is {}, allowed: {unit} from 0 on, up to 1e9", plain(value)))
}

/// The name of the energy of a part.
fn of_part(part: EnergyPart) -> String {
    format!("energy_{}_pj", part.name())
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
        let (mut options, mut energy, mut sizes) = (Vec::new(), None, [None; 2]);
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
                "energy" => {
                    let path = value.as_str().ok_or_else(|| format!("`{name}` is {value}, wanted is a path"))?;
                    energy = Some(EnergyTable::read(path.as_ref()).map_err(|e| format!("`{name}`: {e}"))?);
                }
                "area" => sizes[0] = Some(size(name, value, "mm² of logic")?),
                "memory" => sizes[1] = Some(size(name, value, "Mbit")?),
                option if choices.iter().any(|choice| choice.name == option) => {
                    options.push(format!("{option}={}", plain(value)));
                }
                _ => {
                    let all: Vec<String> = SETTINGS
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
        Ok(Self { model, part, job, latency, bandwidth, energy, sizes, settings })
    }

    /// Everything that the cost depends on.
    pub fn told(&self) -> Value {
        json!({
            "model": format!("{:?}", Model::from(&self.model.config)), "part": self.part.name(), "job": self.job,
            "latency": self.latency, "bandwidth": self.bandwidth, "settings": self.settings.to_string(),
            "energy": self.energy.as_ref().map(|table| format!("{table:?}")), "sizes": self.sizes,
        })
    }

    /// Names of the numbers.
    pub fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = NAMES.map(str::to_owned).to_vec();
        all.extend(self.bandwidth.map(|_| TIME.to_owned()));
        if self.energy.is_some() {
            all.extend([ENERGY.to_owned()].into_iter().chain(EnergyPart::ALL.map(of_part)));
        }
        all
    }

    /// The cost on a block.
    ///
    /// # Errors
    /// Parameters that the block refuses; work that it has no room for.
    pub fn count(&self, entry: &dyn Entry, params: &Params) -> Result<Map<String, Value>> {
        let costs = entry.costs(params, &self.settings, self.latency)?;
        let (model, work) = (Model::from(&self.model.config), self.job.work());
        let cost = self.part.cost(&*costs, &model, work);
        let cost = cost.map_err(|e| Failure::Check(format!("no room: {e:#}")))?;
        let mut numbers = crate::compare::metrics(&cost);
        let busy = cost.products as f64 / cost.cycles.max(1) as f64 / costs.peak();
        numbers.insert("busy".into(), json!(busy));
        let time = self.bandwidth.map(|bandwidth| time(&cost, 1.0, bandwidth).0);
        if let Some(time) = time {
            numbers.insert(TIME.into(), json!(time));
        }
        if let Some(table) = &self.energy {
            let steady = self.part.steady(&*costs, &model, work);
            let price = Price::new(table, (entry.about().name, self.sizes), &cost, &steady)?;
            let energy = price.energy(time.unwrap_or(cost.cycles as f64), 1.0);
            numbers.insert(ENERGY.into(), json!(energy.total()));
            numbers.extend(EnergyPart::ALL.map(|part| (of_part(part), json!(energy.of(part)))));
        }
        Ok(numbers)
    }
}
