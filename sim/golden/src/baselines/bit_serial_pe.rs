//! The processing element of BitMoD: activations times terms of weights, in integers with exponents.

/// A part of a weight: plus or minus 2^exponent, or 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Whether it is below zero.
    pub negative: bool,
    /// Its exponent, 0 to 3.
    pub exponent: u32,
    /// Whether it is not 0.
    pub some: bool,
}

impl Term {
    /// Its value.
    #[must_use]
    pub fn value(self) -> i64 {
        let size = i64::from(self.some) << self.exponent;
        if self.negative { -size } else { size }
    }
}

/// Booth's terms of an integer of so many bits (even), the lowest first: each counts 2^(2 x place) times.
#[must_use]
pub fn integer_terms(weight: i64, bits: u32) -> Vec<Term> {
    let mut terms = Vec::new();
    let (mut rest, mut place) = (weight, 0);
    while place < bits {
        // The remainder is -2 to 1 in all places except the last one, which takes the rest.
        let digit = if place + 2 >= bits { rest } else { (rest + 2).rem_euclid(4) - 2 };
        terms.push(Term { negative: digit < 0, exponent: u32::from(digit.abs() == 2), some: digit != 0 });
        rest = (rest - digit) / 4;
        place += 2;
    }
    terms
}

/// The terms of a number, given in halves, with at most two bits set: BitMoD's FP4 and FP3 and their special values.
/// The second term counts once, and the first counts half as much: exponents count from a half.
#[must_use]
pub fn halves_terms(halves: i64) -> Option<[Term; 2]> {
    let size = halves.unsigned_abs();
    let (high, low) = (size.checked_ilog2(), size.trailing_zeros());
    let term = |place: u32| Term { negative: halves < 0, exponent: place, some: true };
    match size.count_ones() {
        0 => Some([Term::default(); 2]),
        // A place in the lower four bits is a term of the first kind, a higher place is a term of the second kind.
        1 => Some(if low < 4 { [term(low), Term::default()] } else { [Term::default(), term(low - 1)] }),
        2 => high.filter(|&high| (1..=4).contains(&high) && low < 4).map(|high| [term(low), term(high - 1)]),
        _ => None,
    }
}

/// The inputs of one cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Whether the sum starts again.
    pub first: bool,
    /// Whether this is the last step of the group.
    pub last: bool,
    /// Activations, as bits.
    pub acts: Vec<u32>,
    /// Terms.
    pub terms: Vec<Term>,
    /// The terms count 2^significance times.
    pub significance: u32,
    /// A bit of the scale, and whether it is the first one.
    pub scale: Option<(bool, bool)>,
}

/// A sum: mantissa x 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Mantissa; its last place is 2^-3 of an activation's last place.
    pub mantissa: i128,
    /// Exponent.
    pub exponent: u32,
    /// Whether it has no meaning.
    pub invalid: bool,
}

/// Widths of a PE.
#[derive(Clone, Copy, Debug)]
pub struct Widths {
    /// Bits of an activation's exponent.
    pub exponent: u32,
    /// Bits of its fraction.
    pub fraction: u32,
    /// Bits of a sum's mantissa, signed.
    pub accumulator: u32,
    /// Bits of a scale.
    pub scale: u32,
}

/// The state of a PE.
#[derive(Clone, Debug)]
pub struct BitSerialPe {
    widths: Widths,
    sum: Option<Sum>,
    complete: bool,
    kept: Option<Sum>,
    result: Option<Sum>,
}

fn down(value: i128, places: u32) -> i128 {
    value.div_euclid(1i128 << places.min(100))
}

/// Nearest, ties to even.
fn nearest(value: i128, places: u32) -> i128 {
    let (unit, below) = (1i128 << places, down(value, places));
    let twice = 2 * (value - below * unit);
    below + i128::from(twice > unit || (twice == unit && below % 2 != 0))
}

impl BitSerialPe {
    /// A PE after reset.
    ///
    /// # Errors
    /// The mantissa of the sum is not 6 to 48 bits wide.
    pub fn new(widths: Widths) -> Result<Self, String> {
        if !(6..=48).contains(&widths.accumulator) {
            return Err(format!("accumulator width is {}, allowed: 6 to 48", widths.accumulator));
        }
        Ok(Self { widths, sum: None, complete: false, kept: None, result: None })
    }

    /// Products of a step: their sum and its exponent.
    fn products(&self, cycle: &Cycle) -> Sum {
        let Widths { exponent, fraction, .. } = self.widths;
        let all_ones = (1u32 << exponent) - 1;
        let used = || cycle.acts.iter().zip(&cycle.terms).filter(|(_, term)| term.some);
        let field = |act: u32| (act >> fraction) & all_ones;
        let place = |act: u32, term: &Term| field(act).max(1) + term.exponent;
        let largest = used().map(|(&act, term)| place(act, term)).max().unwrap_or(0);
        let mut sum = Sum { mantissa: 0, exponent: largest, invalid: false };
        for (&act, term) in used() {
            let hidden = u32::from(field(act) != 0) << fraction;
            let significand = i128::from(hidden | (act & ((1 << fraction) - 1))) * 8;
            // Rounded towards 0: the magnitude is rounded before it gets a sign.
            let aligned = down(significand, largest - place(act, term));
            let negative = (act >> (fraction + exponent)) & 1 != u32::from(term.negative);
            sum.mantissa += if negative { -aligned } else { aligned };
            sum.invalid |= field(act) == all_ones;
        }
        sum
    }

