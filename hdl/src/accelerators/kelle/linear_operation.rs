//! The descriptor of a product of a linear layer.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct LinearOperation {
        /// Rows, at most.
        tokens: u32 = 64, in 1..=65535, tag "t";
        /// Channels, at most.
        inner: u32 = 1536, in 1..=65535, tag "i";
    }
}

operation! {
    /// Rows of fp16 times a matrix of weights.
    pub struct LinearOperationPorts(p: &LinearOperation) = "kelle_linear_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=p.tokens);
        /// Columns of the results.
        columns at 36: Size = (32, 1..=65535);
        /// Elements of a row of x.
        channels at 40: Size = (32, 1..=p.inner);
        /// How it ends.
        options at 44, 4 bytes {
            /// A result that is not exact is an error.
            exact at 12: Flag = ();
        }
        /// Factor that turns an element into an integer of 16 bits, fp32.
        quantizer at 48: Bits = 32;
        /// Bytes from row to row of x.
        x_stride at 52: Stride = ();
        /// Bytes from panel to panel.
        panel_stride at 56: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 60: Stride = ();
        /// Rows of fp16.
        x_address at 64: Address = ();
        /// Weights: panels of columns.
        panel_address at 72: Address = ();
        /// Scale and bias of each column: two numbers of fp32.
        constants_address at 80: Address = ();
        /// Where the results go: rows of fp16.
        out_address at 88: Address = ();
    }
}
