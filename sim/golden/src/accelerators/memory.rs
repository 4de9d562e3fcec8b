//! Memory as a job sees it.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// The error that a bus answers instead of data.
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

/// Memory at the other end of a bus. Areas end at the last byte of the address space at the latest. The hardware moves
/// whole beats, so a caller that injects errors next to the requested bytes rounds the area to beats.
pub trait Memory {
    /// Reads bytes from `address` on.
    ///
    /// # Errors
    /// The error that the bus answers.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError>;
    /// Writes bytes from `address` on.
    ///
    /// # Errors
    /// The error that the bus answers.
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

/// The parts of an area, page by page: the address, and the range of bytes within the area.
fn parts(address: u64, count: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = address.wrapping_add(done as u64);
        let part = (count - done).min((PAGE - at % PAGE) as usize);
        let from = done;
        done += part;
        (part > 0).then_some((at, from..done))
    })
}

/// Bytes at 64-bit addresses, zero until written. Some areas may answer with errors.
#[derive(Clone, Debug, Default)]
pub struct SparseMemory {
    pages: BTreeMap<u64, Vec<u8>>,
    broken: Vec<(RangeInclusive<u64>, BusError)>,
}

impl SparseMemory {
    /// Memory of zeros.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on every access to `area` fails.
    pub fn fail(&mut self, area: RangeInclusive<u64>, error: BusError) {
        self.broken.push((area, error));
    }

    /// From now on no area fails.
    pub fn mend(&mut self) {
        self.broken.clear();
    }

    /// `count` bytes from `address` on. Errors of areas have no effect here.
    #[must_use]
    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.fill(address, &mut bytes);
        bytes
    }

    fn fill(&self, address: u64, bytes: &mut [u8]) {
        for (at, part) in parts(address, bytes.len()) {
            let from = (at % PAGE) as usize;
            match self.pages.get(&(at / PAGE)) {
                Some(page) => bytes[part.clone()].copy_from_slice(&page[from..from + part.len()]),
                None => bytes[part].fill(0),
            }
        }
    }

    /// Stores bytes from `address` on. Errors of areas have no effect here.
    pub fn store(&mut self, address: u64, bytes: &[u8]) {
        for (at, part) in parts(address, bytes.len()) {
            let page = self.pages.entry(at / PAGE).or_insert_with(|| vec![0; PAGE as usize]);
            let from = (at % PAGE) as usize;
            page[from..from + part.len()].copy_from_slice(&bytes[part]);
        }
    }

    /// Forgets whole pages of an area, which read as zeros then. Bytes next to the area stay.
    pub fn forget(&mut self, address: u64, count: u64) {
        let pages = address.div_ceil(PAGE)..(address + count) / PAGE;
        pages.for_each(|page| drop(self.pages.remove(&page)));
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
        self.fill(address, bytes);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError> {
        self.error(address, bytes.len())?;
        self.store(address, bytes);
        Ok(())
    }
}
