//! Operands that reach the special cases. Uniform bits almost never cancel, round half way, or end near a limit.

use golden::common::float::{Float, FloatFormat};
use rand::{Rng, RngExt};
use sim::stimulus::StimulusRng;

/// Operands in one format.
#[derive(Clone, Copy)]
pub struct Operands {
    pub(super) format: FloatFormat,
}

impl Operands {
    /// Operands of `format`.
    pub fn new(format: FloatFormat) -> Self {
        Self { format }
    }

    fn fraction_mask(self) -> u64 {
        (1 << self.format.fraction_bits()) - 1
    }

    fn top_exponent(self) -> i64 {
        (1 << self.format.exponent_bits()) - 1
    }

    fn assemble(self, negative: bool, exponent: i64, fraction: u64) -> u64 {
        let exponent = exponent.clamp(0, self.top_exponent()) as u64;
        self.format.zero(negative) | exponent << self.format.fraction_bits() | (fraction & self.fraction_mask())
    }

    fn exponent(self, bits: u64) -> i64 {
        (bits >> self.format.fraction_bits()) as i64 & self.top_exponent()
    }

    /// Zeros, subnormal and normal extremes with their neighbours, numbers around 1 and where the spacing of numbers is
    /// 1, infinities, quiet and signalling NaNs; of both signs.
    pub fn corners(self) -> Vec<u64> {
        let (f, top) = (self.format.fraction_bits(), self.top_exponent());
        let bias = top / 2;
        let (ones, half) = (self.fraction_mask(), 1 << (f - 1));
        let mut positive = Vec::new();
        let exponents =
            [0, 1, 2, bias - i64::from(f), bias - 1, bias, bias + 1, bias + i64::from(f), top - 2, top - 1, top];
        for exponent in exponents.into_iter().filter(|e| (0..=top).contains(e)) {
            for fraction in [0, 1, 2, half - 1, half, half + 1, ones - 1, ones, ones / 3] {
                positive.push(self.assemble(false, exponent, fraction));
            }
        }
        positive.sort_unstable();
        positive.dedup();
        let sign = self.format.zero(true);
        positive.iter().flat_map(|bits| [*bits, bits | sign]).collect()
    }

    /// All values of a format of at most `width` bits, the corners of a wider one.
    pub fn all_or_corners(self, width: u32) -> Vec<u64> {
        if self.format.width() <= width { (0..=self.format.mask()).collect() } else { self.corners() }
    }

    /// Fractions with long carries, ties, and few bits.
    fn fraction(self, rng: &mut StimulusRng) -> u64 {
        let f = self.format.fraction_bits();
        let random = rng.next_u64();
        let bit = |rng: &mut StimulusRng| 1u64 << rng.random_range(0..f);
        let fraction = match rng.random_range(0..8u8) {
            0..4 => random,
            4 => bit(rng),
            5 => bit(rng) - 1,
            6 => !(bit(rng) - 1),
            _ => bit(rng) ^ bit(rng),
        };
        fraction & self.fraction_mask()
    }

    /// Any value.
    pub fn any(self, rng: &mut StimulusRng) -> u64 {
        match rng.random_range(0..16u8) {
            0..6 => rng.next_u64() & self.format.mask(),
            6 => self.assemble(rng.random(), 0, self.fraction(rng)),
            7 => {
                let near = [0, 1, 2, self.top_exponent() - 1, self.top_exponent()];
                let exponent = near[rng.random_range(0..near.len())];
                self.assemble(rng.random(), exponent, if one_in(rng, 3) { 0 } else { self.fraction(rng) })
            }
            _ => {
                let exponent = rng.random_range(0..self.top_exponent());
                self.assemble(rng.random(), exponent, self.fraction(rng))
            }
        }
    }

    /// A value near `bits`: up to two units in the last place away, of either sign.
    pub(super) fn neighbour(self, bits: u64, rng: &mut StimulusRng) -> u64 {
        let sign = self.format.zero(rng.random());
        let magnitude = (bits & (self.format.zero(true) - 1)) as i64 + rng.random_range(-2..=2i64);
        sign | (magnitude.max(0) as u64 & (self.format.zero(true) - 1))
    }

    /// A value whose exponent is `exponent` give or take `spread`.
    fn around(self, exponent: i64, spread: i64, rng: &mut StimulusRng) -> u64 {
        let exponent = exponent + rng.random_range(-spread..=spread);
        self.assemble(rng.random(), exponent, self.fraction(rng))
    }

