//! Logarithms and powers to many places, in integers: what tables are computed from and results are compared with.

use num_bigint::BigInt;

/// Places behind the point. All errors below are less than 2^-200.
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
    // A product of numbers with twice the places loses nothing that matters.
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
