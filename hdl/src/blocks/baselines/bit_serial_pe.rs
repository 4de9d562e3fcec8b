//! Processing element of BitMoD: products of floating-point activations and weights. Weights come as terms, a bit of
//! their mantissa at a time.
//!
//! A term is plus or minus a power of two, or nothing. So a product is an activation's significand, shifted. The
//! significands of all lanes are aligned to the largest exponent, added and counted 2^significance times. Their sum is
//! added to the group's sum, which has an exponent of its own that only grows. When the group is complete its sum is
//! kept, and multiplied by the group's scale a bit a cycle while the next group is summed.

mod accumulate;
mod align;
mod properties;

use crate::lang::{
    About, Array, Block, CatalogBlock, In, InArray, Module, Out, Proof, Signal, Timing, bit, index_width, mux,
    parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct BitSerialPe {
        /// Lanes: products of a cycle.
        lanes: u32 = 4, in 1..=16, tag "l";
        /// Width of an activation's exponent in bits.
        exponent_width: u32 = 5, in 2..=8, tag "e";
        /// Width of its fraction in bits.
        fraction_width: u32 = 10, in 2..=23, tag "f";
        /// Width of the sum's mantissa in bits, signed.
        accumulator_width: u32 = 15, in 6..=48, tag "a";
        /// Most bits of a scale.
        scale_width: u32 = 8, in 1..=16, tag "s";
    }
}

ports! {
    /// Ports of [`BitSerialPe`].
    pub struct BitSerialPePorts(p: &BitSerialPe) {
        /// First step of a group, at any time: the sum starts from zero.
        first_i: In = bit(),
        /// Last step of a group: the sum after it is kept for its scale.
        last_i: In = bit(),
        /// Activations: sign, exponent and fraction as in IEEE 754.
        acts_i: InArray = uint(1 + p.exponent_width + p.fraction_width).array(p.lanes),
        /// Terms below zero.
        term_signs_i: In = uint(p.lanes),
        /// Exponents of the terms.
        term_exponents_i: InArray = uint(2).array(p.lanes),
        /// Terms that are not 0.
        term_mantissas_i: In = uint(p.lanes),
        /// The terms of all lanes count 2^significance_i times.
        significance_i: In = uint(3),
        /// There is a bit of the scale in this cycle.
        scale_valid_i: In = bit(),
        /// It is the first one: the product starts.
        scale_first_i: In = bit(),
        /// The bit, the highest one first.
        scale_i: In = bit(),
        /// Sum of the group times the bits of its scale so far; unknown until the first bit.
        result_o: Out = sint(p.accumulator_width + p.scale_width),
        /// Its exponent.
        exponent_o: Out = uint(p.exponent_width + 1),
        /// An activation that was multiplied is no number, or the exponent of the sum did not fit.
        invalid_o: Out = bit(),
    }
}

/// Bits that aligned significands keep below their last place.
const EXTRA: u32 = 3;
/// Largest significance of terms.
const MOST_SIGNIFICANT: u32 = 7;

impl Block for BitSerialPe {
    type Ports = BitSerialPePorts;
    const ABOUT: About = About {
        name: "bit_serial_pe",
        summary: "sums of floating-point activations times terms of weights, and their product with a scale, the processing element of BitMoD",
        contract: "A term is (-1)^sign x 2^exponent, or 0. Value of the group = result_o x 2^(exponent_o - bias -\n\
            fraction_width - 3), bias = 2^(exponent_width - 1) - 1.\n\
            Step: significands with three more bits are shifted right to the largest exponent among the terms that\n\
            are not 0, rounded towards 0, and added. This sum is added to the group's sum. Before that, the one of\n\
            them with the smaller exponent is shifted right and rounded down. If the result does not fit\n\
            accumulator_width bits it is halved until it does, rounded once to nearest, ties to even.\n\
            With all terms 0 nothing changes. Infinities and NaNs in lanes whose term is not 0, and exponents that\n\
            do not fit, set invalid_o with the group's result; first_i clears that.\n\
            Scale: result' = (scale_first_i ? 0 : 2 result) + (scale_i ? sum : 0) in cycles with scale_valid_i. sum\n\
            is the sum of the last group that was complete two cycles before. More than scale_width bits wrap. A\n\
            group that ends while bits come spoils the result, up to the next scale_first_i, and nothing else.\n\
            Reset drops a last_i on its way; the sum is unknown until first_i, the result until a group ends and\n\
            scale_first_i.",
        reference: "BitMoD (HPCA 2025, arXiv 2411.11745), section IV-B and figure 5",
    };

