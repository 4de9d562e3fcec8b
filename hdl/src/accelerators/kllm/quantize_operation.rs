//! The descriptor of rows that become tokens.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct QuantizeOperation {
        /// Elements of the longest row.
        inner: u32 = 4096, in 2..=65_536, tag "k";
        /// Outliers of a token on each side, at most.
        kmax: u32 = 32, in 1..=32_767, tag "o";
    }
}

operation! {
    /// Quantizes rows of fp16 numbers to tokens.
    pub struct QuantizeOperationPorts(p: &QuantizeOperation) = "kllm_quantize_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row.
        columns at 36: Size = (32, 1..=p.inner);
        /// How tokens are made, and what is an error.
        options at 40, 4 bytes {
            /// Indices have 3 bits, otherwise 4.
            three_bits at 0: Flag = ();
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// How many of the largest elements of a row are outliers.
        largest at 44: Size = (16, 0..=p.kmax);
        /// How many of the smallest elements of a row are outliers.
        smallest at 46: Size = (16, 0..=p.kmax);
        /// Bytes from row to row of x.
        x_stride at 48: Stride = ();
        /// Bytes from token to token.
        out_stride at 52: Stride = ();
        /// Rows of fp16.
        x_address at 64: Address = ();
        /// The codebook.
        codebook_address at 72: Address = ();
        /// Where the tokens go.
        out_address at 80: Address = ();
    }
}
