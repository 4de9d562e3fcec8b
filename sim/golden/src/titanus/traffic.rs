//! Bits that move between the accelerator and its memory.

use super::baseline::Quantized;
use super::cpq::Sequence;
use super::format::RECORD_BITS;

/// Bits by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Index: one bit for each element.
    pub index: u64,
    /// Label: one bit for each 1 of the index.
    pub label: u64,
    /// Values that are not 0.
    pub values: u64,
    /// Range and zero point of each level.
    pub records: u64,
}

impl Traffic {
    /// All bits.
    pub fn total(self) -> u64 {
        self.index + self.label + self.values + self.records
    }

    /// Eight bits for every element.
    pub fn plain(elements: u64) -> Self {
        Self { values: 8 * elements, ..Self::default() }
    }

    /// Pruning alone: the index, and eight bits for each element that is not 0.
    pub fn pruned(tokens: &[Vec<i8>]) -> Self {
        let values = tokens.iter().flatten();
        Self {
            index: values.clone().count() as u64,
            values: 8 * values.filter(|&&x| x != 0).count() as u64,
            ..Self::default()
        }
    }

    /// CPQ: index, label, quantized values, and a record for each level.
    pub fn cpq(sequence: &Sequence) -> Self {
        let elements = || sequence.tokens.iter().flatten();
        let labels = elements().filter(|e| e.label).count() as u64;
        Self {
            index: elements().count() as u64,
            label: elements().filter(|e| e.index).count() as u64,
            values: u64::from(sequence.config.bits) * labels,
            records: record_bits(sequence.levels() as u64),
        }
    }

    /// The same encoding with levels of another grouping, computed as if all tokens were known.
    pub fn grouped(quantized: &Quantized) -> Self {
        Self {
            index: quantized.decoded.iter().flatten().count() as u64,
            label: quantized.elements,
            values: u64::from(quantized.bits) * quantized.labels,
            records: record_bits(quantized.records),
        }
    }
}

fn record_bits(records: u64) -> u64 {
    records * u64::from(RECORD_BITS[0] + RECORD_BITS[1])
}

/// Bits that identify the level of each element, if a level number travels with each element that is not 0.
pub fn level_number_bits(sequence: &Sequence) -> u64 {
    let width = u64::from((sequence.config.max_levels as u64).next_power_of_two().ilog2());
    width * sequence.tokens.iter().flatten().filter(|e| e.index).count() as u64
}

/// For each channel, the tokens at which its levels after the initial one open.
pub fn break_points(sequence: &Sequence) -> Vec<Vec<usize>> {
    let opened = |c: usize| (0..sequence.tokens.len()).filter(|&t| sequence.tokens[t][c].opened).collect();
    (0..sequence.channels.len()).map(opened).collect()
}

/// Bits that identify levels by break points: a token number for each.
pub fn break_point_bits(sequence: &Sequence) -> u64 {
    let width = u64::from((sequence.tokens.len() as u64).next_power_of_two().ilog2());
    width * break_points(sequence).iter().map(|b| b.len() as u64).sum::<u64>()
}

/// Level of a channel at token `t`, from its break points.
pub fn level_at(initial: bool, break_points: &[usize], t: usize) -> Option<usize> {
    (usize::from(initial) + break_points.iter().filter(|&&b| b <= t).count()).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::baseline::{Grouping, quantize};
    use super::super::cpq::Config;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let tokens = vec![vec![0, 10], vec![5, 13], vec![0, 100]];
        let sequence = Sequence::encode(Config { bits: 2, max_levels: 4 }, &tokens, 2);
        // Level 0 of both channels, and a level that 100 opens. The prefill's maximum and 100 have labels.
        let expected = Traffic { index: 6, label: 4, values: 4, records: 54 };
        assert_eq!(Traffic::cpq(&sequence), expected);
        assert_eq!(expected.total(), 68);
        assert_eq!(Traffic::pruned(&tokens), Traffic { index: 6, values: 32, ..Traffic::default() });
        assert_eq!(Traffic::plain(6).total(), 48);
        assert_eq!((level_number_bits(&sequence), break_point_bits(&sequence)), (8, 2));
        let grouped = Traffic::grouped(&quantize(&tokens, 2, Grouping::Channel));
        assert_eq!(grouped.records, 36);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// Both ways to identify levels agree.
        #[test]
        fn break_points_imply_levels(
            tokens in (1usize..5).prop_flat_map(|w| prop::collection::vec(prop::collection::vec(any::<i8>(), w), 1..20)),
            prefill in 0usize..6,
        ) {
            let sequence = Sequence::encode(Config { bits: 3, max_levels: 8 }, &tokens, prefill);
            let breaks = break_points(&sequence);
            for (t, token) in sequence.tokens.iter().enumerate() {
                for (c, e) in token.iter().enumerate() {
                    prop_assert_eq!(level_at(sequence.initial[c].is_some(), &breaks[c], t), e.level);
                }
            }
        }
    }
}
