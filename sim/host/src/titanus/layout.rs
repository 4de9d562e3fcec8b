//! Fields that follow the header in a descriptor of `titanus_core`. Steps on rows have the fields of
//! [`vector::layout`](crate::vector::layout).

use crate::layout::Operation;

/// Loads weights or constants from memory.
pub mod load {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows: inputs of the matrix; of constants 1.
        ROWS, "rows", 4 at 32;
        /// Columns: outputs of the matrix, or how many constants.
        COLUMNS, "columns", 4 at 36;
        /// The first constant; of weights 0.
        CONSTANT, "constant", 4 at 40;
        /// Bit SNBZ_TITANUS_OPTION_CONSTANTS; others 0.
        OPTIONS, "options", 4 at 44;
        /// First row of macros; of constants 0.
        FIRST_ROW, "first_row", 2 at 48;
        /// First column of macros; of constants 0.
        FIRST_COLUMN, "first_column", 2 at 50;
        /// Bytes from row to row.
        STRIDE, "stride", 4 at 52;
        /// 0.
        ZERO_0, "zero_0", 8 at 56;
        /// Rows of int8, or records of constants.
        ADDRESS, "address", 8 at 64;
        /// 0.
        ZERO_1, "zero_1", 8 at 72;
        /// 0.
        ZERO_2, "zero_2", 8 at 80;
        /// 0.
        ZERO_3, "zero_3", 8 at 88;
        /// 0.
        ZERO_4, "zero_4", 8 at 96;
        /// 0.
        ZERO_5, "zero_5", 8 at 104;
        /// 0.
        ZERO_6, "zero_6", 8 at 112;
        /// 0.
        ZERO_7, "zero_7", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7];
}

/// Products of rows and a matrix on the chip.
pub mod product {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows of x, 1 to 65535.
        ROWS, "rows", 4 at 32;
        /// Elements of a row of x.
        INNER, "inner", 4 at 36;
        /// Results of a row.
        COLUMNS, "columns", 4 at 40;
        /// Bits SNBZ_TITANUS_OPTION_...: INTEGERS, RELU, ONE_CONSTANT, EXACT; others 0.
        OPTIONS, "options", 4 at 44;
        /// First row of macros; of keys and values the first tile of the head.
        FIRST_ROW, "first_row", 2 at 48;
        /// First column of macros; of keys and values 0.
        FIRST_COLUMN, "first_column", 2 at 50;
        /// Bytes from row to row of x.
        X_STRIDE, "x_stride", 4 at 52;
        /// Bytes from row to row of the results.
        OUT_STRIDE, "out_stride", 4 at 56;
        /// The first constant.
        CONSTANT, "constant", 4 at 60;
        /// Rows of int8; for values of the context rows of fp16.
        X_ADDRESS, "x_address", 8 at 64;
        /// Where the results go: rows of fp16 or int8.
        OUT_ADDRESS, "out_address", 8 at 72;
        /// The matrix: 0 weights, 1 keys, 2 values.
        MATRIX, "matrix", 4 at 80;
        /// 0.
        ZERO_0, "zero_0", 4 at 84;
        /// 0.
        ZERO_1, "zero_1", 8 at 88;
        /// 0.
        ZERO_2, "zero_2", 8 at 96;
        /// 0.
        ZERO_3, "zero_3", 8 at 104;
        /// 0.
        ZERO_4, "zero_4", 8 at 112;
        /// 0.
        ZERO_5, "zero_5", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5];
}

