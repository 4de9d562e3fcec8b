//! Kelle's small caches, and memories that forget, as schemes.

use anyhow::{Context, Result, ensure};
use golden::kelle::decode::Numbers;
use golden::kelle::edram_bank::Distribution;
use golden::kelle::refresh_controller::Intervals;

use super::calibration::{ACCELERATOR, BUDGET, TIMES, budgets, refreshes};
use super::decode::Policy;
use super::language_model::{Forgetful, SmallCache, Stored};
use super::retention::{Refresh, RetainedCache};
use crate::decoder::Matrix;
use crate::decoder::arithmetic::Group;
use crate::decoder::key_values::{Cached, KeyValues};
use crate::schemes::{Bench, Choice, Given, KEPT, Kind, Part, Passage, Prepared, Scheme, Settings, Tally};

/// Most tokens of a head.
const MOST: u64 = 1 << 20;

/// Heads that keep few tokens.
#[derive(Clone, Copy, Debug)]
pub struct Kelle;

/// Which tokens a head keeps, by the word of the option.
const POLICIES: [(&str, Policy); 6] = [
    ("aerp", Policy::Softmax),
    ("products", Policy::Products),
    ("aerp-8", Policy::Hardware(Numbers::EIGHT_BITS)),
    ("aerp-4", Policy::Hardware(Numbers::FOUR_BITS)),
    ("first-and-recent", Policy::SinkAndWindow),
    ("recent", Policy::Window),
];
const POLICY_NAMES: [&str; 6] = {
    let mut names = [""; 6];
    let mut n = 0;
    while n < names.len() {
        names[n] = POLICIES[n].0;
        n += 1;
    }
    names
};

impl Scheme for Kelle {
    fn name(&self) -> &'static str {
        "kelle"
    }

    fn about(&self) -> &'static str {
        "heads that keep few tokens, each query head its own (AERP)"
    }

    fn part(&self) -> Part {
        Part::Tokens
    }

    fn choices(&self) -> Vec<Choice> {
        vec![
            Choice { name: "tokens", default: "128", kind: Kind::Count(2..=MOST), about: "tokens of a head (N')" },
            Choice {
                name: "policy",
                default: "aerp",
                kind: Kind::Word(&POLICY_NAMES),
                about: "which tokens stay: by sums after softmax (aerp), by sums of products, by scores of 8 or 4 bits \
                        as in hardware, the first and the recent ones (StreamingLLM), the recent ones alone",
            },
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let tokens = settings.count("tokens")?;
        let word = settings.word("policy")?;
        let policy = POLICIES.iter().find(|(name, _)| *name == word).map_or(Policy::Softmax, |&(_, policy)| policy);
        let Some(given) = bench.given(ACCELERATOR) else {
            return Ok(Prepared::cache(move |passage, with| {
                with(&mut SmallCache { tokens, policy })?;
                Ok(vec![kept(passage, [tokens])])
            }));
        };
        let budgets = budgets_of(given, tokens)?;
        Ok(Prepared::cache(move |passage, with| {
            with(&mut Budgets { budgets: &budgets, policy })?;
            Ok(vec![kept(passage, budgets.iter().flatten().copied())])
        }))
    }

    fn calibrated_by(&self) -> Option<&'static str> {
        Some(ACCELERATOR)
    }
}

/// Tokens of heads with these budgets at the end of a passage, as a share of its tokens.
fn kept(passage: &Passage<'_>, budgets: impl IntoIterator<Item = usize>) -> Tally {
    let all = passage.tokens.len();
    let (kept, heads) = budgets.into_iter().fold((0, 0), |(kept, heads), tokens| (kept + tokens.min(all), heads + 1));
    Tally::ratio(KEPT, [kept as u64, (heads * all) as u64], 1.0)
}

/// The budgets of a calibration, the largest of which is the option `tokens`.
fn budgets_of(given: &Given, tokens: usize) -> Result<Vec<Vec<usize>>> {
    let budgets = given.named(budgets(given))?;
    let (most, place) = (budgets.iter().flatten().max().copied().unwrap_or_default(), given.file.path.display());
    ensure!(tokens == most, "option `tokens` is {tokens}, wanted is {most}: the largest `{BUDGET}` in {place}");
    Ok(budgets)
}

/// The budget of a group's key head.
fn budget_of(budgets: &[Vec<usize>], group: &Group<'_>) -> Result<usize> {
    let found = budgets.get(group.layer).and_then(|heads| heads.get(group.head));
    found.copied().with_context(|| format!("no budget of head {} in layer {}", group.head, group.layer))
}

/// Key heads with a budget each.
struct Budgets<'a> {
    /// By layer and key head.
    budgets: &'a [Vec<usize>],
    policy: Policy,
}

impl KeyValues for Budgets<'_> {
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let tokens = budget_of(self.budgets, &cached.group)?;
        SmallCache { tokens, policy: self.policy }.attend(cached, queries)
    }
}

/// A full cache whose bits flip.
#[derive(Clone, Copy, Debug)]
pub struct Flips;

fn seed() -> Choice {
    Choice { name: "seed", default: "1", kind: Kind::Count(0..=u64::MAX), about: "seed of random numbers" }
}

