//! DRAM timing for the memory of a co-simulation: DRAMsim3 says when bursts are read and written.
//!
//! [`Dram`] is a [`MemoryTiming`] for [`sim::bus::AxiMemory::timed_by`]. DRAM moves one line at once: 64 bytes in HBM2,
//! 128 in LPDDR4 on four devices. A burst has an access for each line that it touches. Accesses enter the controller in
//! order, if its queues have room. An access that waits for one channel does not delay other channels. A write is
//! answered when the controller has it, as in real controllers.
//!
//! The feature `dramsim3` enables this crate. It is off by default because DRAMsim3 needs cmake.

#[cfg(feature = "dramsim3")]
mod dram;
#[cfg(feature = "dramsim3")]
mod served;

#[cfg(feature = "dramsim3")]
pub use dram::{Dram, Kind, Reads};
#[cfg(feature = "dramsim3")]
pub use served::Served;
