//! KIVI (Liu et al. 2024): keys in integers by channel, values by token, and recent tokens as they are.

use std::borrow::Cow;

use anyhow::{Result, ensure};

use crate::WrongRequest;
use crate::decoder::Matrix;
use crate::decoder::key_values::{Cached, KeyValues, Recent, Side};
use crate::schemes::{BYTES, Bench, Choice, Kind, Part, Prepared, Scheme, Settings, Tally};

/// A cache whose old keys and values are integers. The text is decoded token by token.
#[derive(Clone, Copy, Debug)]
pub struct KiviCache {
    /// Bits of a key, of a value.
    pub bits: [u32; 2],
    /// Elements that share a scale: tokens of a channel of keys, channels of a token of values.
    pub group: usize,
    /// Tokens that stay exact: keys until there are so many of them, the last so many values.
    pub residual: usize,
}

/// Codes from the smallest to the largest value (equation 1): `round((x - least) / step)`.
fn round(values: &mut [&mut f64], bits: u32) {
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(**x), h.max(**x)));
    let step = (high - low) / f64::from((1u32 << bits) - 1);
    if step > 0.0 {
        values.iter_mut().for_each(|x| **x = ((**x - low) / step).round_ties_even() * step + low);
    }
}

impl KiviCache {
    /// Keys: groups of tokens of each channel. Tokens behind the last whole residual are exact.
    fn keys(&self, keys: &Matrix) -> Matrix {
        let mut rounded = keys.clone();
        let columns = keys.columns;
        let whole = keys.rows() / self.residual * self.residual;
        for group in rounded.values[..whole * columns].chunks_mut(self.group * columns) {
            for channel in 0..columns {
                let mut of_channel: Vec<&mut f64> = group.iter_mut().skip(channel).step_by(columns).collect();
                round(&mut of_channel, self.bits[0]);
            }
        }
        rounded
    }

    /// Values: groups of channels of each token.
    fn values(&self, values: &Matrix) -> Matrix {
        let mut rounded = values.clone();
        for row in rounded.iter_mut() {
            for group in row.chunks_mut(self.group) {
                round(&mut group.iter_mut().collect::<Vec<_>>(), self.bits[1]);
            }
        }
        rounded
    }

    /// Bits of keys and values of so many tokens in a head of this width at the end of a text. A step and a smallest value
    /// are binary16, as what is exact.
    fn stored(&self, tokens: u64, width: u64) -> u64 {
        let (group, residual) = (self.group as u64, self.residual as u64);
        let keys = tokens / residual * residual;
        let values = tokens.saturating_sub(residual);
        let exact = 16 * width * (2 * tokens - keys - values);
        let [of_key, of_value] = self.bits.map(u64::from);
        exact
            + keys * width * of_key
            + keys / group * width * 32
            + values * (width * of_value + width.div_ceil(group) * 32)
    }
}

impl KeyValues for KiviCache {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        cached.is_whole()?;
        let queries = cached.group.keys.rows();
        let side = |rounded: Matrix, exact: Cow<'a, Matrix>, from: &dyn Fn(usize) -> usize| Side {
            stored: Cow::Owned(rounded),
            recent: Some(Recent { rows: exact, from: (0..queries).map(from).collect() }),
        };
        let (keys, values) = (self.keys(&cached.keys.stored), self.values(&cached.values.stored));
        // Keys become integers when a whole residual of them is there, values one by one (Algorithm 1). A query reads
        // its own token, and the ones before it, as they are then.
        let keys = side(keys, cached.keys.stored, &|query| query / self.residual * self.residual);
        let values = side(values, cached.values.stored, &|query| query.saturating_sub(self.residual));
        Ok(Cached { keys, values, ..cached })
    }
}

/// KIVI's cache as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Kivi;

