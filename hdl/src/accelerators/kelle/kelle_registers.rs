//! Registers of the Kelle accelerator: the registers of all accelerators, and its own.

use super::ACCELERATOR;
use super::attention_spec::AttentionSpec;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{About, Block, Module, Out, RegisterPorts, Timing, bit, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct KelleRegisters {
        /// Sizes of the array, of linear layers and of attention.
        attention: AttentionSpec = AttentionSpec::default();
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
    /// What drivers need to know of a Kelle accelerator, and its own counters.
    pub struct KelleFields(p: KelleRegisters) {
        /// The array.
        CAPS at 0x100 {
            /// Rows of PEs.
            rows: Constant = (16, p.attention.spec.rows.into()) at 0,
            /// Columns of PEs.
            columns: Constant = (16, p.attention.spec.columns.into()) at 16,
        }
        /// Linear layers.
        LINEAR at 0x104 {
            /// Rows of an operation, at most.
            tokens: Constant = (16, p.attention.spec.tokens.into()) at 0,
            /// Channels, at most.
            inner: Constant = (16, p.attention.spec.inner.into()) at 16,
        }
        /// Heads.
        HEADS at 0x108 {
            /// Heads that the cache holds.
            heads: Constant = (16, p.attention.heads.into()) at 0,
            /// Tokens of a head after a step, at most.
            slots: Constant = (16, p.attention.slots.into()) at 16,
        }
        /// Their vectors.
        VECTORS at 0x10c {
            /// Elements of a key or a value, at most.
            width: Constant = (16, p.attention.width.into()) at 0,
            /// Query heads of a head, at most.
            group: Constant = (8, p.attention.group.into()) at 16,
            /// Elements of a beat of the softmax of scores.
            score_lanes: Constant = (8, p.attention.spec.lanes().into()) at 24,
        }
        /// Their importance, and refresh.
        SCORES at 0x110 {
            /// Bits of an importance.
            score: Constant = (8, p.attention.score_width.into()) at 0,
            /// Bits of the amount added to it.
            amount: Constant = (8, p.attention.amount_width.into()) at 8,
            /// Bits of a refresh interval.
            interval: Constant = (8, p.attention.interval_width.into()) at 16,
            /// Cached tokens can be written to memory.
            save: Constant = (1, p.attention.save.into()) at 24,
            /// Tokens of a head that may be kept as x; 0: there is no such operation.
            recompute: Constant = (7, p.attention.recompute.into()) at 25,
        }
        /// The cache.
        CACHE_ROWS at 0x114 {
            /// Rows of a bank.
            cache_rows: Constant = (32, p.attention.rows().into()) at 0,
        }
        /// Elements of a beat and beats of the longest row of the vector unit.
        VECTOR_CAPS at 0x118 {
            /// Elements of a beat.
            lanes: Constant = (16, p.attention.spec.lanes().into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// The activation, and steps that not every build has.
        FUNCTION at 0x11c {
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
            /// Results of products, and beats of rows with a result, that are saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
        /// Activations of the job.
        SATURATIONS at 0x128 {
            /// Activations that were saturated or no number.
            saturations: ReadOnly = 64 at 0,
        }
        /// Tokens of the job.
        EVICTIONS at 0x130 {
            /// Tokens that were evicted.
            evictions: ReadOnly = 64 at 0,
        }
        /// Refreshes in the time of the job.
        REFRESHES at 0x138 {
            /// Rows, of all four groups of banks.
            refreshes: ReadOnly = 64 at 0,
        }
        /// Cost of refreshes.
        REFRESH_STALLS at 0x140 {
            /// Cycles of the job in which an access to the cache waited for a refresh.
            refresh_stalls: ReadOnly = 64 at 0,
        }
    }
}

ports! {
    /// Ports of [`KelleRegisters`].
    pub struct KelleRegistersPorts(p: &KelleRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Registers of all accelerators.
        shell: RegisterPorts<ShellFields> =
            ShellRegisters { accelerator: ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() },
        /// Its own.
        own: RegisterPorts<KelleFields> = p.clone(),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for KelleRegisters {
    type Ports = KelleRegistersPorts;
    const ABOUT: About = About {
        name: "kelle_registers",
        summary: "registers of the Kelle accelerator",
        contract: "The registers of shell_registers, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &KelleRegistersPorts) {
        serve(m, &io.ctrl, &[&io.shell.served, &io.own.served]);
        m.connect(io.irq_o, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
