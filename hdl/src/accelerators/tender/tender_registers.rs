//! Registers that only `tender_top` has.

use crate::accelerators::registers::{OwnRegisters, VectorCaps};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{parameters, registers};

parameters! {
    /// What a driver needs to know of a Tender accelerator.
    pub struct TenderCaps {
        /// Rows of the array.
        rows: u32 = 16, in 1..=256, tag "r";
        /// Columns of the array.
        columns: u32 = 16, in 1..=256, tag "c";
        /// Bits of an operand of a PE.
        operand_width: u32 = 4, in 1..=16, tag "w";
        /// Channels of a panel.
        depth: u32 = 1024, in 1..=65536, tag "d";
        /// Entries of the index buffer.
        steps: u32 = 2048, in 1..=65536, tag "s";
        /// There is explicit requantization.
        explicit: bool = false, tag "explicit";
        /// The vector unit.
        vector: VectorCaps = VectorCaps { base: 0x10c, ..VectorCaps::default() };
    }
}

registers! {
    /// What drivers need to know of a Tender accelerator, and its own counters.
    pub struct TenderFields(p: TenderCaps) {
        /// The array.
        CAPS at 0x100 {
            /// Rows of PEs.
            rows: Constant = (9, p.rows.into()) at 0,
            /// Columns of PEs.
            columns: Constant = (9, p.columns.into()) at 16,
            /// Four PEs can multiply operands of twice the width.
            int8: Constant = (1, 1) at 25,
            /// Bits of an operand of a PE.
            operand_width: Constant = (5, p.operand_width.into()) at 26,
            /// There is explicit requantization.
            explicit: Constant = (1, p.explicit.into()) at 31,
        }
        /// The scratchpad.
        DEPTH at 0x104 {
            /// Channels of a panel.
            depth: Constant = (32, p.depth.into()) at 0,
        }
        /// The index buffer.
        STEPS at 0x108 {
            /// Its entries.
            steps: Constant = (32, p.steps.into()) at 0,
        }
        /// Sums of the job.
        SUM_OVERFLOWS at 0x118 {
            /// Columns of a panel in which an accumulator overflowed.
            sum_overflows: ReadOnly = 64 at 0,
        }
        /// Results of the job.
        OVERFLOWS at 0x120 {
            /// Columns of a panel, or beats of a row, with a result that is saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for TenderFields {
    const NAME: &'static str = "tender_registers";
    const ACCELERATOR: u32 = 2;

    fn vector(spec: &TenderCaps) -> Option<VectorCaps> {
        Some(spec.vector.clone())
    }
}
