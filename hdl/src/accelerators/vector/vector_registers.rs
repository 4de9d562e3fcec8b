//! Registers of the vector accelerator: the registers of all accelerators, and its own.

use super::ACCELERATOR;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{About, Block, Module, Out, RegisterPorts, Timing, bit, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct VectorRegisters {
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=65535, tag "l";
        /// Beats of the longest row.
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
    /// What drivers need to know of a vector accelerator, and its own counter.
    pub struct VectorFields(p: VectorRegisters) {
        /// How it was built.
        CAPS at 0x100 {
            /// Elements of a beat.
            lanes: Constant = (16, p.lanes.into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// How it was built.
        FUNCTION at 0x104 {
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
        OVERFLOWS at 0x108 {
            /// Beats of results in which an element was saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
    }
}

ports! {
    /// Ports of [`VectorRegisters`].
    pub struct VectorRegistersPorts(p: &VectorRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Registers of all accelerators.
        shell: RegisterPorts<ShellFields> =
            ShellRegisters { accelerator: ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() },
        /// Its own.
        own: RegisterPorts<VectorFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for VectorRegisters {
    type Ports = VectorRegistersPorts;
    const ABOUT: About = About {
        name: "vector_registers",
        summary: "registers of the vector accelerator",
        contract: "The registers of shell_registers, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served, &io.own.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
