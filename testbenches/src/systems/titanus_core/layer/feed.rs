//! The second half of a layer: norm, feed-forward network, residual.

use host::titanus::ProductJob;

use super::super::super::chain_builder::Floats;
use super::super::builder::{Builder, Integers, largest, lent, over, times};
use super::super::float_decoder::{Activation, Decoder, Exact, Linear};
use super::parts::{Gains, Projection, stored};

/// All that stays from job to job, and the scales of integers.
pub(super) struct Feed {
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
    pub(super) fn load(b: &mut Builder<'_>, decoder: &Decoder, exact: &Exact) -> anyhow::Result<Self> {
        let gate = match &decoder.activation {
            Activation::GatedSilu(gate) => Some(gate),
            _ => None,
        };
        let into: Vec<&Linear> = [Some(&decoder.up), gate].into_iter().flatten().collect();
        let of_feed = lent(&exact.normed, &into.iter().map(|p| &p.weights[..]).collect::<Vec<_>>());
        // What is no multiple of the up projection's results cannot be lent there.
        let of_down = match decoder.activation {
            Activation::Gelu => vec![1.0; decoder.down.weights.len()],
            _ => lent(&exact.gated, &[&decoder.down.weights]),
        };
        let unit = |rows: &[Vec<f64>], lent: &[f64]| largest(&over(rows, lent)) / 127.0;
        let [fed, gated] = [unit(&exact.normed, &of_feed), unit(&exact.gated, &of_down)];
        let mut matrices: Vec<Vec<Vec<f64>>> = into.iter().map(|p| times(&p.weights, &of_feed)).collect();
        matrices.push(times(&decoder.down.weights, &of_down));
        let mut weights = stored(b, &matrices)?.into_iter();
        let relu = matches!(decoder.activation, Activation::Relu);
        let mut next = |b: &mut Builder<'_>, of: &Linear, x: f64, to: &dyn Fn(usize) -> f64| {
            Projection::new(b, (weights.next().expect("one for each matrix"), of), x, to)
        };
        let up = next(b, &decoder.up, fed, &|j| if relu { gated * of_down[j] } else { of_down[j] })?;
        let gate = gate.map(|gate| next(b, gate, fed, &|_| 1.0)).transpose()?;
        let down = next(b, &decoder.down, gated, &|_| 1.0)?;
        let norm = Gains::new(b, &decoder.norms[1], &of_feed)?;
        Ok(Self { relu, up, gate, down, norm, units: [fed, gated] })
    }

    /// Rows of the residual stream to the residual stream.
    pub(super) fn pass(&self, b: &mut Builder<'_>, rows: &Floats) -> anyhow::Result<Floats> {
        let x = self.norm.apply(b, "normalised again", rows, self.units[0])?;
        let gated = self.feed(b, &x)?;
        self.down.add(b, "down", &gated, rows)
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
