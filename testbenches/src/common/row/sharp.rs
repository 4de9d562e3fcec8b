//! Rows whose results are near to where they change. There a wrong low bit of a sum, a root or a product shows.

use golden::common::row::Unrounded;
use golden::common::row::rms_norm::{FURTHER, Factor};
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// Whether to look for a sharp row. The search takes longer than a row in the simulator, so most rows are others.
pub(super) fn is_wanted(rng: &mut StimulusRng) -> bool {
    rng.random_range(0..6u8) == 0
}

/// Epsilons that are compared, and the best of them whose results are compared too.
const EPSILONS: usize = 256;
const BEST: usize = 8;

/// An epsilon for a row with this factor, so that a result is near to a tie: of all candidates, or of those with which
/// the last digit of the factor is about to change. `unrounded` tells the results.
pub(super) fn epsilon(
    rng: &mut StimulusRng,
    factor: &Factor,
    unrounded: impl Fn(u64) -> Option<Vec<Unrounded>>,
) -> u64 {
    let mut epsilons: Vec<u64> =
        (0..EPSILONS).map(|_| rng.random_range(0..1u64 << 40) >> rng.random_range(0..40)).collect();
    if rng.random() {
        let above: bool = rng.random();
        let distance = |digits: u64| if above { digits } else { (1 << FURTHER) - 1 - digits };
        epsilons.sort_by_cached_key(|&epsilon| factor.further_digits(epsilon).map_or(u64::MAX, distance));
        epsilons.truncate(BEST);
    }
    nearest(rng, epsilons.into_iter(), |&epsilon| unrounded(epsilon)).unwrap_or_default()
}

/// An epsilon, and gains with which some results are ties, or a single bit away from one. Such a result shows a wrong
/// low bit of a product, where a result that is only near to a tie does not. Other elements have gains as [`gains`]
/// has. `None`: no epsilon that was tried allows it.
pub(super) fn exact(
    rng: &mut StimulusRng,
    factor: &Factor,
    unrounded: impl Fn(u64) -> Option<Vec<Unrounded>>,
) -> Option<(u64, Vec<u16>)> {
    (0..EPSILONS).find_map(|_| {
        let epsilon = rng.random_range(0..1u64 << 40) >> rng.random_range(0..40);
        factor.further_digits(epsilon)?;
        exact_gains(rng, &unrounded(epsilon)?).map(|gains| (epsilon, gains))
    })
}

/// Such gains for the results of a row.
pub(super) fn exact_gains(rng: &mut StimulusRng, row: &[Unrounded]) -> Option<Vec<u16>> {
    let exact: Vec<Option<u64>> = row.iter().map(|y| exact_factor(rng, y.magnitude, 11)).collect();
    if exact.iter().all(Option::is_none) {
        return None;
    }
    let of = |(y, exact): (&Unrounded, Option<u64>)| match exact {
        Some(significand) => placed(rng, y, significand as u16),
        None => gain(rng, y),
    };
    Some(row.iter().zip(exact).map(of).collect())
}

/// A factor of `width` bits, its first one 1, with which a number is halfway between two neighbours of 11 bits, or a
/// power of two more or less.
pub(super) fn exact_factor(rng: &mut StimulusRng, magnitude: u128, width: u32) -> Option<u64> {
    let zeros = magnitude.trailing_zeros();
    let odd = (magnitude >> zeros.min(127)) as u64;
    let inverse = inverse(odd);
    let mut found = Vec::new();
    // The product has as many bits more as the factor, or one less; 11 of all are kept.
    let longest = (bits(magnitude) + width).saturating_sub(11);
    for dropped in [longest.saturating_sub(1), longest] {
        if !(2..60).contains(&dropped) || zeros >= dropped {
            continue;
        }
        let (half, modulus) = (1u64 << (dropped - 1), 1u64 << (dropped - zeros));
        let powers = (0..dropped - 1).flat_map(|place| [half + (1 << place), half - (1 << place)]);
        for rest in powers.chain([half]).filter(|rest| rest.trailing_zeros() >= zeros) {
            let first = (rest >> zeros).wrapping_mul(inverse) & (modulus - 1);
            // Of many, one.
            let count = ((1u64 << width) - 1).checked_sub(first).map_or(0, |room| room / modulus + 1);
            if count > 0 {
                let factor = first + modulus * rng.random_range(0..count);
                if factor >> (width - 1) == 1 && bits(magnitude * u128::from(factor)) == dropped + 11 {
                    found.push(factor);
                }
            }
        }
    }
    (!found.is_empty()).then(|| found[rng.random_range(0..found.len())])
}