    fn add(&self, cycle: &Cycle) -> Option<Sum> {
        let zero = Sum { mantissa: 0, exponent: 0, invalid: false };
        let before = if cycle.first { Some(zero) } else { self.sum }?;
        let step = self.products(cycle);
        let common = step.exponent.max(before.exponent);
        let counted = step.mantissa << cycle.significance;
        let exact = down(counted, common - step.exponent) + down(before.mantissa, common - before.exponent);
        let limit = 1i128 << (self.widths.accumulator - 1);
        let fits = |value: i128| (-limit..limit).contains(&value);
        let mut halvings = 0;
        while !fits(down(exact, halvings)) {
            halvings += 1;
        }
        let mut mantissa = nearest(exact, halvings);
        if !fits(mantissa) {
            (mantissa, halvings) = (mantissa / 2, halvings + 1);
        }
        let (exponent, limit) = (common + halvings, 1 << (self.widths.exponent + 1));
        let invalid = before.invalid || step.invalid || exponent >= limit;
        Some(Sum { mantissa, exponent: exponent % limit, invalid })
    }

    /// One cycle. Returns the PE's output after it.
    pub fn step(&mut self, cycle: &Cycle) -> Option<Sum> {
        if let Some((first, bit)) = cycle.scale {
            let before = if first { self.kept.map(|kept| Sum { mantissa: 0, ..kept }) } else { self.result };
            self.result = before.zip(self.kept).map(|(before, kept)| {
                let width = self.widths.accumulator + self.widths.scale;
                let exact = 2 * before.mantissa + if bit { kept.mantissa } else { 0 };
                let half = 1i128 << (width - 1);
                Sum { mantissa: (exact + half).rem_euclid(2 * half) - half, ..before }
            });
        }
        if self.complete {
            self.kept = self.sum;
        }
        self.complete = cycle.last;
        self.sum = self.add(cycle);
        self.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FP16: Widths = Widths { exponent: 5, fraction: 10, accumulator: 15, scale: 8 };

    #[test]
    fn terms_make_the_weights() {
        for (bits, range) in [(8, -128..=127), (6, -32..=31)] {
            for weight in range {
                let terms = integer_terms(weight, bits);
                assert_eq!(terms.len() as u32, bits / 2, "three terms of INT6, four of INT8");
                let sum: i64 = terms.iter().enumerate().map(|(k, term)| term.value() << (2 * k)).sum();
                assert_eq!(sum, weight);
            }
        }
        // FP4 (E2M1) and the special values 5, 6 and 8 in halves.
        for halves in [0, 1, 2, 3, 4, 6, 8, 12, 10, 12, 16] {
            for sign in [1, -1] {
                let terms = halves_terms(sign * halves).unwrap();
                assert_eq!(terms[0].value() + 2 * terms[1].value(), sign * halves);
                assert!(terms.iter().all(|term| term.exponent < 4));
            }
        }
        assert_eq!(halves_terms(14), None, "7 has three bits");
    }

    fn group(pe: &mut BitSerialPe, steps: Vec<(Vec<u32>, Vec<Term>, u32)>, scale: u32) -> Sum {
        let count = steps.len();
        for (k, (acts, terms, significance)) in steps.into_iter().enumerate() {
            let cycle = Cycle { first: k == 0, last: k + 1 == count, acts, terms, significance, scale: None };
            pe.step(&cycle);
        }
        let idle = |scale| Cycle {
            first: false,
            last: false,
            acts: vec![0; 4],
            terms: vec![Term::default(); 4],
            significance: 0,
            scale,
        };
        pe.step(&idle(None));
        (0..8).rev().fold(None, |_, bit| pe.step(&idle(Some((bit == 7, scale >> bit & 1 == 1))))).unwrap()
    }

    /// 1.0 x 5 + 0.5 x -3 + 2.0 x 7, scale 3: 17.5 x 3 = 52.5.
    #[test]
    fn a_group_by_hand() {
        let mut pe = BitSerialPe::new(FP16).unwrap();
        let acts = vec![0x3c00, 0x3800, 0x4000, 0x7800];
        let weights = [5, -3, 7, 0].map(|weight| integer_terms(weight, 6));
        let steps =
            (0..3).map(|k| (acts.clone(), weights.iter().map(|terms| terms[k]).collect(), 2 * k as u32)).collect();
        let result = group(&mut pe, steps, 3);
        let value = result.mantissa as f64 * 2f64.powi(result.exponent as i32 - 15 - 10 - 3);
        assert_eq!((value, result.invalid), (52.5, false));
    }

    #[test]
    fn infinities_are_told() {
        let mut pe = BitSerialPe::new(FP16).unwrap();
        let one = Term { negative: false, exponent: 0, some: true };
        let none = Term::default();
        let acts = vec![0x7c00, 0, 0, 0];
        assert!(!group(&mut pe, vec![(acts.clone(), vec![none, one, one, one], 0)], 1).invalid);
        assert!(group(&mut pe, vec![(acts, vec![one; 4], 0)], 1).invalid);
    }

    #[test]
    fn roundings() {
        assert_eq!([nearest(5, 1), nearest(7, 1), nearest(-5, 1), nearest(-7, 1), nearest(9, 2)], [2, 4, -2, -4, 2]);
        assert_eq!([down(-1, 5), down(1, 5), down(-33, 5)], [-1, 0, -2]);
        assert!(BitSerialPe::new(Widths { accumulator: 5, ..FP16 }).is_err());
    }
}
