//! A whole language model whose heads keep few tokens (Tables 2 and 3) in a memory that forgets (Figure 8, Table 4).
//!
//! Each query head has a cache of its own, as in the models of the paper. In our model three query heads share a key
//! head. A query reads the tokens of the head and its own token, which then enters the head. Projections are in floats.
//! The paper keeps keys and values in 16 bits, and so does [`Forgetful`].

use anyhow::{Error, Result};
use golden::kelle::aerp::Head;
use golden::kelle::decode::{Hardware, budget};
use golden::kllm::fp16;
use rand::RngExt;
use sim::stimulus::{StimulusRng, rng_for};

use super::decode::Policy;
use crate::decoder::Matrix;
use crate::decoder::key_values::{Cached, Keeper, KeyValues, attend_kept};

/// A model whose heads keep so many tokens.
#[derive(Clone, Copy, Debug)]
pub struct SmallCache {
    /// Tokens a head keeps (N').
    pub tokens: usize,
    /// How the tokens are chosen.
    pub policy: Policy,
}

impl KeyValues for SmallCache {
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        cached.is_whole()?;
        queries.iter().map(|q| self.head(cached, q)).collect()
    }
}

impl SmallCache {
    fn head(&self, cached: &Cached<'_>, q: &Matrix) -> Result<Matrix> {
        let kept = Kept::new(self.policy, self.tokens, q, &cached.keys.stored)?;
        attend_kept(cached, q, &mut Limited { kept, room: self.tokens })
    }
}

/// Tokens with a limit.
struct Limited {
    kept: Kept,
    room: usize,
}

impl Keeper for Limited {
    fn tokens(&self) -> Vec<usize> {
        self.kept.tokens()
    }

    fn read(&mut self, query: usize, products: &[f64], attention: &[f64]) -> Result<()> {
        let cached = attention.len() - 1;
        self.kept.step(query, &attention[..cached], &products[..cached], self.room)
    }
}

/// The tokens that a head holds.
enum Kept {
    Softmax(Head<f64>),
    Products(Head<f64>),
    Hardware(Box<Hardware>),
    Recent { sink: usize, tokens: Vec<usize> },
}

impl Kept {
    fn new(policy: Policy, tokens: usize, q: &Matrix, k: &Matrix) -> Result<Self> {
        let budget = budget(tokens);
        Ok(match policy {
            Policy::Window => Self::Recent { sink: 0, tokens: Vec::new() },
            Policy::SinkAndWindow => Self::Recent { sink: budget.sink, tokens: Vec::new() },
            Policy::Softmax => Self::Softmax(Head::new(budget)),
            Policy::Products => Self::Products(Head::new(budget)),
            Policy::Hardware(numbers) => {
                let hardware = Hardware::new(eight_bits(q), eight_bits(k), budget, numbers).map_err(Error::msg)?;
                Self::Hardware(Box::new(hardware))
            }
        })
    }

    fn tokens(&self) -> Vec<usize> {
        match self {
            Self::Softmax(head) | Self::Products(head) => head.kept().iter().map(|kept| kept.token).collect(),
            Self::Hardware(hardware) => hardware.tokens().to_vec(),
            Self::Recent { tokens, .. } => tokens.clone(),
        }
    }

    /// A query has read the cached tokens. Its own token enters.
    fn step(&mut self, query: usize, attention: &[f64], products: &[f64], room: usize) -> Result<()> {
        let protected = || Error::msg(format!("a cache of {room} tokens protects all of them"));
        match self {
            Self::Softmax(head) => {
                head.attend(attention);
                head.insert().map_err(|_| protected())?;
            }
            Self::Products(head) => {
                head.attend(products);
                head.insert().map_err(|_| protected())?;
            }
            Self::Hardware(hardware) => drop(hardware.step(query).map_err(|_| protected())?),
            Self::Recent { sink, tokens } => {
                tokens.push(query);
                if tokens.len() > room {
                    tokens.remove((*sink).min(room));
                }
            }
        }
        Ok(())
    }
}

/// Numbers as the array multiplies them: 8 bits, one scale for all tokens of the head.
fn eight_bits(x: &Matrix) -> Vec<Vec<i64>> {
    let largest = x.values.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    x.iter().map(|row| row.iter().map(|x| (x / largest * 127.0).round() as i64).collect()).collect()
}

/// The 16 bits of a key's or a value's element. The paper does not say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// binary16: a flip in the exponent is a factor of up to 2^16.
    Half,
    /// An integer in two's complement, one scale for a head's keys or values: a flip is at most half of the range.
    Integer,
}

/// Keys and values whose bits may flip while they wait: each bit at most once, with these probabilities.
#[derive(Clone, Debug)]
pub struct Forgetful {
    /// The format of the 16 bits.
    pub stored: Stored,
    /// Probability for bits 15 to 8.
    pub high: f64,
    /// Probability for bits 7 to 0.
    pub low: f64,
    rng: StimulusRng,
}

impl Forgetful {
    /// Flips drawn from a seed.
    #[must_use]
    pub fn new(stored: Stored, high: f64, low: f64, seed: u64) -> Self {
        Self { stored, high, low, rng: rng_for(seed, "retention failures") }
    }

