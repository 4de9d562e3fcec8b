//! Rotary embedding (RoFormer, Su et al. 2021): how fast each pair of elements turns.

use std::f64::consts::TAU;

use anyhow::{Result, ensure};

/// How the angles of a model differ from `position * base^(-2i / width)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// They do not.
    None,
    /// All positions are divided by a factor (Chen et al. 2023).
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Llama 3: slow pairs are divided by a factor, and pairs of middle speed by a part of it.
    Llama3 {
        /// The factor.
        factor: f64,
        /// A pair is slow if it turns fewer times than this in the original context.
        low: f64,
        /// A pair is fast if it turns more often than this in the original context.
        high: f64,
        /// Tokens of the context before scaling.
        original: f64,
    },
    /// `YaRN` (Peng et al. 2023): a ramp between pairs that are divided by a factor and pairs that are not.
    Yarn {
        /// The factor.
        factor: f64,
        /// Turns in the original context from which on a pair keeps its speed.
        fast: f64,
        /// Turns in the original context below which a pair is divided by the factor.
        slow: f64,
        /// Tokens of the context before scaling.
        original: f64,
        /// Factor of queries and keys after they are turned.
        attention: f64,
        /// Whether the ends of the ramp are rounded to whole pairs.
        whole: bool,
    },
}

impl Scaling {
    /// `YaRN`'s own factor of queries and keys: `0.1 ln(factor) + 1`.
    #[must_use]
    pub fn yarn_attention(factor: f64) -> f64 {
        if factor > 1.0 { 0.1 * factor.ln() + 1.0 } else { 1.0 }
    }
}

/// Base and scaling of a model's rotary embedding.
///
/// ```
/// use models::decoder::{Rotary, Scaling};
///
/// let rotary = Rotary { base: 10_000.0, scaling: Scaling::Linear { factor: 4.0 } };
/// // Radians a token, for heads of four elements.
/// assert_eq!(rotary.frequencies(4), [0.25, 0.0025]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// Base of the angles.
    pub base: f64,
    /// Scaling to longer texts.
    pub scaling: Scaling,
}

impl Rotary {
    /// Angles of a model without scaling.
    #[must_use]
    pub fn plain(base: f64) -> Self {
        Self { base, scaling: Scaling::None }
    }

    /// Radians that each pair of elements of a head of `width` turns a token.
    #[must_use]
    pub fn frequencies(&self, width: usize) -> Vec<f64> {
        let plain = (0..width / 2).map(|i| self.base.powf(-((2 * i) as f64) / width as f64));
        match self.scaling {
            Scaling::None => plain.collect(),
            Scaling::Linear { factor } => plain.map(|f| f / factor).collect(),
            Scaling::Llama3 { factor, low, high, original } => {
                let scaled = |f: f64| {
                    let turns = original * f / TAU;
                    if turns > high {
                        f
                    } else if turns < low {
                        f / factor
                    } else {
                        let part = (turns - low) / (high - low);
                        (1.0 - part) * f / factor + part * f
                    }
                };
                plain.map(scaled).collect()
            }
            Scaling::Yarn { factor, fast, slow, original, whole, .. } => {
                // The pair that turns so many times in the original context.
                let pair = |turns: f64| width as f64 * (original / (turns * TAU)).ln() / (2.0 * self.base.ln());
                let (mut from, mut to) = (pair(fast), pair(slow));
                if whole {
                    (from, to) = (from.floor(), to.ceil());
                }
                (from, to) = (from.max(0.0), to.min(width as f64 - 1.0));
                // A ramp of no width would be divided by.
                let length = if from == to { 0.001 } else { to - from };
                let scaled = |(i, f): (usize, f64)| {
                    let part = ((i as f64 - from) / length).clamp(0.0, 1.0);
                    f / factor * part + f * (1.0 - part)
                };
                plain.enumerate().map(scaled).collect()
            }
        }
    }

