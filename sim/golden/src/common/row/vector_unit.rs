//! A short list of steps over rows of fp16 numbers: scale, add, activate, multiply, rotate, norm, convert.

use crate::common::float::binary16::{add, mul, to_int};
use crate::common::float::{Function, FunctionTable};
use crate::format::FloatFormat;

use super::layer_norm::{self, layer_norm};
use super::rms_norm::{self, rms_norm};
use super::rotary_embedding::turn;
use super::softmax::Softmax;
use super::{NAN, Unrounded, is_special};

/// The parameters of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Elements of a beat: the sum of a softmax is rounded beat by beat.
    pub lanes: u32,
    /// Beats of the longest row. They determine the places of this sum.
    pub max_beats: u32,
    /// The activation.
    pub function: Function,
}

/// The format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// The kind of norm: what is divided by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Norm {
    /// Elements by the root mean square of the row.
    #[default]
    RmsNorm,
    /// Powers of e by their sum.
    Softmax,
    /// Distances from the mean by the standard deviation.
    LayerNorm,
}

/// Which steps are done, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Steps {
    /// Multiplies by one number.
    pub scale: bool,
    /// Adds the element's addend.
    pub add: bool,
    /// Applies the function that was built in.
    pub activate: bool,
    /// Multiplies by the element's factor.
    pub multiply: bool,
    /// Turns pairs of neighbours by angles, which come as factors; never together with `multiply`.
    pub rotate: bool,
    /// Norms the row.
    pub norm: bool,
    /// The kind of norm.
    pub kind: Norm,
    /// Whether the norm also multiplies by the element's gain. A layer norm then adds its bias too. A softmax has no
    /// gain.
    pub gain: bool,
    /// The format of results.
    pub output: Output,
}

impl Steps {
    /// The steps of a word, from bits 0 to 10; other bits are ignored. `None`: there is no such format, or no such
    /// norm.
    #[must_use]
    pub fn of(word: u32) -> Option<Self> {
        let bit = |number: u32| word >> number & 1 == 1;
        let output = match word >> 8 & 3 {
            0 => Output::Fp16,
            1 => Output::Int8,
            2 => Output::Int4,
            _ => return None,
        };
        let kind = match word >> 6 & 3 {
            0 => Norm::RmsNorm,
            1 => Norm::Softmax,
            2 => Norm::LayerNorm,
            _ => return None,
        };
        Some(Self {
            scale: bit(0),
            add: bit(1),
            activate: bit(2),
            multiply: bit(3),
            rotate: bit(10),
            norm: bit(4),
            kind,
            gain: bit(5),
            output,
        })
    }
}

/// Numbers that all elements of a row share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scalars {
    /// fp16, for step scale.
    pub scale: u16,
    /// fp16, the factor before the conversion to integers.
    pub quantizer: u16,
    /// The number that the norm adds to the mean square, in units of 2^-48.
    pub epsilon: u64,
}

/// The elements of a row and their operands: fp16. Operands that the steps do not use may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elements<'a> {
    /// The numbers.
    pub x: &'a [u16],
    /// The addend of each element.
    pub addends: &'a [u16],
    /// The factor of each element. With the step rotate, the angles: for each pair the cosine, then the sine.
    pub factors: &'a [u16],
    /// The gain of each element.
    pub gains: &'a [u16],
    /// The bias of each element, for a layer norm with gains.
    pub biases: &'a [u16],
    /// How many elements, from the first on, a softmax counts. The others give 0.
    pub length: usize,
}

/// The results of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Raw bits in the width of the output.
    pub values: Vec<u16>,
    /// For each value: saturated or NaN as an integer, infinite or NaN as fp16.
    pub overflows: Vec<bool>,
}

impl Done {
    /// For each beat of `lanes` elements, whether one of them has an overflow.
    #[must_use]
    pub fn beats(&self, lanes: usize) -> Vec<bool> {
        self.overflows.chunks(lanes).map(|beat| beat.contains(&true)).collect()
    }
}

/// The unit, with the function that was built in. It has all norms and rotate, also if the hardware lacks some of them.
#[derive(Clone, Debug)]
pub struct VectorUnit {
    shape: Shape,
    table: FunctionTable,
    softmax: Softmax,
}

