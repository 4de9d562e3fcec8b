//! Registers that only `vector_top` has.

use crate::accelerators::registers::{OwnRegisters, VectorCaps};
use crate::lang::registers;
use crate::lang::registers::ReadOnly;

registers! {
    /// What `vector_top` counts.
    pub struct VectorFields(p: VectorCaps) {
        /// Results of the job.
        OVERFLOWS at 0x108 {
            /// Beats of results in which an element was saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for VectorFields {
    const NAME: &'static str = "vector_registers";
    const ACCELERATOR: u32 = 1;

    fn vector(spec: &VectorCaps) -> Option<VectorCaps> {
        Some(spec.clone())
    }
}
