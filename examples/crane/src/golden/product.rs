//! A product: rows of fp16 that become INT8 in groups, columns of INT4 in groups, results in fp16.

use senbazuru::accelerator::golden::accelerators::events::{Event, Events, kind};
use senbazuru::accelerator::golden::accelerators::job::{Codes, Executed, Fields};
use senbazuru::accelerator::golden::accelerators::memory::Memory;
use senbazuru::accelerator::golden::accelerators::operand::{are_apart, demand, overlap, places, row, sizes};
use senbazuru::accelerator::golden::accelerators::pieces::{Loaded, store};
use senbazuru::accelerator::golden::common::bus::Command;
use senbazuru::accelerator::golden::common::float::single;
use senbazuru::accelerator::golden::common::shell::job_controller::{Limits, code};
use senbazuru::standard::group_rounder::{Rounded, rounded};

use super::Shape;

/// The canonical NaN of fp16.
const NAN: u16 = 0x7e00;
/// Bits of the options.
const SHIFT: u32 = 0x7f;
const EXACT: u32 = 1 << 12;

/// A product whose fields are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Channels: elements of a row and of a column.
    pub channels: u64,
    /// Sums are divided by 2^shift.
    pub shift: u32,
    /// Whether a result that is infinite or no number is an error.
    pub exact: bool,
    /// The rows.
    pub x: Command,
    /// The columns, a row of INT4 each.
    pub weights: Command,
    /// The exponents of all groups of all columns.
    pub exponents: Command,
    /// Where the results go.
    pub out: Command,
}

/// A sum as fp16, divided by 2^shift.
#[must_use]
pub fn result(sum: i64, shift: u32) -> u16 {
    let wide = single::from_int(sum.into());
    single::to_fp16(if wide == 0 { 0 } else { wide - (shift << 23) })
}

