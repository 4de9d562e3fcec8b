//! The worth of a setting: figures of schemes on a text, and numbers of a block's stages.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Instant;

use models::evaluation::{Task, evaluate};
use models::schemes::{Bench, Chosen, Registry};
use serde_json::{Map, Value, json};

use super::axes::{Target, Variable};
use super::file::{Spec, of_block};
use super::space::{Setting, Space};
use super::text::Language;
use crate::catalogue::Params;
use crate::commands::{failed, refused};
use crate::error::{Failure, Result};
use crate::parallel::while_true;
use crate::point::{self, Figures, Point, Status, Store, computed, split};

/// The worth of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// A number for each objective; all infinite where the setting is not possible.
    pub objectives: Vec<f64>,
    /// Why it is not possible.
    pub refused: Option<String>,
}

/// A name with whose it is, and its value or the values of layers.
type Named<'a> = (&'a str, &'a Target, Vec<&'a Value>);
/// The same of a value that follows from others.
type Derived<'a> = (&'a str, &'a Target, Value);
/// All parameters of a block and the numbers of its stages, or why there are none.
type Numbers = std::result::Result<(Params, Map<String, Value>), String>;

/// What is searched, with everything that worths depend on.
pub struct Subject<'a> {
    /// The file.
    pub spec: &'a Spec,
    /// Integers of the search.
    pub space: Space,
    /// Integers that become smaller in the second stage.
    pub narrow: Space,
    registry: &'a Registry,
    bench: Option<(&'a Language, Bench<'a>)>,
    store: &'a Store,
}

impl<'a> Subject<'a> {
    /// A subject; a file with schemes comes with their language model.
    #[must_use]
    pub fn new(spec: &'a Spec, registry: &'a Registry, language: Option<&'a Language>, store: &'a Store) -> Self {
        let layers = language.map_or(0, |language| language.model.config().layers);
        let narrow: &[Variable] = spec.narrow.as_ref().map_or(&[], |narrow| &narrow.variables);
        let bench = language.map(|language| (language, Bench::new(&language.model, Some(&language.learning))));
        let (space, narrow) = (Space::new(&spec.variables, layers), Space::new(narrow, layers));
        Self { spec, space, narrow, registry, bench, store }
    }

