//! A short list of steps over rows of fp16 numbers: scale, add, activate, multiply, norm, convert.

use crate::common::float::{Direction, Float, Function, FunctionTable, Integers};
use crate::format::FloatFormat;

use super::rms_norm::rms_norm;
use super::{NAN, is_special};

/// What a result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// fp16.
    #[default]
    Fp16,
    /// Two's complement, 8 bits.
    Int8,
    /// Two's complement, 4 bits.
    Int4,
}

impl Output {
    /// Bits of a result.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::Fp16 => 16,
            Self::Int8 => 8,
            Self::Int4 => 4,
        }
    }
}

/// Which steps are done, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Multiplies by one number.
    pub scale: bool,
    /// Adds the element's addend.
    pub add: bool,
    /// Applies the function that was built in.
    pub activate: bool,
    /// Multiplies by the element's factor.
    pub multiply: bool,
    /// Divides by the root mean square of the row.
    pub norm: bool,
    /// The norm multiplies by the element's gain too.
    pub gain: bool,
    /// What the results are.
    pub output: Output,
}

impl Steps {
    /// The steps of a word, from bits 0 to 9; others are not looked at. `None`: there is no such format.
    #[must_use]
    pub fn of(word: u32) -> Option<Self> {
        let bit = |number: u32| word >> number & 1 == 1;
        let output = match word >> 8 & 3 {
            0 => Output::Fp16,
            1 => Output::Int8,
            2 => Output::Int4,
            _ => return None,
        };
        Some(Self {
            scale: bit(0),
            add: bit(1),
            activate: bit(2),
            multiply: bit(3),
            norm: bit(4),
            gain: bit(5),
            output,
        })
    }
}

/// Numbers that all elements of a row share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalars {
    /// fp16, for step scale.
    pub scale: u16,
    /// fp16, what integers are multiplied by.
    pub quantizer: u16,
    /// What the norm adds to the mean square, in units of 2^-48.
    pub epsilon: u64,
}

/// The elements of a row, and what belongs to them: fp16. What the steps do not use may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elements<'a> {
    /// The numbers.
    pub x: &'a [u16],
    /// What is added to each.
    pub addends: &'a [u16],
    /// What each is multiplied by.
    pub factors: &'a [u16],
    /// The gain of each.
    pub gains: &'a [u16],
}

/// A row that is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Raw bits in the width of the output.
    pub values: Vec<u16>,
    /// Of each value: saturated or NaN as an integer, infinite or NaN as fp16.
    pub overflows: Vec<bool>,
}

impl Done {
    /// For each beat of `lanes` elements: one of them has an overflow.
    #[must_use]
    pub fn beats(&self, lanes: usize) -> Vec<bool> {
        self.overflows.chunks(lanes).map(|beat| beat.contains(&true)).collect()
    }
}

/// The unit, with the function that was built in.
#[derive(Clone, Debug)]
pub struct VectorUnit {
    table: FunctionTable,
}

const FLOAT: Float = Float::ieee(FloatFormat::Fp16);

fn mul(a: u16, b: u16) -> u16 {
    FLOAT.mul(a.into(), b.into()).bits as u16
}

impl VectorUnit {
    /// A unit whose activation is `function`.
    #[must_use]
    pub fn new(function: Function) -> Self {
        Self { table: FunctionTable::new(function, FloatFormat::Fp16) }
    }

    /// One row. The operands that the steps use are as long as `x`.
    ///
    /// # Panics
    /// One is shorter.
    #[must_use]
    pub fn row(&self, steps: Steps, scalars: Scalars, row: Elements<'_>) -> Done {
        let before = |(k, &x): (usize, &u16)| {
            let mut v = x;
            if steps.scale {
                v = mul(v, scalars.scale);
            }
            if steps.add {
                v = FLOAT.add(v.into(), row.addends[k].into()).bits as u16;
            }
            if steps.activate {
                v = self.table.apply(FLOAT, v.into()).bits as u16;
            }
            if steps.multiply {
                v = mul(v, row.factors[k]);
            }
            v
        };
        let mut values: Vec<u16> = row.x.iter().enumerate().map(before).collect();
        if steps.norm {
            let gains = steps.gain.then_some(row.gains);
            values = rms_norm(&values, gains, scalars.epsilon).unwrap_or_else(|| vec![NAN; values.len()]);
        }
        let convert = |v: u16| match steps.output {
            Output::Fp16 => (v, is_special(v)),
            integer => {
                let to = Integers { width: integer.width(), signed: true, direction: Direction::NearestEven };
                let rounded = FLOAT.to_int(mul(v, scalars.quantizer).into(), to);
                (rounded.bits as u16, rounded.flags.invalid)
            }
        };
        let (values, overflows) = values.into_iter().map(convert).unzip();
        Done { values, overflows }
    }
}

#[cfg(test)]
mod tests;
