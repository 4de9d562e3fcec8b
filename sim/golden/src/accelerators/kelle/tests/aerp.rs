//! The same tokens stay as in the algorithm and in the models of the blocks.

use super::*;
use crate::kelle::aerp::{Budget, Head as Algorithm};
use crate::kelle::decode::{Hardware, Numbers};

/// Queries and keys are 8-bit integers, one token at a time, with quantizers of 1.
struct Decode {
    top: KelleTop,
    memory: SparseMemory,
    descriptor: Descriptor,
}

impl Decode {
    fn new(budget: Budget, shift: u32) -> Self {
        let top = top_of(Shape { slots: 16, ..SHAPE });
        let policy =
            [(52, budget.tokens as u32 | (budget.sink as u32) << 16), (56, budget.window as u32 | shift << 16)];
        let descriptor = Descriptor::attention().words(&[(36, 1), (40, 1), (72, 0)]).words(&policy);
        Self { top, memory: attention_memory(&descriptor), descriptor }
    }

    /// The step of a token whose value is its number.
    fn step(&mut self, token: usize, query: &[i64], key: &[i64]) {
        let halves = |vector: &[i64]| halves(&vector.iter().map(|&x| x as f64).collect::<Vec<_>>());
        self.memory.store(0x1000, &self.descriptor.0);
        self.memory.store(0x2000, &halves(query));
        self.memory.store(0x3000, &halves(key));
        self.memory.store(0x4000, &halves(&[token as i64, 0, 0, 0]));
        assert_eq!(run(&self.top, &mut self.memory).end.code, 0);
    }

    fn tokens(&self) -> Vec<(usize, i64)> {
        self.top.head(1).tokens.iter().map(|token| (token.value[0] as usize, token.score)).collect()
    }
}

fn vectors(seed: u64, count: usize) -> Vec<Vec<i64>> {
    let mut random = random::Random::new(seed);
    (0..count).map(|_| (0..4).map(|_| random.below(255) as i64 - 127).collect()).collect()
}

const BUDGETS: [Budget; 3] = [
    Budget { tokens: 4, sink: 1, window: 2 },
    Budget { tokens: 9, sink: 0, window: 4 },
    Budget { tokens: 16, sink: 4, window: 8 },
];

/// Score file, evictor and map together, as the models of the blocks.
#[test]
fn tokens_are_those_of_the_blocks() {
    for (k, budget) in BUDGETS.into_iter().enumerate() {
        let (q, keys) = (vectors(k as u64, 120), vectors(k as u64 + 50, 120));
        let numbers = Numbers { shift: 6, ..Numbers::EIGHT_BITS };
        let mut blocks = Hardware::new(q.clone(), keys.clone(), budget, numbers).unwrap();
        let mut decode = Decode::new(budget, numbers.shift);
        for token in 0..q.len() {
            decode.step(token, &q[token], &keys[token]);
            blocks.step(token).unwrap();
            let slots = blocks.map().entries().iter().map(|entry| entry.slot);
            let expected: Vec<(usize, i64)> =
                blocks.tokens().iter().copied().zip(slots.map(|slot| blocks.score(slot))).collect();
            assert_eq!(decode.tokens(), expected, "{budget:?} token {token}");
        }
    }
}

/// AERP itself, as long as no score leaves its range.
#[test]
fn tokens_are_those_of_the_algorithm() {
    for (k, budget) in BUDGETS.into_iter().enumerate() {
        let (q, keys) = (vectors(k as u64 + 7, 40), vectors(k as u64 + 57, 40));
        // All products are positive, and a sum of 40 is below 256.
        let positive = |vectors: &[Vec<i64>]| -> Vec<Vec<i64>> {
            vectors.iter().map(|v| v.iter().map(|x| (x + 127) / 200).collect()).collect()
        };
        let (q, keys) = (positive(&q), positive(&keys));
        let mut algorithm = Algorithm::<i64>::new(budget);
        let mut decode = Decode::new(budget, 0);
        for token in 0..q.len() {
            decode.step(token, &q[token], &keys[token]);
            let scores: Vec<i64> = algorithm
                .kept()
                .iter()
                .map(|kept| q[token].iter().zip(&keys[kept.token]).map(|(a, b)| a * b).sum())
                .collect();
            algorithm.attend(&scores);
            algorithm.insert().unwrap();
            let expected: Vec<(usize, i64)> = algorithm.kept().iter().map(|kept| (kept.token, kept.score)).collect();
            assert_eq!(decode.tokens(), expected, "{budget:?} token {token}");
        }
    }
}

/// A prompt with a large budget. Its last token has the budget of decoding. The selection equals the algorithm's.
#[test]
fn a_prompt_is_selected_as_by_the_algorithm() {
    let budget = Budget { tokens: 8, sink: 2, window: 3 };
    let (q, keys) = (vectors(91, 16), vectors(92, 16));
    let positive = |v: &[i64]| -> Vec<i64> { v.iter().map(|x| (x + 127) / 150).collect() };
    let mut decode = Decode::new(Budget { tokens: 16, sink: 0, window: 0 }, 0);
    for token in 0..16 {
        if token == 15 {
            let policy = [(52, 8 | 2 << 16), (56, 2)];
            decode.descriptor = decode.descriptor.clone().words(&policy);
        }
        decode.step(token, &positive(&q[token]), &positive(&keys[token]));
    }
    let product = |a: &[i64], b: &[i64]| positive(a).iter().zip(positive(b)).map(|(a, b)| a * b).sum::<i64>();
    let scores: Vec<i64> = (0..16).map(|n| (n + 1..16).map(|t| product(&q[t], &keys[n])).sum()).collect();
    // The algorithm counts the prompt's last token among the recent ones.
    let selected = Algorithm::prefill(budget, &scores).unwrap();
    let expected: Vec<(usize, i64)> = selected.kept().iter().map(|kept| (kept.token, kept.score)).collect();
    assert_eq!(decode.tokens(), expected);
}
