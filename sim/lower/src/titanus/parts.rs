//! Parts of a layer: projections in the store, and norms.

use host::titanus::ProductJob;
use host::vector::{Epsilon, Operand};

use super::builder::{Builder, Integers, Weights, order_of, over, times};
use crate::chain::Floats;
use crate::layer::{Linear, Norm};

/// A projection in the store.
#[derive(Clone, Debug)]
pub struct Projection {
    weights: Weights,
    constants: u32,
}

/// A norm: steps of the vector unit, gains in memory.
#[derive(Clone, Debug)]
pub(super) struct Gains {
    at: u64,
    layer_norm: bool,
    epsilon: f64,
}

/// A matrix, and what its inputs lend to it, if they do.
pub type Lent<'a> = (&'a Linear, Option<&'a [f64]>);

/// Loads the matrices one after the other, so that they fill the store. Returns them in their given order.
///
/// # Errors
/// No room in memory or in the store.
pub fn stored(b: &mut Builder<'_>, matrices: &[Lent<'_>]) -> anyhow::Result<Vec<Weights>> {
    let sizes: Vec<(usize, usize)> = matrices.iter().map(|(of, _)| (of.inputs(), of.outputs())).collect();
    let mut found: Vec<Option<Weights>> = matrices.iter().map(|_| None).collect();
    for n in order_of(&sizes) {
        let (of, lent) = matrices[n];
        // One matrix at a time in floats.
        found[n] = Some(match lent {
            Some(lent) => b.weights(&times(of.weights().into_owned(), lent))?,
            None => b.weights(&of.weights())?,
        });
    }
    Ok(found.into_iter().flatten().collect())
}

impl Gains {
    pub(super) fn new(b: &mut Builder<'_>, (norm, epsilon): (&Norm, f64), lent: &[f64]) -> anyhow::Result<Self> {
        let layer_norm = !norm.biases.is_empty();
        let of = |row: &[f64]| over(&[row.to_vec()], lent).remove(0);
        let (gains, biases) = (of(&norm.gains), of(&norm.biases));
        let row = match layer_norm {
            true => gains.into_iter().zip(biases).flat_map(|(gain, bias)| [gain, bias]).collect(),
            false => gains,
        };
        Ok(Self { at: b.b.given(&[row])?.at.address, layer_norm, epsilon })
    }

    /// Rows after the norm, as integers.
    pub(super) fn apply(
        &self,
        b: &mut Builder<'_>,
        name: &'static str,
        x: &Floats,
        unit: f64,
    ) -> anyhow::Result<Integers> {
        let epsilon = Epsilon::new(self.epsilon)?;
        b.quantized(name, x, unit, |job| match self.layer_norm {
            true => job.layer_norm_with_gains(epsilon, self.at),
            false => job.norm_with_gains(epsilon, self.at),
        })
    }
}

impl Projection {
    /// Constants of stored weights, from the scales of x and of the results.
    ///
    /// # Errors
    /// No room in memory or in the core.
    pub fn new(
        b: &mut Builder<'_>,
        (weights, of): (Weights, &Linear),
        x: f64,
        to: impl Fn(usize) -> f64,
    ) -> anyhow::Result<Self> {
        let constants = b.constants(&weights.constants(x, to, &of.biases))?;
        Ok(Self { weights, constants })
    }

    pub(super) fn outputs(&self) -> usize {
        self.weights.scales.len()
    }

    fn multiply(
        &self,
        b: &mut Builder<'_>,
        x: &Integers,
        out: Operand,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<()> {
        let sizes = [x.rows, self.weights.inner, self.outputs()];
        b.product(sizes, self.weights.place, [x.at, out], self.constants, more)
    }

    /// Results as rows of fp16.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn floats(&self, b: &mut Builder<'_>, name: &'static str, x: &Integers) -> anyhow::Result<Floats> {
        let out = b.b.floats(name, x.rows, self.outputs())?;
        self.multiply(b, x, out.at, ProductJob::exact)?;
        Ok(out)
    }

    /// Results as integers; `more` adds further settings.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn integers(
        &self,
        b: &mut Builder<'_>,
        name: &'static str,
        x: &Integers,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<Integers> {
        let out = b.integers(name, x.rows, self.outputs())?;
        self.to_integers(b, x, &out, more)?;
        Ok(out)
    }

    /// The same to a place.
    pub(super) fn to_integers(
        &self,
        b: &mut Builder<'_>,
        x: &Integers,
        out: &Integers,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<()> {
        self.multiply(b, x, out.at, |job| more(job.to_integers()))
    }

    /// Its results for x, added to rows; the sums are other rows.
    pub(super) fn add(
        &self,
        b: &mut Builder<'_>,
        name: &'static str,
        x: &Integers,
        [to, out]: [&Floats; 2],
    ) -> anyhow::Result<()> {
        let y = self.floats(b, name, x)?;
        b.b.rows(&y, out, |job| job.add_rows(to.at))
    }
}
