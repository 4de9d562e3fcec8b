//! Fields that follow the header in a descriptor of `kelle_top`. Steps on rows have the fields of
//! [`vector::layout`](crate::vector::layout).

use crate::layout::Operation;

/// Rows of fp16 times a matrix of weights.
pub mod linear {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows, 1 to TOKENS of LINEAR.
        ROWS, "rows", 4 at 32;
        /// Columns of the results, 1 to 65535.
        COLUMNS, "columns", 4 at 36;
        /// Elements of a row of x, 1 to INNER of LINEAR.
        CHANNELS, "channels", 4 at 40;
        /// Bit SNBZ_KELLE_OPTION_EXACT; others 0.
        OPTIONS, "options", 4 at 44;
        /// Factor that turns an element into an integer of 16 bits, fp32.
        QUANTIZER, "quantizer", 4 at 48;
        /// Bytes from row to row of x.
        X_STRIDE, "x_stride", 4 at 52;
        /// Bytes from panel to panel.
        PANEL_STRIDE, "panel_stride", 4 at 56;
        /// Bytes from row to row of the results.
        OUT_STRIDE, "out_stride", 4 at 60;
        /// Rows of fp16.
        X_ADDRESS, "x_address", 8 at 64;
        /// Weights: panels of columns.
        PANEL_ADDRESS, "panel_address", 8 at 72;
        /// Scale and bias of each column: two numbers of fp32.
        CONSTANTS_ADDRESS, "constants_address", 8 at 80;
        /// Where the results go: rows of fp16.
        OUT_ADDRESS, "out_address", 8 at 88;
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

/// Tokens enter a head, and their queries attend to it.
pub mod attention {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// The head, below HEADS of HEADS.
        HEAD, "head", 4 at 32;
        /// Tokens, 1 to 65535.
        TOKENS, "tokens", 4 at 36;
        /// Query heads of the head, 1 to GROUP of VECTORS.
        GROUP, "group", 4 at 40;
        /// Elements of a vector: a multiple of COLUMNS of CAPS, up to WIDTH of VECTORS.
        ELEMENTS, "elements", 4 at 44;
        /// Bits SNBZ_KELLE_OPTION_EXACT and SNBZ_KELLE_OPTION_LATE; others 0.
        OPTIONS, "options", 4 at 48;
        /// Tokens that the head keeps, 1 to SLOTS of HEADS.
        BUDGET, "budget", 2 at 52;
        /// First tokens that stay.
        SINK, "sink", 2 at 54;
        /// Most recent tokens that stay beside the new one; SINK and WINDOW together are below BUDGET.
        WINDOW, "window", 2 at 56;
        /// Bits that a product of query and key loses before it counts as importance, 0 to 47.
        SHIFT, "shift", 1 at 58;
        /// Slots whose tokens are recomputed, up to RECOMPUTE of SCORES; 0 with late values. As many rows of keys and
        /// of values precede the rows of the first token.
        AGAIN, "again", 1 at 59;
        /// Factor that turns an element of a query into an integer of 16 bits, fp32.
        QUERY_QUANTIZER, "query_quantizer", 4 at 60;
        /// Factor of an element of a key.
        KEY_QUANTIZER, "key_quantizer", 4 at 64;
        /// Factor of an element of a value.
        VALUE_QUANTIZER, "value_quantizer", 4 at 68;
        /// Factor that turns a product of integers into a score, fp32.
        SCORE_SCALE, "score_scale", 4 at 72;
        /// Factor that turns a sum of values into a result, fp32. The weights of the sum are in units of 2^-15.
        RESULT_SCALE, "result_scale", 4 at 76;
        /// Bytes from row to row of the queries.
        QUERY_STRIDE, "query_stride", 4 at 80;
        /// Bytes from row to row of the keys.
        KEY_STRIDE, "key_stride", 4 at 84;
        /// Bytes from row to row of the values.
        VALUE_STRIDE, "value_stride", 4 at 88;
        /// Bytes from row to row of the results.
        OUT_STRIDE, "out_stride", 4 at 92;
        /// Rows of fp16: of each token the queries of all query heads.
        QUERY_ADDRESS, "query_address", 8 at 96;
        /// Rows of fp16: a key for each token.
        KEY_ADDRESS, "key_address", 8 at 104;
        /// Rows of fp16: a value for each token.
        VALUE_ADDRESS, "value_address", 8 at 112;
        /// Where the results go, in the layout of the queries. They may overwrite the queries.
        OUT_ADDRESS, "out_address", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[];
}

/// Empties heads.
pub mod clear {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// The first head.
        FIRST, "first", 4 at 32;
        /// How many heads, 1 or more. All of them are below HEADS of HEADS.
        HEADS, "heads", 4 at 36;
        /// 0.
        ZERO_0, "zero_0", 8 at 40;
        /// 0.
        ZERO_1, "zero_1", 8 at 48;
        /// 0.
        ZERO_2, "zero_2", 8 at 56;
        /// 0.
        ZERO_3, "zero_3", 8 at 64;
        /// 0.
        ZERO_4, "zero_4", 8 at 72;
        /// 0.
        ZERO_5, "zero_5", 8 at 80;
        /// 0.
        ZERO_6, "zero_6", 8 at 88;
        /// 0.
        ZERO_7, "zero_7", 8 at 96;
        /// 0.
        ZERO_8, "zero_8", 8 at 104;
        /// 0.
        ZERO_9, "zero_9", 8 at 112;
        /// 0.
        ZERO_10, "zero_10", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] =
        &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7, ZERO_8, ZERO_9, ZERO_10];
}

