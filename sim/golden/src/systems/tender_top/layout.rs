//! Matrices of integers as panels of words.

/// Bits of an operand of a PE.
pub const OPERAND_WIDTH: u32 = 4;

/// The number of lines of a panel, and the width of its integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// Bits of an integer.
    pub bits: u32,
    /// Rows of a panel of rows.
    pub rows: u64,
    /// Columns of a panel of columns.
    pub columns: u64,
}

impl Layout {
    /// Bytes of a word of a panel of rows.
    #[must_use]
    pub fn row_word_bytes(&self) -> u64 {
        self.rows * u64::from(self.bits) / 8
    }

    /// Bytes of a word of a panel of columns.
    #[must_use]
    pub fn column_word_bytes(&self) -> u64 {
        self.columns * u64::from(self.bits) / 8
    }

    /// Least and largest integer.
    #[must_use]
    pub fn range(&self, signed: bool) -> (i32, i32) {
        if signed { (-1 << (self.bits - 1), (1 << (self.bits - 1)) - 1) } else { (0, (1 << self.bits) - 1) }
    }

    /// The integers of consecutive words, the first line in the low bits.
    #[must_use]
    pub fn integers(&self, words: &[u8], signed: bool) -> Vec<i16> {
        // Loops without a branch or a variable shift become vector instructions.
        let halves = |half: fn(u8) -> [i16; 2]| words.iter().flat_map(|&byte| half(byte)).collect();
        match (self.bits, signed) {
            (8, true) => words.iter().map(|&byte| i16::from(byte as i8)).collect(),
            (8, false) => words.iter().map(|&byte| i16::from(byte)).collect(),
            (_, true) => halves(|byte| [i16::from((byte << 4) as i8 >> 4), i16::from(byte as i8 >> 4)]),
            (_, false) => halves(|byte| [i16::from(byte & 15), i16::from(byte >> 4)]),
        }
    }

    /// Integers as consecutive words. Their number must fill whole words.
    #[must_use]
    pub fn words(&self, integers: &[i32]) -> Vec<u8> {
        match self.bits {
            8 => integers.iter().map(|&integer| integer as u8).collect(),
            _ => integers.chunks(2).map(|pair| pair[0] as u8 & 15 | (pair[1] as u8) << 4).collect(),
        }
    }
}
