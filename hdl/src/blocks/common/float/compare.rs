//! Floating-point comparison.
//!
//! One comparison of the magnitudes serves IEEE 754's order of numbers and its totalOrder of bit patterns.

use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::Class;
use super::seen::{Seen, implies, total_order};
use super::shape::Shape;
use super::unit::{FloatUnit, Handshake, Valid, proof};
use crate::lang::{About, CatalogBlock, In, Module, Out, Proof, Signal, bit, parameters, ports, select};

parameters! {
    /// Elaboration parameters.
    pub struct FloatCompare {
        /// Format of the operands.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=DEPTHS.len() as u32 - 1, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
    }
}

ports! {
    /// Ports of [`FloatCompare`].
    pub struct FloatComparePorts(p: &FloatCompare) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// First operand.
        a_i: In = p.format.ty(),
        /// Second operand.
        b_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset, which may come at any
        /// time and drops the operations inside.
        valid_o: Out = bit(),
        /// a < b.
        less_o: Out = bit(),
        /// a = b; the zeros are equal.
        equal_o: Out = bit(),
        /// a > b.
        greater_o: Out = bit(),
        /// a or b is a NaN: none of the other three holds.
        unordered_o: Out = bit(),
        /// a comes before b in IEEE 754's totalOrder, in which -0 < +0 and NaNs are at both ends. Never flushed.
        total_less_o: Out = bit(),
    }
}

impl Handshake for FloatComparePorts {
    fn valid(&self) -> Valid {
        Valid { input: self.valid_i, output: self.valid_o }
    }
}

/// Levels of the parts between the places where registers may stand, about: magnitudes, signs.
const DEPTHS: &[u32] = &[16, 6];

impl FloatUnit for FloatCompare {
    type Ports = FloatComparePorts;
    const ABOUT: About = About {
        name: "float_compare",
        summary: "floating-point comparison: less, equal, greater, unordered, total order",
        contract: "For a_i and b_i of `stages` cycles ago exactly one of less_o, equal_o, greater_o and unordered_o\n\
            is high: unordered_o if one is a NaN. total_less_o: a_i comes first in totalOrder.",
        reference: "IEEE 754-2019, sections 5.10 and 5.11",
    };

    fn shape(&self) -> Shape {
        Shape::new(self.format, self.stages, DEPTHS)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &FloatComparePorts) {
        let w = self.format.width();
        let (a_bits, b_bits) = (io.a_i.slice(0..w - 1), io.b_i.slice(0..w - 1));
        let a = Class::new(m, "a", io.a_i, self.format, self.subnormals);
        let b = Class::new(m, "b", io.b_i, self.format, self.subnormals);
        let mut below = m.wire("below", a_bits.lt(b_bits));
        let mut same = m.wire("same", a_bits.eq(b_bits));
        let mut zeros = m.wire("zeros", a.zero & b.zero);
        let mut unordered = m.wire("unordered", a.nan | b.nan);
        let (mut a_sign, mut b_sign) = (m.wire("a_sign", io.a_i.msb()), m.wire("b_sign", io.b_i.msb()));
        let data = [
            ("below", &mut below),
            ("same", &mut same),
            ("zeros", &mut zeros),
            ("unordered", &mut unordered),
            ("a_sign", &mut a_sign),
            ("b_sign", &mut b_sign),
        ];
        pipe.cut(m, data);

        m.comment("Negative before positive; the larger magnitude first where both are negative.");
        let above = !(below | same);
        let total_less = m.wire(
            "total_less",
            select(&[(a_sign & !b_sign, bit().lit(1)), (b_sign & !a_sign, bit().lit(0)), (a_sign, above)], below),
        );
        let equal = m.wire("equal", !unordered & (zeros | (same & !(a_sign ^ b_sign))));
        let less = m.wire("less", total_less & !(unordered | zeros));
        m.connect(io.less_o, less);
        m.connect(io.equal_o, equal);
        m.connect(io.greater_o, !(less | equal | unordered));
        m.connect(io.unordered_o, unordered);
        m.connect(io.total_less_o, total_less);
    }

    /// The whole contract, by numbers that are in order as the floats are.
    fn properties(&self, m: &mut Module, io: &FloatComparePorts) {
        let [a, b] = Seen::all(m, [("a", io.a_i), ("b", io.b_i)], self.format, self.subnormals);
        let (first, second) = (total_order(m, "seen_first", io.a_i), total_order(m, "seen_second", io.b_i));
        let unordered = m.wire("seen_unordered", a.nan | b.nan);
        let equal = m.wire("seen_equal", io.a_i.eq(io.b_i) | (a.zero & b.zero));
        let number = |holds: Signal| !unordered & !equal & holds;
        m.assert_always("unordered_with_a_nan", io.unordered_o.eq(unordered));
        m.assert_always("equal_numbers", io.equal_o.eq(!unordered & equal));
        m.assert_always("less_in_order", io.less_o.eq(number(first.lt(second))));
        m.assert_always("greater_in_order", io.greater_o.eq(number(first.gt(second))));
        m.assert_always("total_order", io.total_less_o.eq(first.lt(second)));
        let zeros = a.zero & b.zero & (a.sign ^ b.sign);
        m.assert_always("zeros_in_total_order", implies(zeros, io.total_less_o.eq(a.sign)));
        m.cover("equal_zeros", zeros & io.equal_o);
        m.cover("less_than_infinity", io.less_o & b.infinite);
    }
}

impl CatalogBlock for FloatCompare {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 1, Subnormals::Flush),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Fp32, 1, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals });
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::Fp32, Subnormals::Flush)]
    }
}
