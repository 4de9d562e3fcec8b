//! Memory that jobs may touch, and an allocator of its areas.

use std::collections::BTreeMap;

use crate::ALIGNMENT;

/// Memory that jobs may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First byte.
    pub base: u64,
    /// Last byte.
    pub limit: u64,
    /// Bits of an address on the device's bus. Bytes beyond cannot be addressed, even if the limit is higher.
    pub address_width: u32,
}

impl Window {
    /// The last byte that a job may touch.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.limit.min(u64::MAX.checked_shr(64 - self.address_width.min(64)).unwrap_or(0))
    }

    /// Whether a job may touch the bytes from `first` to `last`. `last` is wide enough for sums of addresses.
    #[must_use]
    pub fn holds(&self, first: u64, last: u128) -> bool {
        first >= self.base && last <= self.last().into()
    }
}

/// There is no free area of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room for {wanted} bytes: the largest free area of the window has {largest}")]
pub struct NoRoom {
    /// Bytes that the caller wants, rounded up.
    pub wanted: u64,
    /// Bytes of the largest free area.
    pub largest: u64,
}

/// Hands out aligned areas of a window, the lowest one that fits.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// Free areas by address. There is a gap between any two of them.
    free: BTreeMap<u64, u64>,
    taken: BTreeMap<u64, u64>,
}

impl Allocator {
    /// All whole units of alignment in the window are free.
    #[must_use]
    pub fn new(window: &Window) -> Self {
        let mut free = BTreeMap::new();
        let first = window.base.div_ceil(ALIGNMENT);
        // The very last unit of the address space stays free, so that ends are addresses too.
        let end = window.last() / ALIGNMENT + u64::from(window.last() % ALIGNMENT == ALIGNMENT - 1);
        let end = end.min(u64::MAX / ALIGNMENT);
        if first < end {
            free.insert(first * ALIGNMENT, (end - first) * ALIGNMENT);
        }
        Self { free, taken: BTreeMap::new() }
    }

    /// Takes an area of at least `bytes` bytes.
    ///
    /// # Errors
    /// No free area is large enough.
    pub fn take(&mut self, bytes: u64) -> Result<u64, NoRoom> {
        let largest = self.free.values().copied().max().unwrap_or(0);
        let wanted = bytes.max(1).checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        let found = self.free.iter().find(|(_, size)| **size >= wanted).map(|(&at, &size)| (at, size));
        let (at, size) = found.ok_or(NoRoom { wanted, largest })?;
        self.free.remove(&at);
        if size > wanted {
            self.free.insert(at + wanted, size - wanted);
        }
        self.taken.insert(at, wanted);
        Ok(at)
    }

    /// Gives an area back. Returns whether it was one.
    pub fn give(&mut self, address: u64) -> bool {
        let Some(mut size) = self.taken.remove(&address) else { return false };
        let mut at = address;
        if let Some(behind) = self.free.remove(&(at + size)) {
            size += behind;
        }
        if let Some((&before, &bytes)) = self.free.range(..at).next_back()
            && before + bytes == at
        {
            (at, size) = (before, bytes + size);
        }
        self.free.insert(at, size);
        true
    }

    /// Bytes that are free.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { base: 0x1001, limit: 0x1fff, address_width: 32 };

    #[test]
    fn areas_are_aligned_and_apart() {
        let mut all = Allocator::new(&WINDOW);
        assert_eq!(all.free_bytes(), 0x2000 - 0x1040);
        assert_eq!([1, 64, 65, 0].map(|bytes| all.take(bytes).unwrap()), [0x1040, 0x1080, 0x10c0, 0x1140]);
        assert!(all.give(0x1080) && !all.give(0x1080) && !all.give(0x1041));
        assert_eq!(all.take(64), Ok(0x1080), "the lowest one that fits");
        for at in [0x1080, 0x1040, 0x1140, 0x10c0] {
            assert!(all.give(at));
        }
        assert_eq!(all.take(0x2000 - 0x1040), Ok(0x1040), "neighbours became one");
        assert_eq!(all.take(1), Err(NoRoom { wanted: 64, largest: 0 }));
        assert_eq!(all.take(u64::MAX).unwrap_err().wanted, u64::MAX);
    }

    #[test]
    fn windows() {
        assert!(WINDOW.holds(0x1001, 0x1fff) && !WINDOW.holds(0x1000, 0x1fff) && !WINDOW.holds(0x1800, 0x2000));
        let whole = Window { base: 0, limit: u64::MAX, address_width: 36 };
        assert!(whole.holds(0, (1 << 36) - 1) && !whole.holds(0, 1 << 36));
        let all = Window { address_width: 64, ..whole };
        assert!(all.holds(0, u64::MAX.into()) && !all.holds(1, u128::from(u64::MAX) + 1));
        assert_eq!(Allocator::new(&all).take(1 << 40), Ok(0));
        assert_eq!(Allocator::new(&Window { base: 0x1001, limit: 0x107e, address_width: 32 }).free_bytes(), 0);
    }
}