    /// An addend for `a`: it cancels, or overlaps, or touches.
    pub fn addend(self, a: u64, rng: &mut StimulusRng) -> u64 {
        let f = i64::from(self.format.fraction_bits());
        match rng.random_range(0..8u8) {
            0 | 1 => self.any(rng),
            2 => self.neighbour(a, rng),
            3 => self.around(self.exponent(a), 1, rng),
            4 => {
                // Half a unit in the last place of a, or about that.
                let exponent = self.exponent(a) - f - rng.random_range(0..3i64);
                self.assemble(rng.random(), exponent, if rng.random() { 0 } else { self.fraction(rng) })
            }
            _ => self.around(self.exponent(a), f + 3, rng),
        }
    }

    /// A factor for `a`: the product is anywhere, or near an end of the range.
    pub fn factor(self, a: u64, rng: &mut StimulusRng) -> u64 {
        let f = i64::from(self.format.fraction_bits());
        let bias = self.top_exponent() / 2;
        match rng.random_range(0..9u8) {
            0..3 => self.any(rng),
            3 => self.around(self.top_exponent() - 1 + bias - self.exponent(a), 2, rng),
            8 => self.format.zero(rng.random()) | self.limiting_factor(a, rng.random_range(-3..=3)),
            4 | 5 => {
                let subnormal = bias - self.exponent(a) - rng.random_range(0..=f + 2);
                self.around(subnormal, 1, rng)
            }
            _ => self.around(bias, bias / 2, rng),
        }
    }

    /// The positive factor that brings the product with `a` to the smallest normal number, give or take `units` in its
    /// last place.
    pub fn limiting_factor(self, a: u64, units: i64) -> u64 {
        let (f, bias) = (self.format.fraction_bits(), self.top_exponent() / 2);
        let (mut exponent, mut significand) = (self.exponent(a), a & self.fraction_mask());
        if exponent > 0 {
            significand |= 1 << f;
        } else {
            let places = (significand.max(1).leading_zeros() + f + 1) - u64::BITS;
            (significand, exponent) = (significand.max(1) << places, 1 - i64::from(places));
        }
        // In 2^f to 2^(f + 1): with the leading one, which makes a lower exponent field the right one.
        let quotient = (1u64 << (2 * f + 1)) / significand;
        let field = bias - exponent;
        let bits = if field > 0 { (((field - 1) as u64) << f) + quotient } else { quotient >> (1 - field).min(63) };
        (bits as i64 + units).clamp(0, self.format.infinity(false) as i64) as u64
    }

    /// All positive numbers of a format of 16 bits, each with eight factors around the one that makes the smallest
    /// normal number of it.
    pub fn products_at_the_limit(self) -> Vec<[u64; 2]> {
        let numbers = 1..self.format.infinity(false);
        numbers.flat_map(|a| (-4..4).map(move |units| [a, self.limiting_factor(a, units)])).collect()
    }

    /// Two terms.
    pub fn terms(self, rng: &mut StimulusRng) -> [u64; 2] {
        let a = self.any(rng);
        let b = self.addend(a, rng);
        if rng.random() { [a, b] } else { [b, a] }
    }

    /// Two factors.
    pub fn factors(self, rng: &mut StimulusRng) -> [u64; 2] {
        let a = self.any(rng);
        let b = self.factor(a, rng);
        if rng.random() { [a, b] } else { [b, a] }
    }

    /// Two factors and an addend that cancels the product, or overlaps, or touches it.
    pub fn triple(self, rng: &mut StimulusRng) -> [u64; 3] {
        if one_in(rng, 8) {
            return self.sum_at_the_limit(rng);
        }
        let [a, b] = self.factors(rng);
        let product = Float::ieee(self.format).mul(a, b).bits;
        let f = i64::from(self.format.fraction_bits());
        let c = if one_in(rng, 3) {
            // Anywhere in the window of the addend.
            self.around(self.exponent(product), 2 * f + 5, rng)
        } else {
            self.addend(product, rng)
        };
        [a, b, c]
    }

    /// Two factors and an addend whose sum is next to the smallest normal number: the product decides on which side, and
    /// is lost in rounding or not.
    fn sum_at_the_limit(self, rng: &mut StimulusRng) -> [u64; 3] {
        let (a, f) = (self.any(rng), i64::from(self.format.fraction_bits()));
        let small = self.top_exponent() / 2 - self.exponent(a) - rng.random_range(0..=f + 4);
        let limit = 1 << self.format.fraction_bits();
        [a, self.around(small, 1, rng), self.neighbour(limit, rng)]
    }
}

/// Random one bit in `n`.
pub(super) fn one_in(rng: &mut StimulusRng, n: u32) -> bool {
    rng.random_range(0..n) == 0
}