/// Whether a number is halfway between two neighbours of 11 bits, or a power of two more or less.
pub(super) fn is_exact(magnitude: u128) -> bool {
    let Some(dropped) = bits(magnitude).checked_sub(11).filter(|&dropped| dropped > 0) else { return false };
    let distance = (magnitude & ((1 << dropped) - 1)).abs_diff(1 << (dropped - 1));
    distance == 0 || (distance.is_power_of_two() && distance < 1 << (dropped - 1))
}

/// The number whose product with an odd one is 1 modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Three bits are right at first, and twice as many after each step.
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// The candidate with the result that is nearest to a tie, above it or below; `None` where there is no candidate.
pub(super) fn nearest<T>(
    rng: &mut StimulusRng,
    candidates: impl Iterator<Item = T>,
    unrounded: impl Fn(&T) -> Option<Vec<Unrounded>>,
) -> Option<T> {
    let above = rng.random();
    let to_tie = |y: &Unrounded| to_tie(y.magnitude, above);
    candidates
        .min_by_key(|candidate| unrounded(candidate).and_then(|row| row.iter().map(to_tie).min()).unwrap_or(u64::MAX))
}

/// A gain for each element with which the result is nearly halfway between two fp16 numbers.
pub(super) fn gains(rng: &mut StimulusRng, row: &[Unrounded]) -> Vec<u16> {
    row.iter().map(|y| gain(rng, y)).collect()
}

/// The exponent field of 1, and the largest one of a number.
const FIELD_OF_ONE: i64 = 15;
const LARGEST: i64 = 30;

fn gain(rng: &mut StimulusRng, y: &Unrounded) -> u16 {
    let above = rng.random();
    let nearest = (0x400..0x800u16).min_by_key(|&s| to_tie(y.magnitude * u128::from(s), above)).unwrap_or(0x400);
    placed(rng, y, nearest)
}

/// A gain with this significand, of any sign.
fn placed(rng: &mut StimulusRng, y: &Unrounded, significand: u16) -> u16 {
    let sign = u16::from(rng.random::<bool>()) << 15;
    // The result is a normal number, if any gain makes it one.
    let top = y.exponent + i64::from(bits(y.magnitude));
    let field = (rng.random_range(-12..14) - top + FIELD_OF_ONE).clamp(1, LARGEST) as u16;
    sign | field << 10 | (significand & 0x3ff)
}

fn bits(number: u128) -> u32 {
    u128::BITS - number.leading_zeros()
}

