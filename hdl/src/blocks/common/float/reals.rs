//! Functions of real numbers to many places, in integers. Tables are computed from them.

use num_bigint::BigUint;

/// Places after the point of all numbers here; errors are below 2^-250.
pub(super) const PLACES: u32 = 320;

/// A number, not negative, in units of 2^-[`PLACES`].
pub(super) type Real = BigUint;

/// `numerator` / `denominator`.
pub(super) fn ratio(numerator: u64, denominator: u64) -> Real {
    (BigUint::from(numerator) << PLACES) / denominator
}

fn one() -> Real {
    ratio(1, 1)
}

/// a * b.
pub(super) fn times(a: &Real, b: &Real) -> Real {
    (a * b) >> PLACES
}

/// a / b.
pub(super) fn over(a: &Real, b: &Real) -> Real {
    (a << PLACES) / b
}

fn root(a: &Real) -> Real {
    (a << PLACES).sqrt()
}

/// e to the power of a: its series, in which nothing cancels.
fn exp(a: &Real) -> Real {
    let (mut term, mut sum) = (one(), one());
    for k in 1u32.. {
        term = times(&term, a) / k;
        if term == Real::ZERO {
            break;
        }
        sum += &term;
    }
    sum
}

/// 1 / (1 + e to the power of a): the logistic function of -a.
pub(super) fn logistic_below(a: &Real) -> Real {
    over(&one(), &(one() + exp(a)))
}

/// The hyperbolic tangent divided by a; 1 at 0.
pub(super) fn tanh_ratio(a: &Real) -> Real {
    if *a == Real::ZERO {
        return one();
    }
    let square = exp(&(a * 2u8));
    over(&over(&(&square - one()), &(&square + one())), a)
}

/// pi, from arc tangents of 1/5 and 1/239 (Machin).
fn pi() -> Real {
    let inverse_tangent = |n: u32| {
        let (mut power, mut plus, mut minus) = (one() / n, Real::ZERO, Real::ZERO);
        for k in 0u32.. {
            if power == Real::ZERO {
                break;
            }
            *(if k % 2 == 0 { &mut plus } else { &mut minus }) += &power / (2 * k + 1);
            power /= n * n;
        }
        plus - minus
    };
    inverse_tangent(5) * 16u8 - inverse_tangent(239) * 4u8
}

/// The probability that a normal variate is below -a: 1/2 less a times the density times the sum of a^2n / (2n + 1)!!.
pub(super) fn normal_below(a: &Real) -> Real {
    let square = times(a, a);
    let (mut term, mut sum) = (one(), one());
    for k in 1u32.. {
        term = times(&term, &square) / (2 * k + 1);
        if term == Real::ZERO {
            break;
        }
        sum += &term;
    }
    let density = over(&one(), &times(&root(&(pi() * 2u8)), &exp(&(square >> 1))));
    (one() >> 1) - times(&times(a, &density), &sum)
}

/// The argument of the logistic function in GELU's tanh form: 2 sqrt(2 / pi) (a + 0.044715 a^3).
pub(super) fn gelu_argument(a: &Real) -> Real {
    let factor = root(&over(&ratio(8, 1), &pi()));
    let cube = times(&times(a, a), a);
    times(&factor, &(a + times(&ratio(44_715, 1_000_000), &cube)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 60 bits after the point.
    fn bits(a: &Real) -> u64 {
        u64::try_from(a >> (PLACES - 60)).unwrap()
    }

    /// Digits from tables: e, pi - 3, tanh 1, the tail of the normal distribution.
    #[test]
    fn known_digits() {
        let close = |a: &Real, digits: u64| {
            let scaled = (a * 10u64.pow(15)) >> PLACES;
            assert_eq!(u64::try_from(scaled).unwrap(), digits);
        };
        close(&exp(&one()), 2_718_281_828_459_045);
        close(&pi(), 3_141_592_653_589_793);
        close(&tanh_ratio(&one()), 761_594_155_955_764);
        close(&logistic_below(&one()), 268_941_421_369_995);
        close(&normal_below(&one()), 158_655_253_931_457);
        close(&normal_below(&ratio(3, 1)), 1_349_898_031_630);
        assert_eq!(bits(&normal_below(&Real::ZERO)), 1 << 59);
        assert_eq!(tanh_ratio(&Real::ZERO), one());
    }
}
