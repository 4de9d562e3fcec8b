//! The descriptor of tokens that an accelerator takes and gives.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct LinkOperation {
        /// Words of an operation.
        words: u32 = 24, in 4..=248, tag "w";
        /// Bits of a number of tokens.
        token_bits: u32 = 16, in 2..=16, tag "t";
        /// Bits of a number of cycles to wait.
        patience_bits: u32 = 32, in 2..=32, tag "p";
    }
}

/// The largest number of so many bits.
fn most(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

operation! {
    /// Takes tokens of the accelerator before this one, and gives tokens to the next one.
    pub struct LinkOperationPorts(p: &LinkOperation) = "link_operation", (32 + 4 * p.words) bytes {
        /// Tokens to take.
        awaited at 32: Size = (32, 0..=most(p.token_bits));
        /// Tokens to give afterwards; not both 0.
        given at 36: Size = (32, 0..=most(p.token_bits));
        /// Most cycles to wait for each token; 0 for as many as TIMEOUT says.
        patience at 40: Size = (32, 0..=most(p.patience_bits));
        /// Which tokens are last ones.
        options at 44, 4 bytes {
            /// The last token that is taken is marked as last; no other token that is taken is.
            last_awaited at 0: Flag = () when (set("awaited"));
            /// The last token that is given is marked as last.
            last_given at 1: Flag = () when (set("given"));
        }
    }
}