/// How far a number is above (or below) the middle of two neighbours of 11 bits: the distance in units of 2^-32 of
/// theirs.
fn to_tie(magnitude: u128, above: bool) -> u64 {
    let Some(dropped) = bits(magnitude).checked_sub(11).filter(|&dropped| dropped > 0) else { return u64::MAX };
    let (rest, half) = (magnitude & ((1 << dropped) - 1), 1u128 << (dropped - 1));
    let distance = if above { rest.checked_sub(half) } else { half.checked_sub(rest) };
    distance.map_or(u64::MAX, |distance| ((distance << 32) >> dropped) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use golden::common::row::rms_norm::unrounded;

    #[test]
    fn distances_to_a_tie() {
        // 11 bits, then 100: the middle. Then a quarter above, and a quarter below.
        assert_eq!([true, false].map(|above| to_tie(0b10_0000_0000_1100, above)), [0, 0]);
        assert_eq!(to_tie(0b10_0000_0000_1110, true), 1 << 30);
        assert_eq!(to_tie(0b10_0000_0000_1110, false), u64::MAX);
        assert_eq!(to_tie(0b10_0000_0000_1010, false), 1 << 30);
        assert_eq!(to_tie(0b111_1111_1111, true), u64::MAX);
    }

    #[test]
    fn gains_make_results_that_are_nearly_ties() {
        let mut rng = sim::stimulus::rng(1);
        let row = unrounded(&[0x3c01, 0xb5a3, 0x3000, 0x4455], 12_345).unwrap();
        for (y, gain) in row.iter().zip(gains(&mut rng, &row)) {
            let magnitude = y.magnitude * u128::from(gain & 0x3ff | 0x400);
            let distance = to_tie(magnitude, true).min(to_tie(magnitude, false));
            // Of 1024 gains, half on the side: 2^-10 of the distance of neighbours on average.
            assert!(distance < 1 << 26, "{distance:#x}");
            assert!((0x0400..0x7c00).contains(&(y.gained(gain) & 0x7fff)));
        }
    }

    #[test]
    fn exact_gains_make_ties_or_leave_a_single_bit() {
        let mut rng = sim::stimulus::rng(3);
        assert!([1, 3, 0x2_ffff, u64::MAX].iter().all(|&odd| odd.wrapping_mul(inverse(odd)) == 1));
        let (mut ties, mut bits_left) = (0, std::collections::BTreeSet::new());
        let factors = (0x2_0000..0x4_0000u128).flat_map(|factor| [0x400, 0x407, 0x601, 0x7ff].map(|x| factor * x));
        for magnitude in factors {
            let Some(significand) = exact_factor(&mut rng, magnitude, 11) else { continue };
            let whole = magnitude * u128::from(significand);
            let dropped = bits(whole) - 11;
            let distance = (whole & ((1 << dropped) - 1)).abs_diff(1 << (dropped - 1));
            assert!(is_exact(whole), "{magnitude:#x} {significand:#x}");
            ties += u32::from(distance == 0);
            bits_left.extend((distance > 0).then(|| distance.trailing_zeros()));
        }
        assert!(ties > 0 && bits_left.len() > 20, "{ties} {bits_left:?}");
        // Factors of other widths, too.
        let wide =
            (0x1_0001..0x1_1001u128).step_by(2).filter_map(|x| Some(x * u128::from(exact_factor(&mut rng, x, 19)?)));
        let wide: Vec<u128> = wide.collect();
        assert!(wide.len() > 100 && wide.iter().all(|&whole| is_exact(whole)), "{}", wide.len());
        // Nothing is lost below the last bit that is kept.
        assert_eq!(exact_factor(&mut rng, 1, 11), None);
        assert_eq!(exact_factor(&mut rng, 0, 11), None);
    }

    #[test]
    fn epsilons_are_near_to_a_change() {
        let mut rng = sim::stimulus::rng(2);
        let x = [0x1c01, 0x15a3, 0x9000];
        let factor = Factor::rms(&x).unwrap();
        let (mut digits_change, mut ties) = (0, 0);
        for _ in 0..32 {
            let chosen = epsilon(&mut rng, &factor, |epsilon| unrounded(&x, epsilon));
            let digits = factor.further_digits(chosen).unwrap();
            // One of the best 8 of 256 candidates, of 1024 that follow the digits.
            digits_change += u32::from(digits.min(1023 - digits) < 48);
            let nearest = |y: &Unrounded| to_tie(y.magnitude, true).min(to_tie(y.magnitude, false));
            // The best of 768 results.
            ties += u32::from(unrounded(&x, chosen).unwrap().iter().map(nearest).min().unwrap() < 1 << 24);
        }
        assert!(digits_change > 8 && ties > 8, "{digits_change} {ties}");
    }
}
