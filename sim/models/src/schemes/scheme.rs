//! What a scheme is, and what it finds in a text.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail, ensure};

use super::bench::{Bench, Given};
use super::combined::{Part, Prepared};
use super::options::{Choice, Settings};
use crate::calibration::Arrays;

/// A way to compute a decoder.
pub trait Scheme: Send + Sync {
    /// Its name: lower case, no colon.
    fn name(&self) -> &'static str;

    /// What it does, in one sentence without a full stop.
    fn about(&self) -> &'static str;

    /// What it replaces: schemes of different parts go together.
    fn part(&self) -> Part;

    /// Its options.
    fn choices(&self) -> Vec<Choice>;

    /// Quantizes what does not depend on the text that is judged.
    ///
    /// # Errors
    /// The model has what the scheme cannot compute; there is no text to learn from and the scheme needs one.
    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>>;

    /// The accelerator whose calibrations it takes ([`Bench::given`]), if it takes any.
    fn calibrated_by(&self) -> Option<&'static str> {
        None
    }

    /// Its options that such a calibration has, too. Where nobody gives them they are the calibration's.
    fn shared(&self) -> &'static [&'static str] {
        &[]
    }

    /// Options that a calibration of [`calibrated_by`](Self::calibrated_by) holds a value of for each layer: a search
    /// begins with them.
    ///
    /// # Errors
    /// Arrays or options are missing.
    fn held(&self, given: &Given) -> Result<Vec<(&'static str, Vec<String>)>> {
        let _ = given;
        Ok(Vec::new())
    }

    /// Puts settings into a calibration: its options, and its arrays.
    ///
    /// # Errors
    /// They do not fit, or no settings of this scheme go into a calibration.
    fn put(
        &self,
        settings: &Settings,
        (options, arrays): (&mut BTreeMap<String, String>, &mut Arrays),
        layers: usize,
    ) -> Result<()> {
        let _ = (settings, options, arrays, layers);
        bail!("no calibration takes settings of the scheme `{}`", self.name())
    }

    /// Whether it learns from a text ([`Bench::learning`]), where no calibration is given.
    fn learns(&self, settings: &Settings) -> bool {
        let _ = settings;
        false
    }
}

/// A text that is read on its own.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Its tokens.
    pub tokens: &'a [u32],
    /// Its last tokens, which count.
    pub scored: usize,
    /// Its first tokens that are there before the model writes.
    pub prompt: usize,
    /// Its number in the text: seeds of random numbers depend on it.
    pub number: usize,
}

/// What a scheme has found in a passage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Surprise of each token that counts, in nats.
    pub surprises: Vec<f64>,
    /// Further figures.
    pub tallies: Vec<Tally>,
}

impl Found {
    /// Refuses what no model finds in a passage of which so many tokens count.
    ///
    /// # Errors
    /// Says what is wrong, and what would be right.
    pub fn check(&self, scored: usize) -> Result<()> {
        let count = self.surprises.len();
        ensure!(count == scored, "{count} surprises of a passage of which {scored} tokens count");
        if let Some((number, wrong)) = self.surprises.iter().enumerate().find(|(_, x)| !is_surprise(**x)) {
            bail!("surprise {number} is {wrong}, wanted is a number from 0 on");
        }
        let wrong = self.tallies.iter().find(|tally| tally.value().is_nan());
        ensure!(wrong.is_none(), "the figure `{}` is no number", wrong.map_or("", |tally| &tally.name));
        Ok(())
    }
}

/// Whether a surprise, or a mean of some, can be this: a number from 0 on, or infinite.
#[must_use]
pub fn is_surprise(x: f64) -> bool {
    x >= 0.0
}

/// A model that is ready to read.
pub trait Reader: Send + Sync {
    /// Reads a passage. The same passage has the same result, whatever was read before.
    ///
    /// # Errors
    /// The scheme or the model cannot compute it.
    fn read(&self, passage: &Passage<'_>) -> Result<Found>;
}

/// A figure beside perplexity, which can be summed up over passages.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// What it is.
    pub name: String,
    /// Its value.
    pub amount: Amount,
}

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// The largest value.
    Most(f64),
    /// A part of a whole, times a factor: both are summed.
    Ratio {
        /// The part.
        part: f64,
        /// The whole.
        whole: f64,
        /// The factor.
        times: f64,
    },
}

impl Tally {
    /// The largest value.
    #[must_use]
    pub fn most(name: &str, x: f64) -> Self {
        Self { name: name.to_owned(), amount: Amount::Most(x) }
    }

    /// A part of a whole, times a factor.
    #[must_use]
    pub fn ratio(name: &str, [part, whole]: [u64; 2], times: f64) -> Self {
        let (part, whole) = (part as f64, whole as f64);
        Self { name: name.to_owned(), amount: Amount::Ratio { part, whole, times } }
    }

    /// A number of things.
    #[must_use]
    pub fn count(name: &str, count: u64) -> Self {
        // Wholes of several passages are added: the factor makes up for it in `joined`.
        Self { name: name.to_owned(), amount: Amount::Ratio { part: count as f64, whole: 0.0, times: 1.0 } }
    }

    /// The figure.
    #[must_use]
    pub fn value(&self) -> f64 {
        match self.amount {
            Amount::Most(x) => x,
            Amount::Ratio { part, whole: 0.0, times } => part * times,
            Amount::Ratio { part, whole, times } => part / whole * times,
        }
    }

    /// Adds the figures of another passage to those of the same name.
    pub fn join(all: &mut Vec<Self>, more: &[Self]) {
        for new in more {
            let known = all.iter_mut().find(|known| known.name == new.name);
            match known.map(|known| (&mut known.amount, new.amount)) {
                Some((Amount::Most(most), Amount::Most(x))) => *most = most.max(x),
                Some((Amount::Ratio { part, whole, .. }, Amount::Ratio { part: p, whole: w, .. })) => {
                    *part += p;
                    *whole += w;
                }
                _ => all.push(new.clone()),
            }
        }
    }
}

impl fmt::Debug for dyn Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
