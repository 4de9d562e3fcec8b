//! Decoder at the edge of ANT's array: turns an operand of 4 bits, of the tensor's type, into an integer with an
//! exponent.

use crate::prelude::*;

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

/// The type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    /// Integers.
    Int,
    /// 0 and powers of two.
    PowerOfTwo,
    /// Integers near 0, powers of two far from it, and values with few significant bits in between.
    Flint,
}

const FLINT_3: [i64; 8] = [0, 1, 2, 3, 16, 8, 4, 6];
const FLINT_4: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 64, 32, 16, 24, 8, 10, 12, 14];
const POWERS: [i64; 16] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/// The value of a code of 4 bits, with a sign or without.
fn decode(of: Type, signed: bool, code: u8) -> i64 {
    let code = usize::from(code & 15);
    if !signed {
        return match of {
            Type::Int => code as i64,
            Type::PowerOfTwo => POWERS[code],
            Type::Flint => FLINT_4[code],
        };
    }
    let sign = if code >= 8 { -1 } else { 1 };
    match of {
        Type::Int => code as i64 - if code >= 8 { 16 } else { 0 },
        Type::PowerOfTwo => sign * POWERS[code % 8],
        Type::Flint => sign * FLINT_3[code % 8],
    }
}

/// The bench takes all types and codes, however many vectors there are.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AntDecoder) -> anyhow::Result<Box<dyn Bench>> {
    let signed = p.sign == Sign::Signed;
    sim::kit::bench(p, move |sim, run| {
        let (type_i, code_i) = (sim.input("type_i")?, sim.input("code_i")?);
        let (integer_o, exponent_o) = (sim.output("integer_o")?, sim.output("exponent_o")?);
        for (number, of) in [Type::Int, Type::PowerOfTwo, Type::Flint, Type::Flint].into_iter().enumerate() {
            for code in 0..16u8 {
                sim.poke_u64(type_i, number as u64);
                sim.poke_u64(code_i, code.into());
                sim.settle()?;
                let exponent = sim.peek_u64(exponent_o);
                let (value, expected) = (sim.peek_i64(integer_o) << exponent, decode(of, signed, code));
                let place = format!("value of code {code} as {of:?}");
                run.expect_equal(sim, "integer_o, exponent_o", &place, expected, value)?;
                if expected == 0 {
                    run.expect_equal(sim, "exponent_o", &format!("exponent of code {code} as {of:?}"), 0, exponent)?;
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In order, flint has the values of floats whose mantissa shrinks away from the middle, as the paper says of 4
    /// bits without a sign.
    #[test]
    fn values_of_flint() {
        let values = |signed| {
            let mut values: Vec<i64> = (0..16).map(|code| decode(Type::Flint, signed, code)).collect();
            values.sort_unstable();
            values
        };
        assert_eq!(values(false), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32, 64]);
        assert_eq!(values(true), [-16, -8, -6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 6, 8, 16]);
    }

    #[test]
    fn ends_of_the_others() {
        assert_eq!([decode(Type::Int, true, 8), decode(Type::Int, false, 15)], [-8, 15]);
        assert_eq!([decode(Type::PowerOfTwo, true, 15), decode(Type::PowerOfTwo, false, 15)], [-64, 16384]);
    }

    #[test]
    fn both_signs() {
        let reports = run_all(bench, &options(1)).unwrap_or_else(|e| panic!("{e:#}"));
        let compared: Vec<u64> = reports.iter().map(|report| report.compared).collect();
        // All codes, and the exponents of zeros. Some types have two signed zeros.
        assert_eq!(compared, [64 + 7, 64 + 4]);
    }

    #[test]
    fn broken_decoders_are_noticed() {
        let faults = [
            ("no power of two below 2", Fault::net("power", "body")),
            ("a magnitude without its lowest bit", Fault::net("magnitude", "{right[4:1], 1'b0}")),
        ];
        must_be_noticed(&AntDecoder::default(), bench, 1, &faults);
    }
}
