//! From fp32 numbers to results: the constants of a row or column, and the memory for results.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::float::single;
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;

use super::{Finish, Output};

/// The constants of a row or column, fp32.
#[derive(Clone, Copy, Debug, Default)]
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

/// Numbers of a row by column, fp32. A number is not known if it depends on bytes that could not be read.
#[derive(Clone, Debug)]
pub struct Line {
    /// 0 where it is not known.
    pub numbers: Vec<u32>,
    /// Whether each number is known.
    pub known: Vec<bool>,
}

impl Line {
    /// So many numbers that are not known.
    pub fn unknown(columns: usize) -> Self {
        Self { numbers: vec![0; columns], known: vec![false; columns] }
    }

    /// The same number of fp32 for each number of fp16 in a row of memory.
    pub fn of_halves(loaded: &Loaded, columns: usize) -> Self {
        let number = |bytes: &[u8]| single::from_fp16(u16::from_le_bytes([bytes[0], bytes[1]]));
        if let Some(bytes) = loaded.whole() {
            return Self { numbers: bytes.chunks_exact(2).map(number).collect(), known: vec![true; columns] };
        }
        let found = (0..columns).map(|column| loaded.get(2 * column..2 * column + 2).map(number));
        let (numbers, known) = found.map(|found| (found.unwrap_or(0), found.is_some())).unzip();
        Self { numbers, known }
    }
}

/// Takes numbers, panel by panel.
pub struct Finisher<'a> {
    finish: &'a Finish,
    constants: Vec<Constants>,
    /// Which constants could be read.
    known: Vec<bool>,
    /// Words of results with an overflow.
    pub overflows: u64,
}

impl<'a> Finisher<'a> {
    /// Reads the constants.
    pub fn new(finish: &'a Finish, memory: &mut dyn Memory, codes: &mut Codes) -> Self {
        let bytes = Loaded::row(&finish.constants, 0, memory, codes);
        let records = (0..finish.constants.row_bytes as usize).step_by(16);
        let read = records.map(|at| bytes.get(at..at + 16).map(Constants::of));
        let (constants, known) = read.map(|read| (read.unwrap_or_default(), read.is_some())).unzip();
        Self { finish, constants, known, overflows: 0 }
    }

    /// The results of a row; 0 where they are not known. Notes the columns with an overflow. Returns whether any is
    /// known.
    fn line(&self, row: usize, line: &Line, results: &mut [i32], overflow: &mut [bool]) -> bool {
        let finish = self.finish;
        let mut any = false;
        let numbers = line.numbers.iter().zip(&line.known);
        let places = results.iter_mut().zip(overflow);
        let mut each = |((&number, &known), (result, overflow)): ((&u32, &bool), (&mut i32, &mut bool)), constants| {
            if known {
                let own;
                (*result, own) = finish.element(number, constants);
                *overflow |= own;
                any = true;
            }
        };
        if !finish.per_row {
            let constants = self.constants.iter().zip(&self.known);
            for (both, (&constants, &known)) in numbers.zip(places).zip(constants) {
                if known {
                    each(both, constants);
                }
            }
        } else if self.known[row] {
            numbers.zip(places).for_each(|both| each(both, self.constants[row]));
        }
        any
    }

    /// The numbers of panel `panel`, by row. The result of a number that is not known is written as 0 if any number of
    /// its row in memory is known.
    pub fn panel(&mut self, panel: u64, lines: &[Line], memory: &mut dyn Memory, codes: &mut Codes) {
        let finish = self.finish;
        let (first, columns) = (panel * finish.layout.rows, finish.columns as usize);
        let mut results = vec![vec![0; columns]; lines.len()];
        let mut overflow = vec![false; columns];
        let of_rows = (first as usize..).zip(lines).zip(&mut results);
        let known: Vec<bool> =
            of_rows.map(|((row, line), results)| self.line(row, line, results, &mut overflow)).collect();
        let words = overflow.iter().filter(|&&overflow| overflow).count() as u64;
        self.overflows += words;
        if words > 0 && finish.exact {
            codes.note(code::OVERFLOW);
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
                let lines = finish.layout.rows as usize;
                let mut words = vec![0; columns * lines];
                for (line, results) in results.iter().enumerate() {
                    let places = words[line..].iter_mut().step_by(lines);
                    places.zip(results).for_each(|(word, &result)| *word = result);
                }
                store(panel, &finish.layout.words(&words));
            }
            Output::Integers { .. } => {}
        }
    }
}