/// Appends tokens to the cache.
pub mod append {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Tokens, 1 to 65535.
        TOKENS, "tokens", 4 at 32;
        /// Channels of a token.
        CHANNELS, "channels", 4 at 36;
        /// Tokens that are in the cache already; 0 begins a new cache.
        POSITION, "position", 4 at 40;
        /// Bits SNBZ_TITANUS_OPTION_...: KEEP, EXACT; others 0.
        OPTIONS, "options", 4 at 44;
        /// Tokens of this and later appends that give each channel its first level; 0 unless position is 0.
        PREFILL, "prefill", 2 at 48;
        /// Lines of an area, 64 bytes each.
        LINES, "lines", 2 at 50;
        /// Pruning threshold of keys; 0 unless position is 0.
        KEY_THRESHOLD, "key_threshold", 1 at 52;
        /// Pruning threshold of values; 0 unless position is 0.
        VALUE_THRESHOLD, "value_threshold", 1 at 53;
        /// Width of quantized keys, 2 to 8; 0 unless position is 0.
        KEY_BITS, "key_bits", 1 at 54;
        /// Width of quantized values, 2 to 8; 0 unless position is 0.
        VALUE_BITS, "value_bits", 1 at 55;
        /// Bytes from row to row of the keys.
        KEY_STRIDE, "key_stride", 4 at 56;
        /// Bytes from row to row of the values.
        VALUE_STRIDE, "value_stride", 4 at 60;
        /// Keys: rows of int8.
        KEY_ADDRESS, "key_address", 8 at 64;
        /// Values: rows of int8.
        VALUE_ADDRESS, "value_address", 8 at 72;
        /// Where the stream of keys is.
        KEY_AREA, "key_area", 8 at 80;
        /// Where the stream of values is.
        VALUE_AREA, "value_area", 8 at 88;
        /// 0.
        ZERO_0, "zero_0", 8 at 96;
        /// 0.
        ZERO_1, "zero_1", 8 at 104;
        /// 0.
        ZERO_2, "zero_2", 8 at 112;
        /// 0.
        ZERO_3, "zero_3", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3];
}

/// Restores the tokens of the cache.
pub mod restore {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Tokens of the cache.
        TOKENS, "tokens", 4 at 32;
        /// Channels of a token.
        CHANNELS, "channels", 4 at 36;
        /// 0.
        ZERO_0, "zero_0", 4 at 40;
        /// Bit SNBZ_TITANUS_OPTION_ROWS; others 0.
        OPTIONS, "options", 4 at 44;
        /// 0.
        ZERO_1, "zero_1", 2 at 48;
        /// Lines of an area, 64 bytes each.
        LINES, "lines", 2 at 50;
        /// 0.
        ZERO_2, "zero_2", 4 at 52;
        /// Bytes from row to row of the keys; without ROWS 0.
        KEY_STRIDE, "key_stride", 4 at 56;
        /// Bytes from row to row of the values; without ROWS 0.
        VALUE_STRIDE, "value_stride", 4 at 60;
        /// Where keys go: rows of int8; without ROWS 0.
        KEY_ADDRESS, "key_address", 8 at 64;
        /// Where values go: rows of int8; without ROWS 0.
        VALUE_ADDRESS, "value_address", 8 at 72;
        /// Where the stream of keys is.
        KEY_AREA, "key_area", 8 at 80;
        /// Where the stream of values is.
        VALUE_AREA, "value_area", 8 at 88;
        /// 0.
        ZERO_3, "zero_3", 8 at 96;
        /// 0.
        ZERO_4, "zero_4", 8 at 104;
        /// 0.
        ZERO_5, "zero_5", 8 at 112;
        /// 0.
        ZERO_6, "zero_6", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6];
}

/// Takes tokens of the core before this one, and gives tokens to the next core.
pub mod link {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Tokens to take, 0 to 65535.
        AWAITED, "awaited", 4 at 32;
        /// Tokens to give afterwards, 0 to 65535; not both 0.
        GIVEN, "given", 4 at 36;
        /// Cycles to wait for each token at most; 0 for as many as TIMEOUT says.
        PATIENCE, "patience", 4 at 40;
        /// Bits SNBZ_TITANUS_OPTION_...: LAST_AWAITED, LAST_GIVEN; others 0.
        OPTIONS, "options", 4 at 44;
        /// 0.
        ZERO_0, "zero_0", 8 at 48;
        /// 0.
        ZERO_1, "zero_1", 8 at 56;
        /// 0.
        ZERO_2, "zero_2", 8 at 64;
        /// 0.
        ZERO_3, "zero_3", 8 at 72;
        /// 0.
        ZERO_4, "zero_4", 8 at 80;
        /// 0.
        ZERO_5, "zero_5", 8 at 88;
        /// 0.
        ZERO_6, "zero_6", 8 at 96;
        /// 0.
        ZERO_7, "zero_7", 8 at 104;
        /// 0.
        ZERO_8, "zero_8", 8 at 112;
        /// 0.
        ZERO_9, "zero_9", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] =
        &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7, ZERO_8, ZERO_9];
}

