//! Timing of memories such as DRAM, for which a latency and a rate do not suffice.

/// When the bytes of bursts are read or written. [`super::AxiMemory::timed_by`] makes it the timing of all interfaces
/// of a memory. The [`super::AxiConfig`] of an interface still holds: an answer comes when both allow it.
pub trait MemoryTiming {
    /// A burst of so many bytes is requested: a read with its address, a write with its last beat. Returns its number.
    fn ask(&mut self, address: u64, bytes: u64, write: bool) -> u64;

    /// How many bytes of the burst are read or written by now, counted from its beginning.
    fn done(&self, number: u64) -> u64;

    /// The burst was answered. Its number is not used any more.
    fn answered(&mut self, number: u64);

    /// One cycle of the design's clock.
    fn cycle(&mut self);

    /// The design was reset. The numbers of earlier bursts are not used any more.
    fn reset(&mut self);
}

/// No timing: only the configurations of the interfaces hold.
pub(super) type Timing = Option<Box<dyn MemoryTiming>>;
