//! State that outlives a job: the tokens of each head.

use crate::kelle::systolic_evictor::{Candidate, updated, victim};

use super::operation::{Attention, Clear, Refresh};
use super::shape::Shape;

/// A cached token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its key: as many elements as a row of the cache has.
    pub key: Vec<i64>,
    /// Its value.
    pub value: Vec<i64>,
    /// Its importance.
    pub score: i64,
    /// The number of tokens that entered its head before it, modulo 2^16.
    pub number: u16,
    /// The slot, if the token is kept as its input. Key and value are then recomputed for each operation.
    pub slot: Option<u32>,
}

/// A head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its tokens, the oldest first.
    pub tokens: Vec<Token>,
    /// Only the number of its tokens is known.
    pub unknown: bool,
    /// It is also unknown which tokens have a slot.
    pub slots_unknown: bool,
    /// Tokens that entered the head, modulo 2^16.
    pub entered: u16,
}

impl Head {
    /// From here on only the number of tokens is known.
    pub(super) fn doubt(&mut self) {
        self.unknown = !self.tokens.is_empty();
        let any = self.tokens.iter().any(|token| token.slot.is_some());
        self.slots_unknown = self.unknown && (self.slots_unknown || any);
    }

    /// The token of a slot, if there is one.
    pub(super) fn token_of(&mut self, slot: u32) -> Option<&mut Token> {
        self.tokens.iter_mut().find(|token| token.slot == Some(slot))
    }

    /// Whether a token has a slot outside the first `slots` slots, so its key and value do not come.
    pub(super) fn stays_away(&self, slots: u32) -> bool {
        !self.slots_unknown && self.tokens.iter().any(|token| token.slot.is_some_and(|slot| slot >= slots))
    }

    /// Adds the products of a query with all tokens to their importance. Returns whether a sum exceeded the top.
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

    /// Evicts tokens until one more has room. Returns the distance of each evicted token from the new one.
    pub(super) fn evict(&mut self, operation: &Attention) -> Vec<u64> {
        let mut evicted = Vec::new();
        while self.tokens.len() >= operation.budget {
            let recent = self.tokens.len() - operation.window;
            let protected = |position| position < operation.sink || position >= recent;
            let candidates = self.tokens.iter().enumerate();
            let candidates: Vec<Candidate> =
                candidates.map(|(k, token)| Candidate { score: token.score, protected: protected(k) }).collect();
            // There is a candidate: sink and window together are below the budget.
            let Some(position) = victim(&candidates) else { break };
            evicted.push((self.tokens.len() - position) as u64);
            self.tokens.remove(position);
        }
        evicted
    }

    /// The step ends: the new token enters; scores age if a sum exceeded the top.
    pub(super) fn enter(&mut self, token: Token, exceeded: bool) {
        self.tokens.push(token);
        self.entered = self.entered.wrapping_add(1);
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
