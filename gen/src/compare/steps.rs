//! Steps of ladders: what a machine takes, divided by what another machine takes, or the same one in other events.

use models::cycles::Cost;
use serde::Deserialize;
use toml::Spanned;

use super::file::Place;
use super::{Cell, Found, Machine};
use crate::error::{Failure, Result};

/// What is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Energy, at the bandwidth in the middle.
    #[default]
    Energy,
    /// Bytes of operands, or of the events that are named.
    Bytes,
}

/// How the work that a step takes in becomes one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// All work is one run.
    #[default]
    Sum,
    /// Each work is a run: the mean of their ratios.
    Mean,
}

/// One side of a ratio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The machine's name.
    pub machine: String,
    /// Events that count, by name; none: everything.
    #[serde(default)]
    pub events: Vec<String>,
}

/// A step of a ladder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The figure of the paper, and where it is.
    pub paper: String,
    /// What is divided.
    pub of: Side,
    /// What divides.
    pub by: Side,
    /// In what.
    #[serde(default)]
    pub measure: Measure,
    /// Over which work.
    #[serde(default)]
    pub over: Over,
    /// A model alone.
    pub model: Option<String>,
    /// Sequences side by side alone.
    pub batch: Option<u64>,
    /// Why it is so.
    pub why: String,
}

impl Step {
    /// Refuses names that nothing in the file has.
    ///
    /// # Errors
    /// The line, the name, and all that there are.
    pub(super) fn check(step: &Spanned<Self>, place: &Place<'_>, file: (&[Machine], &[&str], &[u64])) -> Result<()> {
        let (machines, models, batches) = file;
        let (start, one) = (step.span().start, step.get_ref());
        let bad = |what: String| Err(place.at(start, format!("step `{}`: {what}", one.name)));
        for side in [&one.of, &one.by] {
            let Some(machine) = machines.iter().find(|machine| machine.name == side.machine) else {
                let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
                return bad(format!("no machine `{}`; there are: {}", side.machine, names.join(", ")));
            };
            if one.measure == Measure::Energy && machine.energy.is_none() {
                return bad(format!("machine `{}` has no table of energies: give it `energy`", side.machine));
            }
        }
        if let Some(model) = one.model.as_deref().filter(|model| !models.contains(model)) {
            return bad(format!("no model `{model}`; there are: {}", models.join(", ")));
        }
        if let Some(batch) = one.batch.filter(|batch| !batches.contains(batch)) {
            let known: Vec<String> = batches.iter().map(u64::to_string).collect();
            return bad(format!("no work with a batch of {batch}; there are: {}", known.join(", ")));
        }
        Ok(())
    }

    fn takes(&self, found: &Found<'_>, cell: &Cell<'_>) -> bool {
        let model = &found.comparison.models[cell.model].name;
        self.model.as_ref().is_none_or(|name| name == model) && self.batch.is_none_or(|batch| batch == cell.job.batch)
    }

    /// What a side takes at each work, in order; none: the machine has no room.
    fn side(&self, found: &Found<'_>, side: &Side) -> Result<Vec<Option<f64>>> {
        let machines = &found.comparison.machines;
        let cells = found.cells().into_iter();
        let own = cells.filter(|cell| machines[cell.machine].name == side.machine && self.takes(found, cell));
        own.map(|cell| cell.cost.as_ref().ok().map(|cost| self.amount(found, (&cell, cost), side)).transpose())
            .collect()
    }

    fn amount(&self, found: &Found<'_>, (cell, cost): (&Cell<'_>, &Cost), side: &Side) -> Result<f64> {
        if side.events.is_empty() {
            let energy = || found.energy(cell, found.middle()).map_or(0.0, |energy| energy.total());
            return Ok(if self.measure == Measure::Bytes { cost.bytes as f64 } else { energy() });
        }
        let table = found.comparison.machines[cell.machine].energy.as_deref();
        let mut all = 0.0;
        for name in &side.events {
            let mut made = cost.events.iter().filter(|(event, _)| event.name == *name).peekable();
            if made.peek().is_none() && !found.makes(cell.machine, name) {
                let names: Vec<&str> = cost.events.iter().map(|(event, _)| &*event.name).collect();
                let told =
                    format!("machine `{}` makes no event `{name}`; it makes: {}", side.machine, names.join(", "));
                return Err(Failure::Usage(format!("step `{}`: {told}", self.name)));
            }
            for (event, count) in made {
                let each = match (self.measure, table) {
                    (Measure::Bytes, _) | (Measure::Energy, None) => event.bits as f64 / 8.0,
                    (Measure::Energy, Some(table)) => table.energy(event).map_err(Failure::Usage)?.1,
                };
                all += each * count as f64;
            }
        }
        Ok(all)
    }

    /// The ratio; none: a machine has no room for some of the work, or a command line has left no work.
    ///
    /// # Errors
    /// An event that the machine does not make.
    pub fn ratio(&self, found: &Found<'_>) -> Result<Option<f64>> {
        let (of, by) = (self.side(found, &self.of)?, self.side(found, &self.by)?);
        let pairs: Option<Vec<[f64; 2]>> = of.into_iter().zip(by).map(|(of, by)| Some([of?, by?])).collect();
        let Some(pairs) = pairs.filter(|pairs| !pairs.is_empty()) else { return Ok(None) };
        let ratio = match self.over {
            Over::Sum => {
                let sum = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>();
                sum(0) / sum(1)
            }
            Over::Mean => pairs.iter().map(|[of, by]| of / by).sum::<f64>() / pairs.len() as f64,
        };
        Ok(Some(ratio).filter(|ratio| ratio.is_finite()))
    }
}
