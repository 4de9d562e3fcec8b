//! Processing element of ANT's and OliVe's systolic arrays: operands are integers with an exponent of two.
//!
//! Decoders at the edges of the array turn every type into such pairs, so the PE knows no type. It multiplies the
//! integers, adds the exponents, and shifts the product by their sum into the accumulator. ANT and OliVe have the same
//! PE. Exponents of three bits are enough for all their signed types of 4 bits. Exponents of four bits are enough for
//! the halves of operands of 8 bits too, a step each.
//!
//! All else is as in `tender_pe` with the same `drain`: the registers that pass operands on, the accumulator, its flag,
//! the register beside it. So the PEs' areas differ by their arithmetic alone.

use crate::blocks::tender::{Drain, MeshPe, RowOfSums};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Signal, Timing, bit, mux, parameters, ports, sint, uint,
};

mod mesh;

parameters! {
    /// Elaboration parameters.
    pub struct ExponentPe {
        /// Width of an operand's integer in bits, without the bit that carries its sign.
        operand_width: u32 = 4, in 2..=8, tag "w";
        /// Width of an operand's exponent in bits.
        exponent_width: u32 = 4, in 1..=4, tag "e";
        /// Width of the accumulator in bits, signed.
        accumulator_width: u32 = 32, in 6..=64, note "even, at least 2 x operand_width + 2", tag "a";
        /// Sums leave from the accumulators, or from registers beside them while the next tile runs.
        drain: Drain = Drain::Double, tag "";
    }
    rules = |p, rules| {
        let least = 2 * p.operand_width + 2;
        let allowed = format!("an even number, 2 x operand_width + 2 = {least} to 64");
        let fits = p.accumulator_width >= least && p.accumulator_width.is_multiple_of(2);
        rules.demand(fits, "accumulator_width", p.accumulator_width, allowed);
    };
}

ports! {
    /// Ports of [`ExponentPe`].
    pub struct ExponentPePorts(p: &ExponentPe) {
        /// First step of a tile, at any time: the accumulator starts from zero.
        first_i: In = bit(),
        /// Last step of a tile: the sum after it is kept for the drain.
        last_i: In = bit(),
        /// Activation from the left neighbour: its integer.
        act_i: In = sint(p.operand_width + 1),
        /// And its exponent.
        act_exponent_i: In = uint(p.exponent_width),
        /// Weight from the neighbour above: its integer.
        weight_i: In = sint(p.operand_width + 1),
        /// And its exponent.
        weight_exponent_i: In = uint(p.exponent_width),
        /// The row starts to shift its sums out.
        drain_i: In = bit(),
        /// Sum of the left neighbour.
        result_i: In = sint(p.accumulator_width),
        /// Its overflow flag.
        overflow_i: In = bit(),
        /// `first_i`, one cycle later.
        first_o: Out = bit(),
        /// `last_i`, one cycle later.
        last_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = sint(p.operand_width + 1),
        /// `act_exponent_i`, one cycle later.
        act_exponent_o: Out = uint(p.exponent_width),
        /// `weight_i`, one cycle later.
        weight_o: Out = sint(p.operand_width + 1),
        /// `weight_exponent_i`, one cycle later.
        weight_exponent_o: Out = uint(p.exponent_width),
        /// The accumulator (`single`), or the register beside it (`double`); unknown until the first tile.
        result_o: Out = sint(p.accumulator_width),
        /// Some step of the sum in `result_o` did not fit; moves with it.
        overflow_o: Out = bit(),
    }
}

