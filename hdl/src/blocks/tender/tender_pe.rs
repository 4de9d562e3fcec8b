//! Processing element of Tender's systolic arrays: one multiply-accumulate a cycle, and a rescale of the accumulator
//! between two channel groups.
//!
//! Operands carry their sign, added where they enter the array. A signed nibble is sign-extended by one bit; an
//! unsigned one (attention scores, the low half of an 8-bit operand) is zero-extended. So one multiplier serves all
//! modes.
//!
//! A rescale takes the bubble that the controller puts between two groups. The product is zero there, and doubling is
//! one more addition: the accumulator itself takes the place of the product. That is `rescale = adder`, which costs
//! about one gate a product bit. `shifter` shifts by up to `max_shift` places in one bubble; `factor` multiplies by any
//! integer that fits an operand, one digit of the accumulator a cycle, through the PE's multiplier.
//!
//! With `pipelined` a register stands between multiplier and adder. The step's controls come from the registers that
//! pass them on to the right anyway, a cycle later.
//!
//! Drain: a row of PEs is a shift register to the right. With `drain = double` the sum moves to a register of its own,
//! one cycle after the last step. There it waits for the rest of its row, and the PE goes on with the next tile. With
//! `drain = single` the accumulators shift.

use crate::blocks::common::arith::row_product::{RowFactor, row_product};
use crate::lang::{
    In, InOption, Module, Out, OutOption, Signal, Type, bit, bits_for, choices, mux, parameters, ports, sint, uint,
};

mod catalog;
mod drain;
mod hardware;
mod mesh;
mod properties;
mod step;

pub use drain::RowOfSums;

choices! {
    /// How the accumulator is rescaled between groups.
    pub enum Rescale {
        /// Not at all: a plain PE, the yardstick of the others.
        None,
        /// acc + acc, through the adder of the products.
        Adder,
        /// acc << n, n up to `max_shift`, in front of the adder.
        Shifter,
        /// acc x alpha, alpha from the activation input, in `accumulator_width / operand_width` cycles.
        Factor,
    }
}

choices! {
    /// What the accumulator does when a sum does not fit.
    pub enum Overflow {
        /// Keeps the low bits, and says so.
        Wrap,
        /// Keeps the nearest value, and says so.
        Saturate,
    }
}

choices! {
    /// How sums leave.
    pub enum Drain {
        /// The accumulators shift; the next tile waits.
        Single,
        /// Registers beside the accumulators shift; the next tile runs.
        Double,
    }
}

