//! Fields that follow the header in a descriptor of `vector_top`.

use crate::layout::fields;

fields! {
    /// All fields that follow the header, in order.
    FIELDS:
    /// Rows, 1 to 65535.
    ROWS, "rows", 4 at 32;
    /// Elements of a row, 1 to CAPS.lanes * CAPS.max_beats.
    COLUMNS, "columns", 4 at 36;
    /// Bits SNBZ_VECTOR_STEP_..., one of SNBZ_VECTOR_NORM_... and one of SNBZ_VECTOR_FORMAT_...; others 0.
    STEPS, "steps", 4 at 40;
    /// Factor of all elements, fp16.
    SCALE, "scale", 2 at 44;
    /// Factor of the results before they become integers, fp16.
    QUANTIZER, "quantizer", 2 at 46;
    /// Addend to the mean square or the variance, in units of 2^-48, below 2^40.
    EPSILON, "epsilon", 8 at 48;
    /// Bytes from row to row of x.
    X_STRIDE, "x_stride", 4 at 56;
    /// Bytes from row to row of the addends.
    ADDEND_STRIDE, "addend_stride", 4 at 60;
    /// Rows of fp16.
    X_ADDRESS, "x_address", 8 at 64;
    /// The addends: rows of fp16.
    ADDEND_ADDRESS, "addend_address", 8 at 72;
    /// The factors: rows of fp16. Or angles: cosine and sine of each pair.
    FACTOR_ADDRESS, "factor_address", 8 at 80;
    /// Bytes from row to row of the factors or angles.
    FACTOR_STRIDE, "factor_stride", 4 at 88;
    /// Bytes from row to row of the results.
    OUT_STRIDE, "out_stride", 4 at 92;
    /// Gains of the norm: one row of fp16 for all; of a layer norm one row of pairs of gain and bias.
    GAIN_ADDRESS, "gain_address", 8 at 96;
    /// Where the results go.
    OUT_ADDRESS, "out_address", 8 at 104;
    /// Elements that count in a softmax, 1 to columns; else 0.
    LENGTH, "length", 4 at 112;
    /// 0.
    ZERO_0, "zero_0", 4 at 116;
    /// 0.
    ZERO_1, "zero_1", 8 at 120;
}

/// Bytes of a descriptor.
pub const BYTES: usize = 128;

/// The only operation of `vector_top`.
pub const OPCODE_VALUE: u8 = 1;

/// Bits of the steps: name, number, meaning.
pub const STEP_BITS: &[(&str, u32, &str)] = &[
    ("SCALE", SCALE_BIT, "Multiply by scale."),
    ("ADD", ADD_BIT, "Add the addends."),
    ("ACTIVATE", ACTIVATE_BIT, "Apply the function that FUNCTION names."),
    ("MULTIPLY", MULTIPLY_BIT, "Multiply by the factors."),
    ("NORM", NORM_BIT, "Norm the row, as one of SNBZ_VECTOR_NORM_... says."),
    ("GAIN", GAIN_BIT, "The norm multiplies by the gains; only with NORM, and not with a softmax."),
    ("ROTATE", ROTATE_BIT, "Rotate pairs of neighbours by the angles; not with MULTIPLY."),
    ("CAUSAL", CAUSAL_BIT, "In each row of a softmax one more element counts than in the row before."),
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
/// First of two bits of the kind of the norm.
pub const KIND_BIT: u32 = 6;
/// First of two bits of the format.
pub const FORMAT_BIT: u32 = 8;
/// Bit of the steps.
pub const ROTATE_BIT: u32 = 10;
/// Bit of the steps.
pub const CAUSAL_BIT: u32 = 11;
/// Bit of the steps.
pub const EXACT_BIT: u32 = 12;

/// Kinds of the norm: name, number, meaning.
pub const NORMS: &[(&str, u32, &str)] = &[
    ("RMS", RMS_NORM, "Divide by the root mean square of the row."),
    ("SOFTMAX", SOFTMAX, "Powers of e divided by their sum, over the first elements of the row."),
    ("LAYER", LAYER_NORM, "Distances from the mean divided by the standard deviation of the row."),
];

/// Kind of the norm.
pub const RMS_NORM: u32 = 0;
/// Kind of the norm.
pub const SOFTMAX: u32 = 1;
/// Kind of the norm.
pub const LAYER_NORM: u32 = 2;

/// Formats of results: name and number.
pub const FORMATS: &[(&str, u32)] = &[("FP16", 0), ("INT8", 1), ("INT4", 2)];
