//! Tokens enter a head, one after the other, and their queries attend to the head.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;

use super::cache::{Head, Token};
use super::numbers::{integers, product, result, some_saturate, weight};
use super::{Attention, Counts, Executed, KelleTop, Operation, Shown, Work};

/// A bias of +0.
const NO_BIAS: u32 = 0;

/// A token that arrives.
struct Arrival {
    /// Its queries, of all query heads.
    queries: Vec<Vec<i64>>,
    key: Vec<i64>,
    value: Vec<i64>,
}

/// The results of a query.
struct Attended {
    results: Vec<u16>,
    overflows: u64,
}

impl KelleTop {
    /// Attention of all tokens. Operands are checked after an error, too.
    pub(super) fn attend(&self, operation: Attention, memory: &mut dyn Memory) -> Executed {
        self.watched(operation, memory, &mut Vec::new())
    }

    /// The same. `evicted` gets for each token the distances of the tokens that it evicts, each distance at its
    /// eviction.
    pub(super) fn watched(
        &self,
        operation: Attention,
        memory: &mut dyn Memory,
        evicted: &mut Vec<Vec<u64>>,
    ) -> Executed {
        let mut codes = Codes::default();
        let (mut overflows, mut counts) = (0, Counts::default());
        let mut cache = self.cache.borrow_mut();
        let head = &mut cache.heads[operation.head];
        // After a token that could not be read nothing is known of the head.
        let mut whole = self.come_again(&operation, head, &mut counts, memory, &mut codes);
        for row in 0..operation.queries.rows {
            let arrival = self.arrival(&operation, row, &mut counts, memory, &mut codes);
            let (Some(arrival), true) = (arrival, whole) else {
                whole = false;
                continue;
            };
            let (attended, distances) = self.step(&operation, head, arrival);
            counts.evictions += distances.len() as u64;
            evicted.push(distances);
            let special: u64 = attended.iter().map(|query| query.overflows).sum();
            overflows += special;
            if operation.exact && special > 0 {
                codes.note(code::OVERFLOW);
            }
            let results = attended.iter().flat_map(|query| &query.results);
            let bytes: Vec<u8> = results.flat_map(|y| y.to_le_bytes()).collect();
            pieces::store(&operation.out, row, &bytes, memory, &mut codes);
        }
        if operation.exact && counts.saturations > 0 {
            codes.note(code::OVERFLOW);
        }
        let codes = codes.all();
        let known = operation.is_defined() && !head.unknown;
        // With a slot that keeps away it would have been refused.
        let certain = (known || !operation.exact) && !head.slots_unknown;
        if !codes.is_empty() {
            *head = Head::default();
        }
        let defined = codes.is_empty() && known;
        let operation = Work { operation: Operation::Attention(operation), counts };
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }

    /// Loads recomputed keys and values of tokens with a slot. Returns whether all rows could be read. The values of a
    /// slot without a token do not count.
    fn come_again(
        &self,
        operation: &Attention,
        head: &mut Head,
        counts: &mut Counts,
        memory: &mut dyn Memory,
        codes: &mut Codes,
    ) -> bool {
        let mut whole = true;
        let width = self.shape.width as usize;
        for slot in 0..operation.again {
            let token = head.token_of(slot);
            let [_, of_keys, of_values] = operation.quantizers;
            let mut load = |rows, quantizer| {
                let loaded = Loaded::row(rows, slot.into(), memory, codes);
                if token.is_some() && loaded.whole().is_none() && operation.exact && some_saturate(&loaded, quantizer) {
                    codes.note(code::OVERFLOW);
                }
                let (mut integers, saturated) = integers(loaded.whole()?, quantizer);
                integers.resize(width, 0);
                Some((integers, saturated))
            };
            let (key, value) = (load(&operation.keys, of_keys), load(&operation.values, of_values));
            let (Some((key, more)), Some((value, also))) = (key, value) else {
                whole = false;
                continue;
            };
            if let Some(token) = token {
                counts.saturations += more + also;
                let before = [std::mem::replace(&mut token.key, key), std::mem::replace(&mut token.value, value)];
                if let Some(replay) = self.replay.borrow_mut().as_mut() {
                    replay.come_again(&before, token);
                }
            }
        }
        whole
    }

    /// The integers of a token, if all of them could be read.
    fn arrival(
        &self,
        operation: &Attention,
        row: u64,
        counts: &mut Counts,
        memory: &mut dyn Memory,
        codes: &mut Codes,
    ) -> Option<Arrival> {
        let mut load = |rows, row, quantizer| {
            let loaded = Loaded::row(rows, row, memory, codes);
            if loaded.whole().is_none() && operation.exact && some_saturate(&loaded, quantizer) {
                codes.note(code::OVERFLOW);
            }
            let (integers, saturated) = integers(loaded.whole()?, quantizer);
            counts.saturations += saturated;
            Some(integers)
        };
        let [of_queries, of_keys, of_values] = operation.quantizers;
        let queries = load(&operation.queries, row, of_queries);
        let behind = u64::from(operation.again) + row;
        let (key, value) = (load(&operation.keys, behind, of_keys), load(&operation.values, behind, of_values));
        let queries = queries?.chunks(operation.elements as usize).map(<[i64]>::to_vec).collect();
        Some(Arrival { queries, key: key?, value: value? })
    }

    /// A token attends to the tokens before it and to itself, and enters the head. Also returns the distances of the
    /// tokens that it evicts.
    fn step(&self, operation: &Attention, head: &mut Head, arrival: Arrival) -> (Vec<Attended>, Vec<u64>) {
        let Arrival { queries, key, value } = arrival;
        let whole = |mut vector: Vec<i64>| {
            vector.resize(self.shape.width as usize, 0);
            vector
        };
        let (number, slot) = (head.entered, None);
        let token = Token { key: whole(key), value: whole(value), score: 0, number, slot };
        let shown = match self.replay.borrow_mut().as_mut() {
            Some(replay) => replay.step(&head.tokens, &token, operation.elements as usize, operation.late),
            None => Shown::of(head.tokens.iter().chain([&token])),
        };
        let mut exceeded = false;
        let mut attended = Vec::new();
        for query in &queries {
            // The last product, with the new token itself, is not added to an importance.
            let products: Vec<i64> = shown.keys.iter().map(|key| product(query, key)).collect();
            exceeded |= head.attend(&products, operation, &self.shape);
            attended.push(self.query(operation, &shown.values, &products));
        }
        let evicted = head.evict(operation);
        head.enter(token, exceeded);
        (attended, evicted)
    }

    /// The results of a query, from its products with all tokens.
    fn query(&self, operation: &Attention, values: &[Vec<i64>], products: &[i64]) -> Attended {
        let scores: Vec<u16> = products.iter().map(|&sum| result(sum, operation.score_scale, NO_BIAS)).collect();
        let (lanes, places) = (self.shape.score_lanes as usize, self.shape.places());
        let probabilities = self.softmax.softmax(&scores, scores.len(), lanes, places).values;
        let weights: Vec<i64> = probabilities.into_iter().map(weight).collect();
        let sum = |d: usize| weights.iter().zip(values).map(|(weight, value)| weight * value[d]).sum();
        let results = (0..operation.elements as usize).map(|d| result(sum(d), operation.result_scale, NO_BIAS));
        let results: Vec<u16> = results.collect();
        let overflows = scores.iter().chain(&results).filter(|&&y| is_special(y)).count() as u64;
        Attended { results, overflows }
    }
}
