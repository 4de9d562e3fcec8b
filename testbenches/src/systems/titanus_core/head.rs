//! One attention head of the real model on the Titanus core, from the residual stream on: a prompt, then token by token, each a
//! job of its own, with keys and values in a cache that is pruned and quantized.

use anyhow::{Context, ensure};
use golden::systems::titanus_core::TitanusCore;
use golden::tender::granularity::relative_error;
use half::f16;
use host::titanus::{
    AppendJob, Caps, Constant, Held, LoadJob, Matrix, ProductJob, RestoreJob, constants, layout::VECTOR_VALUE,
};
use host::vector::{self, Integer, Operand};
use host::{Descriptor, Format, Refusal, Rows, Window};

use super::super::chain_builder::{ChainBuilder, Floats, Job};
use super::super::float_head::Exact;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Pruning thresholds of keys and of values, in units of their integers.
    pub thresholds: [u8; 2],
    /// Bits of quantized ones.
    pub bits: [u8; 2],
}

/// All of a head: jobs in order, and squared errors beside the float head, relative to the squares.
#[derive(Clone, Debug)]
pub struct Head {
    /// Loads and the prompt, then a job for each further token.
    pub jobs: Vec<Job>,
    /// Of the prompt and of the further tokens: keys or values as they leave the projections, probabilities, attention.
    pub errors: Vec<(&'static str, f64)>,
    /// Bits of both streams behind each job.
    pub bits: Vec<[u64; 2]>,
}

/// Rows of a step, and those of the float head.
struct Step {
    probabilities: [Vec<Vec<f64>>; 2],
    attention: [Vec<Vec<f64>>; 2],
}

/// Rows of integers.
#[derive(Clone, Copy)]
struct Integers {
    at: Operand,
    columns: usize,
}

/// A matrix of weights in the store, with a scale for each output.
struct Weights {
    place: Matrix,
    scales: Vec<f64>,
    inner: usize,
}

struct Builder<'a> {
    caps: &'a Caps,
    held: Held,
    b: ChainBuilder<TitanusCore>,
    constants: u32,
}

fn largest(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most, x| f64::max(most, x.abs()))
}

impl Builder<'_> {
    fn then(&mut self, job: impl FnOnce(&Caps, &Held, &Window) -> Result<Descriptor, Refusal>) -> anyhow::Result<()> {
        let descriptor = job(self.caps, &self.held, &self.b.window)?;
        self.held = self.held.after(&descriptor);
        self.b.then(descriptor)
    }

    /// Constants of results; returns the number of the first one.
    fn constants(&mut self, all: &[Constant]) -> anyhow::Result<u32> {
        let (first, address) = (self.constants, self.b.store(constants(all))?);
        self.constants += all.len() as u32;
        self.then(|caps, _, window| LoadJob::constants(all.len() as u32, address, first).build(caps, window))?;
        Ok(first)
    }

    /// Weights, a row for each input, to columns of macros from `column` on.
    fn weights(&mut self, rows: &[Vec<f64>], column: u16) -> anyhow::Result<Weights> {
        let outputs = rows.first().context("a matrix has rows")?.len();
        let of_output = |j: usize| rows.iter().fold(0.0, |most, row| f64::max(most, row[j].abs())) / 127.0;
        let scales: Vec<f64> = (0..outputs).map(of_output).collect();
        let layout = Rows::dense(Format::Int8, rows.len(), outputs)?;
        let integers: Vec<i8> =
            rows.iter().flat_map(|row| row.iter().zip(&scales).map(|(x, s)| (x / s).round_ties_even() as i8)).collect();
        let at = Operand { address: self.b.store(layout.pack_integers(&integers)?)?, stride: layout.stride() as u32 };
        let sizes = (rows.len() as u32, outputs as u32);
        self.then(|caps, _, window| LoadJob::weights(sizes.0, sizes.1, at, (0, column)).build(caps, window))?;
        Ok(Weights { place: Matrix::Store { row: 0, column }, scales, inner: rows.len() })
    }

    fn integers(&mut self, name: &'static str, rows: usize, columns: usize) -> anyhow::Result<Integers> {
        let layout = Rows::dense(Format::Int8, rows, columns)?;
        Ok(Integers {
            at: Operand { address: self.b.room(name, layout.bytes())?, stride: layout.stride() as u32 },
            columns,
        })
    }

    /// Steps whose results are integers worth `scale`.
    fn quantized(
        &mut self,
        name: &'static str,
        x: &Floats,
        scale: f64,
        steps: impl FnOnce(vector::VectorJob) -> vector::VectorJob,
    ) -> anyhow::Result<Integers> {
        let out = self.integers(name, x.rows, x.columns)?;
        let quantizer = f16::from_f64(1.0 / scale);
        self.b.steps(x, out.at, |job| steps(job).quantize(Integer::Int8, quantizer))?;
        Ok(out)
    }

    /// A product whose results each have a constant, or of keys and values one for all.
    fn product(
        &mut self,
        sizes: [usize; 3],
        matrix: Matrix,
        [x, out]: [Operand; 2],
        first: u32,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<()> {
        self.then(|caps, held, window| {
            let job = more(ProductJob::new(sizes.map(|size| size as u32), matrix, x, out, first));
            if matches!(matrix, Matrix::Store { .. }) { job } else { job.one_constant() }.build(caps, held, window)
        })
    }
}

