//! Logarithms and powers to many places, in integers. Tables are computed from them, and results are compared with
//! them.

use num_bigint::BigInt;

/// Fraction bits. All errors below are less than 2^-200.
pub(in crate::common) const PLACES: u32 = 256;

/// 1.
fn one() -> BigInt {
    BigInt::from(1) << PLACES
}

/// The natural logarithm of 2: twice the area tangent of 1/3.
pub(in crate::common) fn ln_2() -> BigInt {
    let mut sum = BigInt::ZERO;
    let mut power = one() * 2 / 3;
    let mut k = 1u32;
    while power != BigInt::ZERO {
        sum += &power / k;
        power /= 9;
        k += 2;
    }
    sum
}

/// e to the power of `x`, |x| < 2^10 : the series of x / 2^20, squared twenty times.
pub(in crate::common) fn exp(x: &BigInt) -> BigInt {
    // A product of numbers with twice the places loses nothing of importance.
    let small: BigInt = (x << PLACES) >> 20;
    let unit: BigInt = one() << PLACES;
    let (mut term, mut sum) = (unit.clone(), unit);
    for k in 1u32.. {
        term = ((term * &small) >> (2 * PLACES)) / k;
        if term.magnitude().bits() <= 1 {
            break;
        }
        sum += &term;
    }
    for _ in 0..20 {
        sum = (&sum * &sum) >> (2 * PLACES);
    }
    sum >> PLACES
}

/// The logistic function of `x`, |x| < 2^10.
pub(super) fn logistic(x: &BigInt) -> BigInt {
    let power = exp(x);
    (&power << PLACES) / (one() + power)
}

/// The hyperbolic tangent of `x`, |x| < 2^9.
pub(super) fn tanh(x: &BigInt) -> BigInt {
    one() - ((one() * 2) << PLACES) / (one() + exp(&(x * 2)))
}

/// Places of the sum below, whose terms are large and cancel.
const FINE: u32 = 640;

/// 1 / sqrt(2 pi) with [`FINE`] places; pi by Euler's series, 2 (1 + 1/3 (1 + 2/5 (1 + 3/7 ...))).
fn density_of_zero() -> BigInt {
    let mut term = BigInt::from(4) << FINE;
    let mut two_pi = BigInt::ZERO;
    for n in 1u32.. {
        if term == BigInt::ZERO {
            break;
        }
        two_pi += &term;
        term = term * n / (2 * n + 1);
    }
    ((BigInt::from(1) << (3 * FINE)) / two_pi).sqrt()
}

/// The normal distribution.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    density_of_zero: BigInt,
}

impl Normal {
    pub(super) fn new() -> Self {
        Self { density_of_zero: density_of_zero() }
    }

    /// The probability of less than `x`, |x| < 17: 1/2 and the density at 0 times the sum of (-1)^n x^(2n+1) / (2^n n! (2n+1)).
    pub(super) fn below(&self, x: &BigInt) -> BigInt {
        let x = x << (FINE - PLACES);
        let square = (&x * &x) >> FINE;
        let (mut power, mut sum) = (x, BigInt::ZERO);
        for n in 0u32.. {
            if power.magnitude().bits() <= 1 {
                break;
            }
            sum += &power / (2 * n + 1);
            power = -((power * &square) >> FINE) / (2 * (n + 1));
        }
        (one() >> 1) + ((sum * &self.density_of_zero) >> (2 * FINE - PLACES))
    }
}

/// 2 sqrt(2 / pi) (x + 0.044715 x^3): the argument of the logistic function in GELU's tanh form.
pub(super) fn gelu_argument(normal: &Normal, x: &BigInt) -> BigInt {
    // 2 sqrt(2 / pi) is four times the density at 0.
    let cube = (((x * x) >> PLACES) * x) >> PLACES;
    let inside = x + cube * 44_715 / 1_000_000;
    (inside * 4 * &normal.density_of_zero) >> FINE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits from tables.
    #[test]
    fn known_digits() {
        let close = |value: &BigInt, digits: i64| {
            assert_eq!(i64::try_from((value * 10i64.pow(15)) >> PLACES).unwrap(), digits);
        };
        let normal = Normal::new();
        close(&exp(&one()), 2_718_281_828_459_045);
        close(&logistic(&one()), 731_058_578_630_004);
        close(&tanh(&one()), 761_594_155_955_764);
        close(&normal.below(&one()), 841_344_746_068_542);
        close(&normal.below(&(one() * -3)), 1_349_898_031_630);
        // 2 sqrt(2 / pi) 1.044715
        close(&gelu_argument(&normal, &one()), 1_667_123_937_878_330);
    }
}
