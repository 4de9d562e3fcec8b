//! Caches that keep some tokens: heavy hitters and recent ones (H2O), or first and recent ones (`StreamingLLM`).

use anyhow::{Result, ensure};

use crate::WrongRequest;
use crate::decoder::Matrix;
use crate::decoder::key_values::{Cached, Keeper, KeyValues, attend_kept};
use crate::schemes::{Bench, Choice, KEPT, Kind, Part, Passage, Prepared, Scheme, Settings, Tally};

/// Which tokens of a query head stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Tokens with the largest sums of attention, of the ones that are not recent (H2O, Zhang et al. 2023, Algorithm 1).
    Heavy,
    /// The first tokens (`StreamingLLM`, Xiao et al. 2024, section 3.2). Here keys stay turned by their place in the
    /// text; the paper counts places within the cache.
    First,
}

/// A cache in which each query head keeps some tokens.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Tokens of a head.
    pub tokens: usize,
    /// The last ones of them, which stay.
    pub recent: usize,
    /// Which others stay.
    pub policy: Policy,
}

/// The tokens of a head, the oldest first, with the attention that they got so far.
struct Tokens {
    of: Kept,
    places: Vec<usize>,
    sums: Vec<f64>,
}

impl Keeper for Tokens {
    fn tokens(&self) -> Vec<usize> {
        self.places.clone()
    }

    /// The query's own token enters, with the attention that it gave itself.
    fn read(&mut self, query: usize, _: &[f64], attention: &[f64]) -> Result<()> {
        self.places.push(query);
        self.sums.push(0.0);
        self.sums.iter_mut().zip(attention).for_each(|(sum, a)| *sum += a);
        if self.places.len() > self.of.tokens {
            let old = self.places.len() - self.of.recent;
            let evicted = match self.of.policy {
                Policy::Heavy => (0..old).min_by(|&a, &b| self.sums[a].total_cmp(&self.sums[b])),
                Policy::First => old.checked_sub(1),
            };
            let evicted = evicted.unwrap_or_default();
            self.places.remove(evicted);
            self.sums.remove(evicted);
        }
        Ok(())
    }
}

impl KeyValues for Kept {
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        cached.is_whole()?;
        let keeper = || Tokens { of: *self, places: Vec::new(), sums: Vec::new() };
        queries.iter().map(|q| attend_kept(cached, q, &mut keeper())).collect()
    }
}

fn tokens() -> Choice {
    Choice { name: "tokens", default: "512", kind: Kind::Count(2..=1 << 20), about: "tokens that a query head keeps" }
}

/// Makes the scheme, and tells how many tokens it keeps.
fn prepared<'a>(kept: Kept) -> Prepared<'a> {
    Prepared::cache(move |passage: &Passage<'_>, with| {
        with(&mut { kept })?;
        let all = passage.tokens.len();
        Ok(vec![Tally::ratio(KEPT, [kept.tokens.min(all) as u64, all as u64], 1.0)])
    })
}

/// Heavy hitters and recent tokens.
#[derive(Clone, Copy, Debug)]
pub struct HeavyHitters;

impl Scheme for HeavyHitters {
    fn name(&self) -> &'static str {
        "h2o"
    }

    fn about(&self) -> &'static str {
        "heads keep recent tokens, and the ones with the largest sums of attention (H2O)"
    }

    fn part(&self) -> Part {
        Part::Tokens
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "share of these tokens that are the recent ones";
        vec![tokens(), Choice { name: "recent", default: "50", kind: Kind::Percent(0.0..=100.0), about }]
    }

    fn prepare<'a>(&self, settings: &Settings, _: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let tokens: usize = settings.count("tokens")?;
        let recent = tokens * settings.percent("recent")? as usize / 10_000;
        // The token that enters is one of the recent ones.
        Ok(prepared(Kept { tokens, recent: recent.max(1), policy: Policy::Heavy }))
    }
}

/// First and recent tokens.
#[derive(Clone, Copy, Debug)]
pub struct Window;

