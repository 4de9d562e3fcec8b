//! Fields that follow the header in a descriptor of `kllm_top`. Steps on rows have the fields of
//! [`vector::layout`](crate::vector::layout).

use crate::layout::Operation;

/// Products of tokens, or of integers, and weights.
pub mod matmul {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Tokens, 1 to 65535.
        TOKENS, "tokens", 4 at 32;
        /// Channels: results of a token, 1 to 65535.
        CHANNELS, "channels", 4 at 36;
        /// Positions of a token, 1 to KMAX.
        INNER, "inner", 4 at 40;
        /// Bits SNBZ_KLLM_OPTION_...: EXACT; others 0.
        OPTIONS, "options", 4 at 44;
        /// Bit 0: the addends are added; others 0.
        ADD, "add", 4 at 48;
        /// Bytes from token to token.
        TOKEN_STRIDE, "token_stride", 4 at 52;
        /// Bytes from panel to panel.
        PANEL_STRIDE, "panel_stride", 4 at 56;
        /// Bytes from row to row of the results.
        OUT_STRIDE, "out_stride", 4 at 60;
        /// The tokens.
        TOKEN_ADDRESS, "token_address", 8 at 64;
        /// Weights: panels of channels.
        PANEL_ADDRESS, "panel_address", 8 at 72;
        /// Constants of each channel: records of 8 bytes.
        CONSTANTS_ADDRESS, "constants_address", 8 at 80;
        /// The codebook.
        CODEBOOK_ADDRESS, "codebook_address", 8 at 88;
        /// Where the results go: rows of fp16.
        OUT_ADDRESS, "out_address", 8 at 96;
        /// The addends: rows of fp16.
        ADDEND_ADDRESS, "addend_address", 8 at 104;
        /// Bytes from row to row of the addends.
        ADDEND_STRIDE, "addend_stride", 4 at 112;
        /// Outliers that a token has room for, up to twice the number in ORIZURU; of integers 0.
        OUTLIERS, "outliers", 4 at 116;
        /// 0.
        ZERO_0, "zero_0", 8 at 120;
    }

    /// Fields that must be 0.
    pub const ZEROS: &[crate::layout::Field] = &[ZERO_0];
}

/// Quantizes rows of fp16 numbers to tokens.
pub mod quantize {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// Rows, 1 to 65535.
        ROWS, "rows", 4 at 32;
        /// Elements of a row, 1 to KMAX.
        COLUMNS, "columns", 4 at 36;
        /// Bits SNBZ_KLLM_OPTION_...: THREE_BITS, EXACT; others 0.
        OPTIONS, "options", 4 at 40;
        /// How many of the largest elements of a row are outliers.
        LARGEST, "largest", 2 at 44;
        /// How many of the smallest elements of a row are outliers.
        SMALLEST, "smallest", 2 at 46;
        /// Bytes from row to row of x.
        X_STRIDE, "x_stride", 4 at 48;
        /// Bytes from token to token.
        OUT_STRIDE, "out_stride", 4 at 52;
        /// 0.
        ZERO_0, "zero_0", 8 at 56;
        /// Rows of fp16.
        X_ADDRESS, "x_address", 8 at 64;
        /// The codebook.
        CODEBOOK_ADDRESS, "codebook_address", 8 at 72;
        /// Where the tokens go.
        OUT_ADDRESS, "out_address", 8 at 80;
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

/// Puts a token into panels of weights.
pub mod append {
    use crate::layout::fields;

    fields! {
        /// All fields that follow the header, in order.
        FIELDS:
        /// The channel of its panel, or the position of each channel, that the token becomes.
        NUMBER, "number", 4 at 32;
        /// Elements of the token, 1 to KMAX.
        ELEMENTS, "elements", 4 at 36;
        /// Bit SNBZ_KLLM_OPTION_POSITION; others 0.
        OPTIONS, "options", 4 at 40;
        /// 0.
        ZERO_0, "zero_0", 4 at 44;
        /// Bytes from panel to panel; of a channel 0.
        PANEL_STRIDE, "panel_stride", 4 at 48;
        /// 0.
        ZERO_1, "zero_1", 4 at 52;
        /// Factor that turns the token's scale into the first constant of a channel, fp32; of a position 0.
        DENSE_FACTOR, "dense_factor", 4 at 56;
        /// Factor that turns the token's scale into the second constant of a channel, fp32; of a position 0.
        OUTLIER_FACTOR, "outlier_factor", 4 at 60;
        /// The token.
        TOKEN_ADDRESS, "token_address", 8 at 64;
        /// The panels; of a channel its own panel.
        PANEL_ADDRESS, "panel_address", 8 at 72;
        /// Constants of the channel's panel, or the row of scales.
        SCALES_ADDRESS, "scales_address", 8 at 80;
        /// 0.
        ZERO_2, "zero_2", 8 at 88;
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

/// A product of tokens and weights.
pub const MATMUL_VALUE: u8 = 1;
/// A product of integers of 8 bits and weights.
pub const SCORES_VALUE: u8 = 2;
/// Steps on rows.
pub const VECTOR_VALUE: u8 = 3;
/// Quantizes rows to tokens.
pub const QUANTIZE_VALUE: u8 = 4;
/// Puts a token into panels.
pub const APPEND_VALUE: u8 = 5;
/// Largest opcode.
pub const OPCODES: u8 = 5;

/// Bit of the options of a quantizer: indices have 3 bits, otherwise 4.
pub const THREE_BITS_BIT: u32 = 0;
/// Bit of the options of an append: the token becomes a position of each channel, otherwise a channel.
pub const POSITION_BIT: u32 = 0;
/// Bit of the options: an overflow is an error.
pub const EXACT_BIT: u32 = 12;
/// Bit of the word `add`: addends are added.
pub const ADD_BIT: u32 = 0;

/// Bytes of a token in front of its indices.
pub const HEAD_BYTES: u64 = 64;
/// Bytes of an outlier.
pub const OUTLIER_BYTES: u64 = 4;
/// Bytes of the constants of a channel.
pub const RECORD_BYTES: u64 = 8;
/// Bytes of a codebook.
pub const CODEBOOK_BYTES: u64 = 192;

/// Bits of the options: name, number, meaning.
pub const OPTION_BITS: &[(&str, u32, &str)] = &[
    ("THREE_BITS", THREE_BITS_BIT, "Of a quantizer: indices have 3 bits, otherwise 4."),
    ("POSITION", POSITION_BIT, "Of an append: the token becomes a position of each channel, otherwise a channel."),
    ("EXACT", EXACT_BIT, "An overflow is an error."),
];

/// The operations except steps on rows.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "matmul",
        opcode: MATMUL_VALUE,
        meaning: "A product of tokens and weights. A product of integers of 8 bits has opcode SNBZ_KLLM_OPCODE_SCORES.",
        fields: matmul::FIELDS,
    },
    Operation {
        name: "quantize",
        opcode: QUANTIZE_VALUE,
        meaning: "Quantizes rows of fp16 numbers to tokens.",
        fields: quantize::FIELDS,
    },
    Operation {
        name: "append",
        opcode: APPEND_VALUE,
        meaning: "Puts a token into panels of weights.",
        fields: append::FIELDS,
    },
];
