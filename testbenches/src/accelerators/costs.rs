//! What accelerators have in common where they are compared, unless a user says other parameters.

use hdl::blocks::common::AxiSpec;

/// The bus: 64 bytes a cycle.
pub(super) const WIDE: AxiSpec = AxiSpec { address_width: 40, data_width: 512, id_width: 1 };
/// The beats that a DMA can hold have to cover the latency of memory.
pub(super) const BEATS: u32 = 64;
