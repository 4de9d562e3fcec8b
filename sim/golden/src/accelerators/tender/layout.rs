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
        let mut integers = vec![0; words.len() * 8 / self.bits as usize];
        self.unpack(words, signed, &mut integers);
        integers
    }

    /// As many of the first integers of words as have room.
    pub fn unpack(&self, words: &[u8], signed: bool, to: &mut [i16]) {
        // Loops without a branch or a variable shift become vector instructions.
        fn bytes(words: &[u8], to: &mut [i16], whole: impl Fn(u8) -> i16) {
            to.iter_mut().zip(words).for_each(|(to, &byte)| *to = whole(byte));
        }
        fn halves(words: &[u8], to: &mut [i16], both: impl Fn(u8) -> [i16; 2]) {
            for (to, &byte) in to.chunks_mut(2).zip(words) {
                to.copy_from_slice(&both(byte)[..to.len()]);
            }
        }
        match (self.bits, signed) {
            (8, true) => bytes(words, to, |byte| i16::from(byte as i8)),
            (8, false) => bytes(words, to, i16::from),
            (_, true) => halves(words, to, |byte| [i16::from((byte << 4) as i8 >> 4), i16::from(byte as i8 >> 4)]),
            (_, false) => halves(words, to, |byte| [i16::from(byte & 15), i16::from(byte >> 4)]),
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
