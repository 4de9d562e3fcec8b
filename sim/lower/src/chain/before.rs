//! What is in memory before a job. Its bytes are copied where the job changes them; weights are only in memory.

use std::collections::BTreeMap;

use golden::accelerators::memory::{BusError, Memory, SparseMemory};
use host::Image;

/// Areas that a job finds in memory, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// By address: the number of bytes, and the bytes themselves from the first change on.
    areas: BTreeMap<u64, (usize, Option<Vec<u8>>)>,
    /// Nobody asks for areas any more.
    stopped: bool,
}

impl Before {
    /// Adds an area as memory has it now.
    pub fn add(&mut self, address: u64, bytes: usize) {
        if !self.stopped {
            self.areas.insert(address, (bytes, None));
        }
    }

    /// There are no areas from here on.
    pub fn stop(&mut self) {
        self.areas.clear();
        self.stopped = true;
    }

    /// The areas with their bytes before all changes, in the order of their addresses. None is left.
    pub fn take(&mut self, memory: &SparseMemory) -> Vec<Image> {
        let image = |(address, (count, bytes)): (u64, (usize, Option<Vec<u8>>))| Image {
            address,
            bytes: bytes.unwrap_or_else(|| memory.bytes(address, count)),
        };
        std::mem::take(&mut self.areas).into_iter().map(image).collect()
    }

    /// Copies the bytes of areas that change now.
    fn keep(&mut self, memory: &SparseMemory, address: u64, bytes: usize) {
        let end = address.saturating_add(bytes as u64);
        for (&at, (count, kept)) in self.areas.range_mut(..end).rev() {
            if at.saturating_add(*count as u64) <= address {
                break;
            }
            kept.get_or_insert_with(|| memory.bytes(at, *count));
        }
    }
}

/// Memory of a job at work.
pub(super) struct Watched<'a> {
    pub memory: &'a mut SparseMemory,
    pub before: &'a mut Before,
}

impl Memory for Watched<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), BusError> {
        self.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), BusError> {
        self.before.keep(self.memory, address, bytes.len());
        self.memory.write(address, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four areas next to each other; writes within one, across the border of two, and beyond all.
    #[test]
    fn areas_as_they_were() {
        let (mut memory, mut before) = (SparseMemory::new(), Before::default());
        let areas: [(u64, Vec<u8>); 4] =
            [(64, vec![1; 16]), (80, vec![2; 16]), (96, vec![3; 5000]), (5096, vec![4; 8])];
        for (address, bytes) in &areas {
            memory.store(*address, bytes);
            before.add(*address, bytes.len());
        }
        let kept = |before: &Before| before.areas.values().map(|(_, bytes)| bytes.is_some()).collect::<Vec<_>>();
        let mut watched = Watched { memory: &mut memory, before: &mut before };
        watched.write(72, &[9; 4]).unwrap();
        watched.write(60, &[9; 4]).unwrap();
        watched.write(5104, &[9; 4]).unwrap();
        assert_eq!(kept(watched.before), [true, false, false, false]);
        watched.write(95, &[9; 2]).unwrap();
        watched.write(72, &[8; 4]).unwrap();
        let mut byte = [0];
        watched.read(72, &mut byte).unwrap();
        assert_eq!(byte, [8]);
        assert_eq!(kept(watched.before), [true, true, true, false]);
        let images = before.take(&memory);
        assert_eq!(images.into_iter().map(|image| (image.address, image.bytes)).collect::<Vec<_>>(), areas);
        assert!(before.take(&memory).is_empty());
        before.add(64, 16);
        before.stop();
        before.add(80, 16);
        assert!(before.take(&memory).is_empty());
    }
}
