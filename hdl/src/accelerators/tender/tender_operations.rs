//! The descriptors of products and of packings.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct MatmulOperation {
        /// Channels of a panel.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer.
        steps: u32 = 2048, in 2..=65536, tag "s";
        /// There is explicit requantization.
        explicit: bool = false, tag "explicit";
    }
}

operation! {
    /// A product of matrices.
    pub struct MatmulOperationPorts(p: &MatmulOperation) = "tender_matmul_operation", 128 bytes {
        /// Rows of the left matrix and of the results.
        rows at 32: Size = (32, 1..=65535);
        /// Columns of the right matrix and of the results.
        columns at 36: Size = (32, 1..=65535);
        /// Channels: columns of the left matrix, and rows of the right one.
        channels at 40: Size = (32, 1..=p.depth);
        /// Entries of the table.
        steps at 44: Size = (32, 1..=p.steps);
        /// How operands are read, and what the results are.
        options at 48, 4 bytes {
            /// Integers have 8 bits, otherwise 4.
            int8 at 0: Flag = ();
            /// The left matrix is not in two's complement.
            a_unsigned at 1: Flag = ();
            /// The right matrix is not in two's complement.
            b_unsigned at 2: Flag = ();
            /// Results are panels of integers, otherwise rows of fp16.
            integers at 4: Flag = ();
            /// Integers of the results are not in two's complement.
            out_unsigned at 5: Flag = ();
            /// Negative numbers become 0.
            relu at 6: Flag = ();
            /// Each row has its constants, otherwise each column.
            per_row at 7: Flag = ();
            /// Each doubling ends a partial sum, and partial sums are added outside the array.
            explicit at 8: Flag = () when (built("explicit", p.explicit));
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// Bytes from panel to panel of the left matrix.
        a_stride at 56: Stride = ();
        /// Bytes from panel to panel of the right matrix.
        b_stride at 60: Stride = ();
        /// Left matrix: panels of rows.
        a_address at 64: Address = ();
        /// Right matrix: panels of columns.
        b_address at 72: Address = ();
        /// The order of channels, and where sums are doubled: entries of 2 bytes.
        table_address at 80: Address = ();
        /// Constants of each column or row: records of 16 bytes.
        constants_address at 88: Address = ();
        /// Bytes from row to row or panel to panel of the results.
        out_stride at 96: Stride = ();
        /// Where the results go.
        out_address at 104: Address = ();
    }
}

parameters! {
    /// Elaboration parameters: none.
    pub struct PackOperation {}
}

operation! {
    /// Turns fp16 numbers into integers.
    pub struct PackOperationPorts(p: &PackOperation) = "tender_pack_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row.
        columns at 36: Size = (32, 1..=65535);
        /// What the integers are.
        options at 48, 4 bytes {
            /// Integers have 8 bits, otherwise 4.
            int8 at 0: Flag = ();
            /// Integers of the results are not in two's complement.
            out_unsigned at 5: Flag = ();
            /// Negative numbers become 0.
            relu at 6: Flag = ();
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// Bytes from row to row of x.
        x_stride at 56: Stride = ();
        /// Rows of fp16.
        x_address at 64: Address = ();
        /// Constants of each column: records of 16 bytes.
        constants_address at 88: Address = ();
        /// Bytes from panel to panel of the results.
        out_stride at 96: Stride = ();
        /// Where the results go.
        out_address at 104: Address = ();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::operation::OperationBlock;

    /// The engine reads the fields that both have from the table of a product.
    #[test]
    fn fields_of_a_packing_lie_where_those_of_a_product_lie() {
        let (matmul, pack) = (MatmulOperation::default().layout(), PackOperation::default().layout());
        for field in &pack.fields {
            let name = match field.name.as_str() {
                "x_stride" => "a_stride",
                "x_address" => "a_address",
                name => name,
            };
            let other = matmul.field(name).expect(name);
            assert_eq!((field.bits(), field.values), (other.bits(), other.values), "{name}");
        }
    }
}
