//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use half::f16;

use super::check::operands;
use super::check::{LAYER_NORM, SOFTMAX};
use super::{Caps, operations::vector as v};
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Where rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Address of the first row: a multiple of 64.
    pub address: u64,
    /// Bytes from row to row, a multiple of 64. With 0 it is the same row each time.
    pub stride: u32,
}

/// The epsilon that a norm adds to a mean square or a variance, in units of 2^-48.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epsilon(u64);

impl Epsilon {
    /// Units of 2^-48.
    ///
    /// # Errors
    /// The number of units is 2^40 or more.
    pub fn units(units: u64) -> Result<Self, Refusal> {
        if units >> 40 == 0 {
            return Ok(Self(units));
        }
        let expected = "below 2^40 units of 2^-48";
        Err(Refusal::new(ErrorCode::Reserved, v::EPSILON.name, units.to_string(), expected))
    }

    /// The multiple of 2^-48 that is nearest to a number.
    ///
    /// # Errors
    /// The number is negative, NaN, or 2^-8 or more.
    pub fn new(value: f64) -> Result<Self, Refusal> {
        let units = (value * 2f64.powi(48)).round_ties_even();
        if (0.0..2f64.powi(40)).contains(&units) && value >= 0.0 {
            return Ok(Self(units as u64));
        }
        Err(Refusal::new(ErrorCode::Reserved, v::EPSILON.name, value.to_string(), "from 0 to less than 2^-8"))
    }
}

/// Formats of integer results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// 8 bits.
    Int8,
    /// 4 bits.
    Int4,
}

/// Steps that need the whole row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Norm {
    /// With gains at an address.
    Rms(Epsilon, Option<u64>),
    /// Elements that count in the first row, and whether each further row counts one more.
    Softmax(u32, bool),
    /// With pairs at an address.
    Layer(Epsilon, Option<u64>),
}

/// A list of steps over rows. The hardware does the steps in the order of the methods below, also if they are called in
/// another order. A job has one norm: the last call counts.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorJob {
    rows: u32,
    columns: u32,
    x: Operand,
    out: Operand,
    scale: Option<f16>,
    addends: Option<Operand>,
    activate: bool,
    factors: Option<Operand>,
    angles: Option<Operand>,
    norm: Option<Norm>,
    quantize: Option<(Integer, f16)>,
    exact: bool,
}

impl VectorJob {
    /// Copies rows of fp16 numbers.
    #[must_use]
    pub fn new(rows: u32, columns: u32, x: Operand, out: Operand) -> Self {
        Self {
            rows,
            columns,
            x,
            out,
            scale: None,
            addends: None,
            activate: false,
            factors: None,
            angles: None,
            norm: None,
            quantize: None,
            exact: false,
        }
    }

    /// Multiplies all by a number.
    #[must_use]
    pub fn scale(self, scale: f16) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Adds rows of fp16 numbers.
    #[must_use]
    pub fn add_rows(self, addends: Operand) -> Self {
        Self { addends: Some(addends), ..self }
    }

    /// Applies the activation that the device has.
    #[must_use]
    pub fn activate(self) -> Self {
        Self { activate: true, ..self }
    }

    /// Multiplies by rows of fp16 numbers.
    #[must_use]
    pub fn multiply_rows(self, factors: Operand) -> Self {
        Self { factors: Some(factors), ..self }
    }

    /// Rotates pairs of neighbours by rows of angles, fp16 numbers. The elements 2i and 2i + 1 of a row, a and b,
    /// become a c - b s and b c + a s. The elements 2i and 2i + 1 of the angles are the cosine c and the sine s. Not
    /// together with [`multiply_rows`](Self::multiply_rows). The number of columns is even.
    #[must_use]
    pub fn rotate(self, angles: Operand) -> Self {
        Self { angles: Some(angles), ..self }
    }

    /// Divides each row by its root mean square.
    #[must_use]
    pub fn norm(self, epsilon: Epsilon) -> Self {
        Self { norm: Some(Norm::Rms(epsilon, None)), ..self }
    }

