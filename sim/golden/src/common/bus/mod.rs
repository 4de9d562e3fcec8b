//! DMAs on a bus: the bytes that they move, their bursts, their ends, and their cycles.

pub mod axi_arbiter;
pub mod axi_lite_registers;
pub mod axi_read_dma;
pub mod axi_write_dma;

/// Bytes that a burst never crosses.
pub const BOUNDARY: u64 = 4096;

/// A block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// Address of the first row.
    pub address: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from row to row.
    pub stride: u64,
}

/// The reason to refuse a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The address is no multiple of 64.
    Address,
    /// There is nothing to move.
    Empty,
    /// The stride is no multiple of 64.
    Stride,
    /// Some byte has no address.
    Overflow,
}

impl Refusal {
    /// The number of the reason in `completion_error`.
    #[must_use]
    pub fn code(self) -> u64 {
        match self {
            Self::Address => 4,
            Self::Empty => 5,
            Self::Stride => 6,
            Self::Overflow => 7,
        }
    }
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Its address.
    pub address: u64,
    /// Its beats.
    pub beats: u64,
}

/// The end of a command, as `completion_error` and `completion_address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// 0, the `xRESP` of the first error, or the reason why the command was refused.
    pub error: u64,
    /// Address of the burst that failed; otherwise of the command.
    pub address: u64,
}

impl Command {
    /// The reason to refuse the command, if any. Addresses have `address_width` bits.
    #[must_use]
    pub fn refusal(&self, address_width: u32) -> Option<Refusal> {
        if !self.address.is_multiple_of(64) {
            return Some(Refusal::Address);
        }
        if self.row_bytes == 0 || self.rows == 0 {
            return Some(Refusal::Empty);
        }
        if !self.stride.is_multiple_of(64) {
            return Some(Refusal::Stride);
        }
        let last_row = u128::from(self.address) + u128::from(self.rows - 1) * u128::from(self.stride);
        let last_byte = last_row + u128::from(self.row_bytes) - 1;
        (last_byte >> address_width != 0).then_some(Refusal::Overflow)
    }

    /// Addresses of the rows.
    pub fn row_addresses(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { address, stride, rows, .. } = *self;
        (0..rows).map(move |row| address + row * stride)
    }

    /// The beats of a bus of `bytes` bytes that a row at `address` touches.
    fn touched(&self, address: u64, bytes: u64) -> std::ops::Range<u64> {
        address / bytes..(address + (self.row_bytes - 1)) / bytes + 1
    }

    /// The bursts, each of at most `most` beats of `bytes` bytes. A burst ends at each address that is a multiple of
    /// `most` beats.
    #[must_use]
    pub fn bursts(&self, bytes: u64, most: u64) -> Vec<Burst> {
        let mut bursts = Vec::new();
        for row in self.row_addresses() {
            let beats = self.touched(row, bytes);
            let mut at = beats.start;
            while at < beats.end {
                let to = (at / most * most + most).min(beats.end);
                bursts.push(Burst { address: at * bytes, beats: to - at });
                at = to;
            }
        }
        bursts
    }

    /// Addresses of all beats of the bus, in order.
    #[must_use]
    pub fn bus_beats(&self, bytes: u64) -> Vec<u64> {
        self.row_addresses().flat_map(|row| self.touched(row, bytes)).map(|beat| beat * bytes).collect()
    }

    /// Packed beats: the beats of the rows, if each row begins a beat.
    #[must_use]
    pub fn packed_beats(&self, bytes: u64) -> u64 {
        self.rows * self.row_bytes.div_ceil(bytes)
    }

    /// The end of the command, if the bus answers beats (of a read) or bursts (of a write) with `error`.
    #[must_use]
    pub fn end(&self, bursts: &[Burst], address_width: u32, error: impl Fn(&Burst) -> u64) -> End {
        if let Some(refusal) = self.refusal(address_width) {
            return End { error: refusal.code(), address: self.address };
        }
        let first = bursts.iter().find(|b| error(b) >= 2);
        first.map_or(End { error: 0, address: self.address }, |b| End { error: error(b), address: b.address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(address: u64, row_bytes: u64, rows: u64, stride: u64) -> Command {
        Command { address, row_bytes, rows, stride }
    }

    #[test]
    fn bursts_stay_within_4_kib() {
        let burst = |address, beats| Burst { address, beats };
        // 300 bytes around 0x1000, 16 bytes a beat.
        assert_eq!(
            command(0xfc0, 300, 1, 0).bursts(16, 256),
            [burst(0xfc0, 4), burst(0x1000, 15)],
            "64 bytes before the boundary, 236 after it"
        );
        assert_eq!(command(0xfc0, 65, 1, 0).bursts(4, 8), [burst(0xfc0, 8), burst(0xfe0, 8), burst(0x1000, 1)]);
        // A row that begins within a beat of 128 bytes.
        assert_eq!(command(0x40, 65, 2, 0x40).bursts(128, 32), [burst(0, 2), burst(0x80, 1)]);
        assert_eq!(command(0x40, 65, 2, 0x40).bus_beats(128), [0, 0x80, 0x80]);
        assert_eq!(command(0x40, 65, 2, 0x40).packed_beats(128), 2);
    }

    #[test]
    fn refusals() {
        let why = |c: Command| c.refusal(32);
        assert_eq!(why(command(64, 1, 1, 0)), None);
        assert_eq!(why(command(32, 1, 1, 0)), Some(Refusal::Address));
        assert_eq!(why(command(0, 0, 1, 0)), Some(Refusal::Empty));
        assert_eq!(why(command(0, 1, 0, 0)), Some(Refusal::Empty));
        assert_eq!(why(command(0, 1, 2, 1)), Some(Refusal::Stride));
        assert_eq!(why(command(0xffff_ffc0, 64, 1, 0)), None);
        assert_eq!(why(command(0xffff_ffc0, 65, 1, 0)), Some(Refusal::Overflow));
        assert_eq!(why(command(0xffff_ff80, 64, 3, 64)), Some(Refusal::Overflow));
        let top = command(0xffff_ffff_ffff_ffc0, 64, 1, 0);
        assert_eq!((top.refusal(64), top.bus_beats(64)), (None, vec![0xffff_ffff_ffff_ffc0]));
    }
}
