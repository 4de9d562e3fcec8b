//! The product of two fp16 numbers in fp32: always exact, so there is nothing to round.
//!
//! Significands of 11 bits have a product of 22, and the smallest of all products, 2^-48, is a normal number of fp32.
//! So the unit is a multiplier of 11 bits, a shift that brings the product's leading one to its place, and the sum of
//! the exponents. The shift is by one place or none where subnormal numbers are flushed.

use crate::blocks::common::{FloatFormat, NumberFormat, Subnormals};
use crate::lang::{About, Block, In, Module, Out, Signal, cat, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct Fp16Product {
        /// What subnormal factors do.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
    }
}

ports! {
    /// Ports of [`Fp16Product`].
    pub struct Fp16ProductPorts(p: &Fp16Product) {
        /// First factor, fp16.
        a_i: In = uint(16),
        /// Second factor, fp16.
        b_i: In = uint(16),
        /// Their product, fp32.
        product_o: Out = FloatFormat::Fp32.ty(),
    }
}

/// A factor, taken apart.
struct Factor {
    significand: Signal,
    exponent: Signal,
    zero: Signal,
    special: Signal,
}

/// Offset between the exponent fields of factors and product where the product is 2.x: the biases, 127 - 2 * 15, and
/// one for 2.
const OFFSET: u32 = 127 - 30 + 1;

impl Block for Fp16Product {
    type Ports = Fp16ProductPorts;
    const ABOUT: About = About {
        name: "fp16_product",
        summary: "exact product of two fp16 numbers, in fp32",
        contract: "product_o = a_i * b_i in the same cycle, exact; every NaN is the canonical quiet one.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn build(&self, m: &mut Module, io: &Fp16ProductPorts) {
        let nan_factor = m.wire("nan_factor", NumberFormat::FP16.is_nan(io.a_i) | NumberFormat::FP16.is_nan(io.b_i));
        let (a, b) = (self.factor(m, "a", io.a_i), self.factor(m, "b", io.b_i));
        let sign = m.wire("sign", io.a_i.msb() ^ io.b_i.msb());
        let special = m.wire("special", a.special | b.special);
        let zero = m.wire("zero", a.zero | b.zero);
        let nan = m.wire("nan", nan_factor | (special & zero));

        m.comment("1.x of the product: its leading one moves to the top.");
        let mut product = m.wire("product", a.significand * b.significand);
        let mut exponent = m.wire("exponent", (a.exponent + b.exponent).extend(8).wrapping_add(uint(8).lit(OFFSET)));
        let steps: &[u32] = if self.subnormals == Subnormals::Ieee { &[16, 8, 4, 2, 1] } else { &[1] };
        for &step in steps {
            let low = product.slice(0..22 - step);
            let empty = m.wire(&format!("top_{step}_empty"), !product.slice(22 - step..22).any());
            product = m.wire(&format!("product_{step}"), mux(empty, low.shl(step), product));
            let less = exponent.wrapping_sub(step);
            exponent = m.wire(&format!("exponent_{step}"), mux(empty, less, exponent));
        }
        m.unused(product);

        let finite = cat(&[exponent, product.slice(0..21), uint(2).lit(0)]) & (!zero).repeat(31);
        let infinity = uint(31).lit(0x7f80_0000_u32);
        let magnitude = mux(special, infinity, finite);
        m.connect(io.product_o, mux(nan, uint(32).lit(0x7fc0_0000_u32), cat(&[sign, magnitude])));
    }
}

impl Fp16Product {
    fn factor(&self, m: &mut Module, name: &str, bits: Signal) -> Factor {
        let (field, fraction) = (bits.slice(10..15), bits.slice(0..10));
        let normal = m.wire(&format!("{name}_normal"), field.any());
        let special = m.wire(&format!("{name}_special"), field.all());
        if self.subnormals == Subnormals::Flush {
            // The zero of a flushed number is in `zero`; its significand does not matter.
            let significand = cat(&[uint(1).lit(1), fraction]);
            return Factor { significand, exponent: field, zero: !normal, special };
        }
        let exponent = m.wire(&format!("{name}_exponent"), cat(&[field.slice(1..5), field.bit(0) | !normal]));
        let zero = !(normal | fraction.any());
        Factor { significand: cat(&[normal, fraction]), exponent, zero, special }
    }
}
