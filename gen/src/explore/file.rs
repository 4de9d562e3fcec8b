//! The file of a search.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use models::schemes::{Chosen, Registry, Written};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::axes::{Named, Target, Variable};
use super::text::{RawText, Text};
use crate::catalogue::{Catalogue, Known, Params, similar};
use crate::compare::Place;
use crate::error::{Failure, Result};
use crate::flows::liberty;
use crate::params::{from_toml, plain, read_toml};
use crate::point::{self, Options, Point, Stage, is_work};
use crate::sweep::Expression;

/// Settings of a generation, and generations, at most.
const MOST_POPULATION: u64 = 1000;
const MOST_GENERATIONS: u64 = 10_000;

/// A search that is understood: names and types fit.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The file.
    pub path: PathBuf,
    /// Heading.
    pub title: String,
    /// The question.
    pub about: String,
    /// What is small in a good setting.
    pub objectives: Vec<Objective>,
    /// Schemes of a language model.
    pub scheme: Option<Written>,
    /// What the schemes read.
    pub text: Text,
    /// The block, if one is searched.
    pub block: Option<Known>,
    /// Stages of the block.
    pub stages: Vec<Stage>,
    /// Options of the stages.
    pub options: Options,
    /// Values that stay.
    pub fixed: Vec<(String, Target, Value)>,
    /// What the search changes.
    pub variables: Vec<Variable>,
    /// Values that follow from others.
    pub derived: Vec<(String, Target, Expression)>,
    /// What must hold.
    pub conditions: Vec<Expression>,
    /// The effort.
    pub search: Search,
    /// The second stage.
    pub narrow: Option<Narrow>,
}

/// An objective: less is better.
#[derive(Clone, Debug)]
pub struct Objective {
    /// As the file has it.
    pub name: String,
    /// Over numbers of the stages, figures of the schemes, and values of the setting.
    pub expression: Expression,
    /// Its place in the file, for messages.
    pub place: String,
}

/// The effort of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Settings of a generation.
    pub population: u64,
    /// Generations after the first one.
    pub generations: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { population: 16, generations: 12, seed: 1 }
    }
}

impl Search {
    /// Refuses an effort out of range.
    ///
    /// # Errors
    /// Names the key, and what is allowed.
    pub fn check(self) -> Result<(), String> {
        let all = [
            ("population", self.population, 2, MOST_POPULATION),
            ("generations", self.generations, 0, MOST_GENERATIONS),
        ];
        for (key, found, least, most) in all {
            if !(least..=most).contains(&found) {
                return Err(format!("`{key}` is {found}, allowed: {least} to {most}"));
            }
        }
        Ok(())
    }
}

/// A second stage: values of variables become smaller, from the largest ones on.
#[derive(Clone, Debug)]
pub struct Narrow {
    /// What becomes smaller.
    pub variables: Vec<Variable>,
    /// Values that are others in this stage.
    pub fixed: Vec<(String, Target, Value)>,
    /// The objective that stays within its limit, by number.
    pub keep: usize,
    /// The limit is so much above the setting of first values; the second stage may add as much once more.
    pub share: f64,
    /// Of the settings within the limit, the one that is least in this objective is the start.
    pub least: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    title: String,
    #[serde(default)]
    about: String,
    objectives: Vec<Spanned<String>>,
    scheme: Option<Spanned<String>>,
    block: Option<Spanned<String>>,
    #[serde(default)]
    text: RawText,
    stages: Option<Spanned<Vec<Stage>>>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    fixed: BTreeMap<Spanned<String>, toml::Value>,
    axes: Spanned<BTreeMap<Spanned<String>, toml::Value>>,
    #[serde(default)]
    derived: BTreeMap<Spanned<String>, String>,
    #[serde(default, rename = "where")]
    conditions: Vec<Spanned<String>>,
    search: Option<Spanned<Search>>,
    narrow: Option<Spanned<RawNarrow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNarrow {
    axes: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    fixed: BTreeMap<Spanned<String>, toml::Value>,
    keep: String,
    share: f64,
    least: String,
}

fn in_order<V>(table: &BTreeMap<Spanned<String>, V>) -> Vec<(&Spanned<String>, &V)> {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_by_key(|(name, _)| name.span().start);
    all
}

/// A file that is being read.
struct Reading<'a> {
    place: Place<'a>,
    named: Named<'a>,
}

