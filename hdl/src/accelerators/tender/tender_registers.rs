//! Registers of the Tender accelerator: the registers of all accelerators, and its own.

use super::ACCELERATOR;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{About, Block, Module, Out, RegisterPorts, Timing, bit, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct TenderRegisters {
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
    /// What drivers need to know of a Tender accelerator, and its own counters.
    pub struct TenderFields(p: TenderRegisters) {
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
        /// The vector unit.
        VECTOR_CAPS at 0x10c {
            /// Elements of a beat.
            lanes: Constant = (16, p.lanes.into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// The vector unit.
        FUNCTION at 0x110 {
            /// What the step activate is: 0 GELU, 1 GELU by tanh, 2 SiLU, 3 tanh.
            function: Constant = (8, p.function.into()) at 0,
            /// There is softmax.
            softmax: Constant = (1, p.units.softmax.into()) at 8,
            /// There is layer norm.
            layer_norm: Constant = (1, p.units.layer_norm.into()) at 9,
            /// There is rotary embedding.
            rotary: Constant = (1, p.units.rotary.into()) at 10,
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

ports! {
    /// Ports of [`TenderRegisters`].
    pub struct TenderRegistersPorts(p: &TenderRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Registers of all accelerators.
        shell: RegisterPorts<ShellFields> =
            ShellRegisters { accelerator: ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() },
        /// Its own.
        own: RegisterPorts<TenderFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for TenderRegisters {
    type Ports = TenderRegistersPorts;
    const ABOUT: About = About {
        name: "tender_registers",
        summary: "registers of the Tender accelerator",
        contract: "The registers of shell_registers, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TenderRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served, &io.own.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