choices! {
    /// Circuit of the multiplier, and with single drain the way of the neighbour's sum.
    pub enum Multiplier {
        /// Verilog's `*`: the fastest to simulate; the synthesiser chooses the circuit.
        Operator,
        /// Rows that are added by pairs: fewer gates, fewest levels. A neighbour's sum comes through the adder.
        Tree,
        /// Rows that are added one after the other: fewest gates, and the deeper the wider the operands are.
        Array,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct TenderPe {
        /// Width of an activation and of a weight in bits, without the bit that carries its sign.
        operand_width: u32 = 4, in 2..=16, tag "w";
        /// Width of the accumulator in bits, signed.
        accumulator_width: u32 = 32, in 6..=64,
            note "at least 2 x operand_width + 2; with rescale = factor a multiple of operand_width", tag "a";
        /// How the accumulator is rescaled: not, acc + acc, acc << n, acc x any integer of operand_width bits.
        rescale: Rescale = Rescale::Adder, tag "";
        /// Largest shift of one bubble, in places.
        max_shift: u32 = 1, in 1..=7, note "1 unless rescale = shifter";
        /// What a sum does that does not fit.
        overflow: Overflow = Overflow::Wrap;
        /// Sums leave from the accumulators, or from registers beside them while the next tile runs.
        drain: Drain = Drain::Double, tag "";
        /// `*`, or rows that are added by pairs or one after the other; with rows a neighbour's sum goes through the adder.
        multiplier: Multiplier = Multiplier::Operator;
        /// Keeps the product in a register: a step reaches the sum one cycle later.
        pipelined: bool = false, note "not with rescale = factor", tag "pipelined";
    }
    rules = |p, rules| {
        // So that a sum can only overflow from the outer quarters of the range; see `Step`.
        let least = 2 * p.operand_width + 2;
        let allowed = format!("2 x operand_width + 2 = {least} to 64");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
        let digits = p.rescale != Rescale::Factor || p.accumulator_width.is_multiple_of(p.operand_width);
        let allowed = format!("with rescale = factor: a multiple of operand_width = {}", p.operand_width);
        rules.demand(digits, "accumulator_width", p.accumulator_width, allowed);
        let shifts = p.rescale == Rescale::Shifter || p.max_shift == 1;
        rules.demand(shifts, "max_shift", p.max_shift, "1 unless rescale = shifter");
        // The digits of a multiplication by alpha go round through the multiplier.
        let cut = !p.pipelined || p.rescale != Rescale::Factor;
        rules.demand(cut, "pipelined", p.pipelined, "false with rescale = factor");
    };
}

ports! {
    /// Ports of [`TenderPe`].
    pub struct TenderPePorts(p: &TenderPe) {
        /// First step of a tile, at any time: the accumulator starts from zero.
        first_i: In = bit(),
        /// Places to shift by (one bit with `adder`), or that this is a cycle of a multiplication by alpha.
        rescale_i: InOption = uint(p.rescale_width()).when(p.rescale != Rescale::None),
        /// Last cycle of a multiplication by alpha.
        rescale_last_i: InOption = bit().when(p.rescale == Rescale::Factor),
        /// Last step of a tile: with double drain the sum after it is kept for the drain.
        last_i: In = bit(),
        /// Activation from the left neighbour, or alpha.
        act_i: In = sint(p.operand_width + 1),
        /// Weight from the neighbour above.
        weight_i: In = sint(p.operand_width + 1),
        /// The row starts to shift its sums out.
        drain_i: In = bit(),
        /// Sum of the left neighbour.
        result_i: In = sint(p.accumulator_width),
        /// Its overflow flag.
        overflow_i: In = bit(),
        /// `first_i`, one cycle later.
        first_o: Out = bit(),
        /// `rescale_i`, one cycle later.
        rescale_o: OutOption = uint(p.rescale_width()).when(p.rescale != Rescale::None),
        /// `rescale_last_i`, one cycle later.
        rescale_last_o: OutOption = bit().when(p.rescale == Rescale::Factor),
        /// `last_i`, one cycle later.
        last_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = sint(p.operand_width + 1),
        /// `weight_i`, one cycle later.
        weight_o: Out = sint(p.operand_width + 1),
        /// The accumulator (`single`), or the register beside it (`double`); unknown until the first tile.
        result_o: Out = sint(p.accumulator_width),
        /// Some step of the sum in `result_o` did not fit; moves with it.
        overflow_o: Out = bit(),
    }
}

impl TenderPe {
    /// Width of `rescale_i`.
    #[must_use]
    pub fn rescale_width(&self) -> u32 {
        bits_for(u64::from(self.max_shift))
    }

    /// Cycles that one rescale takes.
    #[must_use]
    pub fn rescale_cycles(&self) -> u32 {
        match self.rescale {
            Rescale::None => 0,
            Rescale::Adder | Rescale::Shifter => 1,
            Rescale::Factor => self.accumulator_width / self.operand_width,
        }
    }

    fn acc_type(&self) -> Type {
        sint(self.accumulator_width)
    }
}

/// The controls, as they are passed on to the neighbours.
struct Passed {
    first: Signal,
    last: Signal,
    rescale: Option<Signal>,
}

impl TenderPe {
    /// Operands and controls on their way to the neighbours.
    fn passed_on(&self, m: &mut Module, io: &TenderPePorts) -> Passed {
        let last = m.reg_init("last_q", bit(), 0);
        last.next(io.last_i);
        m.connect(io.last_o, last.q);
        let first = m.reg_init("first_q", bit(), 0);
        first.next(io.first_i);
        m.connect(io.first_o, first.q);
        let mut control = |name: &str, input: Option<Signal>, output: Option<Signal>| {
            let (input, output) = (input?, output?);
            let passed = m.reg_init(name, input.ty(), 0);
            passed.next(input);
            m.connect(output, passed.q);
            Some(passed.q)
        };
        let rescale = control("rescale_q", io.rescale_i, io.rescale_o);
        control("rescale_last_q", io.rescale_last_i, io.rescale_last_o);
        for (name, input, output) in [("act_q", io.act_i, io.act_o), ("weight_q", io.weight_i, io.weight_o)] {
            let passed = m.reg(name, input.ty());
            passed.next(input);
            m.connect(output, passed.q);
        }
        Passed { first: first.q, last: last.q, rescale }
    }

    /// act x weight, exact; `act` must be an extended operand.
    fn product(&self, m: &mut Module, act: Signal, weight: Signal) -> Signal {
        let width = 2 * self.operand_width + 1;
        if self.multiplier == Multiplier::Operator {
            return m.wire("product", (act * weight).truncate(width));
        }
        m.comment("The two highest bits of an operand are one digit: -1, 0 or 1.");
        row_product(m, &RowFactor::extended(act), weight, width, self.multiplier == Multiplier::Tree)
    }

    /// The product that reaches the accumulator in this cycle, 0 while the row shifts; and the register that keeps it.
    fn arriving_product(&self, m: &mut Module, io: &TenderPePorts, shift: Option<Signal>) -> (Signal, Option<Signal>) {
        if !self.pipelined {
            let act = shift.map_or(io.act_i, |shift| m.wire("act", mux(!shift, io.act_i, 0)));
            return (self.product(m, act, io.weight_i), None);
        }
        let product = self.product(m, io.act_i, io.weight_i);
        let kept = m.reg("product_q", product.ty());
        kept.next(product);
        let arriving = shift.map_or(kept.q, |shift| m.wire("arriving", mux(!shift, kept.q, 0)));
        (arriving, Some(kept.q))
    }
}