impl Reading<'_> {
    fn variables(&self, table: &BTreeMap<Spanned<String>, toml::Value>) -> Result<Vec<Variable>> {
        let one = |(name, value): (&Spanned<String>, &toml::Value)| {
            let value = self.named.variable(name.get_ref(), value);
            value.map_err(|e| self.place.at(name.span().start, e))
        };
        in_order(table).into_iter().map(one).collect()
    }

    fn fixed(&self, table: &BTreeMap<Spanned<String>, toml::Value>) -> Result<Vec<(String, Target, Value)>> {
        let one = |(name, value): (&Spanned<String>, &toml::Value)| {
            let (start, name) = (name.span().start, name.get_ref().clone());
            let at = |e: String| self.place.at(start, e);
            let value = from_toml(value).map_err(|e| at(format!("`{name}`: {e}")))?;
            let value = point::beside(&name, value, self.place.path);
            let target = self.named.target(&name).map_err(at)?;
            self.named.check(&name, &target, &value).map_err(at)?;
            Ok((name, target, value))
        };
        in_order(table).into_iter().map(one).collect()
    }

    fn narrow(&self, raw: &Spanned<RawNarrow>, names: &[String]) -> Result<Narrow> {
        let (start, raw) = (raw.span().start, raw.get_ref());
        let number = |key: &str, name: &String| {
            let told = || format!("`{key}` is `{name}`, wanted is an objective: {}", names.join(", "));
            names.iter().position(|other| other == name).ok_or_else(|| self.place.at(start, told()))
        };
        if !(raw.share >= 0.0 && raw.share.is_finite()) {
            let told = format!("`share` is {}, allowed: 0 or more, for example 0.05", raw.share);
            return Err(self.place.at(start, told));
        }
        if raw.axes.is_empty() {
            return Err(self.place.at(start, "[narrow.axes] is empty: nothing becomes smaller"));
        }
        Ok(Narrow {
            variables: self.variables(&raw.axes)?,
            fixed: self.fixed(&raw.fixed)?,
            keep: number("keep", &raw.keep)?,
            share: raw.share,
            least: number("least", &raw.least)?,
        })
    }
}

impl Spec {
    /// Reads a file.
    ///
    /// # Errors
    /// The error, with its line and what is wanted.
    pub fn read(path: &Path, catalogue: &Catalogue) -> Result<Self> {
        let (text, raw) = read_toml::<Raw>(path)?;
        let place = Place { path, text: &text };
        let registry = catalogue.schemes();
        let scheme = raw.scheme.as_ref().map(|scheme| {
            written(registry, scheme.get_ref()).map_err(|e| place.at(scheme.span().start, format!("{e:#}")))
        });
        let scheme = scheme.transpose()?;
        let block = raw
            .block
            .as_ref()
            .map(|block| catalogue.find(block.get_ref()).cloned().map_err(|e| place.at(block.span().start, e)));
        let block = block.transpose()?;
        if scheme.is_none() && block.is_none() {
            return Err(place.at(0, "neither `scheme` nor `block`: nothing to search"));
        }
        let named = Named { registry, scheme: scheme.as_ref(), block: block.as_ref() };
        let reading = Reading { place, named };
        let place = &reading.place;
        let fixed = reading.fixed(&raw.fixed)?;
        let variables = reading.variables(raw.axes.get_ref())?;
        if variables.is_empty() {
            return Err(place.at(raw.axes.span().start, "[axes] is empty: nothing to search"));
        }
        let parse = |text: &str, start: usize| Expression::parse(text).map_err(|e| place.at(start, e));
        let mut derived = Vec::new();
        for (name, text) in in_order(&raw.derived) {
            let start = name.span().start;
            let target = reading.named.target(name.get_ref()).map_err(|e| place.at(start, e))?;
            derived.push((name.get_ref().clone(), target, parse(text, start)?));
        }
        let conditions = raw.conditions.iter().map(|text| parse(text.get_ref(), text.span().start));
        let conditions = conditions.collect::<Result<_>>()?;
        let names = raw.fixed.keys().chain(raw.axes.get_ref().keys()).chain(raw.derived.keys());
        let mut names: Vec<&Spanned<String>> = names.collect();
        names.sort_by_key(|name| name.span().start);
        for (number, name) in names.iter().enumerate() {
            if names[..number].iter().any(|other| other.get_ref() == name.get_ref()) {
                let told = format!("`{}` is in two of [fixed], [axes] and [derived]; one is enough", name.get_ref());
                return Err(place.at(name.span().start, told));
            }
        }
        let stages = stages(raw.stages.as_ref(), block.as_ref(), place)?;
        if let Some(name) = names.iter().find(|name| is_work(name.get_ref()) && !stages.contains(&Stage::Cycles)) {
            let told = format!("`{}` is of the work of the stage `cycles`, which is not in `stages`", name.get_ref());
            return Err(place.at(name.span().start, told));
        }
        let mut options = if block.is_some() {
            raw.options.checked(&stages).map_err(|e| place.at(0, format!("[options]: {e}")))?
        } else {
            raw.options
        };
        liberty::beside(path, &mut options.liberty);
        let mut objectives = Vec::new();
        for text in &raw.objectives {
            let name = text.get_ref().clone();
            let expression = parse(&name, text.span().start)?;
            let line = place.at(text.span().start, format!("objective `{name}`")).to_string();
            objectives.push(Objective { name, expression, place: line });
        }
        let names: Vec<String> = objectives.iter().map(|objective| objective.name.clone()).collect();
        if names.is_empty() {
            return Err(place.at(0, "`objectives` is empty, wanted are numbers, for example \"perplexity\""));
        }
        if let Some(twice) = (1..names.len()).find(|&number| names[..number].contains(&names[number])) {
            let told = format!("the objective `{}` is there twice", names[twice]);
            return Err(place.at(raw.objectives[twice].span().start, told));
        }
        let search = raw.search.as_ref().map(|search| {
            let checked = search.get_ref().check();
            checked.map(|()| *search.get_ref()).map_err(|e| place.at(search.span().start, e))
        });
        let narrow = raw.narrow.as_ref().map(|narrow| reading.narrow(narrow, &names)).transpose()?;
        let spec = Self {
            path: path.to_owned(),
            title: if raw.title.is_empty() {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            } else {
                raw.title
            },
            about: raw.about,
            objectives,
            text: raw.text.beside(path),
            stages,
            options,
            fixed,
            variables,
            derived,
            conditions,
            search: search.transpose()?.unwrap_or_default(),
            narrow,
            scheme: scheme.clone(),
            block: block.clone(),
        };
        spec.check_objectives()?;
        Ok(spec)
    }

