//! What can be explored: an algorithm, and the algorithm on a model and a text.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::point::{Genes, Objectives};
use super::store;
use crate::calibration::Arrays;
use crate::decoder::Model;
use crate::journal::Problem;
use crate::schemes::{Learning, Settings};

/// What the numbers of a subject are called where people read them. Each layer has two numbers, and two widths.
#[derive(Clone, Copy, Debug)]
pub struct Headings {
    /// What the setting of zeros is.
    pub zeros: &'static str,
    /// Columns of a table: the first number of all layers, and the second one.
    pub numbers: [&'static str; 2],
    /// Columns of a CSV file, before the number of the layer.
    pub columns: [&'static str; 2],
    /// Columns of a table: means of the widths.
    pub widths: [&'static str; 2],
    /// Title of a drawing.
    pub title: &'static str,
}

/// An algorithm with two thresholds in each layer of a model.
pub trait Subject: Send + Sync {
    /// Its name: lower case.
    fn name(&self) -> &'static str;

    /// What its settings are, and what is small in good ones.
    fn about(&self) -> &'static str;

    /// What its numbers are called.
    fn headings(&self) -> Headings;

    /// The accelerator whose calibrations hold settings of this subject.
    fn accelerator(&self) -> &'static str;

    /// The setting in a calibration of this accelerator, if it has one.
    ///
    /// # Errors
    /// Arrays or options are missing.
    fn known(&self, settings: &Settings, arrays: &Arrays) -> anyhow::Result<Option<Genes>>;

    /// Puts thresholds and widths, two of each layer, into a calibration.
    ///
    /// # Errors
    /// A number that does not fit, or not as many layers as the calibration has.
    fn put(
        &self,
        options: &mut BTreeMap<String, String>,
        arrays: &mut Arrays,
        all: [&[[u32; 2]]; 2],
    ) -> anyhow::Result<()>;

    /// What the results on a model and a text depend on, for a store.
    fn problem(&self, model: &Model, tokens: &[u32]) -> Problem {
        let text = Learning { windows: vec![tokens.to_vec()] }.fingerprint();
        [("search", self.name().to_owned()), ("model", model.fingerprint()), ("text", text)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// Settings on a text, computed by so many threads. Results are kept in `store`.
    ///
    /// # Errors
    /// The text is too short.
    fn on<'a>(
        &self,
        model: &'a Model,
        tokens: &'a [u32],
        threads: NonZeroUsize,
        store: Option<store::Store>,
    ) -> anyhow::Result<Box<dyn Explored + 'a>>;
}

impl std::fmt::Debug for dyn Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A subject on a model and a text.
pub trait Explored {
    /// Layers of the model.
    fn layers(&self) -> usize;

    /// The largest thresholds of each layer: what the first stage chooses.
    fn limits(&self) -> Vec<u32>;

    /// Perplexity, and bytes off chip for an element (1 in int8), with thresholds as in [`limits`](Self::limits).
    ///
    /// # Errors
    /// The model fails.
    fn thresholds(&mut self, genes: &[Genes]) -> anyhow::Result<Vec<Objectives>>;

    /// Widths of numbers for these thresholds, as small as perplexity up to `limit` allows. The steps come in order.
    ///
    /// # Errors
    /// Perplexity is beyond the limit even with the largest widths, or the model fails.
    fn choose_widths(&mut self, thresholds: &Genes, limit: f64) -> anyhow::Result<Vec<Step>>;
}

/// Widths that the second stage has kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The change.
    pub what: String,
    /// Both widths of each layer.
    pub widths: Vec<[u32; 2]>,
    /// Perplexity, bytes for an element.
    pub worth: Objectives,
}
