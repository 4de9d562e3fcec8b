//! Jobs of `kelle_top`: rows times 8-bit weights, attention of heads that live in the accelerator, and the steps of
//! [`vector`](crate::vector) on rows.

mod caps;
mod check;
mod job;
mod panels;
/// Registers, the shell's included. The file is generated from the default configuration, and a test of the generator
/// compares it with the hardware. Registers that show parameters have the values of that configuration.
#[path = "generated/kelle_top.rs"]
pub mod registers;

pub use caps::{Caps, Counts};
pub use check::check;
pub use job::{
    Attention, AttentionJob, ClearJob, Intervals, Linear, LinearJob, Policy, Quantizers, RecomputeJob, RefreshJob,
    RestoreJob, Rows, SaveJob,
};
pub use panels::Panels;
pub use registers::operations;

#[cfg(test)]
mod tests {
    use super::Caps;
    use crate::vector;

    pub const CAPS: Caps = Caps {
        rows: 4,
        columns: 4,
        tokens: 4,
        inner: 24,
        heads: 3,
        slots: 5,
        width: 8,
        group: 2,
        score_lanes: 4,
        score_bits: 8,
        amount_bits: 9,
        interval_bits: 12,
        cache_rows: 18,
        save: true,
        recompute: 0,
        vector: vector::Caps {
            opcode: 3,
            lanes: 4,
            max_beats: 8,
            function: 2,
            units: vector::Units { softmax: false, layer_norm: false, rotary: false },
        },
    };
}
