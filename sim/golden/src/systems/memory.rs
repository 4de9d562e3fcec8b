//! Memory as a job sees it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What a bus answers instead of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusError {
    /// SLVERR.
    Subordinate,
    /// DECERR.
    Decode,
}

impl BusError {
    /// `xRESP`.
    #[must_use]
    pub fn response(self) -> u8 {
        match self {
            Self::Subordinate => 2,
            Self::Decode => 3,
        }
    }
}

/// Memory behind a bus. Areas end at the last byte of the address space at the latest. The hardware moves whole beats: whoever
/// injects errors beside the bytes that are asked for rounds the area himself.
pub trait Memory {
    /// Reads bytes from `address` on.
    ///
    /// # Errors
    /// What the bus answers.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError>;
    /// Writes bytes from `address` on.
    ///
    /// # Errors
    /// What the bus answers.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError>;
}

impl<M: Memory> Memory for &mut M {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError> {
        (**self).read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError> {
        (**self).write(address, bytes)
    }
}

const PAGE: u64 = 4096;

/// Bytes at 64-bit addresses, zero until written; some areas may answer with errors.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    pages: BTreeMap<u64, Vec<u8>>,
    broken: Vec<(RangeInclusive<u64>, BusError)>,
}

impl SparseMemory {
    /// All zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on every access to `area` fails.
    pub fn fail(&mut self, area: RangeInclusive<u64>, error: BusError) {
        self.broken.push((area, error));
    }

    /// No area fails any more.
    pub fn mend(&mut self) {
        self.broken.clear();
    }

    /// `count` bytes from `address` on, past all errors.
    #[must_use]
    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let byte = |at: u64| self.pages.get(&(at / PAGE)).map_or(0, |page| page[(at % PAGE) as usize]);
        (0..count as u64).map(|k| byte(address.wrapping_add(k))).collect()
    }

    /// Stores bytes from `address` on, past all errors.
    pub fn store(&mut self, address: u64, bytes: &[u8]) {
        for (k, &byte) in (0u64..).zip(bytes) {
            let at = address.wrapping_add(k);
            self.pages.entry(at / PAGE).or_insert_with(|| vec![0; PAGE as usize])[(at % PAGE) as usize] = byte;
        }
    }

    fn error(&self, address: u64, count: usize) -> Result<(), BusError> {
        let last = address.saturating_add((count as u64).saturating_sub(1));
        let broken = self.broken.iter().find(|(area, _)| *area.start() <= last && address <= *area.end());
        broken.map_or(Ok(()), |(_, error)| Err(*error))
    }
}

impl Memory for SparseMemory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError> {
        self.error(address, bytes.len())?;
        bytes.copy_from_slice(&self.bytes(address, bytes.len()));
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError> {
        self.error(address, bytes.len())?;
        self.store(address, bytes);
        Ok(())
    }
}
