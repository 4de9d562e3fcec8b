//! The descriptors of loads and of products.

use super::titanus_spec::TitanusSpec;
use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct LoadOperation {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct MultiplyOperation {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

operation! {
    /// Loads weights or constants from memory.
    pub struct LoadOperationPorts(p: &LoadOperation) = "titanus_load_operation", 128 bytes {
        /// Rows: inputs of the matrix; of constants 1.
        rows at 32: Size = (32, 1..=p.spec.inputs());
        /// Columns: outputs of the matrix, or how many constants.
        columns at 36: Size = (32, 1..=p.spec.outputs().max(p.spec.constants));
        /// The first constant.
        constant at 40: Size = (32, 0..=p.spec.constants - 1) when (set("constants"));
        /// What is loaded.
        options at 44, 4 bytes {
            /// Constants, not weights.
            constants at 0: Flag = ();
        }
        /// First row of macros.
        first_row at 48: Size = (16, 0..=p.spec.store.rows - 1) when (!set("constants"));
        /// First column of macros.
        first_column at 50: Size = (16, 0..=p.spec.store.columns - 1) when (!set("constants"));
        /// Bytes from row to row.
        stride at 52: Stride = ();
        /// Rows of int8, or records of constants.
        address at 64: Address = ();
    }
}

operation! {
    /// Products of rows and a matrix on the chip.
    pub struct MultiplyOperationPorts(p: &MultiplyOperation) = "titanus_multiply_operation", 128 bytes {
        /// Rows of x.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row of x.
        inner at 36: Size = (32, 1..=p.spec.most_elements());
        /// Results of a row.
        columns at 40: Size = (32, 1..=p.spec.most_results());
        /// What becomes of sums.
        options at 44, 4 bytes {
            /// Results are int8, otherwise fp16.
            integers at 0: Flag = ();
            /// Negative results are 0.
            relu at 1: Flag = ();
            /// All results have the first constant.
            one_constant at 2: Flag = ();
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// First row of macros; of keys and values the first tile of the head.
        first_row at 48: Size = (16, 0..=p.spec.store.rows.max(p.spec.tiles) - 1);
        /// First column of macros; of keys and values 0.
        first_column at 50: Size = (16, 0..=p.spec.store.columns - 1) when (!set("matrix"));
        /// Bytes from row to row of x.
        x_stride at 52: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 56: Stride = ();
        /// The first constant.
        constant at 60: Size = (32, 0..=p.spec.constants - 1);
        /// Rows of int8; for values of the context rows of fp16.
        x_address at 64: Address = ();
        /// Where the results go: rows of fp16 or int8.
        out_address at 72: Address = ();
        /// The matrix: 0 weights, 1 keys, 2 values.
        matrix at 80: Choice = (32, 0..=2);
    }
}