/// Sets how often rows of the cache are refreshed.
pub mod refresh {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Lowest high importance.
        THRESHOLD, "threshold", 4 at 32;
        /// Cycles from refresh to refresh of the high bytes of tokens with high importance.
        HIGH_MSB, "high_msb", 4 at 36;
        /// Cycles from refresh to refresh of their low bytes.
        HIGH_LSB, "high_lsb", 4 at 40;
        /// Cycles from refresh to refresh of the high bytes of all other tokens.
        LOW_MSB, "low_msb", 4 at 44;
        /// Cycles from refresh to refresh of their low bytes.
        LOW_LSB, "low_lsb", 4 at 48;
        /// 0.
        ZERO_0, "zero_0", 4 at 52;
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

/// Writes cached tokens to memory.
pub mod save {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// The head of the tokens, below HEADS of HEADS.
        HEAD, "head", 4 at 32;
        /// Position of the first token that is written; the oldest token has position 0.
        FIRST, "first", 4 at 36;
        /// How many tokens, 1 or more. The head must have them.
        TOKENS, "tokens", 4 at 40;
        /// Elements of a vector: a multiple of COLUMNS of CAPS, up to WIDTH of VECTORS.
        ELEMENTS, "elements", 4 at 44;
        /// Bytes from row to row.
        OUT_STRIDE, "out_stride", 4 at 48;
        /// 0.
        ZERO_0, "zero_0", 4 at 52;
        /// Where the tokens go. A row has 64 bytes with the importance, then key and value, 16 bits an element.
        OUT_ADDRESS, "out_address", 8 at 56;
        /// 0.
        ZERO_1, "zero_1", 8 at 64;
        /// 0.
        ZERO_2, "zero_2", 8 at 72;
        /// 0.
        ZERO_3, "zero_3", 8 at 80;
        /// 0.
        ZERO_4, "zero_4", 8 at 88;
        /// 0.
        ZERO_5, "zero_5", 8 at 96;
        /// 0.
        ZERO_6, "zero_6", 8 at 104;
        /// 0.
        ZERO_7, "zero_7", 8 at 112;
        /// 0.
        ZERO_8, "zero_8", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] =
        &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7, ZERO_8];
}

