//! When a memory has what it is asked for, where that is more than a latency and a rate: DRAM, for instance.

/// When the bytes of bursts are read or written. [`super::AxiMemory::timed_by`] puts one behind all interfaces of a memory. What
/// an [`super::AxiConfig`] says goes on to hold: an answer comes when both allow it.
pub trait MemoryTiming {
    /// A burst of so many bytes is asked for: a read with its address, a write with its last beat. Returns its number.
    fn ask(&mut self, address: u64, bytes: u64, write: bool) -> u64;

    /// How many of its bytes are read or written by now, counted from its beginning.
    fn done(&self, number: u64) -> u64;

    /// The burst was answered: nobody asks for its number any more.
    fn answered(&mut self, number: u64);

    /// One cycle of the design's clock.
    fn cycle(&mut self);

    /// The design was reset: none of the bursts before will be asked for.
    fn reset(&mut self);
}

/// Of a memory that has none, only what the interfaces' configurations say holds.
pub(super) type Timing = Option<Box<dyn MemoryTiming>>;
