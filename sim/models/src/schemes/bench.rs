//! What schemes share: the model, the text that they learn from, and what was made of both.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use super::Settings;
use super::learning::Learning;
use crate::WrongRequest;
use crate::calibration::File;
use crate::decoder::Model;
use crate::decoder::calibration::Calibration;
use crate::kllm::language_model::{ClusteredWeights, Counting, Fisher};
use crate::tender::language_model::IntegerWeights;

/// The error of a scheme that learns from a text, where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingToLearnFrom;

impl fmt::Display for NothingToLearnFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this scheme learns from a text, and there is none to learn from")
    }
}

impl std::error::Error for NothingToLearnFrom {}

/// The last value that was made of a key. Whole models are large, so older ones go.
#[derive(Debug)]
struct Last<K, V>(Mutex<Option<(K, Arc<V>)>>);

impl<K, V> Default for Last<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V> Last<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, value)) = last.as_ref()
            && *known == key
        {
            return Ok(value.clone());
        }
        // The old one goes first: there is no room for both.
        *last = None;
        let value = Arc::new(make()?);
        *last = Some((key, value.clone()));
        Ok(value)
    }
}

/// A calibration from a file, and the options that it was learnt with.
#[derive(Clone, Debug)]
pub struct Given {
    /// The file.
    pub file: File,
    /// All options.
    pub settings: Settings,
}

impl Given {
    /// An error of the arrays, with the file's name.
    ///
    /// # Errors
    /// The same error.
    pub fn named<T>(&self, made: Result<T>) -> Result<T> {
        made.with_context(|| self.file.path.display().to_string())
    }

    /// Refuses settings of a scheme that are not the calibration's: options with these names must have the same value.
    ///
    /// # Errors
    /// Names the option, its value, the file, and its value there.
    pub fn agrees(&self, settings: &Settings, names: &[&str]) -> Result<()> {
        for name in names {
            let (found, wanted) = (settings.word(name)?, self.settings.word(name)?);
            let place = self.file.path.display();
            let told = || WrongRequest(format!("option `{name}` is {found}, wanted is {wanted}: `{name}` in {place}"));
            ensure!(found == wanted, told());
        }
        Ok(())
    }
}

/// A model, the text that schemes learn from, and what they have made of both.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The model in floats.
    pub model: &'a Model,
    learning: Option<&'a Learning>,
    given: Option<&'a Given>,
    calibration: Last<u32, Calibration>,
    integers: Last<u32, IntegerWeights>,
    clusters: Last<(u32, Counting), ClusteredWeights>,
}

impl<'a> Bench<'a> {
    /// Nothing is made yet.
    #[must_use]
    pub fn new(model: &'a Model, learning: Option<&'a Learning>) -> Self {
        let (calibration, integers, clusters) = (Last::default(), Last::default(), Last::default());
        Self { model, learning, given: None, calibration, integers, clusters }
    }

    /// The same with a calibration from a file.
    #[must_use]
    pub fn with(self, given: Option<&'a Given>) -> Self {
        Self { given, ..self }
    }

    /// The calibration from a file, if there is one of this accelerator.
    #[must_use]
    pub fn given(&self, accelerator: &str) -> Option<&'a Given> {
        self.given.filter(|given| given.file.origin.accelerator == accelerator)
    }

    /// The text to learn from.
    ///
    /// # Errors
    /// [`NothingToLearnFrom`].
    pub fn learning(&self) -> Result<&'a Learning> {
        Ok(self.learning.ok_or(NothingToLearnFrom)?)
    }

    /// The inputs of all projections on the text to learn from. `left_out` of each row, in hundredths of a per cent,
    /// does not count for extremes.
    ///
    /// # Errors
    /// There is no such text, or the model cannot read it.
    pub fn calibration(&self, left_out: u32) -> Result<Arc<Calibration>> {
        let learning = self.learning()?;
        self.calibration.get(left_out, || {
            let mut learnt = Calibration::new(learning.stride()).leaving_out(left_out);
            learning.windows.iter().try_for_each(|window| learnt.learn(self.model, window))?;
            Ok(learnt)
        })
    }

    /// All weights as integers.
    ///
    /// # Errors
    /// Bits that the golden model refuses.
    pub fn integers(&self, bits: u32) -> Result<Arc<IntegerWeights>> {
        self.integers.get(bits, || IntegerWeights::new(self.model, bits))
    }

    /// All weights as indices of codebooks.
    ///
    /// # Errors
    /// The errors of [`Bench::calibration`] and [`ClusteredWeights::new`].
    pub fn clusters(&self, bits: u32, counting: Counting) -> Result<Arc<ClusteredWeights>> {
        let learnt = self.calibration(0)?;
        self.clusters.get((bits, counting), || {
            let fisher = match counting {
                Counting::Fisher => Some(self.fisher()?),
                Counting::Alike | Counting::ByInput => None,
            };
            ClusteredWeights::new(self.model, (&learnt, fisher.as_ref()), bits, counting)
        })
    }

    /// The Fisher information of the text to learn from.
    ///
    /// # Errors
    /// There is no such text, or the model has no gradients.
    pub fn fisher(&self) -> Result<Fisher> {
        self.learning()?.fisher(self.model)
    }
}
