//! Decoder of outlier-victim pairs at the edge of OliVe's array: two operands of 4 bits to integers with exponents.

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutArray, Proof, Signal, Timing, bit, cat, mux, parameters, ports,
    sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OliveDecoder {
        /// Pairs a cycle.
        pairs: u32 = 1, in 1..=64, tag "p";
    }
}

ports! {
    /// Ports of [`OliveDecoder`].
    pub struct OliveDecoderPorts(p: &OliveDecoder) {
        /// The normal values are flint4, not int4.
        flint_i: In = bit(),
        /// The pairs, a byte each, the first value of a pair in the lower half.
        pairs_i: In = uint(8 * p.pairs),
        /// Integers of the values.
        integers_o: OutArray = sint(5).array(2 * p.pairs),
        /// Their exponents.
        exponents_o: OutArray = uint(3).array(2 * p.pairs),
        /// A pair has the identifier twice: no encoder writes that, and both values are 0.
        invalid_o: Out = bit(),
    }
}

impl Block for OliveDecoder {
    type Ports = OliveDecoderPorts;
    const ABOUT: About = About {
        name: "olive_decoder",
        summary: "decoder of outlier-victim pairs: int4 or flint4 beside abfloat to integers with exponents",
        contract: "value = integer x 2^exponent, in the same cycle.\n\
            int4: two's complement, -7 to 7. flint4: a sign, and 0, 1, 2, 3, 16, 8, 4, 6 for the codes 0 to 7.\n\
            The code 1000 is the victim: 0 with the exponent 0. The other value of its pair is an outlier, abfloat\n\
            E2M1: a sign, 0 for the code 0, else (2 + lowest bit) x 2^(upper two bits + bias). The bias is 2 with\n\
            int4, 3 with flint4.\n\
            A victim beside a victim: both 0, and invalid_o.",
        reference: "OliVe, outlier-victim pair encoding, abfloat and its decoder",
    };

    fn build(&self, m: &mut Module, io: &OliveDecoderPorts) {
        let mut invalid = bit().lit(0);
        for pair in 0..self.pairs {
            let code = |k: u32| io.pairs_i.slice(8 * pair + 4 * k..8 * pair + 4 * k + 4);
            let victims = [0, 1].map(|k| m.wire(&format!("victim_{}", 2 * pair + k), code(k).eq(8)));
            for k in 0..2u32 {
                let [own, other] = [victims[k as usize], victims[1 - k as usize]];
                let value = Value { code: code(k), flint: io.flint_i, victim: own, outlier: other };
                let (integer, exponent) = decode(m, 2 * pair + k, value);
                m.connect(io.integers_o.at(2 * pair + k), integer);
                m.connect(io.exponents_o.at(2 * pair + k), exponent);
            }
            invalid = invalid | (victims[0] & victims[1]);
        }
        m.connect(io.invalid_o, invalid);
        m.formal(|m| {
            for pair in 0..self.pairs {
                // At most one outlier a pair, and no exponent is 7: the PE is dimensioned for this.
                let [low, high] = [0, 1].map(|k| io.exponents_o.at(2 * pair + k).gt(4));
                m.assert_always(&format!("one_outlier_of_pair_{pair}"), !(low & high));
                for k in 2 * pair..2 * pair + 2 {
                    m.assert_always(&format!("exponent_{k}_is_small"), io.exponents_o.at(k).lt(7));
                }
                m.cover(&format!("outlier_of_pair_{pair}"), low);
            }
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

/// One value of a pair.
struct Value {
    code: Signal,
    /// Codes are flint4, not int4.
    flint: Signal,
    /// The value is a victim: 0.
    victim: Signal,
    /// The other one is a victim: this one is an outlier.
    outlier: Signal,
}

/// One value: its integer and its exponent.
fn decode(m: &mut Module, k: u32, value: Value) -> (Signal, Signal) {
    let Value { code, flint, victim, outlier } = value;
    let (sign, low) = (code.msb(), code.slice(0..3));
    m.comment("flint4: 0xx as it is, 11x doubled, 101 and 100 are 2^3 and 2^4; of an outlier, 1x are the digits.");
    let large = low.bit(2);
    let power = large & !low.bit(1);
    let doubled = cat(&[low.slice(0..2), uint(1).lit(0)]);
    let flint_magnitude = mux(power, uint(3).lit(1), mux(large, doubled, low));
    let flint_exponent = mux(power, mux(low.bit(0), uint(3).lit(3), uint(3).lit(4)), uint(3).lit(0));
    let some = low.any();
    let abfloat_magnitude = cat(&[uint(1).lit(0), some, some & low.bit(0)]);
    let places = low.slice(1..3).extend(3).wrapping_add(mux(flint, uint(3).lit(3), uint(3).lit(2)));
    let magnitude =
        m.wire(&format!("magnitude_{k}"), mux(outlier, abfloat_magnitude, flint_magnitude).extend(5).as_sint());
    let signed = mux(sign, sint(5).lit(0).wrapping_sub(magnitude), magnitude);
    let plain = !outlier & !flint;
    let integer = mux(victim, sint(5).lit(0), mux(plain, code.as_sint().extend(5), signed));
    let exponent = mux(victim | plain, uint(3).lit(0), mux(outlier, places, flint_exponent));
    (m.wire(&format!("integer_{k}"), integer), m.wire(&format!("exponent_{k}"), exponent))
}

impl CatalogBlock for OliveDecoder {
    fn configurations() -> Vec<Self> {
        vec![Self { pairs: 3 }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { pairs: 2 }, depth: 2, cover_depth: 2, induction: true }]
    }
}
