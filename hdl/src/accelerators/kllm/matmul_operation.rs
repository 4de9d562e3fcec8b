//! The descriptor of products.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct MatmulOperation {
        /// Positions of the longest token.
        inner: u32 = 4096, in 2..=65_536, tag "k";
        /// Outliers of a token on each side, at most.
        kmax: u32 = 32, in 1..=32_767, tag "o";
    }
}

operation! {
    /// A product of tokens, or of rows of 8-bit integers, and weights.
    pub struct MatmulOperationPorts(p: &MatmulOperation) = "kllm_matmul_operation", 128 bytes {
        /// Tokens.
        tokens at 32: Size = (32, 1..=65535);
        /// Channels: results of a token.
        channels at 36: Size = (32, 1..=65535);
        /// Positions of a token.
        inner at 40: Size = (32, 1..=p.inner);
        /// What is an error.
        options at 44, 4 bytes {
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// What is added to the results.
        add at 48, 4 bytes {
            /// The addends are added.
            adds at 0: Flag = ();
        }
        /// Bytes from token to token.
        token_stride at 52: Stride = ();
        /// Bytes from panel to panel.
        panel_stride at 56: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 60: Stride = ();
        /// The tokens.
        token_address at 64: Address = ();
        /// Weights: panels of channels.
        panel_address at 72: Address = ();
        /// Constants of each channel: records of 8 bytes.
        constants_address at 80: Address = ();
        /// The codebook.
        codebook_address at 88: Address = ();
        /// Where the results go: rows of fp16.
        out_address at 96: Address = ();
        /// The addends: rows of fp16.
        addend_address at 104: Address = ();
        /// Bytes from row to row of the addends.
        addend_stride at 112: Stride = ();
        /// Outliers that a token has room for; integers have none.
        outliers at 116: Size = (32, 0..=2 * p.kmax) when (opcode(1));
    }
}
