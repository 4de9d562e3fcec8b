//! Calibration before a model decodes: the extremes of each channel at each place where numbers become integers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::decoder::arithmetic::{Group, Projection};
use crate::decoder::calibration::{Extremes, Input, extremes};
use crate::decoder::{Arithmetic, Matrix, Model, Tokenizer, Weight};
use crate::smollm2::texts;

/// A place in a layer where numbers become integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// The input of projections.
    Input(Input),
    /// The input of the last product; its layer is the number of layers.
    Output,
    /// Queries of all heads that share a key head, after the rotary embedding.
    Queries(usize),
    /// Keys of a key head, after the rotary embedding.
    Keys(usize),
    /// Values of a key head.
    Values(usize),
}

/// Smallest and largest value of each channel at all sites, on the texts that the float model read.
#[derive(Clone, Debug, Default)]
pub struct Learnt(BTreeMap<(usize, Site), Extremes>);

impl Learnt {
    /// Learns from the usual texts for calibration, at most `context` tokens of each.
    ///
    /// # Errors
    /// The errors of [`Model::forward`], or a byte of the texts that no token stands for.
    pub fn of_texts(model: &Model, tokenizer: &Tokenizer, context: usize) -> Result<Self> {
        let mut learnt = Self::default();
        for window in texts::beginnings(tokenizer, context.min(model.config().context))? {
            learnt.learn(model, &window)?;
        }
        Ok(learnt)
    }

    /// Runs one more text through the float model.
    ///
    /// # Errors
    /// The errors of [`Model::forward`].
    pub fn learn(&mut self, model: &Model, tokens: &[u32]) -> Result<()> {
        let last = model.forward(tokens, &mut model.cache(), self)?;
        self.note(model.config().layers, Site::Output, &last);
        Ok(())
    }

    /// The extremes at a site.
    ///
    /// # Errors
    /// No text was read.
    pub fn at(&self, layer: usize, site: Site) -> Result<&Extremes> {
        self.0.get(&(layer, site)).with_context(|| format!("{site:?} of layer {layer} is not calibrated"))
    }

    fn note(&mut self, layer: usize, site: Site, x: &Matrix) {
        let [low, high] = extremes(x, &[]);
        match self.0.get_mut(&(layer, site)) {
            None => {
                self.0.insert((layer, site), [low, high]);
            }
            Some(known) => {
                known[0].iter_mut().zip(low).for_each(|(known, x)| *known = known.min(x));
                known[1].iter_mut().zip(high).for_each(|(known, x)| *known = known.max(x));
            }
        }
    }
}

impl Arithmetic for Learnt {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        // The others share their input with one of these.
        if let (Projection::Q | Projection::O | Projection::Up | Projection::Down, Some(input)) =
            (projection, Input::of(projection))
        {
            self.note(layer, Site::Input(input), x);
        }
        Ok(x.through(weight))
    }

    fn scores(&mut self, group: Group<'_>, q: &Matrix) -> Result<Matrix> {
        self.note(group.layer, Site::Queries(group.head), q);
        self.note(group.layer, Site::Keys(group.head), group.keys);
        Ok(q.times_transposed(group.keys))
    }

    fn mix(&mut self, group: Group<'_>, weights: &Matrix) -> Result<Matrix> {
        self.note(group.layer, Site::Values(group.head), group.values);
        Ok(weights.times(group.values))
    }
}
