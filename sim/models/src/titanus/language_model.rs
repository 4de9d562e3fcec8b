//! A whole language model with keys and values in the form of Titanus: pruned and quantized (CPQ), level by level
//! (HQE).
//!
//! Every key and value equals the number that the accelerator reads back: int8 with one scale for the tensor of a head,
//! pruned below a threshold, encoded and decoded by the golden models. Tokens of the prefill give the channels their
//! first levels, as in the accelerator. So queries of the prefill read values that depend on the whole prefill.
//! Projections are in floats; the paper has W8A8.

use anyhow::{Context, Result};
use golden::titanus::cpq::{Config, Sequence};
use golden::titanus::pruning_unit::prune;
use golden::titanus::traffic::Traffic;

use super::key_values::threshold_for;
use crate::decoder::Matrix;
use crate::decoder::key_values::{Cached, KeyValues};

/// So many levels that the bound does not matter.
const LEVELS: usize = 64;

/// How keys or values are pruned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pruning {
    /// Numbers below a magnitude of int8 become 0; the same magnitude everywhere.
    Threshold(u32),
    /// The smallest threshold of a head that makes this share of its elements 0.
    Share(f64),
}

/// How the keys and values of a layer are compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Pruning of keys, of values.
    pub pruning: [Pruning; 2],
    /// Bits of keys, of values; `None` leaves int8.
    pub bits: Option<[u32; 2]>,
}

/// A model with compressed keys and values.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// One setting for all layers, or one for each layer.
    settings: Vec<Setting>,
    prefill: usize,
    elements: u64,
    zeros: u64,
    moved: u64,
}

impl Compressed {
    /// Keys and values of so many bits; `None` leaves int8. The `prefill` first tokens are quantized together.
    #[must_use]
    pub fn new(pruning: Pruning, bits: Option<[u32; 2]>, prefill: usize) -> Self {
        Self::by_layer(vec![Setting { pruning: [pruning; 2], bits }], prefill)
    }

    /// The same with a setting for each layer.
    #[must_use]
    pub fn by_layer(settings: Vec<Setting>, prefill: usize) -> Self {
        Self { settings, prefill, elements: 0, zeros: 0, moved: 0 }
    }

    /// Bits that keys and values take off chip, so far, as the paper counts them: index, labels, values, records of
    /// levels.
    #[must_use]
    pub fn moved_bits(&self) -> u64 {
        self.moved
    }

    /// Elements of keys and values, so far.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    fn setting(&self, layer: usize) -> Result<Setting> {
        let setting = if self.settings.len() == 1 { self.settings.first() } else { self.settings.get(layer) };
        setting.copied().with_context(|| format!("{} settings, none for layer {layer}", self.settings.len()))
    }

    /// Elements that pruning made zero, so far.
    #[must_use]
    pub fn zero_elements(&self) -> u64 {
        self.zeros
    }

    /// Share of the elements that pruning made zero, so far.
    #[must_use]
    pub fn zeros(&self) -> f64 {
        self.zeros as f64 / self.elements.max(1) as f64
    }

    /// Keys or values of a head, there and back.
    fn read_back(&mut self, x: &Matrix, side: usize, layer: usize) -> Result<Matrix> {
        let setting = self.setting(layer)?;
        let largest = x.values.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
        let int8 = |row: &[f64]| row.iter().map(|x| (x * 127.0 / largest).round() as i8).collect();
        let tokens: Vec<Vec<i8>> = x.iter().map(int8).collect();
        let threshold = match setting.pruning[side] {
            Pruning::Threshold(threshold) => threshold,
            Pruning::Share(share) => threshold_for(&tokens, share),
        };
        let pruned: Vec<Vec<i8>> =
            tokens.iter().map(|token| token.iter().map(|&x| prune(x, threshold)).collect()).collect();
        self.elements += x.values.len() as u64;
        self.zeros += pruned.iter().flatten().filter(|&&x| x == 0).count() as u64;
        let decoded = match setting.bits {
            None => {
                self.moved += Traffic::pruned(&pruned).total();
                pruned
            }
            Some(bits) => {
                let config = Config { bits: bits[side], max_levels: LEVELS };
                let sequence = Sequence::encode(config, &pruned, self.prefill);
                self.moved += Traffic::cpq(&sequence).total();
                sequence.decode()
            }
        };
        let values = decoded.iter().flatten().map(|&x| f64::from(x) * largest / 127.0).collect();
        Ok(Matrix { columns: x.columns, values })
    }
}

impl KeyValues for Compressed {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        cached.is_whole()?;
        let layer = cached.group.layer;
        let both = [self.read_back(&cached.keys.stored, 0, layer)?, self.read_back(&cached.values.stored, 1, layer)?];
        Ok(cached.replaced(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::titanus::key_values::key_values;
    use sim::stimulus::real_numbers;

    /// The tensors of the study of single heads give the same numbers here.
    #[test]
    fn keys_are_those_of_the_study() {
        let rows: Vec<Vec<f64>> = real_numbers("l14_k_trace").unwrap();
        let (x, study) = (Matrix::from_rows(&rows).unwrap(), key_values(14).unwrap().k);
        let largest = x.values.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let codes = |x: &Matrix| x.values.iter().map(|x| (x * 127.0 / largest).round() as i8).collect::<Vec<_>>();
        let plain = Compressed::new(Pruning::Threshold(0), None, 192).read_back(&x, 0, 0).unwrap();
        assert_eq!(codes(&plain), study.concat());
        let mut compressed = Compressed::new(Pruning::Share(0.3), Some([3, 2]), 192);
        let found = codes(&compressed.read_back(&x, 0, 0).unwrap());
        let pruned = crate::titanus::key_values::prune(&study, threshold_for(&study, 0.3));
        assert_eq!(found, Sequence::encode(Config { bits: 3, max_levels: LEVELS }, &pruned, 192).decode().concat());
        assert!((0.3..0.4).contains(&compressed.zeros()), "{}", compressed.zeros());
        // Values have their own width.
        assert_ne!(found, codes(&compressed.read_back(&x, 1, 0).unwrap()));
    }
}
