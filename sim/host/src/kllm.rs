//! Jobs of `kllm_top`: products of tokens and weights that are both indices of centroids, rows of fp16 numbers that
//! become tokens, and the steps of [`vector`](crate::vector) on rows.

mod caps;
mod check;
mod codebook;
mod job;
mod panels;
/// Registers, the shell's included. The file is generated from the default configuration, and a test of the generator
/// compares it with the hardware. Registers that show parameters have the values of that configuration.
#[path = "generated/kllm_top.rs"]
pub mod registers;
mod tokens;

pub use caps::{Beats, Caps, overflows};
pub use check::check;
pub use codebook::{Codebook, CodebookError};
pub use job::{AppendJob, MatMulJob, Product, Quantize, QuantizeJob};
pub use panels::Panels;
pub use registers::operations;
pub use tokens::{Bits, Token, TokenError, Tokens};

#[cfg(test)]
mod tests {
    use super::Caps;
    use crate::vector;

    pub const CAPS: Caps = Caps {
        lanes: 2,
        columns: 2,
        groups: 1,
        inputs: 4,
        centroid_bits: 8,
        buffer: 2,
        inner: 24,
        segment: 16,
        outliers: 3,
        vector: vector::Caps {
            opcode: 3,
            lanes: 4,
            max_beats: 8,
            function: 2,
            units: vector::Units { softmax: false, layer_norm: false, rotary: false },
        },
    };
}
