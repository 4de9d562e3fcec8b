//! Decoder at the edge of ANT's array: turns an operand of 4 bits, of the tensor's type, into an integer with an
//! exponent.

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Timing, cat, choices, mux, parameters, ports, select, sint,
    uint,
};

choices! {
    /// Whether the tensors of an array have negative values.
    pub enum Sign {
        /// Weights, and activations of either sign.
        Signed,
        /// Activations that are never negative.
        Unsigned,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct AntDecoder {
        /// Values of either sign, or none below 0.
        sign: Sign = Sign::Signed, tag "";
    }
}

impl AntDecoder {
    /// Width of the exponent: the largest power of two is 2^6 with a sign, 2^14 without.
    #[must_use]
    pub fn exponent_width(&self) -> u32 {
        match self.sign {
            Sign::Signed => 3,
            Sign::Unsigned => 4,
        }
    }
}

ports! {
    /// Ports of [`AntDecoder`].
    pub struct AntDecoderPorts(p: &AntDecoder) {
        /// Type of the tensor: 0 int, 1 power of two, 2 flint; 3 is flint, too.
        type_i: In = uint(2),
        /// The operand.
        code_i: In = uint(4),
        /// Its integer.
        integer_o: Out = sint(5),
        /// Its exponent.
        exponent_o: Out = uint(p.exponent_width()),
    }
}

impl Block for AntDecoder {
    type Ports = AntDecoderPorts;
    const ABOUT: About = About {
        name: "ant_decoder",
        summary: "decoder of ANT's types of 4 bits, int, power of two and flint, to integers with exponents",
        contract: "value = integer x 2^exponent, in the same cycle; 0 has the exponent 0.\n\
            signed: int is two's complement; power of two and flint are a sign and three bits, unsigned: four bits.\n\
            power of two: 0 for the code 0, else 2^(code - 1).\n\
            flint: the highest one below the first bit tells by its place how many bits of the integer remain.\n\
            Three bits: 0, 1, 2, 3, 16, 8, 4, 6. Four bits: 0 to 7, 64, 32, 16, 24, 8, 10, 12, 14.",
        reference: "ANT, flint and its int-based decoder",
    };

    fn build(&self, m: &mut Module, io: &AntDecoderPorts) {
        let signed = self.sign == Sign::Signed;
        let width = if signed { 3 } else { 4 };
        let exponents = uint(self.exponent_width());
        let body = m.wire("body", io.code_i.slice(0..width));
        let some = body.any();
        let power = m.wire("power", mux(some, body.wrapping_sub(1).extend(self.exponent_width()), 0));
        m.comment(
            "flint: below the first bit an integer; with it, an even integer, and two places for each leading zero.",
        );
        let large = body.msb();
        let rest = body.slice(0..width - 1);
        let mut places = exponents.lit(2 * (width - 1));
        for k in 0..width - 1 {
            places = mux(rest.bit(k), exponents.lit(2 * (width - 2 - k)), places);
        }
        let even = mux(rest.any(), cat(&[rest, uint(1).lit(0)]), uint(width).lit(1));
        let flint_integer = mux(large, even, body);
        let flint_exponent = mux(large, places, exponents.lit(0));
        let flint = io.type_i.bit(1);
        let is_power = io.type_i.eq(1);
        let magnitude = m.wire("magnitude", mux(flint, flint_integer.extend(5), some.extend(5)).as_sint());
        let (plain, other) = if signed {
            (io.code_i.as_sint().extend(5), mux(io.code_i.msb(), sint(5).lit(0).wrapping_sub(magnitude), magnitude))
        } else {
            (io.code_i.extend(5).as_sint(), magnitude)
        };
        m.connect(io.integer_o, mux(flint | is_power, other, plain));
        m.connect(io.exponent_o, select(&[(flint, flint_exponent), (is_power, power)], exponents.lit(0)));
        m.formal(|m| {
            let largest = if signed { 6u64 } else { 14 };
            m.assert_always("exponent_is_small", io.exponent_o.le(largest));
            if signed {
                m.assert_always("only_int_is_minus_eight", io.integer_o.ne(-8) | io.type_i.eq(0));
            }
            m.cover("largest_power", io.exponent_o.eq(largest));
            m.cover("largest_flint", flint & io.exponent_o.eq(2 * (width - 1)));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

impl CatalogBlock for AntDecoder {
    fn configurations() -> Vec<Self> {
        vec![Self { sign: Sign::Unsigned }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        [Sign::Signed, Sign::Unsigned]
            .map(|sign| Proof { block: Self { sign }, depth: 2, cover_depth: 2, induction: true })
            .into()
    }
}
