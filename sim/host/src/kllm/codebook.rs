//! Centroids of both operands in the format of the hardware, and their constants.

use half::f16;

use super::Bits;

/// Why there is no codebook, or no constants.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CodebookError {
    /// Too many or too few centroids.
    #[error("{what}: {given} centroids were given, must be {expected}")]
    Count {
        /// The operand.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there can be.
        expected: &'static str,
    },
    /// A number that is infinite or NaN.
    #[error("{what} {index} is {value}, must be finite")]
    NotFinite {
        /// What the number is.
        what: &'static str,
        /// Its index.
        index: usize,
        /// Its value.
        value: f16,
    },
    /// There is no order in which to search.
    #[error("activation centroid {index} is {value}, must be at least {before}, the one before it")]
    Order {
        /// Its index.
        index: usize,
        /// Its value.
        value: f16,
        /// The centroid before it.
        before: f16,
    },
    /// The device has another width.
    #[error("centroids of {0} bits, must be 2 to 16")]
    Width(u32),
    /// The device has no room for the centroid 15.
    #[error("centroids of {0} bits, must be 5 to 16 for integers")]
    Integers(u32),
}

/// Centroids as integers: a codebook times a power of two, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fixed {
    integers: Vec<i16>,
    /// The exponent of the power. The constants divide by the power again.
    shift: i32,
}

impl Fixed {
    /// The largest power with which all centroids are integers of `bits` bits, and none is the most negative integer.
    fn of(values: &[f16], bits: u32) -> Self {
        let most = f64::from((1i32 << (bits - 1)) - 1);
        // Exact: a number has 11 bits and any exponent.
        let rounded = |value: &f16, shift: i32| (value.to_f64() * 2f64.powi(shift)).round_ties_even();
        // All are multiples of 2^-24, and below 2^16.
        let fits = |&shift: &i32| values.iter().all(|value| rounded(value, shift).abs() <= most);
        let shift = (-16..=24).rev().find(fits).unwrap_or(-16);
        Self { integers: values.iter().map(|value| rounded(value, shift) as i16).collect(), shift }
    }
}

/// Centroids of activations and of weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Codebook {
    values: Vec<f16>,
    activations: Fixed,
    weights: Fixed,
}

fn all_finite(what: &'static str, values: &[f16]) -> Result<(), CodebookError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(CodebookError::NotFinite { what, index, value: values[index] }),
    }
}

impl Codebook {
    /// Bytes of a codebook in memory.
    pub const BYTES: u64 = 192;
    /// Bytes of the constants of a channel.
    pub const RECORD_BYTES: u64 = 8;

