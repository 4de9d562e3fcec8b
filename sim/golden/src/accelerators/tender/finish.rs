//! From fp32 numbers to results: the constants of a row or column, and the memory for results.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::float::single;
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;

use super::{Finish, Output};

/// The constants of a row or column, fp32.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Factor.
    pub scale: u32,
    /// Addend.
    pub bias: u32,
    /// Factor before the conversion to an integer.
    pub quantizer: u32,
}

impl Constants {
    fn of(record: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        Self { scale: word(0), bias: word(4), quantizer: word(8) }
    }
}

impl Finish {
    /// A result, and whether it has an overflow.
    #[must_use]
    pub fn element(&self, number: u32, constants: Constants) -> (i32, bool) {
        let y = single::add(single::mul(number, constants.scale), constants.bias);
        let negative = y >> 31 == 1 && y != single::NAN;
        let y = if self.relu && negative { 0 } else { y };
        match self.output {
            Output::Fp16 => {
                let half = single::to_fp16(y);
                (half.into(), is_special(half))
            }
            Output::Integers { signed } => {
                single::to_int(single::mul(y, constants.quantizer), self.layout.range(signed))
            }
        }
    }
}

/// Takes numbers, panel by panel.
pub struct Finisher<'a> {
    finish: &'a Finish,
    constants: Vec<Option<Constants>>,
    /// Words of results with an overflow.
    pub overflows: u64,
}

impl<'a> Finisher<'a> {
    /// Reads the constants.
    pub fn new(finish: &'a Finish, memory: &mut dyn Memory, codes: &mut Codes) -> Self {
        let bytes = Loaded::row(&finish.constants, 0, memory, codes);
        let records = (0..finish.constants.row_bytes as usize).step_by(16);
        let constants = records.map(|at| bytes.get(at..at + 16).map(Constants::of)).collect();
        Self { finish, constants, overflows: 0 }
    }

    /// The numbers of panel `panel`, by row and column; `None` for a number that depends on bytes that could not be
    /// read. Its result is written as 0 if any number of its row in memory is known.
    pub fn panel(&mut self, panel: u64, numbers: &[Vec<Option<u32>>], memory: &mut dyn Memory, codes: &mut Codes) {
        let finish = self.finish;
        let (first, columns) = (panel * finish.layout.rows, finish.columns as usize);
        let mut results = vec![vec![0; columns]; numbers.len()];
        let mut known = vec![false; numbers.len()];
        for column in 0..columns {
            let mut overflow = false;
            for (row, numbers) in numbers.iter().enumerate() {
                let place = if finish.per_row { first as usize + row } else { column };
                let (Some(number), Some(constants)) = (numbers[column], self.constants[place]) else { continue };
                let (result, own) = finish.element(number, constants);
                results[row][column] = result;
                known[row] = true;
                overflow |= own;
            }
            self.overflows += u64::from(overflow);
            if overflow && finish.exact {
                codes.note(code::OVERFLOW);
            }
        }
        let out = &finish.out;
        let mut store = |row: u64, bytes: &[u8]| pieces::store(out, row, bytes, memory, codes);
        match finish.output {
            Output::Fp16 => {
                for (row, results) in results.iter().enumerate().filter(|(row, _)| known[*row]) {
                    let bytes: Vec<u8> = results.iter().flat_map(|&half| (half as u16).to_le_bytes()).collect();
                    store(first + row as u64, &bytes);
                }
            }
            Output::Integers { .. } if known.contains(&true) => {
                // Lines after the last row are zeros.
                let line = |row: usize, column: usize| results.get(row).map_or(0, |row| row[column]);
                let lines = finish.layout.rows as usize;
                let words: Vec<i32> = (0..columns)
                    .flat_map(|column| (0..lines).map(move |row| (row, column)))
                    .map(|(r, c)| line(r, c))
                    .collect();
                store(panel, &finish.layout.words(&words));
            }
            Output::Integers { .. } => {}
        }
    }
}