/// Loads weights or constants.
pub const LOAD_VALUE: u8 = 1;
/// A product.
pub const PRODUCT_VALUE: u8 = 2;
/// Steps on rows.
pub const VECTOR_VALUE: u8 = 3;
/// Appends tokens to the cache.
pub const APPEND_VALUE: u8 = 4;
/// Restores tokens.
pub const RESTORE_VALUE: u8 = 5;
/// Takes and gives tokens.
pub const LINK_VALUE: u8 = 6;
/// Largest opcode of a core without links.
pub const OPCODES: u8 = 5;

/// Bit of the options of a load: constants, not weights.
pub const CONSTANTS_BIT: u32 = 0;
/// Bit of the options of a product: results are int8, otherwise fp16.
pub const INTEGERS_BIT: u32 = 0;
/// Bit of the options of a product: negative results are 0.
pub const RELU_BIT: u32 = 1;
/// Bit of the options of a product: all results have the first constant.
pub const ONE_CONSTANT_BIT: u32 = 2;
/// Bit of the options of an append: the pruned tokens become the context, or follow its tokens.
pub const KEEP_BIT: u32 = 0;
/// Bit of the options of a restore: tokens go to memory, otherwise to the context.
pub const ROWS_BIT: u32 = 0;
/// Bit of the options: an overflow is an error.
pub const EXACT_BIT: u32 = 12;
/// Bit of the options of a link: the last token that is taken is marked as last, the others are not.
pub const LAST_AWAITED_BIT: u32 = 0;
/// Bit of the options of a link: the last token that is given is marked as last.
pub const LAST_GIVEN_BIT: u32 = 1;

/// Weights.
pub const STORE: u32 = 0;
/// Keys of the context.
pub const KEYS: u32 = 1;
/// Values of the context.
pub const VALUES: u32 = 2;

/// Bytes of a constant: scale and bias.
pub const CONSTANT_BYTES: u64 = 8;
/// Bytes of a line of an area.
pub const LINE_BYTES: u64 = 64;
/// The longest cache, and the longest area.
pub const MOST: u64 = 65_535;

/// Bits of the options: name, number, meaning.
pub const OPTION_BITS: &[(&str, u32, &str)] = &[
    ("CONSTANTS", CONSTANTS_BIT, "Of a load: constants, not weights."),
    ("INTEGERS", INTEGERS_BIT, "Of a product: results are int8, otherwise fp16."),
    ("RELU", RELU_BIT, "Of a product: negative results are 0."),
    ("ONE_CONSTANT", ONE_CONSTANT_BIT, "Of a product: all results have the first constant."),
    ("KEEP", KEEP_BIT, "Of an append: the pruned tokens become the context, or follow its tokens."),
    ("ROWS", ROWS_BIT, "Of a restore: tokens go to memory, otherwise to the context."),
    (
        "LAST_AWAITED",
        LAST_AWAITED_BIT,
        "Of a link: the last token that is taken is marked as last, the others are not.",
    ),
    ("LAST_GIVEN", LAST_GIVEN_BIT, "Of a link: the last token that is given is marked as last."),
    ("EXACT", EXACT_BIT, "An overflow is an error."),
];

/// The operations except steps on rows.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "load",
        opcode: LOAD_VALUE,
        meaning: "Loads weights or constants from memory.",
        fields: load::FIELDS,
    },
    Operation {
        name: "product",
        opcode: PRODUCT_VALUE,
        meaning: "Products of rows and a matrix on the chip.",
        fields: product::FIELDS,
    },
    Operation { name: "append", opcode: APPEND_VALUE, meaning: "Appends tokens to the cache.", fields: append::FIELDS },
    Operation {
        name: "restore",
        opcode: RESTORE_VALUE,
        meaning: "Restores the tokens of the cache.",
        fields: restore::FIELDS,
    },
    Operation {
        name: "link",
        opcode: LINK_VALUE,
        meaning: "Takes tokens of the core before this one, and gives tokens to the next core.",
        fields: link::FIELDS,
    },
];