/// Gives a token a slot: its key and value are recomputed instead of cached.
pub mod recompute {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// The head of the token, below HEADS of HEADS.
        HEAD, "head", 4 at 32;
        /// The position of the token; the oldest token has position 0.
        POSITION, "position", 4 at 36;
        /// The slot of the token from now on, below RECOMPUTE of SCORES.
        SLOT, "slot", 4 at 40;
        /// 0.
        ZERO_0, "zero_0", 4 at 44;
        /// 0.
        ZERO_1, "zero_1", 8 at 48;
        /// 0.
        ZERO_2, "zero_2", 8 at 56;
        /// 0.
        ZERO_3, "zero_3", 8 at 64;
        /// 0.
        ZERO_4, "zero_4", 8 at 72;
        /// 0.
        ZERO_5, "zero_5", 8 at 80;
        /// 0.
        ZERO_6, "zero_6", 8 at 88;
        /// 0.
        ZERO_7, "zero_7", 8 at 96;
        /// 0.
        ZERO_8, "zero_8", 8 at 104;
        /// 0.
        ZERO_9, "zero_9", 8 at 112;
        /// 0.
        ZERO_10, "zero_10", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] =
        &[ZERO_0, ZERO_1, ZERO_2, ZERO_3, ZERO_4, ZERO_5, ZERO_6, ZERO_7, ZERO_8, ZERO_9, ZERO_10];
}

/// Rows times a matrix of weights.
pub const LINEAR_VALUE: u8 = 1;
/// Tokens enter a head, and their queries attend to it.
pub const ATTENTION_VALUE: u8 = 2;
/// Steps on rows.
pub const VECTOR_VALUE: u8 = 3;
/// Empties heads.
pub const CLEAR_VALUE: u8 = 4;
/// Refresh intervals, and which importance is high.
pub const REFRESH_VALUE: u8 = 5;
/// Writes cached tokens to memory.
pub const SAVE_VALUE: u8 = 6;
/// Gives a token a slot: its key and value are recomputed instead of cached.
pub const RECOMPUTE_VALUE: u8 = 8;

/// Bit of the options of attention: values are read after the scores have begun.
pub const LATE_BIT: u32 = 1;
/// Bit of the options: a result that is not exact is an error.
pub const EXACT_BIT: u32 = 12;

/// Most bits that a product may lose.
pub const MOST_SHIFT: u64 = 47;
/// Bytes of the constants of a column.
pub const CONSTANT_BYTES: u64 = 8;
/// Bytes in front of the key of a saved token.
pub const HEAD_BYTES: u64 = 64;

/// Bits of the options: name, number, meaning.
pub const OPTION_BITS: &[(&str, u32, &str)] = &[
    ("LATE", LATE_BIT, "Of attention: values are read after the scores have begun."),
    ("EXACT", EXACT_BIT, "A result that is not exact is an error."),
];

/// The operations except steps on rows.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "linear",
        opcode: LINEAR_VALUE,
        meaning: "Rows of fp16 times a matrix of weights.",
        fields: linear::FIELDS,
    },
    Operation {
        name: "attention",
        opcode: ATTENTION_VALUE,
        meaning: "Tokens enter a head, and their queries attend to it.",
        fields: attention::FIELDS,
    },
    Operation { name: "clear", opcode: CLEAR_VALUE, meaning: "Empties heads.", fields: clear::FIELDS },
    Operation {
        name: "refresh",
        opcode: REFRESH_VALUE,
        meaning: "Sets how often rows of the cache are refreshed.",
        fields: refresh::FIELDS,
    },
    Operation { name: "save", opcode: SAVE_VALUE, meaning: "Writes cached tokens to memory.", fields: save::FIELDS },
    Operation {
        name: "recompute",
        opcode: RECOMPUTE_VALUE,
        meaning: "Gives a token a slot: its key and value are recomputed instead of cached.",
        fields: recompute::FIELDS,
    },
];
