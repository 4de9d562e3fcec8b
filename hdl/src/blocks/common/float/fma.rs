//! Floating-point multiply-add: a * b + c, rounded once (fused) or twice.
//!
//! Fused, in significands of p bits: a window of 3 p + 4 bits holds the product above two low bits. The addend is
//! shifted right from the top of the window by the difference of the exponents. An addend that is too large for that
//! stays at the top, where the product is less than half of its last place. An addend that is too small ends in a
//! sticky bit. Leading zeros of subnormal factors stay in the product; the two low bits are there for these.
//!
//! If a difference comes out negative it is complemented, not negated; the missing unit is added while rounding.
//!
//! Rounded twice, it is a multiplier and an adder.

use super::add::FloatAdd;
use super::exceptions::{Exception, Exceptions, FloatFlags};
use super::format::{FloatFormat, Subnormals};
use super::mul::FloatMul;
use super::parts::Parts;
use super::ranks::{Ranks, delay};
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::{Normaliser, ShifterInto};
use super::unit::{FloatUnit, Handshake, Valid, in_ranks, proof};
use crate::lang::{
    About, CatalogBlock, Group, In, Module, Out, Proof, Signal, bit, bits_for, cat, connect_all, mux, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct FloatFma {
        /// Format of operands and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// One rounding at the end; otherwise the product is rounded before the addition.
        fused: bool = true, tag "fused";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=FloatFma::MOST_FUSED, note "at most 9 if rounded twice", tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    rules = |p, rules| {
        let most = FloatFma::MOST_TWICE;
        rules.demand(p.fused || p.stages <= most, "stages", p.stages, format!("0 to {most} if rounded twice"));
    };
}

ports! {
    /// Ports of [`FloatFma`].
    pub struct FloatFmaPorts(p: &FloatFma) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// First factor.
        a_i: In = p.format.ty(),
        /// Second factor.
        b_i: In = p.format.ty(),
        /// Addend.
        c_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset, which may come at any
        /// time and drops the operations inside.
        valid_o: Out = bit(),
        /// a * b + c.
        result_o: Out = p.format.ty(),
        /// What happened on the way.
        flags: Group<FloatFlags, Exceptions> = p.shape().raises,
    }
}

impl Handshake for FloatFmaPorts {
    fn valid(&self) -> Valid {
        Valid { input: self.valid_i, output: self.valid_o }
    }
}

/// Levels of the parts between the places where registers may stand, about: multiply by parts, add them, add these and
/// align, add, normalise by the largest step, by large ones, by small ones, round.
const DEPTHS: &[u32] = &[17, 15, 17, 19, 15, 19, 19, 16];

/// Places inside of these parts, for more ranks than the places above. They come in this order because it cuts the
/// slowest parts on an FPGA first: its shifters are slower than its adders.
mod spare {
    /// Between the small and the large steps of the alignment.
    pub(super) const ALIGN: u32 = 0;
    /// Among the large steps of the normalisation.
    pub(super) const LARGE: u32 = 1;
    /// Between the operands, taken apart, and the products, which are multipliers of the device.
    pub(super) const MULTIPLY: u32 = 2;
    pub(super) const ALL: u32 = 3;
}

impl FloatUnit for FloatFma {
    type Ports = FloatFmaPorts;
    const ABOUT: About = About {
        name: "float_fma",
        summary: "floating-point multiply-add, rounded once or twice",
        contract: "result_o = a_i * b_i + c_i of `stages` cycles ago, rounded to nearest, ties to even: once if fused, else the\n\
            product and then the sum; every NaN is the canonical quiet one.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn shape(&self) -> Shape {
        Shape::new(self.format, self.stages, DEPTHS).raising(self.flags, Exception::WHEN_ROUNDED)
    }

