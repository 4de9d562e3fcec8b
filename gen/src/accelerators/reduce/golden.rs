//! `reduce_top`: a chain of descriptors, each of which makes a record of every row: sum, place of the maximum, minimum,
//! maximum.

use ::golden::accelerators::cycles::{Converter, Course, Dmas, Flow, Recurrence, Shell, Times, Turns, extend, latest};
use ::golden::accelerators::events::{Event, Events, kind};
use ::golden::accelerators::job::{self, Codes, Executed, Fields};
use ::golden::accelerators::memory::Memory;
use ::golden::accelerators::operand::{demand, overlap, places, sizes};
use ::golden::accelerators::pieces::{Loaded, store};
use ::golden::common::bus::Command;
use ::golden::common::shell::job_controller::{Limits, code};

/// Bytes of a record.
const RECORD: u64 = 16;
/// Bit of the options.
const EXACT: u32 = 12;

/// The accelerator, and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceTop {
    /// Elements of the longest row.
    pub max_columns: u32,
    /// Bits of a beat of the bus, and of an address.
    pub bus: [u32; 2],
}

/// An operation whose fields are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The rows.
    pub x: Command,
    /// Where the records go.
    pub out: Command,
    /// Whether a number that is infinite or no number is an error.
    pub exact: bool,
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        &self.out
    }
}

/// The record of a row, and whether some element is infinite or no number. Sums are in units of 2^-24.
#[must_use]
pub fn record(row: &[u16]) -> ([u8; RECORD as usize], bool) {
    let special = |x: u16| x >> 10 & 31 == 31;
    let units = |x: u16| {
        let (exponent, fraction) = (i64::from(x >> 10 & 31), i64::from(x & 1023));
        let magnitude = if exponent == 0 { fraction } else { (fraction | 1024) << (exponent - 1) };
        if x >> 15 == 1 { -magnitude } else { magnitude }
    };
    let sum = row.iter().filter(|&&x| !special(x)).fold(0i64, |sum, &x| sum.wrapping_add(units(x)));
    // Numbers in their order: negative ones have the larger bits where they are smaller.
    let order = |x: u16| if x >> 15 == 1 { -1 - i32::from(x & 0x7fff) } else { i32::from(x) };
    let numbers = || row.iter().copied().enumerate().filter(|&(_, x)| !special(x) || x & 1023 == 0);
    let largest = numbers().rev().max_by_key(|&(_, x)| order(x)).unwrap_or((0, 0x7e00));
    let smallest = numbers().min_by_key(|&(_, x)| order(x)).unwrap_or((0, 0x7e00));
    let [index, minimum, maximum] = [largest.0 as u128, smallest.1.into(), largest.1.into()];
    let bits = u128::from(sum as u64) | index << 64 | minimum << 96 | maximum << 112;
    (bits.to_le_bytes(), row.iter().any(|&x| special(x)))
}

impl job::Accelerator for ReduceTop {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.bus[1]
    }

    fn opcodes(&self) -> u8 {
        1
    }

    fn check(&self, _: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let word = |at| fields.word(at);
        let rest = word(52) == 0 && fields.are_zero((72..128).step_by(4));
        demand(word(40) & !(1 << EXACT) == 0 && rest, code::RESERVED)?;
        sizes(&[(word(32), 65535), (word(36), self.max_columns)])?;
        let rows = word(32).into();
        let x = fields.rows([56, 44], rows, 2 * u64::from(word(36)));
        let out = fields.rows([64, 48], rows, RECORD);
        places([&x, &out], limits, self.bus[1])?;
        Ok(Operation { x, out, exact: word(40) >> EXACT == 1 })
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed<Operation> {
        let (mut codes, mut overflows) = (Codes::default(), 0);
        for row in 0..operation.x.rows {
            let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
            let Some(bytes) = loaded.whole() else { continue };
            let row_numbers: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            let (bytes, special) = record(&row_numbers);
            overflows += u64::from(special);
            if operation.exact && special {
                codes.note(code::OVERFLOW);
            }
            store(&operation.out, row, &bytes, memory, &mut codes);
        }
        let rules = (!overlap(&operation.x, &operation.out), operation.exact);
        Executed::new(operation, codes.all(), rules, overflows)
    }
}

/// Its operations in time; see [`golden::accelerators::cycles`](::golden::accelerators::cycles).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// Cycles from the last beat of a row to its record.
    pub reducer: u64,
}

impl Recurrence<ReduceTop> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        _: &ReduceTop,
        operation: &Operation,
        now: u64,
        (_, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let begin = now + self.shell.checks(2, 2);
        let mut dmas = self.shell.dmas(turns);
        dmas.readers[0].offer(&operation.x, begin + 1);
        dmas.writer.offer(&operation.out, begin + 1);
        let beats = dmas.readers[0].beats() / operation.x.rows as i64;
        let (bits, reducer) = (8 * RECORD, self.reducer);
        let words = Converter::new(bits, 8 * self.shell.bus_bytes, bits);
        let records = Times::default();
        let elements = operation.x.rows * operation.x.row_bytes / 2;
        let events = Events::default().with(Event::new("reduced element", kind::ELEMENT, 16), elements);
        Ok(Course::new(begin, dmas, Reduces { beats, reducer, records, words }).making(events))
    }
}

/// Rows in flight.
struct Reduces {
    /// Beats of a row.
    beats: i64,
    reducer: u64,
    /// When each record left the reducer.
    records: Times,
    words: Converter,
}

impl Flow for Reduces {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let reader = &mut dmas.readers[0];
        extend!(moved, reader.left, {
            // A row waits for the record before it.
            let n = reader.left.known();
            latest([reader.shown(n), self.records.behind(n / self.beats - 1, 1)])
        });
        extend!(moved, self.records, {
            let n = self.records.known();
            let last = reader.left.behind((n + 1) * self.beats - 1, self.reducer);
            latest([last, self.words.free(n, &dmas.writer.came)])
        });
        extend!(moved, dmas.writer.came, {
            let n = dmas.writer.came.known();
            latest([self.words.shown(n, &self.records), dmas.writer.free(n)])
        });
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn records() {
        let bytes = |row: &[u16]| record(row).0;
        // 1, -2, 65504, the smallest subnormal number; then -0 and 0, whose maximum is the second one.
        let (found, special) = record(&[0x3c00, 0xc000, 0x7bff, 1]);
        assert_eq!(i64::from_le_bytes(found[..8].try_into().unwrap()), (1 - 2 + 65504) * (1 << 24) + 1);
        assert_eq!((&found[8..], special), (&[2, 0, 0, 0, 0, 0xc0, 0xff, 0x7b][..], false));
        assert_eq!(&bytes(&[0x8000, 0, 0])[8..], [1, 0, 0, 0, 0, 0x80, 0, 0]);
        assert_eq!(record(&[0x7e01, 0xfc00]), ([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xfc, 0, 0xfc], true));
        assert_eq!(record(&[0x7e01]), ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7e, 0, 0x7e], true));
    }
}
