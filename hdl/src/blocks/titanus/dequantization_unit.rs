//! Dequantization unit: quantized tiles become int8 values again, each at its channel.
//!
//! A value is range (q - zero) / L, rounded. L is odd, so that there are no ties and rounding is the same on both sides
//! of zero: |range (q - zero)| + floor(L / 2) is divided by L = 2^b - 1 in eight compare-and-subtract steps.
//!
//! The multiplier rests where index is 0 (the value is 0), where q is the zero point (0 too), and where label is 0.
//! With label 0 the value is a constant of the level, computed once, when the level arrives, and kept. An element that
//! opens a level is at its low end (that constant) or at its top (that constant plus the range). So the multiplier is
//! free for the constant then.

mod hardware;
mod order;
mod properties;

use super::{RebuiltTile, StoredTile};
use crate::lang::{
    Array, CatalogBlock, InStream, Module, OutOption, OutStream, Proof, Signal, Type, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct DequantizationUnit {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Adds counters of multiplications and of skipped ones.
        count_skips: bool = false, tag "c";
    }
}

ports! {
    /// Ports of [`DequantizationUnit`].
    pub struct DequantizationUnitPorts(p: &DequantizationUnit) {
        /// Quantized tiles of streams, one stream after the other.
        tile: InStream<StoredTile> = p.lanes,
        /// Values, and the level of each channel.
        result: OutStream<RebuiltTile> = (p.lanes, p.levels),
        /// Products computed since reset, including products for constants of levels; wraps around. Beats with error do
        /// not count, here and in the other counters.
        multiplications_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with index 0 since reset; wraps around.
        index_skips_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with index 1 and label 0 since reset; wraps around.
        label_skips_o: OutOption = uint(32).when(p.count_skips),
        /// Elements with label 1 whose quantized value is the zero point, since reset; wraps around.
        zero_point_skips_o: OutOption = uint(32).when(p.count_skips),
    }
}

/// A register that takes `value` where `load` is high.
#[track_caller]
fn held(m: &mut Module, name: &str, load: Signal, value: Signal) -> Signal {
    let register = m.reg(name, value.ty());
    register.next_when(load, value);
    register.q
}

/// Signals that all lanes use.
#[derive(Clone, Copy)]
struct Shared {
    step: Signal,
    finish: Signal,
    fresh: Signal,
    /// L at the input, and after the first stage.
    steps: Signal,
    product_steps: Signal,
    /// The beat in the first stage is of no meaning.
    failed: Signal,
    out: Signal,
    level_type: Type,
}

/// Nets around the lanes.
#[derive(Clone, Copy)]
struct Nets {
    present: Array,
    next: Array,
    counts_after: Array,
    counted: Option<Array>,
    /// A level too many, an element without level, and one within the level that it opens.
    wrong_levels: [Array; 3],
    /// After the first stage: a level that opens is far beyond eight bits, so that its top is not known.
    beyond: Array,
}

impl CatalogBlock for DequantizationUnit {
    // With one level nothing is ever extended, and no level opens at its top.
    const SAMPLE: &'static [(&'static str, u32)] = &[("levels", 2)];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, count_skips| Self { lanes, tiles, levels, count_skips };
        vec![set(2, 1, 1, false), set(5, 3, 4, true)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |tiles, levels, depth, induction| Proof {
            block: Self { lanes: 2, tiles, levels, count_skips: false },
            depth,
            cover_depth: 7,
            induction,
        };
        vec![proof(1, 1, 3, true), proof(1, 2, 3, true), proof(2, 2, 8, false)]
    }
}
