//! Registers of the Titanus core: the registers of all accelerators, and its own.

use super::ACCELERATOR;
use super::titanus_spec::TitanusSpec;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{About, Block, Module, Out, RegisterPorts, Timing, bit, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct TitanusRegisters {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
        /// Elements of a beat of the vector unit.
        lanes: u32 = 8, in 1..=65535, tag "l";
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// Number of the function of the step activate.
        function: u32 = 2, in 0..=255, tag "f";
        /// What the vector unit has for whole rows.
        units: RowUnits = RowUnits::default();
        /// How it reaches memory.
        bus: BusCaps = BusCaps::default(), named "when set";
    }
}

registers! {
    /// What drivers need to know of a Titanus core, and its own counters.
    pub struct TitanusFields(p: TitanusRegisters) {
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
        /// Elements of a beat and beats of the longest row of the vector unit.
        CAPS at 0x114 {
            /// Elements of a beat.
            lanes: Constant = (16, p.lanes.into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// The activation, and steps that not every build has.
        FUNCTION at 0x118 {
            /// What the step activate is: 0 GELU, 1 GELU by tanh, 2 SiLU, 3 tanh.
            function: Constant = (8, p.function.into()) at 0,
            /// There is softmax.
            softmax: Constant = (1, p.units.softmax.into()) at 8,
            /// There is layer norm.
            layer_norm: Constant = (1, p.units.layer_norm.into()) at 9,
            /// There is rotary embedding.
            rotary: Constant = (1, p.units.rotary.into()) at 10,
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

ports! {
    /// Ports of [`TitanusRegisters`].
    pub struct TitanusRegistersPorts(p: &TitanusRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Registers of all accelerators.
        shell: RegisterPorts<ShellFields> =
            ShellRegisters { accelerator: ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() },
        /// Its own.
        own: RegisterPorts<TitanusFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for TitanusRegisters {
    type Ports = TitanusRegistersPorts;
    const ABOUT: About = About {
        name: "titanus_registers",
        summary: "registers of the Titanus core",
        contract: "The registers of shell_registers, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TitanusRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served, &io.own.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