/// Head [`HEAD`](crate::systems::float_head::HEAD) of layer 14 for a prompt and further tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
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
    let unit = vector::Caps { opcode: VECTOR_VALUE, ..caps.vector };
    let b = ChainBuilder::new(unit, window, golden)?;
    let mut builder = Builder { caps, held: Held::default(), b, constants: 0 };
    let b = &mut builder;
    let exact_values = golden::tender::granularity::product(&exact.normed, &exact.w_v);
    // Inputs with large numbers lend some of them to the weights, as SmoothQuant has it.
    let matrices = [&exact.w_q, &exact.w_k, &exact.w_v];
    let lent: Vec<f64> = (0..exact.gains.len())
        .map(|i| {
            let x = exact.normed.iter().fold(0.0, |most, row| f64::max(most, row[i].abs()));
            let w = matrices.iter().flat_map(|w| &w[i]).fold(0.0, |most, w| f64::max(most, w.abs()));
            (x / w).sqrt()
        })
        .collect();
    let gains: Vec<f64> = exact.gains.iter().zip(&lent).map(|(gain, lent)| gain / lent).collect();
    let smooth: Vec<Vec<f64>> =
        exact.normed.iter().map(|row| row.iter().zip(&lent).map(|(x, lent)| x / lent).collect()).collect();
    let [w_q, w_k, w_v] = matrices.map(|rows| {
        let times = |(row, lent): (&Vec<f64>, &f64)| -> Vec<f64> { row.iter().map(|w| w * lent).collect() };
        rows.iter().zip(&lent).map(times).collect::<Vec<_>>()
    });
    // What an integer is worth.
    let [s_x, s_q, s_k, s_v] = [&smooth, &exact.queries, &exact.keys, &exact_values].map(|rows| largest(rows) / 127.0);
    let in_columns = |n: usize| u16::try_from(n * width / caps.outputs as usize);
    let (w_q, w_k, w_v) = (b.weights(&w_q, 0)?, b.weights(&w_k, in_columns(1)?)?, b.weights(&w_v, in_columns(2)?)?);
    let of = |weights: &Weights, over: f64| -> Vec<Constant> {
        weights.scales.iter().map(|s| Constant { scale: (s * s_x / over) as f32, bias: 0 }).collect()
    };
    let (c_q, c_k, c_v) = (b.constants(&of(&w_q, 1.0))?, b.constants(&of(&w_k, 1.0))?, b.constants(&of(&w_v, s_v))?);
    let scores = s_q * s_k / (width as f64).sqrt();
    let single = |scale: f64| Constant { scale: scale as f32, bias: 0 };
    let c_scores = b.constants(&[single(scores), single(s_v / 255.0)])?;
    let gains = b.b.given(&[gains])?.at.address;
    let epsilon = vector::Epsilon::new(super::super::float_head::EPSILON)?;

    // Streams grow; lines that are enough for them.
    let lines = u16::try_from(caps.most_lines(tokens as u32, 8))?;
    let bytes = 64 * usize::from(lines);
    let areas = [b.b.room("stream of keys", bytes)?, b.b.room("stream of values", bytes)?];
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
        let sizes = (count as u32, width as u32);
        let rows = [k.at, v.at];
        let known = first + count;
        if first == 0 {
            let prefill = u16::try_from(count.min(caps.buffer as usize))?;
            let begin = (keeping.thresholds, keeping.bits);
            b.then(|caps, held, window| {
                AppendJob::first(sizes, prefill, begin, rows, (areas, lines)).keep().build(caps, held, window)
            })?;
        } else {
            b.b.writes("stream of keys", &stream(areas[0]));
            b.b.writes("stream of values", &stream(areas[1]));
            b.then(|caps, held, window| {
                AppendJob::behind(first as u32, sizes, rows, areas, lines).build(caps, held, window)
            })?;
            let sizes = (known as u32, width as u32);
            b.then(|caps, held, window| RestoreJob::to_context(sizes, areas, lines).build(caps, held, window))?;
        }
        let p = b.b.floats("probabilities", count, known)?;
        b.product([count, width, known], Matrix::Keys { tile: 0 }, [q.at, p.at], c_scores, ProductJob::exact)?;
        b.b.rows(&p, &p, |job| job.causal_softmax(first as u32 + 1))?;
        let out = b.b.floats("attention", count, width)?;
        b.product([count, known, width], Matrix::Values { tile: 0 }, [p.at, out.at], c_scores + 1, ProductJob::exact)?;
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