    /// 8 or 16 centroids of activations, which ascend, and 16 of weights, for a device whose centroids have `bits`
    /// bits.
    ///
    /// # Errors
    /// Another number of centroids, or one that is not finite; activations that do not ascend; a width that no device
    /// has.
    pub fn new(activations: &[f16], weights: &[f16], bits: u32) -> Result<Self, CodebookError> {
        for (what, given, right, expected) in
            [("activations", activations.len(), [8, 16], "8 or 16"), ("weights", weights.len(), [16, 16], "16")]
        {
            if !right.contains(&given) {
                return Err(CodebookError::Count { what, given, expected });
            }
        }
        if !(2..=16).contains(&bits) {
            return Err(CodebookError::Width(bits));
        }
        all_finite("activation centroid", activations)?;
        all_finite("weight centroid", weights)?;
        if let Some(k) = activations.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(CodebookError::Order { index: k + 1, value: activations[k + 1], before: activations[k] });
        }
        Ok(Self {
            values: activations.to_vec(),
            activations: Fixed::of(activations, bits),
            weights: Fixed::of(weights, bits),
        })
    }

    /// A codebook for integers of 8 bits in place of activations: their nibbles are indices of the centroids 0 to 15.
    /// Weights have 16 centroids. Centroids of the device have `bits` bits.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and a width below 5, which cannot hold 15.
    pub fn of_integers(weights: &[f16], bits: u32) -> Result<Self, CodebookError> {
        if bits < 5 {
            return Err(CodebookError::Integers(bits));
        }
        let values: Vec<f16> = (0..16u8).map(f16::from).collect();
        let activations = Fixed { integers: (0..16).collect(), shift: 0 };
        Ok(Self { activations, ..Self::new(&values, weights, bits)? })
    }

    /// The codebook of the same tokens after a function f (KLLM, section III-C1). The function must commute with a
    /// positive factor, f(s x) = s f(x), as ReLU does. Only centroids of activations are replaced, for a device whose
    /// centroids have `bits` bits. Midpoints stay, so tokens are made as before. Outliers do not go through the
    /// function: tokens must have none.
    ///
    /// # Errors
    /// f makes a centroid infinite or NaN, or no device has the width.
    pub fn activated(&self, f: impl Fn(f16) -> f16, bits: u32) -> Result<Self, CodebookError> {
        if !(2..=16).contains(&bits) {
            return Err(CodebookError::Width(bits));
        }
        let values: Vec<f16> = self.values.iter().map(|&value| f(value)).collect();
        all_finite("activated centroid", &values)?;
        Ok(Self { activations: Fixed::of(&values, bits), ..self.clone() })
    }

    /// Bits of an index of an activation.
    #[must_use]
    pub fn bits(&self) -> Bits {
        if self.values.len() == 8 { Bits::Three } else { Bits::Four }
    }

    /// The bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; Self::BYTES as usize];
        let mut put = |at: usize, all: &[u8]| bytes[at..at + all.len()].copy_from_slice(all);
        for (k, pair) in self.values.windows(2).enumerate() {
            put(4 * k, &middle(pair[0], pair[1]).to_le_bytes());
        }
        for (at, fixed) in [(64, &self.activations), (96, &self.weights)] {
            for (k, integer) in fixed.integers.iter().enumerate() {
                put(at + 2 * k, &integer.to_le_bytes());
            }
        }
        for (k, value) in self.values.iter().enumerate() {
            put(128 + 2 * k, &value.to_le_bytes());
        }
        bytes
    }

    /// The factors of an [`AppendJob`](super::AppendJob), times `by`. The scale of a channel times these factors gives
    /// its two constants. With `by` = 1, as for weights, the factors are powers of two.
    #[must_use]
    pub fn factors(&self, by: f32) -> [f32; 2] {
        // Powers are from 2^-48 to 2^32. Times any scale of fp16 they give a normal number or 0, and nothing is
        // rounded.
        let powers = [self.activations.shift + self.weights.shift, self.weights.shift + 24];
        powers.map(|power| by * 2f32.powi(-power))
    }

    /// The constants of channels whose weights have these scales, as bytes in memory.
    ///
    /// # Errors
    /// A scale that is not finite.
    pub fn constants(&self, scales: &[f16]) -> Result<Vec<u8>, CodebookError> {
        all_finite("weight scale", scales)?;
        let factors = self.factors(1.0);
        let record = |scale: &f16| {
            let mut bytes = [0; Self::RECORD_BYTES as usize];
            for (at, factor) in [0, 4].into_iter().zip(factors) {
                bytes[at..at + 4].copy_from_slice(&(scale.to_f32() * factor).to_le_bytes());
            }
            bytes
        };
        Ok(scales.iter().flat_map(record).collect())
    }
}

