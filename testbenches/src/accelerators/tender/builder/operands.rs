//! Matrices in memory.

use anyhow::Context;
use golden::tender::calibration::Calibration;
use golden::tender::granularity::product;
use host::tender::{Panels, Sign};
use host::vector::Operand;

/// Lines of integers in memory, in panels: rows of a product's left matrix or columns of its right one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integers {
    pub(super) at: Operand,
    pub(super) panels: Panels,
    pub(super) sign: Sign,
    pub(super) lines: usize,
    pub(super) inner: usize,
}

/// Activations: lines are tokens, and channels come in groups.
#[derive(Clone, Debug)]
pub struct Activations {
    pub(super) integers: Integers,
    pub(super) calibration: Calibration,
    /// Address and entries.
    pub(super) table: (u64, u32),
}

/// The other operand of a product: lines are outputs, each with its scale.
#[derive(Clone, Debug)]
pub struct Weights {
    pub(super) integers: Integers,
    pub(super) scales: Vec<f64>,
    /// The bias of each output.
    pub(super) added: Vec<f64>,
    /// The values of the integers, [channel, output], where they are known before the job runs.
    pub(super) known: Option<Vec<Vec<f64>>>,
}

impl Weights {
    /// The addend with which a product brings the bias of its channels back.
    pub(super) fn offset(&self, calibration: &Calibration) -> anyhow::Result<Vec<f64>> {
        if calibration.bias.iter().all(|&bias| bias == 0.0) {
            return Ok(vec![0.0; self.scales.len()]);
        }
        let known = self.known.as_ref().context("channels with a bias meet numbers that the job computes itself")?;
        Ok(product(std::slice::from_ref(&calibration.bias), known).concat())
    }
}

/// Keys: columns of the product with queries. Each channel has a scale of its own, which is a factor of the queries.
/// Each channel is also centred on the middle of its range: that changes all scores of a query by the same number, and
/// softmax not at all. Both cost nothing. With them, most heads of the real model have half the error of one scale for
/// all channels.
#[derive(Clone, Debug)]
pub struct Keys {
    /// As the columns of a product whose left matrix are packed queries.
    pub columns: Weights,
    /// The scale of each channel.
    pub(super) channels: Vec<f64>,
}