/// 1 in fp16.
const ONE: u16 = 0x3c00;

/// Fraction bits of the sum of a softmax: 16, plus the bits of the longest length.
fn softmax_places(lanes: u32, max_beats: u32) -> u32 {
    16 + (u64::from(lanes) * u64::from(max_beats)).max(1).ilog2() + 1
}

impl VectorUnit {
    /// A unit of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, table: FunctionTable::new(shape.function, FloatFormat::Fp16), softmax: Softmax::new() }
    }

    /// The elements of a row as they are after all steps before the norm. The operands that the steps use are as long
    /// as `x`.
    ///
    /// # Panics
    /// An operand is shorter, or the number of elements to rotate is odd.
    #[must_use]
    pub fn before_norm(&self, steps: Steps, scalars: Scalars, row: Elements<'_>) -> Vec<u16> {
        let before = |(k, &x): (usize, &u16)| {
            let mut v = x;
            if steps.scale {
                v = mul(v, scalars.scale);
            }
            if steps.add {
                v = add(v, row.addends[k]);
            }
            if steps.activate {
                v = self.table.apply_to_half(v);
            }
            if steps.multiply {
                v = mul(v, row.factors[k]);
            }
            v
        };
        let mut values: Vec<u16> = row.x.iter().enumerate().map(before).collect();
        if steps.rotate {
            for (k, pair) in values.chunks_mut(2).enumerate() {
                (pair[0], pair[1]) = turn((pair[0], pair[1]), row.factors[2 * k], row.factors[2 * k + 1]);
            }
        }
        values
    }

    /// The normed row of `values` before gains and roundings; `None` where it has no norm. A softmax counts the first
    /// `length` elements.
    #[must_use]
    pub fn unrounded(&self, kind: Norm, epsilon: u64, values: &[u16], length: usize) -> Option<Vec<Unrounded>> {
        let Shape { lanes, max_beats, .. } = self.shape;
        match kind {
            Norm::RmsNorm => rms_norm::unrounded(values, epsilon),
            Norm::Softmax => self.softmax.unrounded(values, length, lanes as usize, softmax_places(lanes, max_beats)),
            Norm::LayerNorm => layer_norm::unrounded(values, epsilon),
        }
    }

    /// One row. The operands that the steps use are as long as `x`.
    ///
    /// # Panics
    /// An operand is shorter, or the number of elements to rotate is odd.
    #[must_use]
    pub fn row(&self, steps: Steps, scalars: Scalars, row: Elements<'_>) -> Done {
        let mut values = self.before_norm(steps, scalars, row);
        if steps.norm {
            values = self.norm(steps, scalars.epsilon, &values, row);
        }
        let convert = |v: u16| match steps.output {
            Output::Fp16 => (v, is_special(v)),
            integer => {
                let end = 1 << (integer.width() - 1);
                let (rounded, outside) = to_int(mul(v, scalars.quantizer), (-end, end - 1));
                (rounded as u16 & ((1 << integer.width()) - 1), outside)
            }
        };
        let (values, overflows) = values.into_iter().map(convert).unzip();
        Done { values, overflows }
    }

    /// The norm of `values`; an undefined one is NaN everywhere.
    fn norm(&self, steps: Steps, epsilon: u64, values: &[u16], row: Elements<'_>) -> Vec<u16> {
        let undefined = || vec![NAN; values.len()];
        match steps.kind {
            Norm::RmsNorm => rms_norm(values, steps.gain.then_some(row.gains), epsilon).unwrap_or_else(undefined),
            Norm::Softmax => {
                let Shape { lanes, max_beats, .. } = self.shape;
                self.softmax.softmax(values, row.length, lanes as usize, softmax_places(lanes, max_beats)).values
            }
            Norm::LayerNorm => {
                // A bias of +0 is added as well, so a result that rounds to -0 becomes +0.
                let (ones, zeros) = (vec![ONE; values.len()], vec![0; values.len()]);
                let affine = if steps.gain { (row.gains, row.biases) } else { (&ones[..], &zeros[..]) };
                layer_norm(values, Some(affine), epsilon).unwrap_or_else(undefined)
            }
        }
    }
}

#[cfg(test)]
mod tests;
