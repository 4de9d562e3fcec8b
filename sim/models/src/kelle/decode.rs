//! Decoding with a small KV cache on the queries, keys and values of a real model: which tokens are evicted, and how
//! large is the error?
//!
//! In each step the query attends to the cached tokens and to its own. The output is compared with the output of a full
//! cache. Then the new token enters, and another token is evicted if there is no room.

use golden::kelle::aerp::{Head, softmax};
use golden::kelle::decode::{Hardware, Numbers, budget};
use sim::stimulus::real_numbers;

/// Width of a head.
pub const WIDTH: usize = 64;

/// One head of one layer over a text.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Layer of the model.
    pub layer: u32,
    /// Number of the head among the recorded heads.
    pub head: usize,
    /// Queries, keys, values by token.
    pub q: Vec<Vec<f64>>,
    /// Keys.
    pub k: Vec<Vec<f64>>,
    /// Values.
    pub v: Vec<Vec<f64>>,
    /// Scaled products of each query with the keys up to its own.
    scores: Vec<Vec<f64>>,
}

/// The layers and heads that are recorded.
pub const RECORDED: [(u32, usize); 9] = [(2, 0), (2, 1), (2, 2), (14, 0), (14, 1), (14, 2), (28, 0), (28, 1), (28, 2)];

impl Trace {
    /// Reads a head.
    ///
    /// # Errors
    /// A missing or damaged file.
    pub fn read(layer: u32, head: usize) -> sim::Result<Self> {
        let rows = |what: &str, skip: usize| -> sim::Result<Vec<Vec<f64>>> {
            let rows = real_numbers(&format!("l{layer:02}_{what}_trace"))?;
            Ok(rows.into_iter().skip(skip).take(384).collect())
        };
        let (q, k, v) = (rows("q", 384 * head)?, rows("k", 0)?, rows("v", 0)?);
        let scale = (WIDTH as f64).sqrt();
        let scores = |(t, q): (usize, &Vec<f64>)| k[..=t].iter().map(|k| dot(q, k) / scale).collect();
        Ok(Self { scores: q.iter().enumerate().map(scores).collect(), layer, head, q, k, v })
    }

    /// Tokens of the text.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.k.len()
    }

    /// The scaled product of a query and a key.
    #[must_use]
    pub fn score(&self, query: usize, key: usize) -> f64 {
        self.scores[query][key]
    }

    /// Attention of a query to some tokens.
    #[must_use]
    pub fn attention(&self, query: usize, tokens: &[usize]) -> Vec<f64> {
        softmax(&tokens.iter().map(|&t| self.score(query, t)).collect::<Vec<_>>())
    }

    /// The values of some tokens, weighted.
    fn weighted(&self, weights: &[f64], tokens: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut sum = vec![0.0; WIDTH];
        for (weight, token) in weights.iter().zip(tokens) {
            sum.iter_mut().zip(&self.v[token]).for_each(|(s, v)| *s += weight * v);
        }
        sum
    }

    /// The attention of each query to a full cache, and its output.
    #[must_use]
    pub fn full(&self) -> Vec<(Vec<f64>, Vec<f64>)> {
        let one = |scores: &Vec<f64>| {
            let attention = softmax(scores);
            let output = self.weighted(&attention, 0..attention.len());
            (attention, output)
        };
        self.scores.iter().map(one).collect()
    }

    /// Queries and keys as the array multiplies them: 8 bits, one scale for all tokens of the tensor.
    #[must_use]
    pub fn quantized(&self) -> (Vec<Vec<i64>>, Vec<Vec<i64>>) {
        let quantize = |rows: &[Vec<f64>]| -> Vec<Vec<i64>> {
            let largest = rows.iter().flatten().fold(0.0_f64, |a, x| a.max(x.abs()));
            rows.iter().map(|r| r.iter().map(|x| (x / largest * 127.0).round() as i64).collect()).collect()
        };
        (quantize(&self.q), quantize(&self.k))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// How the tokens to keep are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The most recent tokens.
    Window,
    /// The first and the most recent tokens (StreamingLLM).
    SinkAndWindow,
    /// AERP on attention after softmax: the algorithm.
    Softmax,
    /// AERP on products before softmax, in full precision.
    Products,
    /// AERP in the hardware's numbers: products of 8-bit vectors, sums in a score file.
    Hardware(Numbers),
}

/// The result of a run with a policy.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Mean over the steps of |output - full output| / |full output|, Euclidean.
    pub error: f64,
    /// Share of the full cache's attention that the kept tokens hold.
    pub kept_attention: f64,
    /// The tokens that were evicted, in order.
    pub victims: Vec<usize>,
}

enum Cache {
    Softmax(Head<f64>),
    Products(Head<f64>),
    Hardware(Box<Hardware>),
    Recent { sink: usize, tokens: Vec<usize> },
}

/// Runs a trace with a cache of `tokens` tokens, and compares with `full`, the result of [`Trace::full`]. Errors count
/// once the cache is full.
///
/// # Errors
/// The budget protects all tokens.
pub fn run(trace: &Trace, full: &[(Vec<f64>, Vec<f64>)], tokens: usize, policy: Policy) -> Result<Outcome, String> {
    let budget = budget(tokens);
    let mut cache = match policy {
        Policy::Window => Cache::Recent { sink: 0, tokens: Vec::new() },
        Policy::SinkAndWindow => Cache::Recent { sink: budget.sink, tokens: Vec::new() },
        Policy::Softmax => Cache::Softmax(Head::new(budget)),
        Policy::Products => Cache::Products(Head::new(budget)),
        Policy::Hardware(numbers) => {
            let (q, k) = trace.quantized();
            Cache::Hardware(Box::new(Hardware::new(q, k, budget, numbers)?))
        }
    };
    let (mut error, mut held, mut steps, mut victims) = (0.0, 0.0, 0, Vec::new());
    for (query, (attention, output)) in full.iter().enumerate() {
        let mut seen: Vec<usize> = match &cache {
            Cache::Softmax(head) | Cache::Products(head) => head.kept().iter().map(|k| k.token).collect(),
            Cache::Hardware(h) => h.tokens().to_vec(),
            Cache::Recent { tokens, .. } => tokens.clone(),
        };
        let cached = seen.len();
        seen.push(query);
        if cached == tokens {
            let ours = trace.weighted(&trace.attention(query, &seen), seen.iter().copied());
            let difference: f64 = output.iter().zip(&ours).map(|(a, b)| (a - b).powi(2)).sum();
            error += (difference / dot(output, output)).sqrt();
            held += seen.iter().map(|&t| attention[t]).sum::<f64>();
            steps += 1;
        }
        let protected = || format!("a budget of {tokens} tokens protects all of them");
        let evicted = match &mut cache {
            Cache::Softmax(head) => {
                head.attend(&trace.attention(query, &seen)[..cached]);
                head.insert().map_err(|_| protected())?
            }
            Cache::Products(head) => {
                head.attend(&seen[..cached].iter().map(|&t| trace.score(query, t)).collect::<Vec<_>>());
                head.insert().map_err(|_| protected())?
            }
            Cache::Hardware(h) => h.step(query).map_err(|_| protected())?.map(|position| seen[position]),
            Cache::Recent { sink, tokens: kept } => {
                kept.push(query);
                (kept.len() > tokens).then(|| kept.remove(*sink))
            }
        };
        victims.extend(evicted);
    }
    let steps = f64::from(steps.max(1));
    Ok(Outcome { error: error / steps, kept_attention: held / steps, victims })
}