    /// Refuses objectives that no stage has, as far as it is known before anything runs. Figures of schemes are known
    /// after the first text.
    fn check_objectives(&self) -> Result<()> {
        let mut known: Vec<String> = self.numbers()?;
        known.extend(self.variables.iter().map(|variable| variable.axis.name.clone()));
        known.extend(self.fixed.iter().map(|(name, ..)| name.clone()));
        known.extend(self.derived.iter().map(|(name, ..)| name.clone()));
        if let Some(block) = &self.block {
            known.extend(block.defaults().keys().cloned());
        }
        for objective in &self.objectives {
            let names = objective.expression.names();
            let whole = |known: &String, name: &str| known == name || known.starts_with(&format!("{name}."));
            let missing = names.iter().find(|name| !known.iter().any(|known| whole(known, name)));
            let Some(missing) = missing.filter(|_| self.scheme.is_none()) else { continue };
            let near: Vec<&str> = similar(missing, &known.iter().map(String::as_str).collect::<Vec<_>>());
            let hint = match (missing.as_str(), near.first()) {
                ("perplexity", _) => "it needs a `scheme`".to_owned(),
                (name, _) if name.starts_with("energy") => "it needs `work.energy`, a file of energies".to_owned(),
                ("time_cycles", _) => "it needs `work.bandwidth`, bytes a cycle".to_owned(),
                (_, Some(near)) => format!("did you mean {near}?"),
                (_, None) => format!("there are: {}", self.numbers()?.join(", ")),
            };
            return Err(Failure::Usage(format!("{}: nothing has the number `{missing}`; {hint}", objective.place)));
        }
        Ok(())
    }

    /// Numbers that the stages leave at the block's first setting.
    fn numbers(&self) -> Result<Vec<String>> {
        let Some(block) = &self.block else { return Ok(Vec::new()) };
        let mut params = block.defaults();
        // Its defaults are legal, whatever the search is; settings of work say which numbers there are.
        let fixed = self.fixed.iter().map(|(name, _, value)| (name, Some(value)));
        let first = self.variables.iter().map(|variable| (&variable.axis.name, variable.axis.values.first()));
        for (name, value) in fixed.chain(first).filter(|(name, _)| is_work(name)) {
            params.insert(name.clone(), value.cloned().unwrap_or_default());
        }
        Ok(Point::new(block, params).map(|point| point.numbers(&self.stages, &self.options)).unwrap_or_default())
    }

    /// All that stands in a text of schemes, with these values.
    ///
    /// # Errors
    /// A scheme that is not in it.
    pub(super) fn written(&self, values: &[(&str, &Target, Vec<&Value>)]) -> anyhow::Result<Option<String>> {
        let Some(mut written) = self.scheme.clone() else { return Ok(None) };
        for (_, target, values) in values {
            if let Target::Scheme(scheme, option) = target {
                let all: Vec<String> = values.iter().map(|value| plain(value)).collect();
                written.set_layers(scheme, option, &all)?;
            }
        }
        Ok(Some(written.to_string()))
    }
}

/// Schemes with the options that a file gives.
fn written(registry: &Registry, text: &str) -> anyhow::Result<Written> {
    Chosen::parse(registry, text)?;
    Written::parse(text)
}

fn stages(given: Option<&Spanned<Vec<Stage>>>, block: Option<&Known>, place: &Place<'_>) -> Result<Vec<Stage>> {
    match (given, block) {
        (None, None) => Ok(Vec::new()),
        (None, Some(_)) => Ok(vec![Stage::Cycles]),
        (Some(given), None) => Err(place.at(given.span().start, "`stages` are of a `block`, and there is none")),
        (Some(given), Some(_)) => point::in_order(given.get_ref()).map_err(|e| place.at(given.span().start, e)),
    }
}

/// All values of a block's parameters and work by name.
pub(super) fn of_block(values: &[(&str, &Target, Vec<&Value>)], params: &mut Params) {
    for (name, target, values) in values {
        if let (Target::Block, Some(value)) = (target, values.first()) {
            params.insert((*name).to_owned(), (*value).clone());
        }
    }
}
