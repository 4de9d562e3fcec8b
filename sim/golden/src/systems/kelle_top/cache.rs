//! What outlives a job: the tokens of each head.

use crate::common::shell::job_controller::code;
use crate::kelle::systolic_evictor::{Candidate, updated, victim};
use crate::systems::job::Codes;
use crate::systems::memory::Memory;
use crate::systems::operand::are_apart;
use crate::systems::pieces;

use super::{Attention, Clear, Counts, Executed, HEAD_BYTES, KelleTop, Operation, Save, Shape, Work};

/// Intervals in cycles, of high bytes and of low bytes; and which scores are high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Lowest high score.
    pub threshold: u32,
    /// Of rows with a high score.
    pub high: [u32; 2],
    /// Of rows with a low one.
    pub low: [u32; 2],
}

/// A cached token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its key: as many elements as a row of the cache has.
    pub key: Vec<i64>,
    /// Its value.
    pub value: Vec<i64>,
    /// Its importance.
    pub score: i64,
}

/// A head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its tokens, the oldest first.
    pub tokens: Vec<Token>,
    /// Nothing of its tokens is known but how many they are.
    pub unknown: bool,
}

impl Head {
    /// From here on only the number of tokens is known.
    pub(super) fn doubt(&mut self) {
        self.unknown = !self.tokens.is_empty();
    }

    /// A query has these products with all tokens: they count as importance. Whether a sum exceeded the top.
    pub(super) fn attend(&mut self, products: &[i64], operation: &Attention, shape: &Shape) -> bool {
        let half = 1i64 << (shape.amount_bits - 1);
        let mut exceeded = false;
        for (token, product) in self.tokens.iter_mut().zip(products) {
            let amount = (product >> operation.shift).clamp(-half, half - 1);
            exceeded |= token.score + amount > shape.top_score();
            token.score = updated(token.score, amount, shape.score_bits);
        }
        exceeded
    }

    /// Tokens go until there is room for one more: of each its distance from the new one.
    pub(super) fn evict(&mut self, operation: &Attention) -> Vec<u64> {
        let mut evicted = Vec::new();
        while self.tokens.len() >= operation.budget {
            let recent = self.tokens.len() - operation.window;
            let protected = |position| position < operation.sink || position >= recent;
            let candidates = self.tokens.iter().enumerate();
            let candidates: Vec<Candidate> =
                candidates.map(|(k, token)| Candidate { score: token.score, protected: protected(k) }).collect();
            // There is one: sink and window together are below the budget.
            let Some(position) = victim(&candidates) else { break };
            evicted.push((self.tokens.len() - position) as u64);
            self.tokens.remove(position);
        }
        evicted
    }

    /// The step ends: the new token enters; scores age if a sum exceeded the top.
    pub(super) fn enter(&mut self, token: Token, exceeded: bool) {
        self.tokens.push(token);
        if exceeded {
            self.tokens.iter_mut().for_each(|token| token.score /= 2);
        }
    }
}

/// All heads.
#[derive(Clone, Debug)]
pub struct Cache {
    pub heads: Vec<Head>,
    pub refresh: Option<Refresh>,
}

impl Cache {
    pub fn new(shape: &Shape) -> Self {
        Self { heads: vec![Head::default(); shape.heads as usize], refresh: None }
    }

    pub fn clear(&mut self, clear: Clear) {
        self.heads[clear.first..clear.first + clear.heads].fill(Head::default());
    }
}

impl KelleTop {
    /// Cached tokens are written to memory.
    pub(super) fn save(&self, operation: Save, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let cache = self.cache.borrow();
        let head = &cache.heads[operation.head];
        let elements = operation.elements as usize;
        for (row, token) in (0..operation.out.rows).zip(&head.tokens[operation.first..]) {
            let mut bytes = vec![0; HEAD_BYTES as usize];
            bytes[..4].copy_from_slice(&(token.score as u32).to_le_bytes());
            let vectors = token.key[..elements].iter().chain(&token.value[..elements]);
            bytes.extend(vectors.flat_map(|&element| (element as i16).to_le_bytes()));
            pieces::store(&operation.out, row, &bytes, memory, &mut codes);
        }
        let codes = codes.all();
        debug_assert!(!codes.contains(&code::OVERFLOW));
        let defined = codes.is_empty() && are_apart(&operation.out) && !head.unknown;
        let operation = Work { operation: Operation::Save(operation), counts: Counts::default() };
        Executed { operation, codes, defined, certain: true, overflows: 0, sum_overflows: 0 }
    }
}
