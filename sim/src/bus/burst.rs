//! Addresses and byte lanes of a burst: the arithmetic of IHI 0022 A3.4.1 and A3.4.3.

use super::signals::{Address, FIXED, WRAP};

/// Bytes of the block that no burst may leave.
pub(super) const BOUNDARY: u64 = 4096;

/// The beats of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub start: u64,
    pub beats: u32,
    size: u8,
    kind: u8,
}

impl Burst {
    pub fn of(request: &Address) -> Self {
        Self { start: request.addr, beats: u32::from(request.len) + 1, size: request.size, kind: request.burst }
    }

    /// Bytes of a beat.
    pub fn bytes(&self) -> u64 {
        1 << self.size
    }

    /// Address of beat `n`: the address of its lowest byte that counts.
    #[inline]
    pub fn address(&self, n: u32) -> u64 {
        let bytes = self.bytes();
        let offset = u64::from(n) * bytes;
        match self.kind {
            FIXED => self.start,
            WRAP => {
                let container = bytes * u64::from(self.beats);
                let low = self.start - self.start % container;
                low + (self.start - low + offset) % container
            }
            _ if n == 0 => self.start,
            _ => (self.start & !(bytes - 1)).wrapping_add(offset),
        }
    }

    /// First byte and number of bytes of the area that the burst touches.
    pub fn footprint(&self) -> (u64, u64) {
        let (bytes, all) = (self.bytes(), self.bytes() * u64::from(self.beats));
        match self.kind {
            FIXED => (self.start & !(bytes - 1), bytes),
            WRAP => (self.start - self.start % all, all),
            _ => (self.start & !(bytes - 1), all),
        }
    }

    /// Bytes of the footprint that must be there for beat `n`.
    pub fn needed(&self, n: u32) -> u64 {
        match self.kind {
            FIXED | WRAP => self.footprint().1,
            _ => self.bytes() * u64::from(n + 1),
        }
    }

    /// Byte lanes that carry data of the beat at `address`, on a bus of `bus` bytes.
    #[inline]
    pub fn lanes(&self, address: u64, bus: u64) -> u128 {
        // `bus` is a power of two; a remainder would cost more than all else here.
        let within = bus - 1;
        if address & within == 0 && self.bytes() == bus {
            return ones(bus);
        }
        let high = (address & !(self.bytes() - 1) & within) + self.bytes();
        ones(high) & !ones(address & within)
    }

    /// Whether the burst leaves its 4 KiB block.
    pub fn crosses(&self) -> bool {
        // Only ascending bursts can: the others stay in a container of at most 2 KiB that is aligned to its size.
        let first = (self.start & !(self.bytes() - 1)) % BOUNDARY;
        !matches!(self.kind, FIXED | WRAP) && first + u64::from(self.beats) * self.bytes() > BOUNDARY
    }
}

/// Ones in the low `count` bits, up to 128.
#[inline]
pub(super) fn ones(count: u64) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::super::signals::INCR;
    use super::*;

    fn burst(addr: u64, len: u8, size: u8, burst: u8) -> Burst {
        Burst::of(&Address { addr, len, size, burst, ..Address::default() })
    }

    fn addresses(burst: Burst) -> Vec<u64> {
        (0..burst.beats).map(|n| burst.address(n)).collect()
    }

    #[test]
    fn addresses_are_those_of_the_specification() {
        assert_eq!(addresses(burst(0x103, 3, 2, INCR)), [0x103, 0x104, 0x108, 0x10c]);
        assert_eq!(addresses(burst(0x108, 3, 2, WRAP)), [0x108, 0x10c, 0x100, 0x104]);
        assert_eq!(addresses(burst(0x103, 2, 2, FIXED)), [0x103; 3]);
        assert_eq!(addresses(burst(u64::MAX - 7, 0, 3, INCR)), [u64::MAX - 7]);
    }

    #[test]
    fn lanes_follow_start_size_and_bus() {
        let unaligned = burst(0x103, 3, 2, INCR);
        assert_eq!(unaligned.lanes(0x103, 4), 0b1000);
        assert_eq!(unaligned.lanes(0x104, 4), 0b1111);
        // A narrow burst walks over the lanes of a wide bus.
        assert_eq!(unaligned.lanes(0x103, 16), 0x0008);
        assert_eq!(unaligned.lanes(0x10c, 16), 0xf000);
        assert_eq!(burst(0, 0, 7, INCR).lanes(0, 128), u128::MAX);
    }

    #[test]
    fn only_bursts_over_4_kib_cross() {
        assert!(!burst(0xff0, 3, 2, INCR).crosses());
        assert!(burst(0xff4, 3, 2, INCR).crosses());
        // The last beat of an unaligned start ends with its aligned word.
        assert!(!burst(0xff3, 3, 2, INCR).crosses());
        assert!(!burst(0x1000, 255, 4, INCR).crosses());
        assert!(!burst(0xff8, 1, 3, WRAP).crosses() && !burst(0xffc, 15, 2, FIXED).crosses());
    }
}
