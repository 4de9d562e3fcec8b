//! Index distribution counter: how often each index occurs in a column.
//!
//! KLLM section IV-B. In mode 1 (K-Means times K-Means) the column has 2^(nA + nB) bins and an index adds one to its
//! bin. In mode 2 (integer times K-Means) the low nB bits of a concatenated index are an unsigned integer, the column has
//! 2^nA bins, and an index adds that integer to the bin of its activation.

use crate::format::FormatError;

/// Widths of the two indices of a concatenated index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of an activation index, nA.
    pub a_bits: u32,
    /// Bits of a weight index or integer, nB.
    pub b_bits: u32,
}

/// The operand that is multiplied with the activations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// K-Means-quantized weights: count.
    #[default]
    KMeans,
    /// Unsigned integers: add them up.
    Integer,
}

impl Shape {
    /// Bins that a column delivers. With `half`, only the bins of the lower half of the activation centroids: the
    /// activations then have one bit less than the hardware supports.
    pub fn bins(self, mode: Mode, half: bool) -> u64 {
        let bits = match mode {
            Mode::KMeans => self.a_bits + self.b_bits,
            Mode::Integer => self.a_bits,
        };
        1 << (bits - u32::from(half))
    }

    /// The column's distribution, bin 0 first. Absent inputs are `None`. With `half`, activations of the upper half are
    /// `None` too.
    ///
    /// # Errors
    /// An index is too wide.
    pub fn distribution(
        self,
        mode: Mode,
        half: bool,
        inputs: impl IntoIterator<Item = Option<u64>>,
    ) -> Result<Vec<u64>, FormatError> {
        let format = crate::format::Format::Uint { bits: self.a_bits + self.b_bits };
        let mut bins = vec![0; self.bins(mode, half) as usize];
        for index in inputs.into_iter().flatten() {
            format.check_raw(index)?;
            let (bin, weight) = match mode {
                Mode::KMeans => (index, 1),
                Mode::Integer => (index / (1 << self.b_bits), index % (1 << self.b_bits)),
            };
            if let Some(count) = bins.get_mut(bin as usize) {
                *count += weight;
            }
        }
        Ok(bins)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The sizes of the paper's Figure 3: K = 8, one bit of activation, two of weight.
    const SMALL: Shape = Shape { a_bits: 1, b_bits: 2 };

    #[test]
    fn worked_by_hand() {
        let column = [0b110, 0b001, 0b110, 0b011, 0b000, 0b110, 0b001, 0b111].map(Some);
        let counts = SMALL.distribution(Mode::KMeans, false, column).unwrap();
        assert_eq!(counts, [1, 2, 0, 1, 0, 0, 3, 1]);
        // The same bits, the low two read as integers: 0+1+3+1 and 2+2+2+3.
        let sums = SMALL.distribution(Mode::Integer, false, column).unwrap();
        assert_eq!(sums, [5, 9]);
        assert_eq!(SMALL.distribution(Mode::KMeans, true, column).unwrap(), [1, 2, 0, 1]);
        assert_eq!(SMALL.distribution(Mode::Integer, true, column).unwrap(), [5]);
    }

    #[test]
    fn wide_indices_are_refused() {
        assert!(SMALL.distribution(Mode::KMeans, false, [Some(8)]).is_err());
        assert_eq!(SMALL.distribution(Mode::KMeans, false, [None]).unwrap(), [0; 8]);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn sums_and_permutations(mut inputs in prop::collection::vec(prop::option::of(0..64u64), 0..200), seed in any::<u64>()) {
            let shape = Shape { a_bits: 3, b_bits: 3 };
            let counts = shape.distribution(Mode::KMeans, false, inputs.clone()).unwrap();
            let sums = shape.distribution(Mode::Integer, false, inputs.clone()).unwrap();
            prop_assert_eq!(counts.iter().sum::<u64>(), inputs.iter().flatten().count() as u64);
            prop_assert_eq!(sums.iter().sum::<u64>(), inputs.iter().flatten().map(|i| i % 8).sum::<u64>());
            // Mode 2 equals mode 1 with a sum over the integers after it.
            for a in 0..8 {
                prop_assert_eq!(sums[a], (0..8).map(|n| n as u64 * counts[8 * a + n]).sum::<u64>());
            }
            if !inputs.is_empty() {
                let at = seed as usize % inputs.len();
                inputs.rotate_left(at);
            }
            prop_assert_eq!(counts, shape.distribution(Mode::KMeans, false, inputs).unwrap());
        }
    }
}
