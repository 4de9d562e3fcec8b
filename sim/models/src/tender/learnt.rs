//! Calibration before a model decodes: the extremes of each channel at each place where numbers become integers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::decoder::arithmetic::{Group, Projection};
use crate::decoder::calibration::{Calibration, Extremes, extremes};
use crate::decoder::{Arithmetic, Matrix, Model, Weight};

/// A place, other than the input of a layer's projections, where numbers become integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
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
#[derive(Clone, Debug)]
pub struct Learnt {
    /// Of the inputs of projections.
    pub inputs: Calibration,
    sites: BTreeMap<(usize, Site), Extremes>,
}

impl Default for Learnt {
    fn default() -> Self {
        Self::leaving_out(0)
    }
}

impl Learnt {
    /// Nothing learnt yet. This share of each row of a projection's input, its largest and its smallest values, will not
    /// count. 100 is 1 %.
    #[must_use]
    pub fn leaving_out(share: u32) -> Self {
        // Nobody needs samples: one of each text is the fewest.
        Self { inputs: Calibration::new(usize::MAX).leaving_out(share), sites: BTreeMap::new() }
    }

    /// Runs one more text through the float model.
    ///
    /// # Errors
    /// The errors of [`Model::forward`].
    pub fn learn(&mut self, model: &Model, tokens: &[u32]) -> Result<()> {
        self.inputs.begin();
        let last = model.forward(tokens, &mut model.cache(), self)?;
        self.note(model.config().layers, Site::Output, &last);
        Ok(())
    }

    /// The extremes at a site.
    ///
    /// # Errors
    /// No text was read.
    pub fn at(&self, layer: usize, site: Site) -> Result<&Extremes> {
        self.sites.get(&(layer, site)).with_context(|| format!("{site:?} of layer {layer} is not calibrated"))
    }

    fn note(&mut self, layer: usize, site: Site, x: &Matrix) {
        let [low, high] = extremes(x, &[]);
        match self.sites.get_mut(&(layer, site)) {
            None => {
                self.sites.insert((layer, site), [low, high]);
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
        self.inputs.linear(layer, projection, x, weight)
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