impl Scheme for Kivi {
    fn name(&self) -> &'static str {
        "kivi"
    }

    fn about(&self) -> &'static str {
        "keys as integers by channel, values by token, and recent tokens as they are (KIVI)"
    }

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        let bits = |name, about| Choice { name, default: "2", kind: Kind::Count(2..=8), about };
        let count = |name, default, about| Choice { name, default, kind: Kind::Count(1..=65_536), about };
        vec![
            bits("keys", "bits of a key"),
            bits("values", "bits of a value"),
            count("group", "32", "elements that share a scale: tokens of keys, channels of values"),
            count("residual", "128", "tokens that stay exact, a multiple of `group`"),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let bits = [settings.count("keys")?, settings.count("values")?];
        let (group, residual): (usize, usize) = (settings.count("group")?, settings.count("residual")?);
        let told =
            || WrongRequest(format!("option `residual` is {residual}, wanted is a multiple of `group`, {group}"));
        ensure!(residual.is_multiple_of(group), told());
        let width = bench.model.config().head_width as u64;
        Ok(Prepared::cache(move |passage, with| {
            let mut cache = KiviCache { bits, group, residual };
            with(&mut cache)?;
            let tokens = passage.tokens.len() as u64;
            Ok(vec![Tally::ratio(BYTES, [cache.stored(tokens, width), 8 * 2 * tokens * width], 1.0)])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::arithmetic::Group;

    /// Four tokens of two channels, groups of two, residual of two.
    #[test]
    fn a_head_by_hand() {
        let keys = Matrix { columns: 2, values: vec![0.0, 10.0, 3.0, 40.0, 1.0, 1.0, 2.0, 2.0, 7.0, 7.0] };
        let values = Matrix { columns: 2, values: vec![0.0, 3.0, 1.1, 4.0, 0.0, 0.0, 5.0, 6.0, 7.0, 7.5] };
        let mut cache = KiviCache { bits: [2, 2], group: 2, residual: 2 };
        let group = Group { layer: 0, head: 0, past: 0, keys: &keys, values: &values };
        let found = cache.store(Cached::exact(group)).unwrap();
        // Two tokens of a channel are the ends of its range: exact. Three values in it need more tokens.
        assert_eq!(found.keys.stored.values, keys.values);
        let wide = KiviCache { group: 4, residual: 4, ..cache };
        // Channel 0: 0, 3, 1, 2 in steps of 1; channel 1: 1 to 40 in steps of 13.
        assert_eq!(wide.keys(&keys).values, [0.0, 14.0, 3.0, 40.0, 1.0, 1.0, 2.0, 1.0, 7.0, 7.0]);
        // Each query reads keys from the last whole residual on as they are, and the last two values before its own.
        assert_eq!(found.keys.recent.unwrap().from, [0, 0, 2, 2, 4]);
        assert_eq!(found.values.recent.unwrap().from, [0, 0, 0, 1, 2]);
        let three = Matrix { columns: 4, values: vec![0.0, 1.2, 3.0, 2.0] };
        let rows = KiviCache { group: 4, ..cache }.values(&three);
        assert_eq!(rows.values, [0.0, 1.0, 3.0, 2.0]);
        // 5 tokens: 4 keys in integers, 3 values; the others exact.
        let bits = 3 * 2 * 16 + (4 * 2 * 2 + 2 * 2 * 32) + 3 * (2 * 2 + 32);
        assert_eq!(cache.stored(5, 2), bits);
    }

    /// What a query reads, in both forms, gives the same attention as row by row.
    #[test]
    fn queries_read_both_forms() {
        let value = |i: usize| ((i * 29) % 31) as f64 / 8.0 - 2.0;
        let matrix = |seed: usize| Matrix { columns: 4, values: (0..48).map(|i| value(i + seed)).collect() };
        let (keys, values, queries) = (matrix(0), matrix(7), matrix(13));
        let group = Group { layer: 0, head: 0, past: 0, keys: &keys, values: &values };
        let mut cache = KiviCache { bits: [2, 2], group: 4, residual: 4 };
        let found = cache.store(Cached::exact(group)).unwrap();
        let attention = found.attention(&queries);
        for query in 0..12 {
            let dot = |row: &[f64]| row.iter().zip(queries.row(query)).map(|(a, b)| a * b).sum::<f64>() / 2.0;
            let scores: Vec<f64> = (0..=query).map(|token| dot(found.keys.row(query, token)).exp()).collect();
            let all: f64 = scores.iter().sum();
            for channel in 0..4 {
                let rows = scores.iter().enumerate();
                let sum: f64 = rows.map(|(token, s)| s / all * found.values.row(query, token)[channel]).sum();
                assert!((attention.row(query)[channel] - sum).abs() < 1e-12, "{query} {channel}");
            }
        }
        assert!(found.keys.row(3, 2) == keys.row(2) && found.keys.row(4, 2) != keys.row(2));
        // With room for all tokens nothing is rounded.
        let exact = KiviCache { residual: 16, ..cache }.store(Cached::exact(group)).unwrap().attention(&queries);
        let wanted = Cached::exact(group).attention(&queries);
        assert!(exact.values.iter().zip(&wanted.values).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
