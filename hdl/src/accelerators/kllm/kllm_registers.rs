//! Registers of the KLLM accelerator: the registers of all accelerators, and its own.

use super::ACCELERATOR;
use super::kllm_spec::KllmSpec;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{About, Block, Module, Out, RegisterPorts, Timing, bit, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct KllmRegisters {
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
        /// Values among which outliers are found at once; 0 without a quantizer.
        orizuru: u32 = 0, in 0..=65535, tag "o";
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=65535, tag "l";
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// Number of the function of the step activate.
        function: u32 = 2, in 0..=255, tag "f";
        /// What it has for whole rows.
        units: RowUnits = RowUnits::default();
        /// How it reaches memory.
        bus: BusCaps = BusCaps::default(), named "when set";
    }
}

registers! {
    /// What drivers need to know of a KLLM accelerator, and its own counters.
    pub struct KllmFields(p: KllmRegisters) {
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
        /// Elements of a beat and beats of the longest row of the vector unit.
        VECTOR_CAPS at 0x110 {
            /// Elements of a beat.
            lanes: Constant = (16, p.lanes.into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// The activation, and steps that not every build has.
        FUNCTION at 0x114 {
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

ports! {
    /// Ports of [`KllmRegisters`].
    pub struct KllmRegistersPorts(p: &KllmRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Registers of all accelerators.
        shell: RegisterPorts<ShellFields> =
            ShellRegisters { accelerator: ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() },
        /// Its own.
        own: RegisterPorts<KllmFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for KllmRegisters {
    type Ports = KllmRegistersPorts;
    const ABOUT: About = About {
        name: "kllm_registers",
        summary: "registers of the KLLM accelerator",
        contract: "The registers of shell_registers, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &KllmRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served, &io.own.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
