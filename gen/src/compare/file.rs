//! The file of a comparison, or of machines alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use models::cycles::{Described, Part};
use models::decoder;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::energy::Table;
use super::job::{Job, Phase};
use super::machine::{Kind, Machine, block_of};
use super::steps::Step;
use super::{MOST_LATENCY, check_bandwidths, told};
use crate::catalogue::{Catalogue, Known, Params};
use crate::error::{Failure, Result};
use crate::params::{assign, from_toml, plain, read_toml};

/// A file that is understood.
#[derive(Debug, Default)]
pub struct File {
    /// The file, for messages.
    pub place: String,
    /// Heading.
    pub title: String,
    /// The question.
    pub about: String,
    /// Rows.
    pub machines: Vec<Machine>,
    /// Models.
    pub models: Vec<decoder::Described>,
    /// Work.
    pub jobs: Vec<Job>,
    /// Bytes a cycle.
    pub bandwidths: Vec<f64>,
    /// The part of a model.
    pub part: Option<Part>,
    /// Cycles until memory answers.
    pub latency: Option<u32>,
    /// A share of the time.
    pub margin: Option<f64>,
    /// Copies fill the area of the largest machine.
    pub equal_area: Option<bool>,
    /// Work that tables show.
    pub shown: Vec<Job>,
    /// Bandwidths of the curves.
    pub curve: Option<[f64; 2]>,
    /// Steps of a ladder.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    models: Vec<Spanned<String>>,
    #[serde(default)]
    bandwidths: Option<Spanned<Vec<f64>>>,
    #[serde(default)]
    part: Option<Spanned<String>>,
    #[serde(default)]
    latency: Option<Spanned<u32>>,
    #[serde(default)]
    margin: Option<Spanned<f64>>,
    #[serde(default)]
    equal_area: Option<bool>,
    #[serde(default)]
    curve: Option<Spanned<[f64; 2]>>,
    #[serde(default)]
    energy: Option<Spanned<String>>,
    #[serde(default)]
    work: Vec<Spanned<RawWork>>,
    #[serde(default)]
    show: Vec<Spanned<Job>>,
    #[serde(default)]
    machine: Vec<Spanned<RawMachine>>,
    #[serde(default)]
    step: Vec<Spanned<Step>>,
}

/// Work: all combinations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWork {
    phases: Vec<Phase>,
    batches: Vec<u64>,
    contexts: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMachine {
    name: String,
    block: Option<Spanned<String>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    options: BTreeMap<Spanned<String>, toml::Value>,
    numbers: Option<Spanned<Described>>,
    area: Option<f64>,
    memory: Option<f64>,
    energy: Option<Spanned<String>>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    notes: BTreeMap<String, String>,
}