impl Product {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let zeros = [60].into_iter().chain((96..128).step_by(4));
        let options = word(44);
        demand(options & !(SHIFT | EXACT) == 0 && fields.are_zero(zeros), code::RESERVED)?;
        let shift = options & SHIFT;
        demand(shift <= 96, code::FIELD)?;
        sizes(&[(word(32), shape.rows), (word(36), 65535), (word(40), shape.channels)])?;
        let (rows, columns, channels) = (word(32).into(), u64::from(word(36)), u64::from(word(40)));
        let product = Self {
            channels,
            shift,
            exact: options & EXACT != 0,
            x: fields.rows([64, 48], rows, 2 * channels),
            weights: fields.rows([72, 52], columns, channels.div_ceil(2)),
            exponents: row(long(80), columns * shape.words(channels) * shape.exponent_bytes()),
            out: fields.rows([88, 56], rows, 2 * columns),
        };
        places([&product.x, &product.weights, &product.exponents, &product.out], limits, shape.vector.address_width)?;
        Ok(product)
    }

    /// Whether no byte that is read is written, and no byte is written twice.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let reads = [&self.x, &self.weights, &self.exponents];
        are_apart(&self.out) && !reads.into_iter().any(|read| overlap(read, &self.out))
    }

    /// Words of weights: the steps of the array.
    #[must_use]
    pub fn steps(&self, shape: &Shape) -> u64 {
        self.weights.rows * shape.words(self.channels)
    }

    /// The integers of a column in groups, each with its exponent.
    fn column(&self, shape: &Shape, weights: &[u8], exponents: &[u8]) -> Vec<(Vec<i64>, u32)> {
        let nibble = |bytes: &[u8], k: usize| bytes[k / 2] >> (4 * (k % 2)) & 15;
        let signed = |code: u8| (i64::from(code) ^ 8) - 8;
        let integers: Vec<i64> = (0..self.channels as usize).map(|k| signed(nibble(weights, k))).collect();
        let groups = integers.chunks(shape.group as usize).enumerate();
        groups.map(|(g, group)| (group.to_vec(), nibble(exponents, g).into())).collect()
    }

    /// Does it.
    pub fn execute(self, shape: &Shape, memory: &mut dyn Memory) -> Executed<Self> {
        let mut codes = Codes::default();
        let exponents = Loaded::row(&self.exponents, 0, memory, &mut codes);
        let rows: Vec<Loaded> = (0..self.x.rows).map(|r| Loaded::row(&self.x, r, memory, &mut codes)).collect();
        let rounded: Vec<Option<Rounded>> = rows
            .iter()
            .map(|row| {
                let numbers = row.whole()?.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                Some(rounded(&numbers.collect::<Vec<_>>(), shape.group as usize, 8))
            })
            .collect();
        let of_column = (shape.words(self.channels) * shape.exponent_bytes()) as usize;
        let (mut results, mut overflows) = (vec![Vec::new(); rows.len()], 0);
        for c in 0..self.weights.rows {
            let weights = Loaded::row(&self.weights, c, memory, &mut codes);
            let first = c as usize * of_column;
            let known = weights.whole().zip(exponents.get(first..first + of_column));
            let Some((weights, exponents)) = known else { continue };
            let column = self.column(shape, weights, exponents);
            let mut strange = false;
            for (row, results) in rounded.iter().zip(&mut results) {
                let Some(row) = row else { continue };
                let groups = row.integers.chunks(shape.group as usize).zip(&row.exponents).zip(&column);
                let sum = groups.map(|((integers, own), (weights, other))| {
                    integers.iter().zip(weights).map(|(a, b)| a * b).sum::<i64>() << (own + other)
                });
                let bits = if row.special { NAN } else { result(sum.sum(), self.shift) };
                strange |= bits >> 10 & 31 == 31;
                results.extend(bits.to_le_bytes());
            }
            overflows += u64::from(strange);
        }
        for (r, bytes) in (0..).zip(&results).filter(|(_, bytes)| bytes.len() as u64 == self.out.row_bytes) {
            store(&self.out, r, bytes, memory, &mut codes);
        }
        let mut codes = codes.all();
        // An error of the bus comes first: results are judged at the end.
        if self.exact && overflows > 0 && codes.is_empty() {
            codes.push(code::OVERFLOW);
        }
        let rules = (self.is_defined(), self.exact);
        Executed::new(self, codes, rules, overflows)
    }

    /// What happens in it besides the accesses to memory.
    #[must_use]
    pub fn events(&self, shape: &Shape) -> Events {
        let (rows, steps) = (u64::from(shape.rows), self.steps(shape));
        let word = shape.word() * 8 + shape.word() / u64::from(shape.group) * 5;
        let (x_words, columns) = (self.x.rows * shape.words(self.channels), self.weights.rows);
        Events::default()
            .with(Event::new("product", kind::PRODUCT, 12), steps * rows * shape.word())
            .with(Event::new("rounded number", kind::ELEMENT, 16), self.x.rows * self.channels)
            .with(Event::new("row write", kind::SRAM_WRITE, word), x_words)
            .with(Event::new("row read", kind::SRAM_READ, word), steps * rows)
            .with(Event::new("result", kind::ELEMENT, 64), columns * rows)
            .with(Event::new("turn buffer write", kind::SRAM_WRITE, 16), columns * rows)
            .with(Event::new("turn buffer read", kind::SRAM_READ, 16), columns * self.x.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_by_hand() {
        assert_eq!([result(0, 96), result(1, 0), result(-3, 1)], [0, 0x3c00, 0xbe00]);
        // The largest number of fp16, and the first one that rounds to an infinity.
        assert_eq!([result(65519 << 20, 20), result(65520 << 20, 20)], [0x7bff, 0x7c00]);
        // 2^-25 is a tie between 0 and the smallest number; a little more is not.
        assert_eq!([result(1 << 30, 55), result((1 << 30) + (1 << 10), 55), result(-1, 96)], [0, 1, 0x8000]);
    }
}