    /// Factor of queries and keys after they are turned.
    #[must_use]
    pub fn factor(&self) -> f64 {
        if let Scaling::Yarn { attention, .. } = self.scaling { attention } else { 1.0 }
    }

    pub(super) fn check(&self) -> Result<()> {
        let positive = |what: &str, x: f64| {
            ensure!(x.is_finite() && x > 0.0, "rotary {what} {x}, wanted is a positive number");
            Ok(())
        };
        positive("base", self.base)?;
        match self.scaling {
            Scaling::None => {}
            Scaling::Linear { factor } => positive("factor", factor)?,
            Scaling::Llama3 { factor, low, high, original } => {
                positive("factor", factor)?;
                positive("original context", original)?;
                ensure!(low < high, "rotary low frequency factor {low}, wanted is less than the high one, {high}");
            }
            Scaling::Yarn { factor, fast, slow, original, attention, .. } => {
                positive("factor", factor)?;
                positive("original context", original)?;
                positive("attention factor", attention)?;
                positive("slow turns", slow)?;
                ensure!(self.base > 1.0, "rotary base {}, wanted is more than 1 for yarn", self.base);
                ensure!(slow <= fast, "rotary slow turns {slow}, wanted are at most the fast ones, {fast}");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llama_3_by_hand() {
        // Pairs that turn 8, 3, 2 and 1/4 times in the original context, with 1 and 4 as bounds.
        let scaling = Scaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 64.0 };
        let turns = |f: f64| f * 64.0 / TAU;
        let found = |wanted: f64| {
            let base = (wanted * TAU / 64.0).powi(-2);
            turns(Rotary { base, scaling }.frequencies(4)[1])
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(found(8.0), 8.0);
        near(found(3.0), 3.0 / 8.0 / 3.0 + 3.0 * 2.0 / 3.0);
        near(found(2.0), 2.0 / 8.0 * 2.0 / 3.0 + 2.0 / 3.0);
        near(found(0.25), 0.25 / 8.0);
    }

    #[test]
    fn yarn_keeps_fast_pairs_and_divides_slow_ones() {
        let attention = Scaling::yarn_attention(4.0);
        let scaling = Scaling::Yarn { factor: 4.0, fast: 8.0, slow: 1.0, original: 128.0, attention, whole: true };
        let (yarn, plain) = (Rotary { base: 1e4, scaling }, Rotary::plain(1e4));
        let ratios: Vec<f64> =
            plain.frequencies(32).iter().zip(yarn.frequencies(32)).map(|(plain, yarn)| plain / yarn).collect();
        // Pairs 1 to 6: 128 / (8 * 2 pi) and 128 / (2 pi) as exponents of the base.
        assert!(ratios[..2].iter().all(|&r| r == 1.0) && ratios[6..].iter().all(|&r| (r - 4.0).abs() < 1e-12));
        assert!(ratios[1..7].is_sorted_by(|a, b| a < b), "{ratios:?}");
        assert_eq!((yarn.factor(), plain.factor()), (0.1 * 4_f64.ln() + 1.0, 1.0));
    }

    #[test]
    fn what_is_refused() {
        let refused = |base: f64, scaling: Scaling| Rotary { base, scaling }.check().unwrap_err().to_string();
        assert!(refused(-1.0, Scaling::None).contains("rotary base -1"));
        assert!(refused(1e4, Scaling::Linear { factor: 0.0 }).contains("rotary factor 0"));
        let llama = Scaling::Llama3 { factor: 8.0, low: 4.0, high: 1.0, original: 64.0 };
        assert!(refused(1e4, llama).contains("low frequency factor 4"));
        let yarn = |slow| Scaling::Yarn { factor: 2.0, fast: 32.0, slow, original: 64.0, attention: 1.0, whole: true };
        assert!(refused(1e4, yarn(64.0)).contains("slow turns 64"));
        assert!(refused(1.0, yarn(1.0)).contains("more than 1 for yarn"));
    }
}
