//! Calibration: the inputs of every projection on a text, from which a quantization scheme learns.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use golden::kllm::fp16;
use golden::kllm::outliers::{OutlierRule, per_side};
use golden::tender::calibration::CHUNK_ROWS;

use super::arithmetic::{Arithmetic, Projection};
use super::config::Config;
use super::matrix::Matrix;
use super::model::Model;
use super::weight::Weight;

/// Inputs that projections share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// Input of queries, keys and values.
    Attention,
    /// Input of the attention's output projection.
    AttentionOut,
    /// Input of gate and up.
    FeedForward,
    /// Input of the feed-forward network's output projection.
    Down,
}

impl Input {
    /// All inputs of a layer, in the order of computation.
    pub const ALL: [Self; 4] = [Self::Attention, Self::AttentionOut, Self::FeedForward, Self::Down];

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::AttentionOut => "attention_out",
            Self::FeedForward => "feed_forward",
            Self::Down => "down",
        }
    }

    /// Channels of this input in a model.
    #[must_use]
    pub fn channels(self, config: &Config) -> usize {
        match self {
            Self::Attention | Self::FeedForward => config.width,
            Self::AttentionOut => config.heads * config.head_width,
            Self::Down => config.ffn_width,
        }
    }

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
    /// Extremes of each chunk of rows: the first 256 tokens, the next 256 and so on.
    extremes: BTreeMap<(usize, Input), Vec<Extremes>>,
    /// Rows at even distances, as binary16.
    samples: BTreeMap<(usize, Input), Vec<Vec<u64>>>,
    /// One row of so many is a sample.
    stride: usize,
    /// Inputs of the text that is being read.
    seen: BTreeSet<(usize, Input)>,
    /// Share of outliers of a row that do not count for extremes, in ten-thousandths.
    left_out: u32,
}

impl Calibration {
    /// Nothing learnt yet. One row of `stride` of the texts to come will be kept as a sample.
    #[must_use]
    pub fn new(stride: usize) -> Self {
        let (extremes, samples) = (BTreeMap::new(), BTreeMap::new());
        Self { extremes, samples, stride: stride.max(1), seen: BTreeSet::new(), left_out: 0 }
    }

    /// The same, but this share of each row, its largest and its smallest values, does not count for extremes. 100 is 1
    /// %.
    #[must_use]
    pub fn leaving_out(mut self, share: u32) -> Self {
        self.left_out = share;
        self
    }

    /// Runs one more text through the float model.
    ///
    /// # Errors
    /// The errors of [`Model::forward`].
    pub fn learn(&mut self, model: &Model, tokens: &[u32]) -> Result<()> {
        self.begin();
        model.forward(tokens, &mut model.cache(), self)?;
        Ok(())
    }

    /// Another text begins.
    pub(crate) fn begin(&mut self) {
        self.seen.clear();
    }

    /// Chunks of an input.
    #[must_use]
    pub fn chunks(&self, layer: usize, input: Input) -> usize {
        self.extremes.get(&(layer, input)).map_or(0, Vec::len)
    }

    fn note(&mut self, key: (usize, Input), x: &Matrix) -> Result<()> {
        let row = |row: &[f64]| row.iter().map(|&x| fp16::from_f64(x)).collect();
        self.samples.entry(key).or_default().extend(x.iter().step_by(self.stride).map(row));
        let chunks = self.extremes.entry(key).or_default();
        for (chunk, from) in (0..x.rows()).step_by(CHUNK_ROWS).enumerate() {
            let rows = x.some_rows(from..(from + CHUNK_ROWS).min(x.rows()));
            let [low, high] = extremes(&rows, &outliers(&rows, self.left_out)?);
            match chunks.get_mut(chunk) {
                None => chunks.push([low, high]),
                Some(known) => {
                    known[0].iter_mut().zip(low).for_each(|(known, x)| *known = known.min(x));
                    known[1].iter_mut().zip(high).for_each(|(known, x)| *known = known.max(x));
                }
            }
        }
        Ok(())
    }

    /// Extremes of a chunk. Chunks after the last one have its extremes.
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

/// For each row the places of the outliers that Orizuru finds in its binary16 values: half of the share (100 is 1 %) on
/// each side.
///
/// # Errors
/// The share is beyond 10,000.
pub fn outliers(x: &Matrix, share: u32) -> Result<Vec<Vec<usize>>> {
    if share == 0 {
        return Ok(vec![Vec::new(); x.rows()]);
    }
    let rule = OutlierRule::TopK { per_side: per_side(x.columns, share)? };
    let of = |row: &[f64]| -> Result<Vec<usize>> {
        let values: Vec<u64> = row.iter().map(|&x| fp16::from_f64(x)).collect();
        Ok(rule.outliers(&values)?.iter().map(|pop| pop.index).collect())
    };
    x.iter().map(of).collect()
}

/// Smallest and largest value of each column, without the places in the list of each row that has one. A column without
/// values has 0 and 0.
#[must_use]
pub fn extremes(x: &Matrix, left_out: &[Vec<usize>]) -> Extremes {
    let (mut low, mut high) = (vec![f64::INFINITY; x.columns], vec![f64::NEG_INFINITY; x.columns]);
    for (number, row) in x.iter().enumerate() {
        let left_out = left_out.get(number).map_or(&[][..], Vec::as_slice);
        let there = row.iter().enumerate().filter(|(place, _)| !left_out.contains(place));
        there.for_each(|(place, &x)| (low[place], high[place]) = (low[place].min(x), high[place].max(x)));
    }
    for (low, high) in low.iter_mut().zip(&mut high).filter(|(low, high)| low > high) {
        (*low, *high) = (0.0, 0.0);
    }
    [low, high]
}

impl Arithmetic for Calibration {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        if let Some(input) = Input::of(projection) {
            // Projections that share an input get the same rows.
            if self.seen.insert((layer, input)) {
                self.note((layer, input), x)?;
            }
        }
        Ok(x.through(weight))
    }
}
