//! What is proved of the multiply-add unit (`ifdef FORMAL`): NaNs, infinities, zeros and signs.
//!
//! Only the combinational unit has properties: ranks of registers do not change the result, and co-simulation covers
//! them.

use super::{FloatFma, FloatFmaPorts};
use crate::blocks::common::float::format::Subnormals;
use crate::blocks::common::float::round::Class;
use crate::lang::{Module, Signal, bit, cat, uint};

/// An operand as the properties see it.
struct Seen {
    class: Class,
    infinite: Signal,
    sign: Signal,
}

impl FloatFma {
    pub(super) fn properties(&self, m: &mut Module, io: &FloatFmaPorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        m.formal(|m| {
            let mut see = |name: &str, bits: Signal| {
                let class = Class::new(m, name, bits.slice(0..w - 1), format, self.subnormals);
                let infinite = m.wire(&format!("{name}_infinite"), class.special & !class.nan);
                Seen { infinite, class, sign: bits.msb() }
            };
            let (a, b, c) = (see("seen_a", io.a_i), see("seen_b", io.b_i), see("seen_c", io.c_i));
            let result = m.wire("seen_result", io.result_o);
            let quiet = (1u64 << (w - 1)) - (1 << (f - 1));
            let infinity = |sign: Signal| cat(&[sign, uint(e).lit((1u64 << e) - 1), uint(f).lit(0)]);
            let zero = |sign: Signal| cat(&[sign, uint(w - 1).lit(0)]);
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;

            let sign = m.wire("seen_sign", a.sign ^ b.sign);
            let any_nan = m.wire("seen_nan", a.class.nan | b.class.nan | c.class.nan);
            let infinite = m.wire("seen_infinite", a.infinite | b.infinite);
            let vanishing = m.wire("seen_zero", a.class.zero | b.class.zero);
            let undefined = m.wire("seen_undefined", infinite & (vanishing | (c.infinite & (sign ^ c.sign))));
            let nan = m.wire("seen_result_nan", result.slice(f..w - 1).all() & result.slice(0..f).any());
            m.assert_always("nan_stays_nan", implies(any_nan, result.eq(quiet)));
            m.assert_always("undefined_is_nan", implies(undefined, result.eq(quiet)));
            m.assert_always("nan_is_canonical", implies(nan, result.eq(quiet)));
            let defined = m.wire("seen_defined", !(any_nan | undefined));
            m.assert_always("infinite_product", implies(defined & infinite, result.eq(infinity(sign))));
            if self.fused {
                // A product that is rounded may be too large by itself, and meet the other infinity.
                m.assert_always("nan_only_so", implies(nan, any_nan | undefined));
                m.assert_always("infinite_addend", implies(defined & c.infinite, result.eq(infinity(c.sign))));
            }
            let alone = defined & vanishing & !c.class.zero;
            m.assert_always("addend_alone", implies(alone, result.eq(io.c_i)));
            let nothing = defined & vanishing & c.class.zero;
            m.assert_always("zeros", implies(nothing, result.eq(zero(sign & c.sign))));
            let same = defined & !(sign ^ c.sign);
            m.assert_always("sign_of_sum", implies(same, !(result.msb() ^ sign)));
            let subnormal = !result.slice(f..w - 1).any() & result.slice(0..f).any();
            if self.subnormals == Subnormals::Flush {
                m.assert_always("no_subnormal_result", !subnormal);
            } else {
                m.cover("subnormal_result", subnormal);
            }
            let cancelled = !vanishing & !c.class.zero & result.eq(zero(bit().lit(0)));
            m.cover("cancelled", cancelled & (sign ^ c.sign));
            let finite = !(a.class.special | b.class.special | c.class.special);
            m.cover("overflow", finite & result.slice(f..w - 1).all());
        });
    }
}
