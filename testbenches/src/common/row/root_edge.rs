//! Quotients that are nearly squares of numbers of few digits: a digit of their root is decided by little, so low bits of
//! the rest and of the trial show.

use rand::RngExt;
use sim::Bits;
use sim::stimulus::StimulusRng;

/// Digits of the root, and bits of the divisor that count.
const DIGITS: u32 = 18;
const DIVISOR: u32 = 20;

/// A few draws fail: the divisor has another length, or no places are free.
const TRIES: u32 = 32;

/// Numerator and denominator of these widths. The root is near to a number of some digits whose last one is 1, just below
/// it or not.
pub(super) fn draw(rng: &mut StimulusRng, [numerator, denominator]: [u32; 2]) -> Vec<Bits> {
    let found = (0..TRIES).find_map(|_| {
        let (a, b, shift) = near(rng, numerator)?;
        placed(rng, (a, b, shift), [numerator, denominator])
    });
    found.unwrap_or_else(|| vec![Bits::ones(numerator), Bits::random(denominator, rng)])
}

/// Normalised numerator and divisor, and the places by which the numerator is shifted so that the quotient is in 1 to 4.
fn near(rng: &mut StimulusRng, width: u32) -> Option<(u128, u128, u32)> {
    let (places, shift) = (rng.random_range(1..DIGITS), rng.random_range(0..3u32));
    let trial = 1u128 << places | rng.random_range(0..1u128 << places) | 1;
    // The divisor is the numerator times this fraction, if the square of trial / 2^places is the quotient.
    let (top, bottom) = (1u128 << (DIVISOR - width + shift + 2 * places), trial * trial);
    let limit = (1u128 << width) - 1;
    let base = denominator_of_best(top, bottom, limit);
    let a = base * rng.random_range(limit / 2 / base + 1..=limit / base);
    let b = a * top / bottom + u128::from(rng.random::<bool>());
    let is_right = match shift {
        0 => a << (DIVISOR - width) >= b,
        1 => true,
        _ => a << (DIVISOR - width) < b,
    };
    (is_right && a >> (width - 1) == 1 && b >> (DIVISOR - 1) == 1).then_some((a, b, shift))
}

/// The denominator, up to a limit, of the best approximation of a fraction: the last convergent of its continued fraction.
fn denominator_of_best(mut top: u128, mut bottom: u128, limit: u128) -> u128 {
    let (mut before, mut now) = (1, 0);
    while bottom > 0 {
        let next = top / bottom * now + before;
        if next > limit {
            break;
        }
        (top, bottom) = (bottom, top % bottom);
        (before, now) = (now, next);
    }
    now
}

/// Both with zeros above them, and noise after the divisor. The number of places between them is odd if and only if the
/// numerator is shifted by one.
fn placed(rng: &mut StimulusRng, (a, b, shift): (u128, u128, u32), widths: [u32; 2]) -> Option<Vec<Bits>> {
    let [numerator, denominator] = widths;
    let a_count = rng.random_range(0..=a.trailing_zeros());
    let b_count = rng.random_range(0..=denominator - DIVISOR);
    let between = b_count.abs_diff(a_count) + numerator.abs_diff(denominator);
    if (between % 2 == 1) != (shift == 1) {
        return None;
    }
    let noise = denominator - DIVISOR - b_count;
    let mut low = Bits::random(denominator, rng);
    for bit in noise..denominator {
        let place = bit - noise;
        low.set_bit(bit, place < DIVISOR && b >> place & 1 == 1);
    }
    Some(vec![Bits::truncated(numerator, (a >> a_count) as u64), low])
}

#[cfg(test)]
mod tests {
    use super::*;
    use golden::common::row::rms_norm::root;

    #[test]
    fn best_denominators() {
        // 355/113 is the best approximation of pi up to 16,603 thirty-thousandths.
        assert_eq!(denominator_of_best(3_141_592_653, 1_000_000_000, 1000), 113);
        assert_eq!(denominator_of_best(3_141_592_653, 1_000_000_000, 100), 7);
        assert_eq!(denominator_of_best(1, 3, 100), 3);
        assert_eq!(denominator_of_best(6, 2, 100), 1);
    }

    #[test]
    fn roots_are_near_to_numbers_of_few_digits() {
        let mut rng = sim::stimulus::rng(1);
        // A short numerator leaves the divisor alone to come near.
        for (widths, least) in [([16, 40], 130), ([20, 33], 130), ([3, 84], 90)] {
            let mut near = 0;
            for _ in 0..200 {
                let operands = draw(&mut rng, widths);
                let divisor = operands[1].to_biguint().try_into().unwrap();
                let (digits, _) = root(operands[0].field(0, widths[0]), divisor, 28).unwrap();
                // After some digits, and one that is just a 1 or just none, all are equal. In one root of ten eight are.
                let ends = digits ^ (digits >> 1);
                let longest = (0..27).fold((0, 0), |(most, now): (u32, u32), bit| {
                    let now = if ends >> bit & 1 == 0 { now + 1 } else { 0 };
                    (most.max(now), now)
                });
                near += u32::from(longest.0 >= 8);
            }
            assert!(near > least, "{widths:?}: {near}");
        }
    }
}
