//! The path between operations and memory, and the read of a descriptor.

use super::bus::{Dma, Ports, Reader, Turns, Writer};
use super::dmas::Dmas;
use super::flow::{Flow, end};
use super::times::extend;
use crate::accelerators::events::Events;
use crate::accelerators::job::DESCRIPTOR_BYTES;
use crate::common::bus::Command;

/// The most engines that work at the same time.
pub const ENGINES: usize = 8;

/// The path between the operations of an accelerator and memory. Memory answers after a fixed number of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Bytes of a beat of the bus, 4 to 64.
    pub bus_bytes: u64,
    /// From a request on the bus to its answer.
    pub latency: u64,
    /// Ports to memory: reader k is on port k modulo their number.
    pub ports: usize,
    /// DMAs that read; of all engines where operations overlap.
    pub readers: usize,
    /// Where operations overlap: DMAs that read, of each engine; 0 for engines that are not there.
    pub engines: [usize; ENGINES],
    /// The read DMAs.
    pub reads: Dma,
    /// The write DMA.
    pub writes: Dma,
    /// Bits of an address.
    pub address_width: u32,
    /// The check of an operand.
    pub check: u64,
}

impl Shell {
    /// Whether engines work at the same time.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        self.engines[0] > 0
    }

    /// Where operations overlap, an operation waits for others after its checks: for a cycle at least.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.overlaps().into()
    }

    /// The cycle in which the operation of a descriptor is handed over, if the controller looks at the descriptor in
    /// cycle `now`.
    pub(super) fn fetched(&self, fetch: &mut Dmas, turns: &mut Turns) -> u64 {
        end(&mut Fetch, fetch, turns) + 2
    }

    /// What a tag takes: one beat.
    pub(super) fn tag(&self) -> Events {
        let mut writer = self.writer();
        writer.offer(&Command { address: 0, row_bytes: self.bus_bytes, rows: 1, stride: 0 }, 0);
        writer.events()
    }

    /// What a read of rows takes.
    #[must_use]
    pub fn read(&self, rows: &Command) -> Events {
        let mut reader = Reader::new(self.reads, self.bus_bytes);
        reader.offer(rows, 0);
        reader.events()
    }

    /// The read of a descriptor at which the controller looks in cycle `now`.
    pub(super) fn fetch(&self, address: u64, now: u64) -> Dmas {
        let beats = (DESCRIPTOR_BYTES / self.bus_bytes).next_power_of_two().min(16);
        let mut reader =
            Reader::new(Dma { burst_beats: beats, outstanding: 1, commands: 2, beats: beats.max(2) }, self.bus_bytes);
        let command = Command { address, row_bytes: DESCRIPTOR_BYTES, rows: 1, stride: 0 };
        reader.offer(&command, now + 1);
        Dmas::new(vec![reader], self.writer(), Ports::of_descriptors(self.latency))
    }

    /// Cycles from an operation to the first cycle after its checks: one for the fields, some for an operand, one for an
    /// operand that is not used.
    #[must_use]
    pub fn checks(&self, used: u64, operands: u64) -> u64 {
        1 + self.check * used + (operands - used)
    }

    /// The DMAs of an operation, before they have a command.
    #[must_use]
    pub fn dmas(&self, turns: &Turns) -> Dmas {
        // An engine of its own has no more than all.
        let count = self.engines.iter().copied().max().filter(|&most| most > 0).unwrap_or(self.readers);
        let readers = vec![Reader::new(self.reads, self.bus_bytes); count];
        Dmas::new(readers, self.writer(), Ports::new(self.latency, self.ports, count, turns))
    }

    pub(super) fn writer(&self) -> Writer {
        Writer::new(self.writes, self.bus_bytes, self.latency)
    }
}

/// The read of a descriptor: a beat is taken when it comes.
pub(super) struct Fetch;

impl Flow for Fetch {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let [reader] = &mut dmas.readers[..] else { return false };
        let mut moved = false;
        extend!(moved, reader.left, reader.shown(reader.left.known()));
        moved
    }
}