    /// All schemes.
    #[must_use]
    pub fn registry(&self) -> &'a Registry {
        self.registry
    }

    /// All values of a setting, besides the derived ones.
    fn values<'s>(&'s self, setting: &'s Setting) -> Vec<Named<'s>> {
        let fixed = |all: &'s [(String, Target, Value)]| {
            all.iter().map(|(name, target, value)| (name.as_str(), target, vec![value])).collect::<Vec<Named<'s>>>()
        };
        let of = |space: &'s Space, genes: &'s Vec<u32>| {
            let one = |(number, variable): (usize, &'s Variable)| {
                (variable.axis.name.as_str(), &variable.target, space.values(genes, number))
            };
            space.variables.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let mut all = fixed(&self.spec.fixed);
        all.extend(of(&self.space, &setting.genes));
        if let (Some(narrow), Some(genes)) = (&self.spec.narrow, &setting.narrow) {
            let later: Vec<Named<'s>> = fixed(&narrow.fixed).into_iter().chain(of(&self.narrow, genes)).collect();
            all.retain(|(name, ..)| later.iter().all(|(other, ..)| other != name));
            all.extend(later);
        }
        all
    }

    /// All values of a setting.
    fn with_derived<'s>(&'s self, setting: &'s Setting, derived: &'s [Derived<'s>]) -> Vec<Named<'s>> {
        let derived = derived.iter().map(|(name, target, value)| (*name, *target, vec![value]));
        self.values(setting).into_iter().chain(derived).collect()
    }

    /// The schemes of a setting, as a user writes them.
    ///
    /// # Errors
    /// Values that do not fit.
    pub fn scheme(&self, setting: &Setting) -> Result<Option<String>> {
        let derived = self.derived(setting)?.unwrap_or_default();
        let values = self.with_derived(setting, &derived);
        self.spec.written(&values).map_err(refused)
    }

    /// Everything by name, for expressions.
    fn told(values: &[Named<'_>]) -> Params {
        let value = |all: &[&Value]| match all {
            [one] => (*one).clone(),
            all => all.iter().map(|&value| value.clone()).collect(),
        };
        values.iter().map(|(name, _, all)| ((*name).to_owned(), value(all))).collect()
    }

    /// Values that follow from others; none: a condition does not hold.
    fn derived<'s>(&'s self, setting: &'s Setting) -> Result<Option<Vec<Derived<'s>>>> {
        let mut known = self.spec.block.as_ref().map(|block| block.defaults()).unwrap_or_default();
        known.extend(Self::told(&self.values(setting)));
        let bad = |what: String| Failure::Usage(format!("{}: {what}", self.spec.path.display()));
        let mut all = Vec::new();
        for (name, target, expression) in &self.spec.derived {
            let value = expression.compute(&known).map_err(|e| bad(format!("`{name}`: {e}")))?;
            known.insert(name.clone(), value.clone());
            all.push((name.as_str(), target, value));
        }
        for condition in &self.spec.conditions {
            if !condition.holds(&known).map_err(|e| bad(format!("`where`: {e}")))? {
                return Ok(None);
            }
        }
        Ok(Some(all))
    }

    /// The worth of a setting, from the store or computed and filed at once.
    ///
    /// # Errors
    /// A model that cannot be read, an objective without a value, a missing tool; a store that cannot be used.
    pub fn worth(&self, setting: &Setting) -> Result<Worth> {
        let impossible =
            |why: String| Ok(Worth { objectives: vec![f64::INFINITY; self.spec.objectives.len()], refused: Some(why) });
        let Some(derived) = self.derived(setting)? else {
            return impossible("a condition of `where` does not hold".to_owned());
        };
        let values = self.with_derived(setting, &derived);
        let mut known = Self::told(&values);
        match self.of_block(&values)? {
            Ok((params, numbers)) => {
                for (name, value) in params {
                    known.entry(name).or_insert(value);
                }
                known.extend(numbers);
            }
            Err(why) => return impossible(why),
        }
        let scheme = self.spec.written(&values).map_err(refused)?;
        let figures = scheme.map(|scheme| self.of_schemes(&scheme)).transpose()?.unwrap_or_default();
        let names: Vec<String> = figures.keys().cloned().collect();
        let is_broken = figures.values().any(Value::is_string);
        known.extend(figures);
        let number = |objective: &super::Objective| {
            let value = objective.expression.compute(&known);
            let value =
                value.and_then(|value| value.as_f64().ok_or_else(|| format!("it is {value}, wanted is a number")));
            // JSON has no infinity: a figure of a model that is broken is a text, with which nothing can be computed.
            value.or_else(|e| if is_broken { Ok(f64::INFINITY) } else { Err(e) }).map_err(|e| {
                let hint =
                    if names.is_empty() { String::new() } else { format!("; figures are: {}", names.join(", ")) };
                Failure::Usage(format!("{}: {e}{hint}", objective.place))
            })
        };
        let objectives = self.spec.objectives.iter().map(number).collect::<Result<_>>()?;
        Ok(Worth { objectives, refused: None })
    }

    /// Whether nothing of a setting is left to compute.
    ///
    /// # Errors
    /// Values that do not fit, a missing tool, a store that cannot be read.
    pub fn is_known(&self, setting: &Setting) -> Result<bool> {
        let Some(derived) = self.derived(setting)? else { return Ok(true) };
        let values = self.with_derived(setting, &derived);
        match self.point(&values)? {
            Some((_, Err(_))) => return Ok(true),
            Some((_, Ok(point))) => {
                for &stage in &self.spec.stages {
                    if self.store.get(&point.key(stage, &self.spec.options)?)?.is_none() {
                        return Ok(false);
                    }
                }
            }
            None => {}
        }
        let written = self.spec.written(&values).map_err(refused)?;
        match written.map(|written| self.chosen(&written)).transpose()?.flatten() {
            Some((_, key)) => Ok(self.store.figures(&key)?.is_some()),
            None => Ok(true),
        }
    }

    /// The block with all its parameters, or why it refuses them.
    fn point(&self, values: &[Named<'_>]) -> Result<Option<(Params, std::result::Result<Point, String>)>> {
        let Some(block) = &self.spec.block else { return Ok(None) };
        let mut params = block.defaults();
        of_block(values, &mut params);
        let point = match block.check(&split(params.clone()).0).first() {
            Some(error) => Err(error.to_string()),
            None => Ok(Point::new(block, params.clone())?),
        };
        Ok(Some((params, point)))
    }

    /// Numbers of the block's stages with all its parameters, or why the setting is not possible.
    fn of_block(&self, values: &[Named<'_>]) -> Result<Numbers> {
        let Some((params, point)) = self.point(values)? else { return Ok(Ok(Default::default())) };
        let point = match point {
            Ok(point) => point,
            Err(why) => return Ok(Err(why)),
        };
        let mut numbers = Map::new();
        for found in point::run(&point, &self.spec.stages, &self.spec.options, self.store)? {
            if found.status == Status::Failed {
                return Ok(Err(found.message.unwrap_or_else(|| format!("{} failed", found.stage))));
            }
            numbers.extend(found.metrics);
        }
        Ok(Ok((params, numbers)))
    }

    /// Schemes, and the name of their figures in the store.
    fn chosen(&self, written: &str) -> Result<Option<(Chosen<'a>, String)>> {
        let Some((language, _)) = &self.bench else { return Ok(None) };
        let chosen = Chosen::parse(self.registry, written).map_err(refused)?;
        let [model, text, learnt] = &language.fingerprints;
        let learnt = chosen.learns().then_some(learnt);
        let told = json!({ "scheme": chosen.canonical(), "model": model, "text": text, "learnt from": learnt });
        Ok(Some((chosen, computed("figures of schemes on a text", &told)?)))
    }

    /// Figures of schemes on the text. Names are those of `eval`, with `_` for blanks.
    fn of_schemes(&self, written: &str) -> Result<Map<String, Value>> {
        let Some((language, bench)) = &self.bench else { return Ok(Map::new()) };
        let Some((chosen, key)) = self.chosen(written)? else { return Ok(Map::new()) };
        let canonical = chosen.canonical();
        if let Some(found) = self.store.figures(&key)? {
            return Ok(found.figures);
        }
        let start = Instant::now();
        let task = Task { key: canonical.clone(), prepare: Box::new(|| chosen.prepare(bench)) };
        let found = evaluate(&language.material, &[task], None, NonZeroUsize::MIN, &mut |_| (), &mut |_| ());
        let found = found.map_err(failed)?;
        let mut figures = Map::new();
        for outcome in &found {
            let perplexity = outcome.perplexity().map(|perplexity| ("perplexity".to_owned(), number(perplexity)));
            let tallies = outcome.tallies.iter().map(|tally| (identifier(&tally.name), number(tally.value())));
            figures.extend(perplexity.into_iter().chain(tallies));
        }
        let seconds = start.elapsed().as_secs_f64();
        self.store.put_figures(&Figures { key, scheme: canonical, figures: figures.clone(), seconds })?;
        Ok(figures)
    }

    /// Worths of several settings, side by side; `done` hears of each.
    ///
    /// # Errors
    /// The first error of [`worth`](Self::worth).
    pub fn worths(&self, settings: &[Setting], threads: NonZeroUsize, done: &(dyn Fn() + Sync)) -> Result<Vec<Worth>> {
        let found: Vec<Mutex<Option<Result<Worth>>>> = settings.iter().map(|_| Mutex::new(None)).collect();
        let all: Vec<_> = settings.iter().zip(&found).collect();
        while_true(threads, &all, |(setting, place)| {
            let worth = self.worth(setting);
            let good = worth.is_ok();
            if let Ok(mut place) = place.lock() {
                *place = Some(worth);
            }
            done();
            good
        });
        let of = |place: Mutex<Option<Result<Worth>>>| place.into_inner().ok().flatten();
        let found: Vec<Option<Result<Worth>>> = found.into_iter().map(of).collect();
        // A setting that failed stops the ones after it.
        if let Some(failure) = found.iter().find_map(|worth| worth.as_ref()?.as_ref().err()) {
            return Err(failure.clone());
        }
        let missing = || Failure::Check("a setting was not computed".to_owned());
        found.into_iter().map(|worth| worth.unwrap_or_else(|| Err(missing()))).collect()
    }
}

/// A number as JSON can keep it.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

/// A name that an expression can have.
fn identifier(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().map(fits).collect()
}