    fn read_back(&mut self, x: &Matrix) -> Matrix {
        let largest = x.values.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
        let unit = largest / 32767.0;
        let mut stored = x.clone();
        for value in &mut stored.values {
            *value = match self.stored {
                Stored::Half => {
                    let bits = u64::from(self.flipped(fp16::from_f64(*value) as u16));
                    // An infinity or a NaN would make the whole text useless. The largest number takes its place.
                    fp16::value(if fp16::is_finite(bits) { bits } else { bits & 0x8000 | fp16::LARGEST })
                }
                Stored::Integer => {
                    let code = (*value / unit).round_ties_even() as i16;
                    f64::from(self.flipped(code as u16) as i16) * unit
                }
            };
        }
        stored
    }

    fn flipped(&mut self, bits: u16) -> u16 {
        (0..16).fold(bits, |bits, bit| {
            let probability = if bit >= 8 { self.high } else { self.low };
            if self.rng.random_range(0.0..1.0) < probability { bits ^ 1 << bit } else { bits }
        })
    }
}

impl KeyValues for Forgetful {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        let both = [self.read_back(&cached.keys.stored), self.read_back(&cached.values.stored)];
        Ok(cached.replaced(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::arithmetic::Group;
    use crate::decoder::{Arithmetic, Float};
    use crate::kelle::decode::{Trace, run};
    use golden::kelle::decode::Numbers;

    fn matrix(rows: &[Vec<f64>]) -> Matrix {
        Matrix::from_rows(rows).unwrap()
    }

    fn group<'a>(keys: &'a Matrix, values: &'a Matrix) -> Group<'a> {
        Group { layer: 0, head: 0, past: 0, keys, values }
    }

    /// With room for all tokens attention does not change. With less room the error equals the study of single heads.
    #[test]
    fn a_head_is_that_of_the_study() {
        let trace = Trace::read(14, 0).unwrap();
        let (q, k, v) = (matrix(&trace.q), matrix(&trace.k), matrix(&trace.v));
        let full = Float.attention(group(&k, &v), std::slice::from_ref(&q)).unwrap().remove(0);
        use Policy::{Hardware, Products, SinkAndWindow, Softmax, Window};
        for policy in [Window, Softmax, Hardware(Numbers::EIGHT_BITS)] {
            let mut room = SmallCache { tokens: 384, policy };
            let same = room.attention(group(&k, &v), std::slice::from_ref(&q)).unwrap().remove(0);
            let distance = same.values.iter().zip(&full.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(distance < 1e-12, "{policy:?} {distance}");
        }
        for policy in [Window, SinkAndWindow, Softmax, Products, Hardware(Numbers::FOUR_BITS)] {
            let few = SmallCache { tokens: 64, policy }.head(&Cached::exact(group(&k, &v)), &q).unwrap();
            let error = |row: usize| -> f64 {
                let of = |f: &dyn Fn(usize) -> f64| (0..64).map(|c| f(c).powi(2)).sum::<f64>();
                (of(&|c| few.row(row)[c] - full.row(row)[c]) / of(&|c| full.row(row)[c])).sqrt()
            };
            let mean = (64..384).map(error).sum::<f64>() / 320.0;
            let wanted = run(&trace, &trace.full(), 64, policy).unwrap().error;
            assert!((mean - wanted).abs() < 1e-9, "{policy:?}: {mean}, the study has {wanted}");
        }
        let mut later = SmallCache { tokens: 64, policy: Window };
        assert!(later.attention(Group { past: 1, ..group(&k, &v) }, &[q]).is_err());
    }

    #[test]
    fn bits_flip_as_often_as_they_should() {
        let x = Matrix { columns: 100, values: (0..10_000).map(|i| f64::from(i) / 64.0).collect() };
        let exact = Forgetful::new(Stored::Half, 0.0, 0.0, 1).read_back(&x);
        assert!(exact.values.iter().zip(&x.values).all(|(a, &b)| *a == fp16::value(fp16::from_f64(b))));
        let rounded = Forgetful::new(Stored::Integer, 0.0, 0.0, 1).read_back(&x);
        assert!(rounded.values.iter().zip(&x.values).all(|(a, b)| (a - b).abs() <= 10_000.0 / 64.0 / 32767.0));
        let flipped = |high, low, mask: u64| {
            let stored = Forgetful::new(Stored::Half, high, low, 1).read_back(&x);
            let flips = stored
                .values
                .iter()
                .zip(&exact.values)
                .map(|(&a, &b)| ((fp16::from_f64(a) ^ fp16::from_f64(b)) & mask).count_ones());
            f64::from(flips.sum::<u32>()) / 80_000.0
        };
        // 80,000 bits: a standard deviation of 0.001 at 0.1. Flips that would make an infinity are left out.
        assert!((flipped(0.0, 0.1, 0x00ff) - 0.1).abs() < 0.005 && flipped(0.0, 0.1, 0xff00) == 0.0);
        let high = flipped(0.1, 0.0, 0xff00);
        assert!((0.08..0.105).contains(&high), "{high}");
        let again = || Forgetful::new(Stored::Integer, 0.1, 0.1, 7).read_back(&x);
        assert_eq!(again(), again());
        // A flip of the highest bit is half of the range. A flip in the low byte is less than 256 steps.
        let furthest = |high, low| {
            let stored = Forgetful::new(Stored::Integer, high, low, 1).read_back(&x);
            stored.values.iter().zip(&x.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) * 64.0 * 32767.0
                / 9999.0
        };
        assert!(furthest(0.1, 0.0) > 32_000.0 && furthest(0.0, 0.1) < 256.0);
    }
}
