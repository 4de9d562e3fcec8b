//! Units between two streams: beats that become wider or narrower, and pipelines with a FIFO after them.

use super::bus::Reader;
use super::times::{Times, latest};

/// `stream_width_converter` on packets of equal length; also the packer of rows of the vector unit.
#[derive(Clone, Copy, Debug)]
pub struct Converter {
    /// Narrow beats of a wide beat.
    ratio: i64,
    narrows: bool,
    /// Beats of a packet that come in, and that go out.
    comes: i64,
    goes: i64,
}

impl Converter {
    /// Beats of `from` bits become beats of `to` bits; a packet has `packet` bits.
    pub fn new(from: u64, to: u64, packet: u64) -> Self {
        let ratio = (from.max(to) / from.min(to)) as i64;
        Self { ratio, narrows: from >= to, comes: packet.div_ceil(from) as i64, goes: packet.div_ceil(to) as i64 }
    }

    /// Beats of a packet that go out.
    pub fn goes(&self) -> i64 {
        self.goes
    }

    /// The outgoing beat that must have left as a whole when beat `n` is taken.
    fn room(&self, n: i64) -> i64 {
        let (packet, place) = (n / self.comes, n % self.comes);
        let first = if self.narrows { place * self.ratio } else { place / self.ratio };
        packet * self.goes + first - 1
    }

    /// The last incoming beat that outgoing beat `n` needs.
    fn source(&self, n: i64) -> i64 {
        let (packet, place) = (n / self.goes, n % self.goes);
        let last = if self.narrows { place / self.ratio } else { ((place + 1) * self.ratio).min(self.comes) - 1 };
        packet * self.comes + last
    }

    /// When beat `n` can be taken: in the cycle in which the beat before it has left as a whole.
    pub fn free(&self, n: i64, gone: &Times) -> Option<u64> {
        gone.behind(self.room(n), 0)
    }

    /// When beat `n` is there: one cycle after the last beat that it needs.
    pub fn shown(&self, n: i64, taken: &Times) -> Option<u64> {
        taken.behind(self.source(n), 1)
    }
}

/// One converter for packets of several lengths, one after the other.
#[derive(Clone, Debug)]
pub(in crate::accelerators) struct Packets(Vec<Group>);

/// Packets of one length. `comes` and `goes` count the beats of the packets before them.
#[derive(Clone, Copy, Debug)]
struct Group {
    converter: Converter,
    comes: i64,
    goes: i64,
}

impl Packets {
    /// Pairs of the bits of a packet and the number of packets of that length.
    pub fn new(from: u64, to: u64, lengths: impl IntoIterator<Item = (u64, i64)>) -> Self {
        let (mut comes, mut goes) = (0, 0);
        let group = |(bits, packets)| {
            let group = Group { converter: Converter::new(from, to, bits), comes, goes };
            comes += packets * group.converter.comes;
            goes += packets * group.converter.goes;
            group
        };
        Self(lengths.into_iter().map(group).collect())
    }

    fn group(&self, before: impl Fn(&Group) -> bool) -> &Group {
        &self.0[self.0.partition_point(before).max(1) - 1]
    }

    /// When beat `n` can be taken.
    pub fn free(&self, n: i64, gone: &Times) -> Option<u64> {
        let group = self.group(|group| group.comes <= n);
        gone.behind(group.goes + group.converter.room(n - group.comes), 0)
    }

    /// When beat `n` is there.
    pub fn shown(&self, n: i64, taken: &Times) -> Option<u64> {
        let group = self.group(|group| group.goes <= n);
        taken.behind(group.comes + group.converter.source(n - group.goes), 1)
    }
}

/// Rows of a DMA as words of another width.
#[derive(Clone, Debug)]
pub(in crate::accelerators) struct Words {
    packets: Packets,
    /// Beats of the DMA before these rows, beats of a row, and beats of a row that become words. All other beats are
    /// dropped.
    before: i64,
    row: i64,
    used: i64,
    /// When each beat that is not dropped was taken.
    taken: Times,
    /// When each word left. The caller that takes it adds the time.
    pub left: Times,
}

impl Words {
    /// Whole rows.
    pub fn of_rows(packets: Packets) -> Self {
        Self { packets, before: 0, row: 1, used: 1, taken: Times::default(), left: Times::default() }
    }

    /// The first bits of rows of so many bytes, after so many beats of other rows.
    pub fn of_starts(bus_bytes: u64, (to, bits): (u64, u64), row_bytes: u64, before: i64) -> Self {
        let packets = Packets::new(8 * bus_bytes, to, [(bits, 0)]);
        let used = packets.0[0].converter.comes;
        Self { before, row: row_bytes.div_ceil(bus_bytes) as i64, used, ..Self::of_rows(packets) }
    }

    /// Takes the next beat of the DMA, if its time is known.
    pub fn take(&mut self, reader: &mut Reader) -> bool {
        let n = reader.left.known();
        let uses = (n - self.before) % self.row < self.used;
        let free = if uses { self.packets.free(self.taken.known(), &self.left) } else { Some(0) };
        let Some(time) = latest([reader.shown(n), free]) else { return false };
        reader.left.push(time);
        if uses {
            self.taken.push(time);
        }
        true
    }

    /// When word `n` is there.
    pub fn shown(&self, n: i64) -> Option<u64> {
        latest([self.packets.shown(n, &self.taken), self.left.behind(n - 1, 1)])
    }
}

/// A way of so many cycles, with room for so many beats.
#[derive(Clone, Copy, Debug)]
pub(in crate::accelerators) struct Way {
    pub cycles: u64,
    pub places: i64,
}

impl Way {
    /// Arithmetic that never stalls, and after it a FIFO with room for all beats in flight.
    pub fn section(latency: u64) -> Self {
        Self { cycles: latency + 1, places: latency as i64 + 2 }
    }

    /// A register of two places.
    pub const REGISTER: Self = Self { cycles: 1, places: 2 };
}
