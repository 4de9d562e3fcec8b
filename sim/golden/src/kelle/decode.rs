//! AERP with the hardware's numbers: decoding with the golden models of score file, evictor and map together.

use super::aerp::Budget;
use super::eviction_controller::{Map, Refusal, StoredAs};
use super::score_register_file::ScoreFile;
use super::systolic_evictor::{Candidate, victim};

/// Widths of the hardware's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Bits of a score.
    pub score_width: u32,
    /// Bits of the amount that is added to a score.
    pub amount_width: u32,
    /// Low bits that products lose.
    pub shift: u32,
}

impl Numbers {
    /// The paper's scores of 4 bits.
    pub const FOUR_BITS: Self = Self { score_width: 4, amount_width: 5, shift: 9 };
    /// Scores of twice as many bits.
    pub const EIGHT_BITS: Self = Self { score_width: 8, amount_width: 9, shift: 9 };
    /// Scores with almost no loss.
    pub const WIDE: Self = Self { score_width: 24, amount_width: 20, shift: 2 };

    /// The amount that a product adds to a score.
    #[must_use]
    pub fn amount(self, product: i64) -> i64 {
        let half = 1i64 << (self.amount_width - 1);
        (product >> self.shift).clamp(-half, half - 1)
    }
}

/// The paper's budget: half of the cache for recent tokens, and 10 places for the first tokens; fewer if nothing would
/// remain.
#[must_use]
pub fn budget(tokens: usize) -> Budget {
    Budget { tokens, sink: 10.min(tokens / 4), window: tokens / 2 }
}

/// AERP with the hardware's numbers, from the golden models of its parts.
pub struct Hardware {
    numbers: Numbers,
    file: ScoreFile,
    map: Map,
    q: Vec<Vec<i64>>,
    k: Vec<Vec<i64>>,
    /// Tokens in order of age.
    tokens: Vec<usize>,
}

impl Hardware {
    /// An empty cache for the queries and keys of a text.
    ///
    /// # Errors
    /// The score file refuses the widths.
    pub fn new(q: Vec<Vec<i64>>, k: Vec<Vec<i64>>, budget: Budget, numbers: Numbers) -> Result<Self, String> {
        let file = ScoreFile::new(budget.tokens, numbers.score_width)?;
        let map = Map::new(budget.tokens, budget.sink, budget.window);
        Ok(Self { numbers, file, map, q, k, tokens: Vec::new() })
    }

    /// The cached tokens, the oldest first.
    #[must_use]
    pub fn tokens(&self) -> &[usize] {
        &self.tokens
    }

    /// Their slots.
    #[must_use]
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The score of a slot.
    #[must_use]
    pub fn score(&self, slot: usize) -> i64 {
        self.file.score(slot).unwrap_or(0)
    }

    /// The amounts that a query adds to the scores, in order of age.
    #[must_use]
    pub fn amounts(&self, query: usize) -> Vec<i64> {
        self.tokens.iter().map(|&t| self.numbers.amount(product(&self.q[query], &self.k[t]))).collect()
    }

    /// The step of a query, after which its token enters. Returns the victim's position in the order of age.
    ///
    /// # Errors
    /// All tokens are protected.
    pub fn step(&mut self, query: usize) -> Result<Option<usize>, Refusal> {
        let slots: Vec<usize> = self.map.entries().iter().map(|e| e.slot).collect();
        for (amount, &slot) in self.amounts(query).into_iter().zip(&slots) {
            self.file.add(slot, amount);
        }
        let candidate = |(position, &slot): (usize, &usize)| Candidate {
            score: self.score(slot),
            protected: self.map.is_protected(position),
        };
        let candidates: Vec<_> = slots.iter().enumerate().map(candidate).collect();
        let position = if self.map.is_full() { victim(&candidates) } else { None };
        let slot = self.map.insert(position, StoredAs::Kv)?;
        if let Some(position) = position {
            self.tokens.remove(position);
        }
        self.tokens.push(query);
        self.file.set(slot);
        self.file.step();
        Ok(position)
    }
}

fn product(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
