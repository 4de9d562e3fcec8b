//! The skeleton of all units: ports, ranks of registers, outputs for exceptions, properties.
//!
//! A unit says its [`Shape`] and computes. It takes operands apart with [`Operand`](super::round::Operand), gives the places
//! for registers to [`Ranks`], and ends with [`Unrounded::finish`](super::round::Unrounded::finish). The rest is here.

use super::exceptions::{Exceptions, FloatFlags};
use super::ranks::Ranks;
use super::shape::Shape;
use crate::lang::{
    About, Block, Group, In, Module, Out, Parameters, PortBuilder, Ports, Proof, Signal, Timing, bit, ports,
};

/// A unit: what is special about it.
pub trait FloatUnit: Parameters {
    /// Port list.
    type Ports: Ports<Self> + Handshake;
    /// Name and contract.
    const ABOUT: About;

    /// What goes in and out, and where it can be cut.
    fn shape(&self) -> Shape;

    /// Computes the outputs, except for `valid_o`. There is a [`Ranks::cut`] between any two parts of the shape's depths.
    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &Self::Ports);

    /// All hardware of the unit.
    fn hardware(&self, m: &mut Module, io: &Self::Ports) {
        in_ranks(self, m, io);
    }

    /// What is proved (`ifdef FORMAL`) of the unit without registers. Ranks do not change the result; co-simulation covers
    /// them.
    fn properties(&self, m: &mut Module, io: &Self::Ports);
}

impl<U: FloatUnit> Block for U {
    type Ports = <U as FloatUnit>::Ports;
    const ABOUT: About = <U as FloatUnit>::ABOUT;

    fn build(&self, m: &mut Module, io: &Self::Ports) {
        self.hardware(m, io);
        if self.shape().stages == 0 {
            m.formal(|m| self.properties(m, io));
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.shape().stages)
    }
}

/// Computes between ranks of registers.
pub(super) fn in_ranks<U: FloatUnit>(unit: &U, m: &mut Module, io: &<U as FloatUnit>::Ports) {
    let shape = unit.shape();
    let valid = io.valid();
    let mut pipe = Ranks::new(valid.input, &shape);
    unit.compute(m, &mut pipe, io);
    m.connect(valid.output, pipe.valid());
}

/// The proof of a unit without registers: one cycle says all.
pub(super) fn proof<U: FloatUnit>(block: U) -> Proof<U> {
    Proof { block, depth: 1, cover_depth: 1, induction: true }
}

/// The ports of every unit that say when the others matter.
pub trait Handshake {
    /// The two ports.
    fn valid(&self) -> Valid;
}

/// When operands and results matter.
#[derive(Clone, Copy, Debug)]
pub struct Valid {
    /// `valid_i`.
    pub input: Signal,
    /// `valid_o`.
    pub output: Signal,
}

ports! {
    /// Ports of a unit with one operand; the unit's contract says what result and exceptions are.
    pub struct UnaryPorts(p: &Shape) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// The operand.
        a_i: In = p.operand,
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset, which may come at any
        /// time and drops the operations inside.
        valid_o: Out = bit(),
        /// The result.
        result_o: Out = p.result,
        /// What happened on the way.
        flags: Group<FloatFlags, Exceptions> = p.raises,
    }
}

ports! {
    /// Ports of a unit with two operands; the unit's contract says what result and exceptions are.
    pub struct BinaryPorts(p: &Shape) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// First operand.
        a_i: In = p.operand,
        /// Second operand.
        b_i: In = p.operand,
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset, which may come at any
        /// time and drops the operations inside.
        valid_o: Out = bit(),
        /// The result.
        result_o: Out = p.result,
        /// What happened on the way.
        flags: Group<FloatFlags, Exceptions> = p.raises,
    }
}

impl<U: FloatUnit> Ports<U> for UnaryPorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, unit: &U) -> Self {
        <Self as Ports<Shape>>::declare(builder, &unit.shape())
    }
}

impl<U: FloatUnit> Ports<U> for BinaryPorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, unit: &U) -> Self {
        <Self as Ports<Shape>>::declare(builder, &unit.shape())
    }
}

impl Handshake for UnaryPorts {
    fn valid(&self) -> Valid {
        Valid { input: self.valid_i, output: self.valid_o }
    }
}

impl Handshake for BinaryPorts {
    fn valid(&self) -> Valid {
        Valid { input: self.valid_i, output: self.valid_o }
    }
}
