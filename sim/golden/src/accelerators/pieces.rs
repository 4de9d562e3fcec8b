//! Rows in memory, moved piece by piece, so that an error of the bus affects as few neighbours as possible.

use crate::common::bus::Command;

use super::job::Codes;
use super::memory::Memory;

/// Bytes of a piece.
pub const PIECE: usize = 64;

/// The bytes of a row that the bus delivered.
pub struct Loaded {
    bytes: Vec<u8>,
    /// For each piece, whether it is there.
    good: Vec<bool>,
}

impl Loaded {
    /// Reads a row of an operand. The row begins at a multiple of the piece.
    pub fn row(rows: &Command, row: u64, memory: &mut dyn Memory, codes: &mut Codes) -> Self {
        let mut address = rows.address + row * rows.stride;
        let mut bytes = vec![0; rows.row_bytes as usize];
        if memory.read(address, &mut bytes).is_ok() {
            return Self { good: vec![true; bytes.len().div_ceil(PIECE)], bytes };
        }
        // Which pieces are missing.
        bytes.fill(0);
        let mut read = |piece: &mut [u8]| {
            let good = codes.bus(memory.read(address, piece)).is_some();
            address = address.wrapping_add(PIECE as u64);
            good
        };
        let good = bytes.chunks_mut(PIECE).map(&mut read).collect();
        Self { bytes, good }
    }

    /// Some of the bytes, if all of them are there.
    pub fn get(&self, range: std::ops::Range<usize>) -> Option<&[u8]> {
        let good = self.good[range.start / PIECE..range.end.div_ceil(PIECE)].iter().all(|&good| good);
        good.then(|| &self.bytes[range])
    }

    /// The pieces that are there.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(PIECE).zip(&self.good).filter_map(|(piece, &good)| good.then_some(piece))
    }

    /// How many bytes come before the first missing piece.
    pub fn first_bytes(&self) -> usize {
        let pieces = self.good.iter().take_while(|&&good| good).count();
        self.bytes.len().min(pieces * PIECE)
    }

    /// All bytes, with arbitrary values for missing pieces.
    pub fn any(&self) -> &[u8] {
        &self.bytes
    }

    /// All of the bytes, if none is missing.
    pub fn whole(&self) -> Option<&[u8]> {
        self.get(0..self.bytes.len())
    }
}

/// Writes the first bytes of a row.
pub fn store(rows: &Command, row: u64, bytes: &[u8], memory: &mut dyn Memory, codes: &mut Codes) {
    let mut address = rows.address + row * rows.stride;
    for piece in bytes.chunks(PIECE) {
        codes.bus(memory.write(address, piece));
        address = address.wrapping_add(PIECE as u64);
    }
}