impl Block for ExponentPe {
    type Ports = ExponentPePorts;
    const ABOUT: About = About {
        name: "exponent_pe",
        summary: "multiply-accumulate of integers with exponents, the processing element of ANT and OliVe",
        contract: "acc' = (first_i ? 0 : acc) + (act_i x 2^act_exponent_i) x (weight_i x 2^weight_exponent_i).\n\
            Integers are -2^(operand_width - 1) to 2^operand_width - 1, and an operand is at most\n\
            2^(accumulator_width / 2 - 1) in magnitude. An operand beyond spoils the sum and its flag up to the\n\
            next first_i and nothing else.\n\
            An acc' outside of accumulator_width bits wraps, and sets the flag until the next first_i.\n\
            single: result_o = acc; from drain_i until the next first_i, acc' = result_i.\n\
            double: result_o = the sum from the cycle after it is complete until drain_i; from then on result_i,\n\
            one cycle later. A second sum that completes before drain_i takes the place of the first one.\n\
            Reset drops the controls on their way and sums that wait; the sum is unknown until the next first_i.",
        reference: "OliVe and ANT, the PE of their systolic arrays; Tender, section V-C",
    };

    fn build(&self, m: &mut Module, io: &ExponentPePorts) {
        let last = self.passed_on(m, io);
        let acc = m.reg("acc_q", sint(self.accumulator_width));
        let overflow = m.reg("overflow_q", bit());
        let base = m.wire("base", mux(!io.first_i, acc.q, 0));
        let addend = self.shifted_product(m, io);
        let sum = m.wire("sum", base.wrapping_add(addend));
        m.comment(
            "An addend is at most a quarter of the range, inclusive: only from the outer quarters can a sum leave it.",
        );
        let outer = base.msb() ^ base.bit(self.accumulator_width - 2);
        let leaves = m.wire("leaves", outer & (sum.msb() ^ base.msb()));
        let flag = m.wire("overflow", leaves | (overflow.q & !io.first_i));
        let shift = (self.drain == Drain::Single).then(|| {
            let draining = m.reg_init("draining_q", bit(), 0);
            let shift = m.wire("shift", (draining.q | io.drain_i) & !io.first_i);
            draining.next(shift);
            shift
        });
        if let Some(shift) = shift {
            acc.next(mux(shift, io.result_i, sum));
            overflow.next(mux(shift, io.overflow_i, flag));
            m.connect(io.result_o, acc.q);
            m.connect(io.overflow_o, overflow.q);
            self.properties(m, io, (acc.q, overflow.q), Leaving::Shift(shift));
            return;
        }
        acc.next(sum);
        overflow.next(flag);
        let row = RowOfSums::of(&Self::mesh_ports(io));
        row.register(m, last, (acc.q, overflow.q));
        self.properties(m, io, (acc.q, overflow.q), Leaving::Row(row));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

/// How sums leave, as far as properties are concerned.
enum Leaving {
    /// The accumulators shift.
    Shift(Signal),
    /// Registers beside them do.
    Row(RowOfSums),
}

impl ExponentPe {
    /// Operands and controls on their way to the neighbours; returns the control of the last step.
    fn passed_on(&self, m: &mut Module, io: &ExponentPePorts) -> Signal {
        let mut control = |name: &str, input: Signal, output: Signal| {
            let passed = m.reg_init(name, bit(), 0);
            passed.next(input);
            m.connect(output, passed.q);
            passed.q
        };
        control("first_q", io.first_i, io.first_o);
        let last = control("last_q", io.last_i, io.last_o);
        for (name, input, output) in [
            ("act_q", io.act_i, io.act_o),
            ("act_exponent_q", io.act_exponent_i, io.act_exponent_o),
            ("weight_q", io.weight_i, io.weight_o),
            ("weight_exponent_q", io.weight_exponent_i, io.weight_exponent_o),
        ] {
            let passed = m.reg(name, input.ty());
            passed.next(input);
            m.connect(output, passed.q);
        }
        last
    }

    /// The product of the integers, shifted by the sum of the exponents.
    fn shifted_product(&self, m: &mut Module, io: &ExponentPePorts) -> Signal {
        let product = m.wire("product", (io.act_i * io.weight_i).truncate(2 * self.operand_width + 1));
        let exponent = m.wire("exponent", io.act_exponent_i + io.weight_exponent_i);
        // No wider than the shift can make it: higher bits are all the sign.
        let most = 2 * ((1 << self.exponent_width) - 1);
        let width = self.accumulator_width.min(2 * self.operand_width + 1 + most);
        let addend = m.wire("addend", product.extend(width).shl_by(exponent));
        addend.extend(self.accumulator_width)
    }

    /// Wider PEs are beyond the solver.
    fn has_properties(&self) -> bool {
        self.operand_width <= 3 && self.accumulator_width <= 10
    }

    /// Each step against exact arithmetic of operands, not of their parts.
    fn properties(&self, m: &mut Module, io: &ExponentPePorts, (acc, overflow): (Signal, Signal), leaving: Leaving) {
        if !self.has_properties() {
            return;
        }
        m.formal(|m| {
            let limit = 1i64 << (self.accumulator_width / 2 - 1);
            let wide = self.operand_width + (1 << self.exponent_width);
            let operands = [("act", io.act_i, io.act_exponent_i), ("weight", io.weight_i, io.weight_exponent_i)];
            let [act, weight] = operands.map(|(name, integer, exponent)| {
                let extended = integer.bit(self.operand_width - 1) | !integer.msb();
                m.assume(&format!("{name}_is_an_extended_operand"), extended);
                let value =
                    m.wire(&format!("spec_{name}"), integer.extend(wide.max(self.accumulator_width)).shl_by(exponent));
                m.assume(&format!("{name}_is_within_its_limit"), value.le(limit) & value.ge(-limit));
                value
            });
            let start = m.wire("spec_start", mux(!io.first_i, acc, 0));
            let product = m.wire("spec_product", act * weight);
            let exact = m.wire("spec_sum", start + product);
            let (value, flag, seen) =
                (m.reg("spec_sum_q", exact.ty()), m.reg("spec_flag_q", bit()), m.reg_init("spec_seen_q", bit(), 0));
            value.next(exact);
            flag.next(overflow & !io.first_i);
            seen.next(match leaving {
                Leaving::Shift(shift) => !shift,
                Leaving::Row(_) => bit().lit(1),
            });
            let fits = m.wire("spec_fits", value.q.saturate(self.accumulator_width).eq(value.q));
            let wrapped = value.q.truncate(self.accumulator_width);
            m.assert_always("sum_is_exact_or_flagged", !seen.q | acc.eq(wrapped));
            m.assert_always("flag_tells", !seen.q | overflow.eq(flag.q | !fits));
            m.cover("overflows_above", seen.q & overflow & !flag.q & acc.lt(0));
            m.cover("overflows_below", seen.q & overflow & !flag.q & acc.gt(0));
            match leaving {
                Leaving::Row(row) => row.properties(m, io.last_i, (acc, overflow)),
                Leaving::Shift(shift) => {
                    let (shifted, entered) =
                        (m.reg_init("spec_shifted_q", bit(), 0), m.reg("spec_entered_q", acc.ty()));
                    shifted.next(shift);
                    entered.next(io.result_i);
                    m.assert_always("row_moves", !shifted.q | acc.eq(entered.q));
                    m.cover("a_row_begins_to_move", shifted.q);
                }
            }
        });
    }
}

impl CatalogBlock for ExponentPe {
    fn configurations() -> Vec<Self> {
        let set = |operand_width, exponent_width, accumulator_width| Self {
            operand_width,
            exponent_width,
            accumulator_width,
            ..Self::default()
        };
        let single = Self { drain: Drain::Single, ..set(4, 4, 20) };
        vec![set(2, 1, 6), set(3, 2, 12), set(4, 3, 32), set(5, 4, 26), set(8, 4, 64), single]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |exponent_width, accumulator_width, drain| Proof {
            block: Self { operand_width: 2, exponent_width, accumulator_width, drain },
            depth: 5,
            cover_depth: 16,
            induction: true,
        };
        vec![proof(1, 6, Drain::Double), proof(2, 10, Drain::Double), proof(1, 6, Drain::Single)]
    }
}