/// A text, and how errors in it are told.
pub(crate) struct Place<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Place<'_> {
    pub fn at(&self, start: usize, what: impl std::fmt::Display) -> Failure {
        let line = 1 + self.text[..start].matches('\n').count();
        Failure::Usage(format!("{}:{line}: {what}", self.path.display()))
    }
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// The error, with its line and what is wanted.
    pub fn read(path: &Path, catalogue: &Catalogue) -> Result<Self> {
        let (text, raw) = read_toml::<Raw>(path)?;
        let place = Place { path, text: &text };
        let mut models: Vec<decoder::Described> = Vec::new();
        for name in &raw.models {
            let start = name.span().start;
            let model = model(name.get_ref(), path).map_err(|e| place.at(start, e))?;
            if models.iter().any(|other| other.name == model.name) {
                return Err(place.at(start, format!("the model {} is there twice", model.name)));
            }
            models.push(model);
        }
        if let Some(all) = &raw.bandwidths {
            let empty = || place.at(all.span().start, "`bandwidths` is empty, wanted are bytes a cycle");
            all.get_ref().first().ok_or_else(empty)?;
            check_bandwidths(all.get_ref()).map_err(|e| place.at(all.span().start, e))?;
        }
        let part = raw.part.map(|part| {
            let names = Part::ALL.map(Part::name).join(" or ");
            let found = Part::ALL.into_iter().find(|known| known.name() == part.get_ref());
            found.ok_or_else(|| {
                place.at(part.span().start, format!("`part` is `{}`, wanted is {names}", part.get_ref()))
            })
        });
        if let Some(latency) = &raw.latency
            && !(1..=MOST_LATENCY).contains(&u64::from(*latency.get_ref()))
        {
            let told = format!("`latency` is {}, allowed: 1 to {MOST_LATENCY}", latency.get_ref());
            return Err(place.at(latency.span().start, told));
        }
        if let Some(margin) = &raw.margin
            && !(0.0..1.0).contains(margin.get_ref())
        {
            let told = format!("`margin` is {}, allowed: a share from 0 to 1", margin.get_ref());
            return Err(place.at(margin.span().start, told));
        }
        if let Some(curve) = &raw.curve {
            let [least, most] = *curve.get_ref();
            let ends = check_bandwidths(&[least, most]).and_then(|()| {
                if least < most { Ok(()) } else { Err(format!("`curve` goes from {least} to {most}, which is empty")) }
            });
            ends.map_err(|e| place.at(curve.span().start, e))?;
        }
        let mut jobs: Vec<Job> = Vec::new();
        for work in &raw.work {
            let RawWork { phases, batches, contexts } = work.get_ref();
            for job in Job::all(phases, batches, contexts).map_err(|e| place.at(work.span().start, e))? {
                if jobs.contains(&job) {
                    return Err(place.at(work.span().start, format!("{} is there twice", job.words())));
                }
                jobs.push(job);
            }
        }
        for job in &raw.show {
            if !jobs.contains(job.get_ref()) {
                let told = format!("{} is no work of this file, so it cannot be shown", words(*job.get_ref()));
                return Err(place.at(job.span().start, told));
            }
        }
        let energy = energy_of(raw.energy.as_ref(), &place)?;
        let of = |machine: &Spanned<RawMachine>| -> Result<Machine> {
            let machine = machine_of(machine, &place, catalogue)?;
            Ok(Machine { energy: machine.energy.or_else(|| energy.clone()), ..machine })
        };
        let machines = raw.machine.iter().map(of).collect::<Result<Vec<_>>>()?;
        let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        let batches: Vec<u64> = jobs.iter().map(|job| job.batch).collect();
        raw.step.iter().try_for_each(|step| Step::check(step, &place, (&machines, &names, &batches)))?;
        Ok(Self {
            place: path.display().to_string(),
            title: raw.title,
            about: raw.about,
            machines,
            models,
            jobs,
            bandwidths: raw.bandwidths.map(Spanned::into_inner).unwrap_or_default(),
            part: part.transpose()?,
            latency: raw.latency.map(Spanned::into_inner),
            margin: raw.margin.map(Spanned::into_inner),
            equal_area: raw.equal_area,
            shown: raw.show.into_iter().map(Spanned::into_inner).collect(),
            curve: raw.curve.map(Spanned::into_inner),
            steps: raw.step.into_iter().map(Spanned::into_inner).collect(),
        })
    }

    /// Whether it says more than machines.
    #[must_use]
    pub fn has_axes(&self) -> bool {
        let machines = Self { place: self.place.clone(), ..Self::default() };
        let (models, jobs) = (self.models.len() + self.shown.len(), self.jobs.len() + self.bandwidths.len());
        let rest = (&self.title, &self.about, self.part, self.latency, self.margin, self.equal_area, self.curve);
        let none = (&machines.title, &machines.about, None, None, None, None, None);
        models + jobs > 0 || rest != none
    }
}

/// A table of energies, whose path is relative to the file.
fn energy_of(given: Option<&Spanned<String>>, place: &Place<'_>) -> Result<Option<Arc<Table>>> {
    let Some(given) = given else { return Ok(None) };
    let path = place.path.parent().unwrap_or(Path::new("")).join(given.get_ref());
    Table::read(&path).map(|table| Some(Arc::new(table))).map_err(|e| place.at(given.span().start, e))
}

/// A context of 0 has no words.
fn words(job: Job) -> String {
    job.check().map_or_else(|e| e, |()| job.words())
}

/// A model by its name, or by a path relative to the file.
fn model(name: &str, file: &Path) -> Result<decoder::Described, String> {
    if let Some(found) = decoder::Described::shipped(name).map_err(|e| told(&e))? {
        return Ok(found);
    }
    let beside = file.parent().unwrap_or(Path::new("")).join(name);
    let path = if beside.exists() { beside } else { name.into() };
    decoder::Described::find(&path.to_string_lossy()).map_err(|e| told(&e))
}

