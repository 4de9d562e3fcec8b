//! The distance of results from exact ones. Exact results are rationals with so many places that the rest does not
//! matter.

use num_bigint::BigInt;

use super::units;
use crate::common::float::real;

/// Fraction bits.
pub const PLACES: u32 = 200;

/// The largest distances of some results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// In units in the last place of the exact result's binade; 2^-24 for subnormal numbers.
    pub ulp: f64,
    /// The absolute distance.
    pub absolute: f64,
    /// Number of results.
    pub count: u64,
}

impl Distance {
    /// The larger ones.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            ulp: self.ulp.max(other.ulp),
            absolute: self.absolute.max(other.absolute),
            count: self.count + other.count,
        }
    }
}

/// The distance of the finite number `got` from `exact`, in units of 2^-[`PLACES`].
pub fn distance(got: u16, exact: &BigInt) -> Distance {
    let (negative, magnitude) = units(got);
    let value = BigInt::from(magnitude) << (PLACES - 24);
    let off = (if negative { -value } else { value }) - exact;
    // The last place of a number with the size of `exact`.
    let top = exact.magnitude().bits() as i64 - i64::from(PLACES);
    let last = (top - 11).max(-24);
    // A quotient of small numbers: enough places for a report.
    let parts = |places: i64| {
        let shift = i64::from(PLACES) + places - 40;
        let scaled = off.magnitude() >> shift.max(0);
        u64::try_from(scaled).map_or(f64::INFINITY, |parts| parts as f64) / (1u64 << 40) as f64
    };
    Distance { ulp: parts(last), absolute: parts(0), count: 1 }
}

/// An fp16 number in units of 2^-24.
fn signed(bits: u16) -> BigInt {
    let (negative, magnitude) = units(bits);
    if negative { -BigInt::from(magnitude) } else { magnitude.into() }
}

/// The root mean square norm of finite numbers, with `epsilon` in units of 2^-48; within some units of 2^-[`PLACES`].
pub fn exact_rms_norm(x: &[u16], gains: &[u16], epsilon: u64) -> Vec<BigInt> {
    let n = BigInt::from(x.len());
    let sum: BigInt = x.iter().map(|&x| signed(x).pow(2)).sum();
    // The square root in units of 2^-300, of n / sum in units of 2^-48.
    let quotient: BigInt = (&n << 648) / (sum + &n * epsilon);
    let root = quotient.sqrt();
    x.iter().zip(gains).map(|(&x, &gain)| (signed(x) * signed(gain) * &root) >> (48 + 300 - PLACES)).collect()
}

/// The softmax of finite numbers; within some units of 2^-[`PLACES`].
pub fn exact_softmax(x: &[u16]) -> Vec<BigInt> {
    let most = x.iter().map(|&x| signed(x)).max().unwrap_or_default();
    let powers: Vec<BigInt> = x.iter().map(|&x| real::exp(&((signed(x) - &most) << (real::PLACES - 24)))).collect();
    let sum: BigInt = powers.iter().sum();
    powers.into_iter().map(|power| (power << PLACES) / &sum).collect()
}

/// The layer norm of finite numbers, with `epsilon` in units of 2^-48; within some units of 2^-[`PLACES`].
pub fn exact_layer_norm(x: &[u16], gains: &[u16], biases: &[u16], epsilon: u64) -> Vec<BigInt> {
    let n = BigInt::from(x.len());
    let sum: BigInt = x.iter().map(|&x| signed(x)).sum();
    let squares: BigInt = x.iter().map(|&x| signed(x).pow(2)).sum();
    let whole: BigInt = (BigInt::from(1) << 800) / (&n * squares - sum.pow(2) + &n * &n * epsilon);
    let root = whole.sqrt();
    let one = |((&x, &gain), &bias): ((&u16, &u16), &u16)| {
        let product: BigInt = (&n * signed(x) - &sum) * signed(gain) * &root;
        (product >> (400 + 24 - PLACES)) + (signed(bias) << (PLACES - 24))
    };
    x.iter().zip(gains).zip(biases).map(one).collect()
}
