//! Sizes that all parts of the engine for products share.

use crate::blocks::common::{FloatAdd, FloatFormat};
use crate::blocks::kllm::{PairProducts, PeLane, ScalingUnit};
use crate::lang::{Field, bit, bundle, parameters, power_of_two, uint};

/// Bits of a number of positions or beats: up to 65,536.
pub(super) const COUNT: u32 = 17;

/// Bits of a number of bytes of a row that are taken.
pub(super) const BYTES: u32 = 20;

/// Read DMAs with one group: codebook and heads of tokens, their indices, their outliers, panels of weights, constants,
/// addends.
pub(super) const READERS: u32 = 6;

/// Bytes of a token before its indices.
pub(super) const HEAD_BYTES: u32 = 64;

/// Bytes of a codebook.
pub(super) const CODEBOOK_BYTES: u32 = 192;

parameters! {
    /// Lanes and their sizes.
    pub struct KllmSpec {
        /// Lanes.
        lanes: u32 = 4, in power_of_two(1..=128), tag "l";
        /// Channels of a lane.
        columns: u32 = 16, in power_of_two(1..=1024), note "lanes x columns at least 32: rows of results begin at multiples of 64 bytes", tag "c";
        /// Positions of a beat.
        inputs: u32 = 8, in power_of_two(2..=64), tag "n";
        /// Bits of a centroid, signed.
        centroid_bits: u32 = 12, in 2..=16, tag "f";
        /// Words of a bank of weights. If a token has no more beats than this, its weights are read once for all
        /// tokens.
        buffer: u32 = 128, in 2..=65_535, tag "d";
        /// Beats of the longest token.
        depth: u32 = 512, in 1..=32_768, note "at most 65536 / inputs", tag "k";
        /// Outliers of a token on each side, at most.
        kmax: u32 = 32, in 1..=32_767, tag "o";
        /// Groups of lanes, each with panels of its own and a DMA that reads them: a beat's weights come over that many
        /// DMAs.
        groups: u32 = 1, in power_of_two(1..=32), note "at most lanes; lanes / groups x columns at least 32", named "when set";
        /// Results of a cycle.
        outputs: u32 = 4, in power_of_two(1..=64), note "at most columns", tag "r";
    }
    rules = |p, rules| {
        rules.demand(p.panel() >= 32, "columns", p.columns, format!("at least {}", 32 / p.lanes.max(1)));
        let most = p.lanes.min(p.panel() / 32).max(1);
        rules.demand(p.groups <= most, "groups", p.groups, format!("a power of two from 1 to {most}"));
        let deepest = 65_536 / p.inputs.max(1);
        rules.demand(p.depth <= deepest, "depth", p.depth, format!("1 to {deepest}"));
        rules.demand(p.outputs <= p.columns, "outputs", p.outputs, format!("at most columns = {}", p.columns));
        rules.part("columns", &p.lane());
        rules.part("kmax", &p.scaling());
    };
}

bundle! {
    /// A product, as the parts need to know it; steady while it is in hand.
    pub struct ProductSize(_unit: ()) {
        /// Tokens, from 1 on.
        tokens: Field = uint(16),
        /// Channels, from 1 on.
        channels: Field = uint(16),
        /// Positions of a token, from 1 on.
        inner: Field = uint(COUNT),
        /// Beats of a token; repeated beats do not count.
        beats: Field = uint(COUNT),
        /// Places for outliers in a token.
        outliers: Field = uint(COUNT),
        /// A bank holds the weights of a panel: they come once for all tokens.
        fits: Field = bit(),
        /// There are addends.
        add: Field = bit(),
        /// Tokens are rows of 8-bit integers.
        integers: Field = bit(),
    }
}

impl KllmSpec {
    /// Channels of all lanes.
    #[must_use]
    pub fn panel(&self) -> u32 {
        self.lanes * self.columns
    }

    /// A group of lanes, with a panel in memory.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { lanes: self.lanes / self.groups.max(1), groups: 1, ..self.clone() }
    }

    /// DMAs that read: one for the panels of each group, and five.
    pub(super) fn readers(&self) -> u32 {
        READERS + self.groups - 1
    }

    /// Positions of the longest token.
    #[must_use]
    pub fn inner(&self) -> u32 {
        self.depth * self.inputs
    }

    /// A lane.
    #[must_use]
    pub fn lane(&self) -> PeLane {
        PeLane {
            columns: self.columns,
            inputs: self.inputs,
            a_bits: 4,
            w_bits: 4,
            centroid_bits: self.centroid_bits,
            buffer: self.buffer,
            k: self.inner(),
            outputs: self.outputs,
            products: PairProducts::Lookup,
            outliers: 2 * self.kmax,
            ..PeLane::default()
        }
    }

    /// The unit that turns sums into results.
    #[must_use]
    pub fn scaling(&self) -> ScalingUnit {
        let lane = self.lane();
        ScalingUnit {
            columns: self.outputs,
            dense_width: lane.sum_width(),
            outlier_width: lane.outlier_width(),
            ..ScalingUnit::default()
        }
    }

    /// The adder of the addends.
    pub(super) fn adder(&self) -> FloatAdd {
        FloatAdd { format: FloatFormat::Fp16, stages: 3, ..FloatAdd::default() }
    }

    /// Cycles of an addend's sum, with a register after the adder.
    #[must_use]
    pub fn adding(&self) -> u32 {
        self.adder().stages + 1
    }

    /// Bits of a word of a lane's weights.
    pub(super) fn word(&self) -> u32 {
        4 * self.columns * self.inputs
    }

    /// Bytes of the weights of a beat in a panel.
    pub(super) fn beat_bytes(&self) -> u32 {
        self.group().panel() * self.inputs / 2
    }

    /// Beats of results of a whole panel.
    pub(super) fn result_beats(&self) -> u32 {
        self.panel() / self.outputs.max(1)
    }
}