    /// Divides each row by its root mean square, and multiplies it by the row of fp16 numbers at an address.
    #[must_use]
    pub fn norm_with_gains(self, epsilon: Epsilon, gains: u64) -> Self {
        Self { norm: Some(Norm::Rms(epsilon, Some(gains))), ..self }
    }

    /// Softmax of the first `length` elements of each row; all others become 0.
    #[must_use]
    pub fn softmax(self, length: u32) -> Self {
        Self { norm: Some(Norm::Softmax(length, false)), ..self }
    }

    /// Softmax of the first elements of each row: `first_length` elements in the first row, and one more in each
    /// further row, up to the number of columns.
    #[must_use]
    pub fn causal_softmax(self, first_length: u32) -> Self {
        Self { norm: Some(Norm::Softmax(first_length, true)), ..self }
    }

    /// Layer norm: subtracts the mean of each row, and divides the row by its standard deviation.
    #[must_use]
    pub fn layer_norm(self, epsilon: Epsilon) -> Self {
        Self { norm: Some(Norm::Layer(epsilon, None)), ..self }
    }

    /// Layer norm, times a gain and plus a bias for each column. The fp16 numbers at an address are gain and bias of
    /// the first column, then of the second one, and so on.
    #[must_use]
    pub fn layer_norm_with_gains(self, epsilon: Epsilon, pairs: u64) -> Self {
        Self { norm: Some(Norm::Layer(epsilon, Some(pairs))), ..self }
    }

    /// Multiplies by a number and rounds to integers, saturated.
    #[must_use]
    pub fn quantize(self, to: Integer, quantizer: f16) -> Self {
        Self { quantize: Some((to, quantizer)), ..self }
    }

    /// An element that saturates, is infinite or NaN is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let mut d = Descriptor::new(caps.opcode);
        d.set(v::EXACT, self.exact.into());
        d.set(v::ACTIVATE, self.activate.into());
        d.set(v::ROWS, self.rows.into());
        d.set(v::COLUMNS, self.columns.into());
        for (at, address, stride, step) in [
            (Some(self.x), v::X_ADDRESS, v::X_STRIDE, None),
            (self.addends, v::ADDEND_ADDRESS, v::ADDEND_STRIDE, Some(v::ADD)),
            (self.factors, v::FACTOR_ADDRESS, v::FACTOR_STRIDE, Some(v::MULTIPLY)),
            (self.angles, v::FACTOR_ADDRESS, v::FACTOR_STRIDE, Some(v::ROTATE)),
            (Some(self.out), v::OUT_ADDRESS, v::OUT_STRIDE, None),
        ] {
            let Some(at) = at else { continue };
            d.set(address, at.address);
            d.set(stride, at.stride.into());
            if let Some(step) = step {
                d.set(step, 1);
            }
        }
        if let Some(scale) = self.scale {
            d.set(v::SCALES, 1);
            d.set(v::SCALE, scale.to_bits().into());
        }
        if let Some(norm) = self.norm {
            d.set(v::NORM, 1);
            match norm {
                Norm::Softmax(length, causal) => {
                    d.set(v::KIND, SOFTMAX);
                    d.set(v::CAUSAL, causal.into());
                    d.set(v::LENGTH, length.into());
                }
                Norm::Rms(epsilon, gains) | Norm::Layer(epsilon, gains) => {
                    d.set(v::KIND, if matches!(norm, Norm::Layer(..)) { LAYER_NORM } else { 0 });
                    d.set(v::GAIN, gains.is_some().into());
                    d.set(v::EPSILON, epsilon.0);
                    d.set(v::GAIN_ADDRESS, gains.unwrap_or(0));
                }
            }
        }
        if let Some((to, quantizer)) = self.quantize {
            let format = match to {
                Integer::Int8 => 1,
                Integer::Int4 => 2,
            };
            d.set(v::FORMAT, format);
            d.set(v::QUANTIZER, quantizer.to_bits().into());
        }
        let operands = operands(&d, caps, window)?;
        d.with_operands(window, &operands)
    }
}