impl Scheme for Flips {
    fn name(&self) -> &'static str {
        "flips"
    }

    fn about(&self) -> &'static str {
        "a full cache of 16 bits an element, each of which flips at most once"
    }

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        let rate = |name, about| Choice { name, default: "0", kind: Kind::Number(0.0..=1.0), about };
        vec![
            Choice {
                name: "stored",
                default: "integer",
                kind: Kind::Word(&["integer", "half"]),
                about: "what the 16 bits are: an integer with a scale a head, or binary16",
            },
            rate("high", "probability that a bit of the upper byte flips"),
            rate("low", "probability that a bit of the lower byte flips"),
            seed(),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, _: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let stored = if settings.word("stored")? == "half" { Stored::Half } else { Stored::Integer };
        let (high, low, seed) = (settings.number("high")?, settings.number("low")?, settings.count::<u64>("seed")?);
        Ok(Prepared::cache(move |passage, with| {
            // A passage has flips of its own, whatever was read before it.
            let seed = seed.wrapping_add((passage.number as u64) << 32);
            with(&mut Forgetful::new(stored, high, low, seed))?;
            Ok(Vec::new())
        }))
    }
}

/// Heads that keep few tokens in cells that are refreshed.
#[derive(Clone, Copy, Debug)]
pub struct Refreshed;

impl Scheme for Refreshed {
    fn name(&self) -> &'static str {
        "refreshed"
    }

    fn about(&self) -> &'static str {
        "heads that keep few tokens (AERP), in cells that lose bits between refreshes (2DRP)"
    }

    fn part(&self) -> Part {
        Part::Cache
    }

    fn choices(&self) -> Vec<Choice> {
        let interval = |name, about| Choice { name, default: "0", kind: Kind::Count(0..=1_000_000), about };
        vec![
            Choice {
                name: "tokens",
                default: "0",
                kind: Kind::Count(0..=MOST),
                about: "tokens of a head (N'); 0: all of the text",
            },
            Choice {
                name: "interval",
                default: "45",
                kind: Kind::Count(1..=1_000_000),
                about: "microseconds between refreshes, where no other interval is given",
            },
            interval(TIMES[0], "the same for the upper byte of important tokens; 0: as `interval`"),
            interval(TIMES[1], "the same for their lower byte"),
            interval(TIMES[2], "the same for the upper byte of the other tokens"),
            interval(TIMES[3], "the same for their lower byte"),
            seed(),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (tokens, seed) = (settings.count::<usize>("tokens")?, settings.count("seed")?);
        let all = settings.count::<u64>("interval")?;
        let refresh = |of: [u64; 4]| {
            let [a, b, c, d] = of.map(|nanoseconds| if nanoseconds == 0 { 1000 * all } else { nanoseconds });
            Refresh { msb: Intervals { high: a, low: c }, lsb: Intervals { high: b, low: d } }
        };
        if let Some(given) = bench.given(ACCELERATOR) {
            given.agrees(settings, &TIMES)?;
            let budgets = budgets_of(given, tokens)?;
            let by_layer: Vec<Refresh> = given.named(refreshes(given))?.into_iter().map(refresh).collect();
            return Ok(Prepared::cache(move |passage, with| {
                let mut model = Retained { budgets: &budgets, by_layer: &by_layer, seed, reads: (0, 0) };
                with(&mut model)?;
                Ok(vec![lost(model.reads), kept(passage, budgets.iter().flatten().copied())])
            }));
        }
        let mut intervals = [0; 4];
        for (interval, name) in intervals.iter_mut().zip(TIMES) {
            *interval = 1000 * settings.count::<u64>(name)?;
        }
        let refresh = refresh(intervals);
        Ok(Prepared::cache(move |passage, with| {
            let tokens = if tokens == 0 { passage.tokens.len() } else { tokens };
            let mut model = RetainedCache::new(tokens, refresh, Distribution::tail(), seed);
            with(&mut model)?;
            Ok(vec![lost(model.reads), kept(passage, [tokens])])
        }))
    }

    fn calibrated_by(&self) -> Option<&'static str> {
        Some(ACCELERATOR)
    }

    fn shared(&self) -> &'static [&'static str] {
        &TIMES
    }
}

/// Bits that had flipped, of a million that were read.
fn lost((reads, flipped): (u64, u64)) -> Tally {
    Tally::ratio("lost", [flipped, reads], 1e6)
}

/// Key heads with a budget each, and layers with intervals.
struct Retained<'a> {
    /// By layer and key head.
    budgets: &'a [Vec<usize>],
    by_layer: &'a [Refresh],
    seed: u64,
    /// Bits that were read, and how many of them had flipped.
    reads: (u64, u64),
}

impl KeyValues for Retained<'_> {
    fn attend(&mut self, cached: &Cached<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let group = cached.group;
        let tokens = budget_of(self.budgets, &group)?;
        let refresh =
            self.by_layer.get(group.layer).with_context(|| format!("no intervals of layer {}", group.layer))?;
        let mut cache = RetainedCache::new(tokens, *refresh, Distribution::tail(), self.seed);
        let found = cache.attend(cached, queries)?;
        self.reads = (self.reads.0 + cache.reads.0, self.reads.1 + cache.reads.1);
        Ok(found)
    }
}
