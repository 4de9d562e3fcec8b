//! The registers of an accelerator: the registers of all of them, those of a vector unit, and its own.

use std::fmt::Debug;

use crate::blocks::common::bus::axi_lite::AxiLite;
use crate::blocks::common::bus::{AxiLiteSubordinate, serve};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::{BusCaps, ShellFields, ShellRegisters};
use crate::lang::registers::{Constant, RegisterFields, Registers};
use crate::lang::{
    About, Block, Module, Out, ParameterField, ParameterValue, Parameters, PortBuilder, PortKind, Ports, RegisterPorts,
    Signal, Timing, bit, parameters, registers,
};

parameters! {
    /// What a driver needs to know of a vector unit.
    pub struct VectorCaps {
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=65535, tag "l";
        /// Beats of the longest row.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// Number of the function of the step activate.
        function: u32 = 2, in 0..=255, tag "f";
        /// What it has for whole rows.
        units: RowUnits = RowUnits::default();
        /// Bytes from the first register to these.
        base: u32 = 256, in 256..=4088, tag "at", named "when set";
    }
}

registers! {
    /// How a vector unit was built.
    pub struct VectorCapsFields(p: VectorCaps) {
        /// Elements of a beat and beats of the longest row of the vector unit.
        VECTOR_CAPS at (p.base) {
            /// Elements of a beat.
            lanes: Constant = (16, p.lanes.into()) at 0,
            /// Beats of the longest row.
            max_beats: Constant = (16, p.max_beats.into()) at 16,
        }
        /// The activation, and steps that not every build has.
        FUNCTION at (p.base + 4) {
            /// What the step activate is: 0 GELU, 1 GELU by tanh, 2 SiLU, 3 tanh, 4 ReLU.
            function: Constant = (8, p.function.into()) at 0,
            /// There is softmax.
            softmax: Constant = (1, p.units.softmax.into()) at 8,
            /// There is layer norm.
            layer_norm: Constant = (1, p.units.layer_norm.into()) at 9,
            /// There is rotary embedding.
            rotary: Constant = (1, p.units.rotary.into()) at 10,
        }
    }
}

/// The registers that only one accelerator has, made with [`registers!`](crate::registers).
pub trait OwnRegisters: RegisterFields<Spec: Parameters + Debug + Default> + Debug + Clone + 'static {
    /// Name of the block that serves them.
    const NAME: &'static str;
    /// Number of the accelerator, in `VERSION`.
    const ACCELERATOR: u32;

    /// Its vector unit, if it has one.
    fn vector(spec: &Self::Spec) -> Option<VectorCaps> {
        let _ = spec;
        None
    }
}

/// The block that serves all registers of an accelerator.
#[derive(Clone, Debug)]
pub struct AcceleratorRegisters<F: OwnRegisters> {
    /// What its own registers depend on.
    pub own: F::Spec,
    /// How it reaches memory.
    pub bus: BusCaps,
}

impl<F: OwnRegisters> Parameters for AcceleratorRegisters<F> {
    const SOURCE: &'static str = <F::Spec as Parameters>::SOURCE;

    fn values(&self) -> crate::lang::private::Value {
        crate::lang::private::object([("own", self.own.json(), false), ("bus", self.bus.json(), false)])
    }

    fn defaults() -> crate::lang::private::Value {
        Self { own: F::Spec::default(), bus: BusCaps::default() }.values()
    }

    fn visit(&self, visitor: &mut dyn FnMut(&ParameterField, &dyn ParameterValue)) {
        let field = ParameterField {
            name: "own",
            doc: "What its own registers depend on.",
            allowed: None,
            note: None,
            tag: None,
            when_set: false,
            inline: false,
        };
        visitor(&field, &self.own);
        visitor(&ParameterField { name: "bus", doc: "How it reaches memory.", when_set: true, ..field }, &self.bus);
    }
}

/// Ports of [`AcceleratorRegisters`].
#[derive(Debug)]
pub struct AcceleratorRegistersPorts<F> {
    /// Bus of the host.
    pub ctrl: AxiLite,
    /// Registers of all accelerators.
    pub shell: Registers<ShellFields>,
    /// Registers of the vector unit, where there is one.
    pub vector: Option<Registers<VectorCapsFields>>,
    /// Its own.
    pub own: Registers<F>,
    /// Out, level: an enabled bit of STATUS is set.
    pub irq: Signal,
}

impl<F: OwnRegisters> Ports<AcceleratorRegisters<F>> for AcceleratorRegistersPorts<F> {
    fn declare(b: &mut PortBuilder, p: &AcceleratorRegisters<F>) -> Self {
        b.here();
        b.document("Bus of the host.");
        let ctrl = AxiLiteSubordinate::declare(b, "ctrl", 12);
        let shell = ShellRegisters { accelerator: F::ACCELERATOR, bus: p.bus.clone(), ..ShellRegisters::default() };
        Self {
            ctrl,
            shell: RegisterPorts::<ShellFields>::declare(b, "shell", shell),
            vector: F::vector(&p.own).map(|caps| RegisterPorts::<VectorCapsFields>::declare(b, "vector", caps)),
            own: RegisterPorts::<F>::declare(b, "own", p.own.clone()),
            irq: {
                b.document("Level: an enabled bit of STATUS is set.");
                Out::declare(b, "irq_o", bit())
            },
        }
    }
}

impl<F: OwnRegisters> Block for AcceleratorRegisters<F> {
    type Ports = AcceleratorRegistersPorts<F>;
    const ABOUT: About = About {
        name: F::NAME,
        summary: "registers of the accelerator",
        contract: "The registers of shell_registers, then those of its vector unit, then its own.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &Self::Ports) {
        let vector = io.vector.as_ref().map(|vector| &vector.served);
        let served: Vec<_> = [Some(&io.shell.served), vector, Some(&io.own.served)].into_iter().flatten().collect();
        serve(m, &io.ctrl, &served);
        m.connect(io.irq, io.shell.irq());
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}