    fn build(&self, m: &mut Module, io: &BitSerialPePorts) {
        let dot = self.dot_product(m, io);
        let sum = self.accumulate(m, io, &dot);
        let scaled = self.scale(m, io, &sum);
        self.properties(m, io, (&dot, &sum), &scaled);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).phase("scale", self.scale_width, "bits of a scale, from two cycles after last_i")
    }
}

/// Sum of a step's products: mantissa x 2^exponent, and whether it means nothing.
struct Dot {
    terms: Array,
    mantissa: Signal,
    exponent: Signal,
    special: Signal,
}

/// An exact sum, the rounded sum, and how often it was halved.
#[derive(Clone, Copy)]
struct Rounding {
    exact: Signal,
    rounded: Signal,
    halvings: Signal,
}

/// The sum that is kept, and its product with the scale so far.
struct Scaled {
    kept: Signal,
    result: Signal,
}

/// The group's sum in registers, and how the next one comes about.
struct Sum {
    rounding: Rounding,
    mantissa: Signal,
    exponent: Signal,
    invalid: Signal,
}

impl BitSerialPe {
    fn exponent_bits(&self) -> u32 {
        self.exponent_width + 1
    }

    /// Width of the sum of a step's products.
    fn dot_width(&self) -> u32 {
        let carries = if self.lanes == 1 { 0 } else { index_width(self.lanes.into()) };
        1 + self.fraction_width + EXTRA + 1 + carries
    }

    /// Keeps complete sums and multiplies them by their scale, a bit a cycle.
    fn scale(&self, m: &mut Module, io: &BitSerialPePorts, sum: &Sum) -> Scaled {
        let complete = m.reg_init("last_q", bit(), 0);
        complete.next(io.last_i);
        let kept = m.reg("kept_q", sum.mantissa.ty());
        let exponent = m.reg("kept_exponent_q", sum.exponent.ty());
        let invalid = m.reg("kept_invalid_q", bit());
        kept.next_when(complete.q, sum.mantissa);
        exponent.next_when(complete.q, sum.exponent);
        invalid.next_when(complete.q, sum.invalid);
        let ty = sint(self.accumulator_width + self.scale_width);
        let result = m.reg("result_q", ty);
        let before = m.wire("result_before", mux(io.scale_first_i, ty.lit(0), result.q.shl(1).truncate(ty.width)));
        let added = m.wire("scaled", mux(io.scale_i, kept.q, sum.mantissa.ty().lit(0)));
        result.next_when(io.scale_valid_i, before.wrapping_add(added.extend(ty.width)));
        let begins = m.wire("begins", io.scale_valid_i & io.scale_first_i);
        let result_exponent = m.reg("result_exponent_q", sum.exponent.ty());
        let result_invalid = m.reg("result_invalid_q", bit());
        result_exponent.next_when(begins, exponent.q);
        result_invalid.next_when(begins, invalid.q);
        m.connect(io.result_o, result.q);
        m.connect(io.exponent_o, result_exponent.q);
        m.connect(io.invalid_o, result_invalid.q);
        Scaled { kept: kept.q, result: result.q }
    }
}

impl CatalogBlock for BitSerialPe {
    fn configurations() -> Vec<Self> {
        let set = |lanes, exponent_width, fraction_width, accumulator_width, scale_width| Self {
            lanes,
            exponent_width,
            fraction_width,
            accumulator_width,
            scale_width,
        };
        vec![set(1, 2, 2, 6, 1), set(3, 3, 4, 9, 3), set(2, 8, 7, 24, 8), set(4, 5, 10, 48, 16)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |lanes| Proof {
            block: Self { lanes, exponent_width: 2, fraction_width: 2, accumulator_width: 6, scale_width: 2 },
            depth: 3,
            cover_depth: 7,
            induction: true,
        };
        vec![proof(2), proof(1)]
    }
}
