//! The second half of a layer: norm, feed-forward network, residual.

use host::titanus::ProductJob;

use super::builder::{Builder, Integers, largest, lent, over};
use super::parts::{Gains, Lent, Projection, stored};
use crate::chain::Floats;
use crate::exact::Exact;
use crate::layer::{Activation, Layer, Linear};

/// Scales of integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Units {
    /// What inputs lend to weights: into the network, and of its last projection.
    pub lent: [Vec<f64>; 2],
    /// Of these inputs.
    pub inputs: [f64; 2],
}

impl Units {
    pub(super) fn of(layer: &Layer, exact: &Exact) -> Self {
        let of_feed = lent(&exact.normed, &projections_into(layer));
        // What is no multiple of the up projection's results cannot be lent there.
        let of_down = match layer.activation {
            Activation::Gelu | Activation::GeluTanh => vec![1.0; layer.down.inputs()],
            _ => lent(&exact.gated, &[&layer.down]),
        };
        let unit = |rows: &[Vec<f64>], lent: &[f64]| largest(&over(rows, lent)) / 127.0;
        let inputs = [unit(&exact.normed, &of_feed), unit(&exact.gated, &of_down)];
        Self { lent: [of_feed, of_down], inputs }
    }
}

/// Up, and the gate where there is one.
fn projections_into(layer: &Layer) -> Vec<&Linear> {
    let gate = match &layer.activation {
        Activation::GatedSilu(gate) => Some(gate),
        _ => None,
    };
    [Some(&layer.up), gate].into_iter().flatten().collect()
}

/// All that stays from job to job, and the scales of integers.
#[derive(Clone, Debug)]
pub struct Feed {
    /// Negative numbers become 0 between the projections.
    relu: bool,
    up: Projection,
    gate: Option<Projection>,
    down: Projection,
    norm: Gains,
    /// Of normed and gated.
    units: [f64; 2],
}

impl Feed {
    /// Loads it.
    pub(super) fn load(b: &mut Builder<'_>, layer: &Layer, units: &Units) -> anyhow::Result<Self> {
        let Units { lent: [of_feed, of_down], inputs: [fed, gated] } = units;
        let (fed, gated, into) = (*fed, *gated, projections_into(layer));
        let mut matrices: Vec<Lent<'_>> = into.iter().map(|&p| (p, Some(&of_feed[..]))).collect();
        matrices.push((&layer.down, Some(of_down)));
        let mut weights = stored(b, &matrices)?.into_iter();
        let relu = matches!(layer.activation, Activation::Relu);
        let mut next = |b: &mut Builder<'_>, of: &Linear, x: f64, to: &dyn Fn(usize) -> f64| {
            Projection::new(b, (weights.next().expect("one for each matrix"), of), x, to)
        };
        let up = next(b, &layer.up, fed, &|j| if relu { gated * of_down[j] } else { of_down[j] })?;
        let gate = into.get(1).map(|gate| next(b, gate, fed, &|_| 1.0)).transpose()?;
        let down = next(b, &layer.down, gated, &|_| 1.0)?;
        let norm = Gains::new(b, (&layer.norms[1], layer.epsilon), of_feed)?;
        Ok(Self { relu, up, gate, down, norm, units: [fed, gated] })
    }

    /// Rows of the residual stream to other rows of it.
    pub(super) fn pass(&self, b: &mut Builder<'_>, rows: &Floats, out: &Floats) -> anyhow::Result<()> {
        let x = self.norm.apply(b, "normalised again", rows, self.units[0])?;
        let gated = self.feed(b, &x)?;
        self.down.add(b, "down", &gated, [rows, out])
    }

    /// The feed-forward network up to the input of its last projection.
    fn feed(&self, b: &mut Builder<'_>, x: &Integers) -> anyhow::Result<Integers> {
        let unit = self.units[1];
        if self.relu {
            return self.up.integers(b, "gated", x, ProductJob::relu);
        }
        let up = self.up.floats(b, "up", x)?;
        let gate = self.gate.as_ref().map(|gate| gate.floats(b, "gate", x)).transpose()?;
        match &gate {
            Some(gate) => b.activated("gated", gate, Some(&up), unit),
            None => b.activated("gated", &up, None, unit),
        }
    }
}