/// The middle of two centroids, rounded down to fp32. An fp16 number above the rounded middle is also above the exact
/// middle, unless one centroid is more than 2^13 times the other.
fn middle(a: f16, b: f16) -> f32 {
    // Exact.
    let middle = f64::midpoint(a.to_f64(), b.to_f64());
    let single = middle as f32;
    if f64::from(single) > middle { single.next_down() } else { single }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(values: &[f32]) -> Vec<f16> {
        values.iter().map(|&value| f16::from_f32(value)).collect()
    }

    /// Centroids of activations change, with a power of their own; midpoints and weights stay.
    #[test]
    fn a_function_replaces_centroids() {
        let activations = halves(&[-1.0, -0.5, -0.25, -0.125, 0.0, 0.125, 0.25, 0.5]);
        let codebook = Codebook::new(&activations, &halves(&[0.5; 16]), 8).unwrap();
        let relu = |x: f16| x.max(f16::ZERO);
        let replaced = codebook.activated(relu, 8).unwrap();
        let (before, after) = (codebook.bytes(), replaced.bytes());
        assert_eq!((&before[..64], &before[96..]), (&after[..64], &after[96..]));
        let integers = |bytes: &[u8]| -> Vec<i16> {
            bytes[64..80].chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
        };
        assert_eq!(integers(&before), [-64, -32, -16, -8, 0, 8, 16, 32]);
        assert_eq!(integers(&after), [0, 0, 0, 0, 0, 16, 32, 64]);
        assert_eq!(replaced.factors(1.0)[0], codebook.factors(1.0)[0] / 2.0);
        assert_eq!(replaced.factors(1.0)[1], codebook.factors(1.0)[1]);
        let none = |_: f16| f16::NAN;
        let said = codebook.activated(none, 8).unwrap_err().to_string();
        assert_eq!(said, "activated centroid 0 is NaN, must be finite");
        assert_eq!(codebook.activated(relu, 1), Err(CodebookError::Width(1)));
    }

    #[test]
    fn bytes_by_hand() {
        let a = halves(&[-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0]);
        let w: Vec<f16> = (0..16).map(|k| f16::from_f32((k as f32 - 8.0) / 4.0)).collect();
        let codebook = Codebook::new(&a, &w, 5).unwrap();
        assert_eq!(codebook.bits(), Bits::Three);
        let bytes = codebook.bytes();
        assert_eq!(bytes.len(), 192);
        let single = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!([0, 4, 24, 28, 60].map(single), [-0.75, -0.375, 0.875, 0.0, 0.0]);
        let integers = |at: usize| -> Vec<i16> {
            bytes[at..at + 32].chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect()
        };
        // Up to 15: times 8, and times 4 as 2 x 8 is too large.
        assert_eq!(integers(64)[..9], [-8, -4, -2, 0, 2, 4, 6, 8, 0]);
        assert_eq!(integers(96), (-8..8).collect::<Vec<i16>>());
        assert_eq!((&bytes[128..130], &bytes[144..]), (&[0x00, 0xbc][..], &[0; 48][..]));
        let constants = codebook.constants(&halves(&[3.0, 0.0])).unwrap();
        let words: Vec<f32> = constants.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(words, [3.0 / 32.0, 3.0 * 2f32.powi(-26), 0.0, 0.0]);
        // Nibbles are what they are; a scale of 3 / 4 for each of them.
        let scores = Codebook::of_integers(&w, 5).unwrap();
        let bytes = scores.bytes();
        let nibbles: Vec<u8> = bytes[64..96].chunks(2).map(|b| b[0]).collect();
        assert_eq!((nibbles, &bytes[96..128]), ((0..16).collect(), &codebook.bytes()[96..128]));
        let constants = scores.constants(&halves(&[3.0])).unwrap();
        assert_eq!(f32::from_le_bytes(constants[..4].try_into().unwrap()), 3.0 / 4.0);
        assert_eq!(Codebook::of_integers(&w, 4), Err(CodebookError::Integers(4)));
    }

    #[test]
    fn middles_are_rounded_down() {
        let half = |bits| f16::from_bits(bits);
        // 25 bits: 1 and 2^-24, and their negatives.
        assert_eq!(middle(half(1), half(0x3c00)), 0.5);
        assert_eq!(middle(half(0xbc00), half(0x8001)), (-0.5f32).next_down());
        assert_eq!(middle(half(0x3c00), half(0x3c01)), 1.0 + 2f32.powi(-11));
    }

    /// Constants are exact, whatever scales and codebooks there are.
    #[test]
    fn constants_are_exact() {
        let smallest = f16::from_bits(1);
        for (a, w) in [(smallest, f16::MAX), (f16::MAX, smallest), (f16::ZERO, f16::ZERO), (f16::MAX, f16::MAX)] {
            for bits in [2, 12, 16] {
                let codebook = Codebook::new(&[a; 16], &[w; 16], bits).unwrap();
                let scales = [smallest, f16::MAX, f16::ONE, f16::ZERO];
                let constants = codebook.constants(&scales).unwrap();
                for (record, scale) in constants.chunks(8).zip(scales) {
                    let single = |at: usize| f64::from(f32::from_le_bytes(record[at..at + 4].try_into().unwrap()));
                    let power = |power: i32| scale.to_f64() * 2f64.powi(-power);
                    assert_eq!(single(0), power(codebook.activations.shift + codebook.weights.shift));
                    assert_eq!(single(4), power(codebook.weights.shift + 24));
                }
            }
        }
    }

    #[test]
    fn refusals_say_what_is_right() {
        let said = |a: &[f16], w: &[f16], bits| Codebook::new(a, w, bits).unwrap_err().to_string();
        let (a, w) = (vec![f16::ONE; 8], vec![f16::ONE; 16]);
        assert_eq!(said(&a[1..], &w, 12), "activations: 7 centroids were given, must be 8 or 16");
        assert_eq!(said(&a, &a, 12), "weights: 8 centroids were given, must be 16");
        assert_eq!(said(&a, &w, 17), "centroids of 17 bits, must be 2 to 16");
        let mut wrong = w.clone();
        wrong[3] = f16::INFINITY;
        assert_eq!(said(&a, &wrong, 12), "weight centroid 3 is inf, must be finite");
        wrong[3] = f16::from_f32(0.5);
        let message = "activation centroid 3 is 0.5, must be at least 1, the one before it";
        assert_eq!(said(&wrong, &w, 12), message);
        assert!(Codebook::new(&a, &wrong, 12).is_ok(), "weights are not searched");
        let codebook = Codebook::new(&a, &w, 12).unwrap();
        let message = "weight scale 1 is NaN, must be finite";
        assert_eq!(codebook.constants(&[f16::ONE, f16::NAN]).unwrap_err().to_string(), message);
    }
}
