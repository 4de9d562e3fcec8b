//! Appends a token to panels of weights: the cache of keys and values grows by one token.

use crate::accelerators::job::Fields;
use crate::accelerators::operand::{are_apart, demand, overlap, places, row, sizes};
use crate::common::bus::Command;
use crate::common::float::single;
use crate::common::shell::job_controller::{Limits, code};

use super::layout::{CONSTANT_BYTES, HEAD_BYTES, index_bytes, most_inner, place};
use super::shape::Shape;

/// Bit of the options: the token is a position of each channel. Otherwise it is a channel of its own.
const POSITION: u32 = 1 << 0;
/// Bytes that are read and written at once.
pub(super) const LINE: u64 = 64;

/// Bytes of the indices of a beat for all channels of a panel.
fn beat_bytes(shape: &Shape) -> u64 {
    shape.channels() * u64::from(shape.inputs) / 2
}

/// Whether the device has the unit that appends tokens. A beat of a panel must be whole lines, and a line whole beats
/// of the bus.
pub(super) fn is_built(shape: &Shape) -> bool {
    beat_bytes(shape).is_multiple_of(LINE) && shape.vector.data_width() <= 512
}

/// The lines that hold a range of bytes of a row.
fn lines(bytes: std::ops::Range<u64>) -> std::ops::Range<u64> {
    bytes.start / LINE * LINE..bytes.end.next_multiple_of(LINE)
}

/// A token to append to panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The number of the token: a channel of its panel, or a position of all channels.
    pub number: u64,
    /// Elements of the token.
    pub elements: u64,
    /// Whether the token is a position of each channel.
    pub position: bool,
    /// The factors of its scale for the two constants of a channel, fp32.
    pub factors: [u32; 2],
    /// The token, without outliers.
    pub token: Command,
    /// The lines of the panels that change.
    pub lines: Command,
    /// The line of constants, or of scales, that changes.
    pub scales: Command,
}

impl Append {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let position = word(40) & POSITION != 0;
        let unused: &[usize] = if position { &[56, 60] } else { &[48] };
        let zeros = [44, 52].into_iter().chain((88..128).step_by(4)).chain(unused.iter().copied());
        demand(word(40) & !POSITION == 0 && fields.are_zero(zeros), code::RESERVED)?;
        sizes(&[(word(36), most_inner(shape))])?;
        let most = if position { shape.inner() } else { shape.channels() };
        let (number, elements) = (u64::from(word(32)), u64::from(word(36)));
        demand(number < most, code::SIZE)?;
        let (inputs, beat) = (u64::from(shape.inputs), beat_bytes(shape));
        let (panels, scales) = (long(72), long(80));
        let token = row(long(64), HEAD_BYTES + index_bytes(elements));
        let each = if position { 2 } else { CONSTANT_BYTES };
        // All rows and scales up to the changed part.
        let (all, count) = if position {
            let all = fields.rows([72, 48], elements.div_ceil(shape.channels()), (number / inputs + 1) * beat);
            (all, each * (number + 1))
        } else {
            (row(panels, elements.div_ceil(inputs) * beat), each * (number + 1))
        };
        let all_scales = row(scales, count.next_multiple_of(LINE));
        places([&token, &all, &all_scales], limits, shape.vector.address_width)?;
        let scale_line = lines(each * number..each * (number + 1));
        let changed = if position {
            Command { address: panels + number / inputs * beat, row_bytes: beat, ..all }
        } else {
            let line = lines(number * inputs / 2..(number + 1) * inputs / 2);
            Command { address: panels + line.start, row_bytes: LINE, rows: elements.div_ceil(inputs), stride: beat }
        };
        Ok(Self {
            number,
            elements,
            position,
            factors: [word(56), word(60)],
            token,
            lines: changed,
            scales: row(scales + scale_line.start, LINE),
        })
    }

    /// The rows that are written.
    #[must_use]
    pub fn outs(&self) -> Vec<&Command> {
        vec![&self.lines, &self.scales]
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        are_apart(&self.lines)
            && !overlap(&self.lines, &self.scales)
            && !self.outs().into_iter().any(|out| overlap(&self.token, out))
    }

    /// The place of an index of the token in `lines`: the row, and the nibble in it.
    pub(super) fn nibble_of(&self, shape: &Shape, index: usize) -> (usize, usize) {
        let (inputs, channels) = (shape.inputs as usize, shape.channels() as usize);
        let beat = 2 * beat_bytes(shape) as usize;
        let number = self.number as usize;
        if self.position {
            (index / channels, place(shape, index % channels, number) - number / inputs * beat)
        } else {
            let at = place(shape, number, index) - index / inputs * beat;
            (index / inputs, at % (2 * LINE as usize))
        }
    }

    /// The bytes for the scale of the token: the scale itself, or two constants.
    pub(super) fn scale(&self, scale: u16) -> Vec<u8> {
        if self.position {
            return scale.to_le_bytes().to_vec();
        }
        let wide = single::from_fp16(scale);
        self.factors.into_iter().flat_map(|factor| single::mul(wide, factor).to_le_bytes()).collect()
    }
}
