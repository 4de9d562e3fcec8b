//! Registers that only `titanus_core` has.

use super::titanus_spec::TitanusSpec;
use crate::accelerators::registers::{OwnRegisters, VectorCaps};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{parameters, registers};

/// Bytes from the first register to the registers of the vector unit.
pub(super) const VECTOR: u32 = 0x114;

parameters! {
    /// What a driver needs to know of a Titanus core.
    pub struct TitanusCaps {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
        /// Its vector unit.
        vector: VectorCaps = VectorCaps { base: VECTOR, ..VectorCaps::default() };
    }
}

registers! {
    /// What drivers need to know of a Titanus core, and its own counters.
    pub struct TitanusFields(p: TitanusCaps) {
        /// Macros of the store.
        CAPS_STORE at 0x100 {
            /// Rows of macros.
            rows: Constant = (8, p.spec.store.rows.into()) at 0,
            /// Columns of macros.
            columns: Constant = (12, p.spec.store.columns.into()) at 8,
        }
        /// A macro.
        CAPS_MACRO at 0x104 {
            /// Inputs.
            inputs: Constant = (16, p.spec.store.tile.cells.inputs.into()) at 0,
            /// Outputs.
            outputs: Constant = (16, p.spec.store.tile.cells.outputs.into()) at 16,
        }
        /// Constants of results.
        CAPS_CONSTANTS at 0x108 {
            /// How many there are.
            constants: Constant = (32, p.spec.constants.into()) at 0,
        }
        /// Streams of keys and values.
        CAPS_CACHE at 0x10c {
            /// Channels of a tile.
            channels: Constant = (8, p.spec.lanes.into()) at 0,
            /// Tiles of a token.
            tiles: Constant = (16, p.spec.tiles.into()) at 8,
            /// Levels that a channel may have; 0 for 256.
            levels: Constant = (8, u64::from(p.spec.levels) % 256) at 24,
        }
        /// What is kept of tokens.
        CAPS_CONTEXT at 0x110 {
            /// Tokens of the context.
            tokens: Constant = (16, p.spec.context.into()) at 0,
            /// Tokens of the longest prefill.
            buffer: Constant = (16, p.spec.buffer.into()) at 16,
        }
        /// Results of the job.
        OVERFLOWS at 0x120 {
            /// Results of products, bytes of probabilities, and beats of rows, that are saturated, infinite or no
            /// number.
            overflows: ReadOnly = 64 at 0,
        }
        /// Multiplications of the job with keys and values of the context.
        MULTIPLICATIONS at 0x128 {
            /// All of them.
            multiplications: ReadOnly = 64 at 0,
        }
        /// Skipped multiplications among them.
        SKIPPED at 0x130 {
            /// One of both sides was 0.
            skipped: ReadOnly = 64 at 0,
        }
        /// The open streams; they stay from job to job, up to an error or a soft reset.
        CACHE at 0x138 {
            /// Tokens in them; 0 without.
            cached: ReadOnly = 16 at 0,
            /// A key was out of tolerance when its channel had no level left.
            beyond_k: ReadOnly = 1 at 16,
            /// A value was.
            beyond_v: ReadOnly = 1 at 17,
        }
        /// Blocks of streams that the job read.
        STREAM_READ at 0x140 {
            /// Blocks.
            blocks_read: ReadOnly = 64 at 0,
        }
        /// Blocks of streams that the job wrote.
        STREAM_WRITTEN at 0x148 {
            /// Blocks.
            blocks_written: ReadOnly = 64 at 0,
        }
        /// What was damaged; 0 at the start of a job, and kept up to the next one.
        DAMAGE at 0x150 {
            /// 2 a stream, 3 an area that is full.
            kind: ReadOnly = 8 at 0,
            /// Of values, not keys.
            of_values: ReadOnly = 1 at 8,
        }
        /// Where.
        DAMAGE_WHERE at 0x158 {
            /// Address of the area.
            area: ReadOnly = 64 at 0,
        }
        /// Tokens of the core before this one that wait; they stay from job to job, up to an error or a soft reset.
        LINK at 0x160 {
            /// How many.
            waiting: ReadOnly = 16 at 0,
            /// The newest of them is a last one.
            ended: ReadOnly = 1 at 16,
            /// There are links.
            linked: ReadOnly = 1 at 31,
        }
    }
}

impl OwnRegisters for TitanusFields {
    const NAME: &'static str = "titanus_registers";
    const ACCELERATOR: u32 = 4;

    fn vector(spec: &TitanusCaps) -> Option<VectorCaps> {
        Some(spec.vector.clone())
    }
}
