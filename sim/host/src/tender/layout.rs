//! Fields that follow the header in a descriptor of `tender_top`. Steps on rows have the fields of
//! [`vector::layout`](crate::vector::layout).

use crate::layout::Operation;

/// Products of matrices.
pub mod matmul {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows of the left matrix and of the results, 1 to 65535.
        ROWS, "rows", 4 at 32;
        /// Columns of the right matrix and of the results, 1 to 65535.
        COLUMNS, "columns", 4 at 36;
        /// Channels: columns of the left and rows of the right matrix, 1 to DEPTH.
        CHANNELS, "channels", 4 at 40;
        /// Entries of the table, 1 to STEPS.
        STEPS, "steps", 4 at 44;
        /// Bits SNBZ_TENDER_OPTION_...; others 0.
        OPTIONS, "options", 4 at 48;
        /// 0.
        ZERO_0, "zero_0", 4 at 52;
        /// Bytes from panel to panel of the left matrix.
        A_STRIDE, "a_stride", 4 at 56;
        /// Bytes from panel to panel of the right matrix.
        B_STRIDE, "b_stride", 4 at 60;
        /// Left matrix: panels of rows.
        A_ADDRESS, "a_address", 8 at 64;
        /// Right matrix: panels of columns.
        B_ADDRESS, "b_address", 8 at 72;
        /// The order of channels, and where sums are doubled: entries of 2 bytes.
        TABLE_ADDRESS, "table_address", 8 at 80;
        /// Constants of each column or row: records of 16 bytes.
        CONSTANTS_ADDRESS, "constants_address", 8 at 88;
        /// Bytes from row to row or panel to panel of the results.
        OUT_STRIDE, "out_stride", 4 at 96;
        /// 0.
        ZERO_1, "zero_1", 4 at 100;
        /// Where the results go.
        OUT_ADDRESS, "out_address", 8 at 104;
        /// 0.
        ZERO_2, "zero_2", 8 at 112;
        /// 0.
        ZERO_3, "zero_3", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3];
}

/// Turns fp16 numbers into integers.
pub mod pack {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows, 1 to 65535.
        ROWS, "rows", 4 at 32;
        /// Elements of a row, 1 to 65535.
        COLUMNS, "columns", 4 at 36;
        /// 0.
        ZERO_0, "zero_0", 8 at 40;
        /// Bits SNBZ_TENDER_OPTION_...: INT8, OUT_UNSIGNED, RELU, EXACT; others 0.
        OPTIONS, "options", 4 at 48;
        /// 0.
        ZERO_1, "zero_1", 4 at 52;
        /// Bytes from row to row of x.
        X_STRIDE, "x_stride", 4 at 56;
        /// 0.
        ZERO_2, "zero_2", 4 at 60;
        /// Rows of fp16.
        X_ADDRESS, "x_address", 8 at 64;
        /// 0.
        ZERO_3, "zero_3", 8 at 72;
        /// 0.
        ZERO_4, "zero_4", 8 at 80;
        /// Constants of each column: records of 16 bytes.
        CONSTANTS_ADDRESS, "constants_address", 8 at 88;
        /// Bytes from panel to panel of the results.
        OUT_STRIDE, "out_stride", 4 at 96;
        /// 0.
        ZERO_5, "zero_5", 4 at 100;
        /// Where the results go.
        OUT_ADDRESS, "out_address", 8 at 104;
        /// 0.
        ZERO_6, "zero_6", 8 at 112;
        /// 0.
        ZERO_7, "zero_7", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7];
}

/// A product of matrices.
pub const MATMUL_VALUE: u8 = 1;
/// Turns fp16 numbers into integers.
pub const PACK_VALUE: u8 = 2;
/// Steps on rows.
pub const VECTOR_VALUE: u8 = 3;
/// Operations there are.
pub const OPCODES: u8 = 3;

/// Bits of the options: name, number, meaning.
pub const OPTION_BITS: &[(&str, u32, &str)] = &[
    ("INT8", INT8_BIT, "Integers have 8 bits, otherwise 4."),
    ("A_UNSIGNED", A_UNSIGNED_BIT, "The left matrix is not in two's complement."),
    ("B_UNSIGNED", B_UNSIGNED_BIT, "The right matrix is not in two's complement."),
    ("INTEGERS", INTEGERS_BIT, "Results are panels of integers, otherwise rows of fp16."),
    ("OUT_UNSIGNED", OUT_UNSIGNED_BIT, "Integers of the results are not in two's complement."),
    ("RELU", RELU_BIT, "Negative numbers become 0."),
    ("PER_ROW", PER_ROW_BIT, "Each row has its constants, otherwise each column."),
    (
        "EXPLICIT",
        EXPLICIT_BIT,
        "Each doubling ends a partial sum, and partial sums are added outside the array; only if CAPS has it.",
    ),
    ("EXACT", EXACT_BIT, "An overflow is an error."),
];

/// Bit of the options.
pub const INT8_BIT: u32 = 0;
/// Bit of the options.
pub const A_UNSIGNED_BIT: u32 = 1;
/// Bit of the options.
pub const B_UNSIGNED_BIT: u32 = 2;
/// Bit of the options.
pub const INTEGERS_BIT: u32 = 4;
/// Bit of the options.
pub const OUT_UNSIGNED_BIT: u32 = 5;
/// Bit of the options.
pub const RELU_BIT: u32 = 6;
/// Bit of the options.
pub const PER_ROW_BIT: u32 = 7;
/// Bit of the options.
pub const EXPLICIT_BIT: u32 = 8;
/// Bit of the options.
pub const EXACT_BIT: u32 = 12;

/// Bits of the options of a pack.
pub const PACK_BITS: &[u32] = &[INT8_BIT, OUT_UNSIGNED_BIT, RELU_BIT, EXACT_BIT];

/// Entry of a table that is no channel: all sums are doubled.
pub const RESCALE: u16 = 0x8000;

/// Bytes of the constants of a row or column.
pub const RECORD_BYTES: u64 = 16;

/// The operations except steps on rows.
pub const OPERATIONS: &[Operation] = &[
    Operation { name: "matmul", opcode: MATMUL_VALUE, meaning: "A product of matrices.", fields: matmul::FIELDS },
    Operation { name: "pack", opcode: PACK_VALUE, meaning: "Turns fp16 numbers into integers.", fields: pack::FIELDS },
];