impl Scheme for Window {
    fn name(&self) -> &'static str {
        "window"
    }

    fn about(&self) -> &'static str {
        "heads keep the first tokens and the recent ones (StreamingLLM)"
    }

    fn part(&self) -> Part {
        Part::Tokens
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "first tokens of the text that stay (sinks); with 0 only recent ones do";
        vec![tokens(), Choice { name: "sinks", default: "4", kind: Kind::Count(0..=1 << 20), about }]
    }

    fn prepare<'a>(&self, settings: &Settings, _: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (tokens, sinks): (usize, usize) = (settings.count("tokens")?, settings.count("sinks")?);
        let told = || WrongRequest(format!("option `sinks` is {sinks}, wanted is less than `tokens`, {tokens}"));
        ensure!(sinks < tokens, told());
        Ok(prepared(Kept { tokens, recent: tokens - sinks, policy: Policy::First }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::arithmetic::Group;

    fn run(of: Kept, attention: &[&[f64]]) -> Vec<Vec<usize>> {
        let mut tokens = Tokens { of, places: Vec::new(), sums: Vec::new() };
        let mut seen = Vec::new();
        for (query, attention) in attention.iter().enumerate() {
            tokens.read(query, attention, attention).unwrap();
            seen.push(tokens.tokens());
        }
        seen
    }

    /// Three tokens, of which the last one stays anyway. Sums after four queries: 1 + 0.1 + 0.3 + 0.1, 0.9 + 0.1 + 0.2,
    /// 0.6 + 0.1 and 0.6: token 2 leaves, as token 3 is recent.
    #[test]
    fn heavy_hitters_by_hand() {
        let attention: [&[f64]; 5] =
            [&[1.0], &[0.1, 0.9], &[0.3, 0.1, 0.6], &[0.1, 0.2, 0.1, 0.6], &[0.0, 0.0, 0.5, 0.5]];
        let heavy = Kept { tokens: 3, recent: 1, policy: Policy::Heavy };
        assert_eq!(
            run(heavy, &attention),
            [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 3], vec![0, 1, 4]][..4]
                .iter()
                .cloned()
                .chain([vec![0, 1, 4]])
                .collect::<Vec<_>>()
        );
        // With two recent ones token 1 leaves instead: 1.2 is less than 1.5.
        let recent = Kept { recent: 2, ..heavy };
        assert_eq!(run(recent, &attention)[3], [0, 2, 3]);
        let first = Kept { tokens: 3, recent: 2, policy: Policy::First };
        assert_eq!(run(first, &attention)[2..], [vec![0, 1, 2], vec![0, 2, 3], vec![0, 3, 4]]);
        let window = Kept { tokens: 3, recent: 3, policy: Policy::First };
        assert_eq!(run(window, &attention)[4], [2, 3, 4]);
    }

    /// With room for all tokens nothing changes; a window of some reads nothing else.
    #[test]
    fn attention_to_kept_tokens() {
        let value = |i: usize| ((i * 29) % 31) as f64 / 8.0 - 2.0;
        let matrix = |seed: usize| Matrix { columns: 4, values: (0..48).map(|i| value(i + seed)).collect() };
        let (mut keys, values, queries) = (matrix(0), matrix(7), matrix(13));
        let of = |keys: &Matrix, mut kept: Kept| {
            let group = Group { layer: 0, head: 0, past: 0, keys, values: &values };
            kept.attend(&Cached::exact(group), std::slice::from_ref(&queries)).unwrap().remove(0)
        };
        let group = Group { layer: 0, head: 0, past: 0, keys: &keys, values: &values };
        let wanted = Cached::exact(group).attention(&queries);
        for policy in [Policy::Heavy, Policy::First] {
            let all = of(&keys, Kept { tokens: 12, recent: 6, policy });
            assert!(all.values.iter().zip(&wanted.values).all(|(a, b)| (a - b).abs() < 1e-12), "{policy:?}");
        }
        // The last query reads tokens 0 and 8 to 11: others may be anything.
        let window = Kept { tokens: 4, recent: 3, policy: Policy::First };
        let before = of(&keys, window);
        keys.values[4 * 4..8 * 4].fill(100.0);
        assert_eq!(of(&keys, window).row(11), before.row(11));
        keys.values[8 * 4] += 1.0;
        assert_ne!(of(&keys, window).row(11), before.row(11));
    }
}
