//! What stands between two streams: beats that become wider or narrower, and pipelines with a FIFO behind them.

use super::times::Times;

/// `stream_width_converter` on packets of equal length; also what packs the rows of the vector unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::systems) struct Converter {
    /// Narrow beats of a wide one.
    ratio: i64,
    narrows: bool,
    /// Beats of a packet that come, and that go.
    comes: i64,
    goes: i64,
}

impl Converter {
    /// Beats of `from` bits become beats of `to` bits; a packet has `packet` bits.
    pub fn new(from: u64, to: u64, packet: u64) -> Self {
        let ratio = (from.max(to) / from.min(to)) as i64;
        Self { ratio, narrows: from >= to, comes: packet.div_ceil(from) as i64, goes: packet.div_ceil(to) as i64 }
    }

    /// Beats of a packet that go.
    pub fn goes(&self) -> i64 {
        self.goes
    }

    /// When beat `n` can be taken: in the cycle in which the beat before it has left as a whole.
    pub fn free(&self, n: i64, gone: &Times) -> Option<u64> {
        let (packet, place) = (n / self.comes, n % self.comes);
        let first = if self.narrows { place * self.ratio } else { place / self.ratio };
        gone.behind(packet * self.goes + first - 1, 0)
    }

    /// When beat `n` is there: one cycle behind the last of what it is made of.
    pub fn shown(&self, n: i64, taken: &Times) -> Option<u64> {
        let (packet, place) = (n / self.goes, n % self.goes);
        let last = if self.narrows { place / self.ratio } else { ((place + 1) * self.ratio).min(self.comes) - 1 };
        taken.behind(packet * self.comes + last, 1)
    }
}

/// A way of so many cycles on which so many beats have room.
#[derive(Clone, Copy, Debug)]
pub(in crate::systems) struct Way {
    pub cycles: u64,
    pub places: i64,
}

impl Way {
    /// Arithmetic that nothing stops, with a FIFO behind it for all that is inside.
    pub fn section(latency: u64) -> Self {
        Self { cycles: latency + 1, places: latency as i64 + 2 }
    }

    /// A register of two places.
    pub const REGISTER: Self = Self { cycles: 1, places: 2 };
}
