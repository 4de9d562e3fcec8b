//! What lies where behind the header of a descriptor of `vector_top`.

use crate::layout::fields;

fields! {
    /// All fields behind the header, in order.
    FIELDS:
    /// Rows, 1 to 65535.
    ROWS, "rows", 4 at 32;
    /// Elements of a row, 1 to CAPS.lanes * CAPS.max_beats.
    COLUMNS, "columns", 4 at 36;
    /// Bits SNBZ_VECTOR_STEP_... and one of SNBZ_VECTOR_FORMAT_...; others 0.
    STEPS, "steps", 4 at 40;
    /// Factor of all elements, fp16.
    SCALE, "scale", 2 at 44;
    /// What results are multiplied by before they become integers, fp16.
    QUANTIZER, "quantizer", 2 at 46;
    /// What is added to the mean square, in units of 2^-48, below 2^40.
    EPSILON, "epsilon", 8 at 48;
    /// Bytes from row to row of x.
    X_STRIDE, "x_stride", 4 at 56;
    /// Bytes from row to row of the addends.
    ADDEND_STRIDE, "addend_stride", 4 at 60;
    /// Rows of fp16.
    X_ADDRESS, "x_address", 8 at 64;
    /// What is added: rows of fp16.
    ADDEND_ADDRESS, "addend_address", 8 at 72;
    /// What is multiplied by: rows of fp16.
    FACTOR_ADDRESS, "factor_address", 8 at 80;
    /// Bytes from row to row of the factors.
    FACTOR_STRIDE, "factor_stride", 4 at 88;
    /// Bytes from row to row of the results.
    OUT_STRIDE, "out_stride", 4 at 92;
    /// Gains of the norm: one row of fp16 for all.
    GAIN_ADDRESS, "gain_address", 8 at 96;
    /// Where the results go.
    OUT_ADDRESS, "out_address", 8 at 104;
    /// 0.
    ZERO_0, "zero_0", 8 at 112;
    /// 0.
    ZERO_1, "zero_1", 8 at 120;
}

/// Bytes of a descriptor.
pub const BYTES: usize = 128;

/// The only operation.
pub const OPCODE_VALUE: u8 = 1;

/// Bits of the steps: name, number, meaning.
pub const STEP_BITS: &[(&str, u32, &str)] = &[
    ("SCALE", SCALE_BIT, "Multiply by scale."),
    ("ADD", ADD_BIT, "Add the addends."),
    ("ACTIVATE", ACTIVATE_BIT, "Apply the function that FUNCTION names."),
    ("MULTIPLY", MULTIPLY_BIT, "Multiply by the factors."),
    ("NORM", NORM_BIT, "Divide by the root mean square of the row."),
    ("GAIN", GAIN_BIT, "The norm multiplies by the gains; only with NORM."),
    ("EXACT", EXACT_BIT, "An overflow is an error."),
];

/// Bit of the steps.
pub const SCALE_BIT: u32 = 0;
/// Bit of the steps.
pub const ADD_BIT: u32 = 1;
/// Bit of the steps.
pub const ACTIVATE_BIT: u32 = 2;
/// Bit of the steps.
pub const MULTIPLY_BIT: u32 = 3;
/// Bit of the steps.
pub const NORM_BIT: u32 = 4;
/// Bit of the steps.
pub const GAIN_BIT: u32 = 5;
/// First of two bits of the format.
pub const FORMAT_BIT: u32 = 8;
/// Bit of the steps.
pub const EXACT_BIT: u32 = 12;

/// Formats of results: name and number.
pub const FORMATS: &[(&str, u32)] = &[("FP16", 0), ("INT8", 1), ("INT4", 2)];
