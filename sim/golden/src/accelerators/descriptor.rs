//! Descriptors of tests.

/// A descriptor, field by field as the tables list them.
#[derive(Clone, Debug)]
pub struct Descriptor(pub Vec<u8>);

impl Descriptor {
    /// A descriptor with a valid header and zeros after it.
    pub fn of(opcode: u8) -> Self {
        Self(vec![0; 128]).word(0, u32::from_le_bytes(*b"SNBZ")).byte(4, 1).byte(5, opcode)
    }

    pub fn byte(mut self, at: usize, value: u8) -> Self {
        self.0[at] = value;
        self
    }

    pub fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub fn long(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub fn words(self, words: &[(usize, u32)]) -> Self {
        words.iter().fold(self, |d, &(at, value)| d.word(at, value))
    }

    pub fn longs(self, longs: &[(usize, u64)]) -> Self {
        longs.iter().fold(self, |d, &(at, value)| d.long(at, value))
    }

    pub fn next(self, at: u64) -> Self {
        self.long(8, at)
    }

    pub fn tagged(self, tag: u32, at: u64) -> Self {
        self.byte(6, 1).word(16, tag).long(24, at)
    }
}
