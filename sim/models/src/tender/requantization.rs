//! Implicit and explicit requantization (section VI-F, figure 13). Implicit: a product has all groups in one pass of
//! each tile. Explicit: each group has a pass, and its sums leave the array and are scaled and added outside. The
//! reference is the same product under one scale.

use golden::tender::calibration::{Calibration, Scheme, Sign, Weights};
use golden::tender::schedule::{Step, steps};

use super::projection::Projection;

/// A quantized product, and the passes of its tiles.
#[derive(Clone, Debug)]
pub struct Passes {
    /// Activations [token, channel].
    pub rows: Vec<Vec<i64>>,
    /// Weights [channel, output].
    pub weights: Vec<Vec<i64>>,
    /// One pass, under one scale.
    pub one_scale: Vec<Vec<Step>>,
    /// One pass with all groups.
    pub implicit: Vec<Vec<Step>>,
    /// A pass for each group that has channels.
    pub explicit: Vec<Vec<Step>>,
}

impl Passes {
    /// A projection in INT4 with `groups` groups, on an array that rescales by one bit a step.
    ///
    /// # Errors
    /// Tensors that cannot be quantized.
    pub fn new(projection: &Projection, groups: usize) -> anyhow::Result<Self> {
        let bits = 4;
        let scheme = Scheme::new(bits, groups, Sign::Signed).map_err(anyhow::Error::msg)?;
        let calibration = Calibration::of(&projection.x, scheme).map_err(anyhow::Error::msg)?;
        let weights = Weights::quantize(&projection.w, bits).map_err(anyhow::Error::msg)?;
        let plan = steps(&calibration, 1);
        let is_rescale = |step: &Step| matches!(step, Step::Rescale(_));
        let explicit = plan.split(is_rescale).filter(|pass| !pass.is_empty()).map(<[Step]>::to_vec).collect();
        Ok(Self {
            rows: projection.x.iter().map(|row| calibration.quantize(row)).collect(),
            weights: weights.values,
            one_scale: vec![plan.iter().filter(|step| !is_rescale(step)).copied().collect()],
            implicit: vec![plan],
            explicit,
        })
    }

    /// The three variants: under one scale, implicit, explicit.
    #[must_use]
    pub fn ways(&self) -> [&[Vec<Step>]; 3] {
        [&self.one_scale, &self.implicit, &self.explicit]
    }

    /// Rescales of a tile.
    #[must_use]
    pub fn rescales(&self) -> usize {
        self.implicit[0].len() - self.one_scale[0].len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Channels of magnitudes 8, 1 and 4. The group of magnitude 2 is empty, so there are three passes, and every
    /// channel is in one of them.
    #[test]
    fn a_pass_for_each_group_with_channels() {
        let projection =
            Projection { name: "small", x: vec![vec![8.0, 1.0, 4.0], vec![-8.0, -1.0, -4.0]], w: vec![vec![1.0]; 3] };
        let passes = Passes::new(&projection, 4).unwrap();
        let [one_scale, implicit, explicit] = passes.ways();
        assert_eq!(one_scale.concat(), explicit.concat());
        assert_eq!((one_scale.len(), implicit.len(), explicit.len()), (1, 1, 3));
        assert_eq!(implicit[0].len(), one_scale[0].len() + passes.rescales());
    }
}
