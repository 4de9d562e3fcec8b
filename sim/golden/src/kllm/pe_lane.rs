//! The sums of a lane: the MatMul of equation 1 of the paper without scales, in integers, which have no order and no
//! rounding.
//!
//! Indices stand for centroids; outliers and padding count nothing: y_n = sum over k of C_A\[a_k\] x C_B\[b_kn\].
//! Counting the pairs of indices gives the same sum (section III-B). This is tested here, and used nowhere.

use super::codebook::Codebook;
use super::error::{KllmError, check_length};
use super::fp16;

/// The centroids of both operands, as integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Centroids {
    /// Centroids of activations; for integers, 0, 1, 2 and so on.
    pub activations: Vec<i64>,
    /// Centroids of weights.
    pub weights: Vec<i64>,
}

/// A position of the inner dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Index of the activation, or a nibble of an integer.
    pub activation: usize,
    /// Index of the weight in each column.
    pub weights: Vec<usize>,
    /// Whether it is there and no outlier.
    pub present: bool,
    /// Whether the nibble is the high one of an 8-bit integer.
    pub high: bool,
}

impl Position {
    fn factor(&self) -> i64 {
        if self.high { 16 } else { 1 }
    }
}

impl Centroids {
    /// The sums of all columns.
    ///
    /// # Errors
    /// A position has another number of columns than `columns`, or an index has no centroid.
    pub fn sums(&self, positions: &[Position], columns: usize) -> Result<Vec<i128>, KllmError> {
        let mut sums = vec![0i128; columns];
        for position in positions {
            check_length("position", position.weights.len(), columns)?;
            for (sum, &weight) in sums.iter_mut().zip(&position.weights) {
                let a = value(&self.activations, position.activation)?;
                let w = value(&self.weights, weight)?;
                if position.present {
                    *sum += i128::from(position.factor()) * i128::from(a) * i128::from(w);
                }
            }
        }
        Ok(sums)
    }
}

fn value(centroids: &[i64], index: usize) -> Result<i64, KllmError> {
    centroids.get(index).copied().ok_or_else(|| KllmError::Parameter {
        name: "index",
        value: index.to_string(),
        allowed: format!("0 to {}", centroids.len().saturating_sub(1)),
    })
}

/// Pairs that the positions use up of a column's limit. Positions with high nibbles count 16 times.
#[must_use]
pub fn pairs(positions: &[Position]) -> u64 {
    positions.iter().filter(|p| p.present).map(|p| p.factor() as u64).sum()
}

/// The exact sum of fp16 outliers times the centroids of their weights, in units of 2^-24 of an outlier. `None` if an
/// outlier is infinite or no number.
#[must_use]
pub fn outlier_sum(terms: impl IntoIterator<Item = (u16, i64)>) -> Option<i128> {
    let term = |(outlier, centroid): (u16, i64)| Some(fp16::units(outlier.into())? * i128::from(centroid));
    terms.into_iter().map(term).sum()
}

/// A codebook as integers times 2^-shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedCodebook {
    /// The integers.
    pub values: Vec<i64>,
    /// The power of two. The scales must make up for it.
    pub shift: i32,
    /// Whether no value was rounded.
    pub exact: bool,
}

impl FixedCodebook {
    /// The codebook with the most fraction bits for which all of its values are signed integers of `bits` bits and none
    /// is the most negative one. Values are rounded to nearest, ties to even.
    ///
    /// # Errors
    /// `bits` is outside of 2 to 32.
    pub fn new(codebook: &Codebook, bits: u32) -> Result<Self, KllmError> {
        if !(2..=32).contains(&bits) {
            return Err(KllmError::Parameter {
                name: "centroid bits",
                value: bits.to_string(),
                allowed: "2 to 32".into(),
            });
        }
        let most = (1i128 << (bits - 1)) - 1;
        // Values are multiples of 2^-24. 2^24 more places are enough even for a codebook of zeros.
        let units = fp16::all_units(codebook.values(), "codebook")?;
        let fits = |&shift: &i32| units.iter().all(|&unit| rounded(unit, shift - 24).0.abs() <= most);
        let shift = (-16..=24).rev().find(fits).unwrap_or(-16);
        let (values, exact): (Vec<i64>, Vec<bool>) =
            units.iter().map(|&unit| rounded(unit, shift - 24)).map(|(value, exact)| (value as i64, exact)).unzip();
        Ok(Self { values, shift, exact: exact.into_iter().all(|exact| exact) })
    }
}