fn machine_of(machine: &Spanned<RawMachine>, place: &Place<'_>, catalogue: &Catalogue) -> Result<Machine> {
    let (start, raw) = (machine.span().start, machine.get_ref());
    let bad = |what: String| place.at(start, format!("machine `{}`: {what}", raw.name));
    if raw.name.trim().is_empty() {
        return Err(place.at(start, "a machine without a name: give it a `name`"));
    }
    for (key, found) in [("area", raw.area), ("memory", raw.memory)] {
        let least = if key == "area" { f64::MIN_POSITIVE } else { 0.0 };
        if let Some(found) = found.filter(|found| !(*found >= least && *found <= 1e9)) {
            let unit = if key == "area" { "mm² above 0" } else { "Mbit from 0" };
            return Err(bad(format!("`{key}` is {found}, allowed: {unit} on, up to 1e9")));
        }
        if found.is_some() && raw.source.trim().is_empty() {
            return Err(bad(format!("`{key}` without a `source`: say where it comes from")));
        }
    }
    let kind = match (&raw.block, &raw.numbers) {
        (Some(_), Some(_)) => return Err(bad("both `block` and `numbers`, wanted is one of them".into())),
        (None, None) => {
            let told = "neither `block` nor `numbers`, wanted is a block of the catalogue or [machine.numbers]";
            return Err(bad(told.into()));
        }
        (None, Some(numbers)) => {
            if let Some(name) = raw.set.keys().chain(raw.options.keys()).next() {
                let told = format!("`{}` is of a block, and this machine has `numbers`", name.get_ref());
                return Err(place.at(name.span().start, told));
            }
            let checked = numbers.get_ref().check();
            checked.map_err(|e| place.at(numbers.span().start, format!("machine `{}`: {e}", raw.name)))?;
            Kind::Numbers(numbers.get_ref().clone())
        }
        (Some(block), None) => {
            let entry = block_of(block.get_ref(), catalogue).map_err(|e| place.at(block.span().start, e))?;
            let options = options(&raw.options, place)?;
            let over = |defaults| set(&entry, &raw.set, defaults, place);
            Kind::of_block(&entry, &over, &options).map_err(|e| match e {
                // Some have their place already.
                Failure::Usage(told) if told.starts_with(&place.path.display().to_string()) => Failure::Usage(told),
                other => bad(other.to_string()),
            })?
        }
    };
    Ok(Machine {
        name: raw.name.clone(),
        kind,
        area: raw.area,
        memory: raw.memory,
        source: raw.source.clone(),
        energy: energy_of(raw.energy.as_ref(), place)?,
        notes: raw.notes.iter().map(|(name, text)| (name.clone(), text.clone())).collect(),
    })
}

/// Parameters over others.
fn set(
    entry: &Known,
    given: &BTreeMap<Spanned<String>, toml::Value>,
    mut params: Params,
    place: &Place<'_>,
) -> Result<Params> {
    for (name, value) in given {
        let start = name.span().start;
        let value = from_toml(value).map_err(|e| place.at(start, format!("parameter `{}`: {e}", name.get_ref())))?;
        // A table holds the parameters of a nested struct.
        for (name, value) in hdl::lang::flatten(&serde_json::json!({ name.get_ref(): value })) {
            assign(&**entry, &name, value, &mut params).map_err(|e| place.at(start, e))?;
        }
    }
    Ok(params)
}

/// Choices as a command line has them.
fn options(given: &BTreeMap<Spanned<String>, toml::Value>, place: &Place<'_>) -> Result<String> {
    let mut all = Vec::new();
    for (name, value) in given {
        let plain = match from_toml(value) {
            Ok(value @ (Value::Number(_) | Value::String(_) | Value::Bool(_))) => plain(&value),
            _ => {
                let told = format!("option `{}` is {value}, wanted is a number or a word", name.get_ref());
                return Err(place.at(name.span().start, told));
            }
        };
        all.push(format!("{}={plain}", name.get_ref()));
    }
    Ok(all.join(","))
}