    fn hardware(&self, m: &mut Module, io: &FloatFmaPorts) {
        if self.fused {
            in_ranks(self, m, io);
        } else {
            self.twice(m, io);
        }
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &FloatFmaPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let p = f + 1;
        let window = 3 * p + 4;
        let mut operand = |name, bits: Signal| Operand::new(m, name, bits, format, self.subnormals);
        let (mut a, mut b, mut c) = (operand("a", io.a_i), operand("b", io.b_i), operand("c", io.c_i));

        m.comment("Signs, infinities and NaNs.");
        let product_sign = m.wire("product_sign", io.a_i.msb() ^ io.b_i.msb());
        let subtract = m.wire("subtract", product_sign ^ io.c_i.msb());
        let infinite_product = m.wire("product_special", a.special | b.special);
        let (mut a_zero, mut b_zero) = (m.wire("a_zero", a.zero), m.wire("b_zero", b.zero));
        let undefined_product = m.wire("undefined_product", (a.special & b_zero) | (b.special & a_zero));
        let any_nan = m.wire("any_nan", a.nan | b.nan | c.nan);
        let undefined_sum = m.wire("undefined_sum", infinite_product & c.special & subtract);
        let nan = m.wire("nan", any_nan | undefined_product | undefined_sum);
        let special = pipe.keep(m, "special", infinite_product | c.special);
        // Of a special result it is the sign at once.
        let sign = pipe.keep(m, "sign", mux(c.special & !infinite_product, io.c_i.msb(), product_sign));
        let nan = pipe.carry("nan", nan);
        let undefined = (undefined_product & !a.nan & !b.nan) | (undefined_sum & !any_nan);
        pipe.raise(m, Exception::Invalid, a.signalling | b.signalling | c.signalling | undefined);

        let (mut minus, mut c_significand) = (subtract, c.significand);
        let mut factors = (a.significand, b.significand);
        let data = [
            ("a_significand", &mut factors.0),
            ("b_significand", &mut factors.1),
            ("c_significand", &mut c_significand),
            ("a_exponent", &mut a.exponent),
            ("b_exponent", &mut b.exponent),
            ("c_field", &mut c.exponent),
            ("a_zero", &mut a_zero),
            ("b_zero", &mut b_zero),
            ("minus", &mut minus),
        ];
        pipe.cut_spare(spare::MULTIPLY, m, data);

        m.comment("The product, and how far below the top of the window the addend is.");
        let mut product = Parts::new(m, pipe, "product", factors, 2);
        let mut c_exponent = m.wire("c_exponent", c.exponent);
        let mut exponents = m.wire("exponents", a.exponent + b.exponent);
        let mut no_product = m.wire("no_product", a_zero | b_zero);
        let data = [
            ("c_significand", &mut c_significand),
            ("c_exponent", &mut c_exponent),
            ("exponents", &mut exponents),
            ("no_product", &mut no_product),
            ("minus", &mut minus),
        ];
        product.cut(m, pipe, data);

        let width = e + 2;
        let offset = (i64::from(p + 3) - i64::from(format.bias())).rem_euclid(1 << width);
        let sum = m.wire("product_top", exponents.extend(width).wrapping_add(uint(width).lit(offset)));
        let distance = m.wire("distance", sum.wrapping_sub(c_exponent));
        let far = m.wire("far", distance.msb() | no_product);
        let mut shift = m.wire("shift", distance.slice(0..e + 1) & !far.repeat(e + 1));
        let mut exponent = m.wire("top_exponent", mux(far, c_exponent.extend(e + 1), sum.slice(0..e + 1)));
        let data = [
            ("c_significand", &mut c_significand),
            ("shift", &mut shift),
            ("minus", &mut minus),
            ("exponent", &mut exponent),
        ];
        product.cut(m, pipe, data);

        m.comment("The addend, aligned to the product.");
        let mut product = product.whole();
        let mut aligned = ShifterInto::new(c_significand, shift, window);
        aligned.steps(m, "align", bits_for(u64::from(window)) / 2);
        let data = [("product", &mut product), ("minus", &mut minus), ("exponent", &mut exponent)];
        aligned.cut_spare(m, pipe, spare::ALIGN, data);
        let aligned = aligned.finish(m, "align");
        let (mut addend, mut lost) = (aligned.value, aligned.lost);
        let data = [
            ("product", &mut product),
            ("addend", &mut addend),
            ("lost", &mut lost),
            ("minus", &mut minus),
            ("exponent", &mut exponent),
        ];
        pipe.cut(m, data);

        m.comment("Sum or difference. The addend's bits below the product only need a negation.");
        let (one, two) = (addend.bit(0), addend.bit(1));
        let low = cat(&[two ^ (minus & (one | lost)), one ^ (minus & lost)]);
        let carry = m.wire("carry", minus & !(one | two | lost));
        let upper = m.wire("upper", cat(&[minus, addend.slice(2..window) ^ minus.repeat(window - 2)]));
        // A carry into a finished product is a column; into a product that is still a sum it is one more row.
        let high = if pipe.registers_before() {
            let (left, right) = (cat(&[product, carry]).extend(window), cat(&[upper, carry]));
            m.wire("columns", left.wrapping_add(right)).slice(1..window)
        } else {
            product.extend(window - 1).wrapping_add(upper).wrapping_add(carry)
        };
        let high = m.wire("high", high);
        let mut negative = m.wire("negative", high.msb());
        let mut total = m.wire("total", cat(&[high.slice(0..window - 2), low]));
        let data = [
            ("total", &mut total),
            ("negative", &mut negative),
            ("lost", &mut lost),
            ("minus", &mut minus),
            ("exponent", &mut exponent),
        ];
        pipe.cut(m, data);

        m.comment("Normalised, but not below the smallest exponent.");
        let magnitude = m.wire("magnitude", total ^ negative.repeat(window));
        let limit = m.wire("limit", exponent.wrapping_sub(1));
        let mut normal = Normaliser::new("normal", magnitude, Some(limit), f + 2, negative);
        let steps = bits_for(u64::from(window));
        for (left, spare) in [(steps - 1, None), (steps / 2 + 1, Some(spare::LARGE)), (steps / 2, None)] {
            normal.steps(m, left);
            let data =
                [("negative", &mut negative), ("lost", &mut lost), ("minus", &mut minus), ("exponent", &mut exponent)];
            match spare {
                None => normal.cut(m, pipe, data),
                Some(spare) => normal.cut_spare(m, pipe, spare, data),
            }
            normal.fill = negative;
        }
        let mut normal = normal.finish(m);
        normal.name(m);
        let mut exponent = m.wire("exponent", exponent.wrapping_sub(normal.count));
        let data = [
            ("significand", &mut normal.value),
            ("any_below", &mut normal.any_below),
            ("all_below", &mut normal.all_below),
            ("negative", &mut negative),
            ("lost", &mut lost),
            ("minus", &mut minus),
            ("exponent", &mut exponent),
        ];
        pipe.cut(m, data);

        m.comment("Rounded. A difference of zero is positive.");
        let (up, inexact) = normal.rounding_plus(m, negative, lost);
        let vanished = minus & !(negative | lost | normal.any_below | normal.value.any());
        let unrounded = Unrounded {
            sign: m.wire(
                "result_sign",
                (pipe.now(sign) ^ (negative & !pipe.now(special))) & (!vanished | pipe.now(special)),
            ),
            exponent: exponent & normal.value.msb().repeat(e + 1),
            fraction: normal.value.slice(1..f + 1),
            up,
            inexact,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Infinity,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// NaNs, infinities, zeros and signs.
    fn properties(&self, m: &mut Module, io: &FloatFmaPorts) {
        let seen = [("a", io.a_i), ("b", io.b_i), ("c", io.c_i), ("result", io.result_o)];
        let [a, b, c, result] = Seen::all(m, seen, self.format, self.subnormals);
        let sign = m.wire("seen_sign", a.sign ^ b.sign);
        let any_nan = m.wire("seen_nan", a.nan | b.nan | c.nan);
        let infinite = m.wire("seen_infinite", a.infinite | b.infinite);
        let vanishing = m.wire("seen_zero", a.zero | b.zero);
        let undefined = m.wire("seen_undefined", infinite & (vanishing | (c.infinite & (sign ^ c.sign))));
        m.assert_always("nan_stays_nan", implies(any_nan, result.is_quiet()));
        m.assert_always("undefined_is_nan", implies(undefined, result.is_quiet()));
        m.assert_always("nan_is_canonical", implies(result.nan, result.is_quiet()));
        let defined = m.wire("seen_defined", !(any_nan | undefined));
        m.assert_always("infinite_product", implies(defined & infinite, result.is_infinity(sign)));
        if self.fused {
            // A product that is rounded may be too large by itself, and meet the other infinity.
            m.assert_always("nan_only_so", implies(result.nan, any_nan | undefined));
            m.assert_always("infinite_addend", implies(defined & c.infinite, result.is_infinity(c.sign)));
        }
        m.assert_always("addend_alone", implies(defined & vanishing & !c.zero, result.bits.eq(c.bits)));
        m.assert_always("zeros", implies(defined & vanishing & c.zero, result.is_zero(sign & c.sign)));
        m.assert_always("sign_of_sum", implies(defined & !(sign ^ c.sign), result.has_sign(sign)));
        result.is_flushed(m);
        if self.subnormals == Subnormals::Ieee {
            m.cover("subnormal_result", result.subnormal);
        }
        let cancelled = !vanishing & !c.zero & result.is_zero(bit().lit(0));
        m.cover("cancelled", cancelled & (sign ^ c.sign));
        let finite = !(any_nan | infinite | c.infinite);
        m.cover("overflow", finite & (result.infinite | result.nan));
    }
}

impl FloatFma {
    /// Most ranks with one rounding.
    const MOST_FUSED: u32 = DEPTHS.len() as u32 - 1 + spare::ALL;
    /// Most ranks with two roundings: all ranks of the multiplier, one between, all ranks of the adder.
    const MOST_TWICE: u32 = FloatMul::MOST_STAGES + 1 + FloatAdd::MOST_STAGES;

    fn twice(&self, m: &mut Module, io: &FloatFmaPorts) {
        let (in_mul, between, in_add) = self.split();
        let (format, subnormals, flags) = (self.format, self.subnormals, self.flags);
        let mul = m.instance("u_mul", FloatMul { format, stages: in_mul, subnormals, flags, ..FloatMul::default() });
        connect_all!(m, mul, io, [valid_i, a_i, b_i]);
        let add = m.instance("u_add", FloatAdd { format, stages: in_add, subnormals, subtract: false, flags });
        let valid = if between > 0 {
            let valid = m.reg_init("valid_q", bit(), 0);
            valid.next(mul.valid_o);
            valid.q
        } else {
            mul.valid_o
        };
        m.connect(add.valid_i, valid);
        let product = delay(m, "product", mul.result_o, between);
        let addend = delay(m, "c", io.c_i, in_mul + between);
        m.connect(add.a_i, product);
        m.connect(add.b_i, addend);
        connect_all!(m, io, add, [result_o, valid_o]);
        // An exception of either step is one of the operation.
        for &exception in Exception::ALL {
            let ports = [&io.flags, &mul.flags, &add.flags].map(|flags| flags.port(exception));
            if let [Some(port), Some(first), Some(second)] = ports {
                let first = delay(m, exception.name(), first, between + in_add);
                m.connect(port, first | second);
            }
        }
    }

    /// Ranks in the multiplier, between, and in the adder, spread as evenly as possible.
    fn split(&self) -> (u32, u32, u32) {
        let between = u32::from(self.stages > 0);
        let rest = self.stages - between;
        let in_mul = (rest / 2).min(FloatMul::MOST_STAGES);
        (in_mul, between, rest - in_mul)
    }
}

impl CatalogBlock for FloatFma {
    fn configurations() -> Vec<Self> {
        let set = |format, fused, stages, subnormals| Self { format, fused, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, true, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, true, 3, Subnormals::Flush),
            set(FloatFormat::Fp16, true, 1, Subnormals::Flush),
            set(FloatFormat::Fp16, true, 7, Subnormals::Ieee),
            set(FloatFormat::Fp16, true, FloatFma::MOST_FUSED, Subnormals::Ieee),
            set(FloatFormat::Fp16, false, 9, Subnormals::Ieee),
            set(FloatFormat::Bf16, true, 2, Subnormals::Ieee),
            set(FloatFormat::Bf16, false, 2, Subnormals::Flush),
            set(FloatFormat::Fp32, true, 5, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, fused, subnormals| proof(Self { format, fused, stages: 0, subnormals, flags: false });
        vec![
            prove(FloatFormat::Fp16, true, Subnormals::Ieee),
            prove(FloatFormat::Fp16, true, Subnormals::Flush),
            prove(FloatFormat::E5m2, false, Subnormals::Ieee),
        ]
    }
}
