//! Registers that only the KLLM accelerator has.

use super::kllm_spec::KllmSpec;
use crate::accelerators::registers::{OwnRegisters, VectorCaps};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{parameters, registers};

parameters! {
    /// What a driver needs to know of a KLLM accelerator.
    pub struct KllmCaps {
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
        /// Values among which outliers are found at once; 0 without a quantizer.
        orizuru: u32 = 0, in 0..=65535, tag "o";
        /// The vector unit.
        vector: VectorCaps = VectorCaps::default();
    }
}

registers! {
    /// How a KLLM accelerator was built, and its own counters.
    pub struct KllmFields(p: KllmCaps) {
        /// Lanes, channels of a lane, positions of a beat.
        CAPS at 0x100 {
            /// Lanes.
            pe_lanes: Constant = (8, p.spec.lanes.into()) at 0,
            /// Channels of a lane.
            columns: Constant = (12, p.spec.columns.into()) at 8,
            /// Positions of a beat.
            inputs: Constant = (8, p.spec.inputs.into()) at 20,
        }
        /// Bits of a centroid, groups of lanes, words of a bank of weights.
        CENTROID at 0x104 {
            /// Bits of a centroid.
            bits: Constant = (5, p.spec.centroid_bits.into()) at 0,
            /// Groups of lanes: how many panels in memory are one of all lanes.
            groups: Constant = (6, p.spec.groups.into()) at 8,
            /// Words of a bank of weights.
            buffer: Constant = (16, p.spec.buffer.into()) at 16,
        }
        /// Positions of the longest token.
        KMAX at 0x108 {
            /// Positions.
            inner: Constant = (32, p.spec.inner().into()) at 0,
        }
        /// What finds outliers.
        ORIZURU at 0x10c {
            /// Values at once; 0 without a quantizer.
            values: Constant = (16, p.orizuru.into()) at 0,
            /// Outliers of a token on each side.
            outliers: Constant = (16, p.spec.kmax.into()) at 16,
        }
        /// Results of the job.
        OVERFLOWS at 0x118 {
            /// Results of products, inliers of rows that become tokens, and beats of rows with a result, that are
            /// saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
        /// Beats of the job.
        COMPUTE at 0x120 {
            /// Beats of tokens that the lanes took.
            compute: ReadOnly = 64 at 0,
        }
        /// Beats of the job.
        REPEATS at 0x128 {
            /// Beats that came again, as a beat brings one outlier at a time.
            repeats: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for KllmFields {
    const NAME: &'static str = "kllm_registers";
    const ACCELERATOR: u32 = 3;

    fn vector(spec: &KllmCaps) -> Option<VectorCaps> {
        Some(spec.vector.clone())
    }
}
