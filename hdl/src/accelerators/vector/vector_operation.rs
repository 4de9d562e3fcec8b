//! The descriptor of steps on rows.

use crate::blocks::common::row::RowUnits;
use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct VectorOperation {
        /// Elements of the longest row.
        max_columns: u32 = 512, in 1..=4_194_304, tag "c";
        /// Functions for whole rows.
        units: RowUnits = RowUnits::default();
    }
}

operation! {
    /// Rows of fp16 numbers through a list of steps.
    pub struct VectorOperationPorts(p: &VectorOperation) = "vector_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row.
        columns at 36: Size = (32, 1..=p.max_columns);
        /// What is done with the elements, in the order of the steps.
        steps at 40, 4 bytes {
            /// Multiply by scale.
            scales at 0: Flag = ();
            /// Add the addends.
            add at 1: Flag = ();
            /// Apply the function that the register FUNCTION names.
            activate at 2: Flag = ();
            /// Multiply by the factors.
            multiply at 3: Flag = ();
            /// Norm the row, as kind says.
            norm at 4: Flag = ();
            /// The norm multiplies by the gains.
            gain at 5: Flag = () when (set("norm") & !is("kind", 1));
            /// Kind of the norm: 0 by the root mean square, 1 softmax, 2 layer norm.
            kind at 6: Choice = (2, 0..=2) when (set("norm"));
            /// Format of the results: 0 fp16, 1 integers of 8 bits, 2 of 4 bits.
            format at 8: Choice = (2, 0..=2);
            /// Rotate pairs of neighbours by the angles.
            rotate at 10: Flag = () when (!(set("norm") & is("kind", 1)) & !set("multiply"));
            /// In each row of a softmax one more element counts than in the row before.
            causal at 11: Flag = () when (set("norm") & is("kind", 1));
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// Factor of all elements, fp16.
        scale at 44: Bits = 16;
        /// Factor of the results before they become integers, fp16.
        quantizer at 46: Bits = 16;
        /// Addend to the mean square or the variance, in units of 2^-48.
        epsilon_bits at 48, 8 bytes {
            /// Addend to the mean square or the variance, in units of 2^-48.
            epsilon at 0: Bits = 40;
        }
        /// Bytes from row to row of x.
        x_stride at 56: Stride = ();
        /// Bytes from row to row of the addends.
        addend_stride at 60: Stride = ();
        /// Rows of fp16.
        x_address at 64: Address = ();
        /// The addends: rows of fp16.
        addend_address at 72: Address = ();
        /// The factors: rows of fp16. Or angles: cosine and sine of each pair.
        factor_address at 80: Address = ();
        /// Bytes from row to row of the factors or angles.
        factor_stride at 88: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 92: Stride = ();
        /// Gains of the norm: one row of fp16 for all; of a layer norm one row of pairs of gain and bias.
        gain_address at 96: Address = ();
        /// Where the results go.
        out_address at 104: Address = ();
        /// Elements that count in a softmax: 1 to columns.
        length at 112: Bits = 32 when (set("norm") & is("kind", 1));
    }
}
