//! One attention head of the real model on the Titanus core, from the residual stream on. The prompt is one job, and
//! each further token another. Keys and values are in a cache that is pruned and quantized.

use anyhow::ensure;
use golden::accelerators::titanus::TitanusCore;
use golden::tender::granularity::{product, relative_error};
use host::Window;
use host::titanus::{AppendJob, Areas, Caps, Constant, Matrix, Opening, ProductJob, RestoreJob, TokenRows};
use host::vector::{Epsilon, Operand};
use lower::chain::{Floats, Job};
use lower::layer::Linear;
use lower::titanus::builder::{Builder, largest, lent, over, times};

use super::super::float_head::Exact;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Pruning thresholds of keys and of values, in units of their integers.
    pub thresholds: [u8; 2],
    /// Bits of quantized ones.
    pub bits: [u8; 2],
}

impl Keeping {
    /// What begins a cache whose first `prefill` tokens give the levels.
    fn opening(self, prefill: u16) -> Opening {
        let ([key_threshold, value_threshold], [key_bits, value_bits]) = (self.thresholds, self.bits);
        Opening { prefill, key_threshold, value_threshold, key_bits, value_bits }
    }
}

/// All of a head: jobs in order, and squared errors beside the float head, relative to the squares.
#[derive(Clone, Debug)]
pub struct Head {
    /// Loads and the prompt, then a job for each further token.
    pub jobs: Vec<Job>,
    /// Of the prompt and of the further tokens: keys or values as they leave the projections, probabilities, attention.
    pub errors: Vec<(&'static str, f64)>,
    /// Bits of both streams after each job.
    pub bits: Vec<[u64; 2]>,
}

/// Rows of a step, and the same rows of the float head.
struct Step {
    probabilities: [Vec<Vec<f64>>; 2],
    attention: [Vec<Vec<f64>>; 2],
}

/// Head [`HEAD`](crate::accelerators::float_head::HEAD) of layer 14 for a prompt and further tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn real_head(
    caps: &Caps,
    window: &Window,
    golden: TitanusCore,
    keeping: Keeping,
    (prompt, further): (usize, usize),
) -> anyhow::Result<Head> {
    let tokens = prompt + further;
    let exact = Exact::of(tokens)?;
    let width = exact.w_q[0].len();
    ensure!(
        caps.channels() as usize == width,
        "a token of the cache has {} channels, must be {width}",
        caps.channels()
    );
    let b = &mut Builder::new(caps, window, golden)?;
    let exact_values = product(&exact.normed, &exact.w_v);
    let matrices = [&exact.w_q, &exact.w_k, &exact.w_v].map(|rows| Linear::new(rows.clone()));
    let lent = lent(&exact.normed, &matrices.each_ref());
    let gains = over(std::slice::from_ref(&exact.norm.gains), &lent);
    let smooth = over(&exact.normed, &lent);
    let [w_q, w_k, w_v] = matrices.map(|of| times(of.weights().into_owned(), &lent));
    // Scales of the integers.
    let [s_x, s_q, s_k, s_v] = [&smooth, &exact.queries, &exact.keys, &exact_values].map(|rows| largest(rows) / 127.0);
    let (w_q, w_k, w_v) = (b.weights(&w_q)?, b.weights(&w_k)?, b.weights(&w_v)?);
    let (c_q, c_k) = (b.constants(&w_q.constants(s_x, |_| 1.0, &[]))?, b.constants(&w_k.constants(s_x, |_| 1.0, &[]))?);
    let c_v = b.constants(&w_v.constants(s_x, |_| s_v, &[]))?;
    let scores = s_q * s_k / (width as f64).sqrt();
    let single = |scale: f64| Constant { scale: scale as f32, bias: 0 };
    let c_scores = b.constants(&[single(scores), single(s_v / 255.0)])?;
    let gains = b.b.given(&gains)?.at.address;
    let epsilon = Epsilon::new(exact.epsilon)?;

    // Streams grow; lines that are enough for them.
    let lines = u16::try_from(caps.most_lines(tokens as u32, 8))?;
    let bytes = 64 * usize::from(lines);
    let areas = Areas { keys: b.b.room("stream of keys", bytes)?, values: b.b.room("stream of values", bytes)?, lines };
    let stream = |address| Floats { at: Operand { address, stride: 0 }, rows: 1, columns: bytes / 2 };
    let (mut jobs, mut bits, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let steps = std::iter::once((0, prompt)).chain((prompt..tokens).map(|token| (token, 1)));
    for (first, count) in steps {
        let residual = b.b.given(&exact.residual[first..first + count])?;
        let angles = b.b.given(&exact.angles[first..first + count])?;
        let x = b.quantized("normalised", &residual, s_x, |job| job.norm_with_gains(epsilon, gains))?;
        let mut turned = Vec::new();
        for (name, weights, constant, scale) in [("queries", &w_q, c_q, s_q), ("keys", &w_k, c_k, s_k)] {
            let out = b.b.floats(name, count, width)?;
            b.product([count, weights.inner, width], weights.place, [x.at, out.at], constant, ProductJob::exact)?;
            turned.push(b.quantized(name, &out, scale, |job| job.rotate(angles.at))?);
        }
        let v = b.integers("values", count, width)?;
        b.product([count, w_v.inner, width], w_v.place, [x.at, v.at], c_v, ProductJob::to_integers)?;
        let (q, k) = (turned[0], turned[1]);
        ensure!((q.columns, k.columns) == (width, width), "a head has {width} channels");
        let rows = TokenRows { tokens: count as u32, channels: width as u32, keys: k.at, values: v.at };
        let known = first + count;
        if first == 0 {
            let prefill = u16::try_from(count.min(caps.buffer as usize))?;
            let opening = keeping.opening(prefill);
            b.then(|caps, held, window| AppendJob::first(rows, opening, areas).keep().build(caps, held, window))?;
        } else {
            b.b.writes("stream of keys", &stream(areas.keys));
            b.b.writes("stream of values", &stream(areas.values));
            b.then(|caps, held, window| AppendJob::behind(first as u32, rows, areas).build(caps, held, window))?;
            let restore = RestoreJob::to_context(known as u32, width as u32, areas);
            b.then(|caps, held, window| restore.build(caps, held, window))?;
        }
        let p = b.b.floats("probabilities", count, known)?;
        b.product([count, width, known], Matrix::Keys { tile: 0 }, [q.at, p.at], c_scores, |job| {
            job.one_constant().exact()
        })?;
        b.b.rows(&p, &p, |job| job.causal_softmax(first as u32 + 1))?;
        let out = b.b.floats("attention", count, width)?;
        b.product([count, known, width], Matrix::Values { tile: 0 }, [p.at, out.at], c_scores + 1, |job| {
            job.one_constant().exact()
        })?;
        let probabilities: Vec<Vec<f64>> =
            exact.probabilities[first..known].iter().map(|row| row[..known].to_vec()).collect();
        found.push(Step {
            probabilities: [probabilities, b.b.values(&p)],
            attention: [exact.attention[first..known].to_vec(), b.b.values(&out)],
        });
        bits.push(b.b.model().stream_bits());
        jobs.push(b.b.job()?);
    }
    let mut errors = Vec::new();
    for (names, part) in [
        (["probabilities of the prompt", "attention of the prompt"], &found[..1]),
        (["probabilities behind", "attention behind"], &found[1..]),
    ] {
        for (name, which) in names.into_iter().zip([0, 1]) {
            let rows = |step: &Step, side: usize| [&step.probabilities, &step.attention][which][side].clone();
            let all = |side: usize| part.iter().flat_map(|step| rows(step, side)).collect::<Vec<_>>();
            errors.push((name, relative_error(&all(0), &all(1))));
        }
    }
    Ok(Head { jobs, errors, bits })
}
