//! Columns of INT4 in groups that share an exponent, as the engine for products reads them. It needs no hardware
//! description.

/// The largest exponent of a group.
const MOST: i32 = 15;

/// The unit of a matrix: an integer of a group counts 2^(base + exponent of the group).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Channels of a group.
    pub group: usize,
    /// The exponent of the unit.
    pub base: i32,
}

/// The exponent of the smallest unit in which a magnitude is 7 at most.
fn fitting(magnitude: f64) -> i32 {
    let mut exponent = (magnitude / 7.0).log2().ceil() as i32;
    // `log2` rounds.
    while 7.0 * 2f64.powi(exponent) < magnitude {
        exponent += 1;
    }
    exponent
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

impl Packing {
    /// A unit with which the largest value fits. Groups of 2^-15 of it lose bits.
    #[must_use]
    pub fn of(values: &[f64], group: usize) -> Self {
        let most = largest(values);
        Self { group, base: if most > 0.0 { fitting(most) - MOST } else { 0 } }
    }

    /// By which power of two sums are divided: the field `shift` of a product. `None`: the unit is beyond its range.
    #[must_use]
    pub fn shift(&self) -> Option<u32> {
        u32::try_from(15 - self.base).ok().filter(|&shift| shift <= 96)
    }

    /// Integers of a group, and its exponent: of the smallest unit in which all fit, and half of it, which saturates
    /// some, the one with the smaller square error.
    #[must_use]
    pub fn group(&self, values: &[f64]) -> (Vec<i8>, u32) {
        let most = largest(values);
        let fits = if most > 0.0 { (fitting(most) - self.base).clamp(0, MOST) } else { 0 };
        let round = |exponent: i32| -> (f64, Vec<i8>) {
            let unit = 2f64.powi(self.base + exponent);
            let integers: Vec<i8> =
                values.iter().map(|x| (x / unit).round_ties_even().clamp(-8.0, 7.0) as i8).collect();
            let error = values.iter().zip(&integers).map(|(x, &n)| (x - f64::from(n) * unit).powi(2)).sum();
            (error, integers)
        };
        let (whole, half) = (round(fits), round((fits - 1).max(0)));
        if half.0 < whole.0 { (half.1, (fits - 1).max(0) as u32) } else { (whole.1, fits as u32) }
    }

    /// What the integers of a column stand for.
    #[must_use]
    pub fn rounded(&self, column: &[f64]) -> Vec<f64> {
        let groups = column.chunks(self.group).flat_map(|values| {
            let (integers, exponent) = self.group(values);
            let unit = 2f64.powi(self.base + exponent as i32);
            integers.into_iter().map(move |integer| f64::from(integer) * unit)
        });
        groups.collect()
    }

    /// A column in memory: its weights, and the exponents of its groups, for words of so many weights.
    #[must_use]
    pub fn bytes(&self, column: &[f64], word: usize) -> [Vec<u8>; 2] {
        let (mut weights, mut exponents) = (vec![0; column.len().div_ceil(2)], Vec::new());
        exponents.resize(column.len().div_ceil(word) * (word / self.group) / 2, 0);
        let put = |bytes: &mut [u8], k: usize, nibble: u8| bytes[k / 2] |= (nibble & 15) << (4 * (k % 2));
        for (g, values) in column.chunks(self.group).enumerate() {
            let (integers, exponent) = self.group(values);
            for (k, integer) in integers.into_iter().enumerate() {
                put(&mut weights, g * self.group + k, integer as u8);
            }
            put(&mut exponents, g, exponent as u8);
        }
        [weights, exponents]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest magnitude is 7: the unit of its group is 1. Of the other group it is 2^-4, in which 7/16 is 7.
    #[test]
    fn columns_by_hand() {
        let column = [7.0, -3.0, 0.4375, -0.5, 0.1];
        let packing = Packing::of(&column, 2);
        assert_eq!((packing.base, packing.shift()), (-15, Some(30)));
        assert_eq!([packing.group(&column[..2]), packing.group(&column[2..4])], [(vec![7, -3], 15), (vec![7, -8], 11)]);
        assert_eq!(packing.rounded(&column)[..4], column[..4]);
        let [weights, exponents] = packing.bytes(&column, 8);
        assert_eq!((&weights[..2], &exponents[..1]), (&[0xd7, 0x87][..], &[0xbf][..]));
        assert_eq!((weights.len(), exponents.len()), (3, 2));
    }

    /// Half of the unit saturates the largest value, and is better for all others.
    #[test]
    fn a_group_may_saturate() {
        let values: Vec<f64> = [8.5].into_iter().chain((0..31).map(|k| f64::from(k % 7))).collect();
        let (integers, exponent) = Packing { group: 32, base: 0 }.group(&values);
        assert_eq!((integers[0], exponent), (7, 0));
        assert_eq!(Packing { group: 32, base: 0 }.group(&[0.0; 3]), (vec![0; 3], 0));
    }
}
