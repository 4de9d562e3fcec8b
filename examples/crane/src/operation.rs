//! The descriptor of a product.

use senbazuru::accelerator::prelude::*;

parameters! {
    /// Elaboration parameters.
    pub struct ProductOperation {
        /// Rows at most.
        rows: u32 = 16, in 1..=256, tag "r";
        /// Channels at most.
        channels: u32 = 4096, in 1..=16_384, tag "k";
    }
}

operation! {
    /// A product of fp16 rows and packed columns, as fp16 rows.
    pub struct ProductOperationPorts(p: &ProductOperation) = "crane_product_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=p.rows);
        /// Columns of the right matrix and of the results.
        columns at 36: Size = (32, 1..=65535);
        /// Channels: elements of a row and of a column.
        channels at 40: Size = (32, 1..=p.channels);
        /// What becomes of the sums.
        options at 44, 4 bytes {
            /// Sums are divided by 2^shift.
            shift at 0: Choice = (7, 0..=96);
            /// A result that is infinite or no number is an error.
            exact at 12: Flag = ();
        }
        /// Bytes from row to row.
        x_stride at 48: Stride = ();
        /// Bytes from column to column of the right matrix.
        weight_stride at 52: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 56: Stride = ();
        /// The rows, fp16.
        x_address at 64: Address = ();
        /// Right matrix: a row of INT4 for each column.
        weight_address at 72: Address = ();
        /// Exponents of its groups, 4 bits each: column after column without gaps, in whole words.
        exponent_address at 80: Address = ();
        /// Where the results go.
        out_address at 88: Address = ();
    }
}
