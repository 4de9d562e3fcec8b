//! DRAM behind the memory of a co-simulation: DRAMsim3 says when bursts are read and written.
//!
//! [`Dram`] is a [`MemoryTiming`] for [`sim::bus::AxiMemory::timed_by`]. A burst is as many accesses as it touches lines, a line being
//! what DRAM moves at once (HBM2: 64 bytes, LPDDR4 on four devices: 128). Accesses enter the controller in order, as far as
//! its queues have room; what waits for room in one channel does not hold up the others. Writes are answered when the
//! controller has them, as controllers do.
//!
//! All of it is behind the feature `dramsim3`, as DRAMsim3 needs cmake.

#[cfg(feature = "dramsim3")]
mod dram;
#[cfg(feature = "dramsim3")]
mod served;

#[cfg(feature = "dramsim3")]
pub use dram::{Dram, Kind, Reads};
#[cfg(feature = "dramsim3")]
pub use served::Served;
