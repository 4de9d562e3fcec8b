//! What a quantization scheme learns from a text before it sees another: the inputs of every projection.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use golden::kllm::fp16;
use golden::tender::calibration::CHUNK_ROWS;

use super::arithmetic::{Arithmetic, Projection};
use super::matrix::{Matrix, Weight};
use super::model::Model;

/// Inputs that projections share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// Of queries, keys and values.
    Attention,
    /// Of the attention's output projection.
    AttentionOut,
    /// Of gate and up.
    FeedForward,
    /// Of the feed-forward network's output projection.
    Down,
}

impl Input {
    /// The input of a projection; `None` for the last product, which no scheme here quantizes.
    #[must_use]
    pub fn of(projection: Projection) -> Option<Self> {
        match projection {
            Projection::Q | Projection::K | Projection::V => Some(Self::Attention),
            Projection::O => Some(Self::AttentionOut),
            Projection::Gate | Projection::Up => Some(Self::FeedForward),
            Projection::Down => Some(Self::Down),
            Projection::Logits => None,
        }
    }
}

/// Smallest and largest value of each channel.
pub type Extremes = [Vec<f64>; 2];

/// The inputs of all projections on a text.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Of each chunk of rows: of the first 256 tokens, the next 256 and so on.
    extremes: BTreeMap<(usize, Input), Vec<Extremes>>,
    /// Rows at even distances, as binary16.
    samples: BTreeMap<(usize, Input), Vec<Vec<u64>>>,
    /// One row of so many is a sample.
    stride: usize,
    /// Inputs of the text that is being read.
    seen: BTreeSet<(usize, Input)>,
}

impl Calibration {
    /// Nothing learnt yet; of the texts to come, one row of `stride` will be kept as a sample.
    #[must_use]
    pub fn new(stride: usize) -> Self {
        let (extremes, samples) = (BTreeMap::new(), BTreeMap::new());
        Self { extremes, samples, stride: stride.max(1), seen: BTreeSet::new() }
    }

    /// Runs one more text through the float model.
    ///
    /// # Errors
    /// As [`Model::forward`].
    pub fn learn(&mut self, model: &Model, tokens: &[u32]) -> Result<()> {
        self.seen.clear();
        model.forward(tokens, &mut model.cache(), self)?;
        Ok(())
    }

    fn note(&mut self, key: (usize, Input), x: &Matrix) {
        let row = |row: &[f64]| row.iter().map(|&x| fp16::from_f64(x)).collect();
        self.samples.entry(key).or_default().extend(x.iter().step_by(self.stride).map(row));
        let chunks = self.extremes.entry(key).or_default();
        for (chunk, from) in (0..x.rows()).step_by(CHUNK_ROWS).enumerate() {
            let [low, high] = extremes(&x.some_rows(from..(from + CHUNK_ROWS).min(x.rows())));
            match chunks.get_mut(chunk) {
                None => chunks.push([low, high]),
                Some(known) => {
                    known[0].iter_mut().zip(low).for_each(|(known, x)| *known = known.min(x));
                    known[1].iter_mut().zip(high).for_each(|(known, x)| *known = known.max(x));
                }
            }
        }
    }

    /// Extremes of a chunk; of the last one for chunks behind it.
    #[must_use]
    pub fn extremes(&self, layer: usize, input: Input, chunk: usize) -> Option<&Extremes> {
        let chunks = self.extremes.get(&(layer, input))?;
        chunks.get(chunk).or(chunks.last())
    }

    /// The samples of an input.
    #[must_use]
    pub fn samples(&self, layer: usize, input: Input) -> Option<&[Vec<u64>]> {
        self.samples.get(&(layer, input)).map(Vec::as_slice)
    }
}

/// Smallest and largest value of each column.
#[must_use]
pub fn extremes(x: &Matrix) -> Extremes {
    let (mut low, mut high) = (vec![f64::INFINITY; x.columns], vec![f64::NEG_INFINITY; x.columns]);
    for row in x.iter() {
        low.iter_mut().zip(row).for_each(|(low, &x)| *low = low.min(x));
        high.iter_mut().zip(row).for_each(|(high, &x)| *high = high.max(x));
    }
    [low, high]
}

impl Arithmetic for Calibration {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        if let Some(input) = Input::of(projection) {
            // Projections that share an input see the same one.
            if self.seen.insert((layer, input)) {
                self.note((layer, input), x);
            }
        }
        Ok(x.through(weight))
    }
}