/// `value` x 2^`places`, at most 0, to nearest, ties to even; and whether the result is exact.
fn rounded(value: i128, places: i32) -> (i128, bool) {
    let places = places.unsigned_abs();
    let below = value.rem_euclid(1 << places);
    let (down, half) = ((value - below) >> places, (1i128 << places) / 2);
    let up = below > half || (below == half && places > 0 && down % 2 != 0);
    (down + i128::from(up), below == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(activation: usize, weights: &[usize]) -> Position {
        Position { activation, weights: weights.into(), present: true, high: false }
    }

    /// The shape of the paper's Figure 3(a): K = 8, N = 4, activations of 1 bit, weights of 2. Numbers worked by hand.
    #[test]
    fn the_papers_shape() {
        let centroids = Centroids { activations: vec![-1, 2], weights: vec![-3, -1, 1, 4] };
        let a = [0, 1, 1, 0, 1, 0, 0, 1];
        let b = [
            [0, 1, 2, 3],
            [3, 2, 1, 0],
            [1, 1, 1, 1],
            [2, 0, 3, 1],
            [0, 0, 0, 3],
            [3, 3, 2, 2],
            [1, 2, 3, 0],
            [2, 3, 0, 1],
        ];
        let positions: Vec<_> = a.iter().zip(&b).map(|(&a, b)| position(a, b)).collect();
        // Column 0: 3 + 8 - 2 - 1 - 6 - 4 + 1 + 2; column 2: -1 - 2 - 2 - 4 - 6 - 1 - 4 - 6.
        assert_eq!(centroids.sums(&positions, 4).unwrap(), by_counts(&centroids, &positions, 4));
        assert_eq!(centroids.sums(&positions, 4).unwrap(), [1, 1, -26, -3]);
    }

    /// Section III-B: the number of occurrences of each pair, times the Cartesian product.
    fn by_counts(centroids: &Centroids, positions: &[Position], columns: usize) -> Vec<i128> {
        let codes = centroids.weights.len();
        let column = |n: usize| {
            let mut counts = vec![0i128; centroids.activations.len() * codes];
            for p in positions.iter().filter(|p| p.present) {
                counts[p.activation * codes + p.weights[n]] += i128::from(p.factor());
            }
            let product = |i: usize| i128::from(centroids.activations[i / codes] * centroids.weights[i % codes]);
            counts.iter().enumerate().map(|(i, count)| count * product(i)).sum()
        };
        (0..columns).map(column).collect()
    }

    /// Integer x K-Means: 8-bit integers are two nibbles with the codebook 0 to 15.
    #[test]
    fn integers_of_two_nibbles() {
        let centroids = Centroids { activations: (0..16).collect(), weights: vec![-7, -2, 3, 11] };
        let (scores, values) = ([200u8, 0, 17, 255, 96], [3, 1, 0, 2, 2]);
        let nibble = |high: bool| {
            let of = move |score: u8| usize::from(if high { score >> 4 } else { score & 15 });
            scores.iter().zip(values).map(move |(&s, v)| Position { high, ..position(of(s), &[v]) })
        };
        let positions: Vec<_> = nibble(true).chain(nibble(false)).collect();
        let direct: i128 =
            scores.iter().zip(values).map(|(&s, v)| i128::from(s) * i128::from(centroids.weights[v])).sum();
        assert_eq!(centroids.sums(&positions, 1).unwrap(), [direct]);
        assert_eq!(by_counts(&centroids, &positions, 1), [direct]);
        assert_eq!(pairs(&positions), 17 * 5);
    }

    #[test]
    fn what_is_absent_adds_nothing() {
        let centroids = Centroids { activations: vec![5, -4], weights: vec![3, 2] };
        let mut positions = vec![position(0, &[1]), position(1, &[0]), position(1, &[1])];
        positions[1].present = false;
        assert_eq!(centroids.sums(&positions, 1).unwrap(), [10 - 8]);
        assert_eq!(pairs(&positions), 2);
        assert!(centroids.sums(&[position(2, &[0])], 1).is_err());
        assert!(centroids.sums(&[position(0, &[0, 1])], 1).is_err());
    }

    /// 1.5 and the smallest number. An outlier without a value makes the sum unknown, even if its centroid is 0.
    #[test]
    fn outliers_are_exact() {
        assert_eq!(outlier_sum([(0x3e00, -3), (0x0001, 5), (0x8001, 2)]), Some(-3 * (3 << 23) + 5 - 2));
        assert_eq!(outlier_sum([(0x7bff, 32767), (0xfbff, -32767)]), Some(2 * 32767 * (2047 << 29)));
        assert_eq!(outlier_sum([]), Some(0));
        assert_eq!((outlier_sum([(0x7c00, 0)]), outlier_sum([(0x3c00, 1), (0x7e00, 1)])), (None, None));
    }

    #[test]
    fn codebooks_become_integers() {
        let fixed = |values: &[f64], bits| {
            let values = values.iter().map(|&v| fp16::from_f64(v)).collect::<Vec<_>>();
            FixedCodebook::new(&Codebook::new(values.len().ilog2(), values).unwrap(), bits).unwrap()
        };
        // 1.5 x 2^2 = 6 fits 4 bits, x 2^3 does not.
        let exact = fixed(&[-1.0, -0.25, 0.5, 1.5], 4);
        assert_eq!(exact, FixedCodebook { values: vec![-4, -1, 2, 6], shift: 2, exact: true });
        // Ties to even: 2.5 and 3.5. -8 is not used, so -1 becomes -4.
        let tie = fixed(&[0.3125, 0.4375, -1.0, 0.875], 4);
        assert_eq!((tie.values, tie.shift, tie.exact), (vec![1, 2, -4, 4], 2, false));
        assert_eq!(fixed(&[0.3125, 0.4375, -0.875, 0.75], 4).values, [2, 4, -7, 6]);
        assert_eq!(fixed(&[65504.0, 0.0], 12).shift, -5);
        assert_eq!(fixed(&[0.0, 0.0], 2), FixedCodebook { values: vec![0, 0], shift: 24, exact: true });
        assert!(FixedCodebook::new(&Codebook::new(1, vec![0, 0]).unwrap(), 1).is_err());
    }
}
