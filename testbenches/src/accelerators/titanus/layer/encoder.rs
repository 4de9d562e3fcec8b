//! A layer of an encoder as one chain: biases, own keys for every head, GELU, and layer norm of sums. A query sees all
//! keys.

use anyhow::Context;
use golden::accelerators::titanus::TitanusCore;
use host::Window;
use host::titanus::{AppendJob, Areas, Caps, Constant, Matrix, ProductJob, TokenRows};
use lower::chain::{Floats, Measured, Seen};
use lower::layer::Linear;
use lower::titanus::Compression;
use lower::titanus::builder::{Builder, Integers, largest, threshold};
use lower::titanus::parts::{Projection, stored};

use super::super::super::encoder::{Exact, Layer};

/// The six projections of a layer, in the store.
struct Projections {
    qkv: [Projection; 3],
    o: Projection,
    feed: [Projection; 2],
}

impl Projections {
    /// Integers of inputs are worth `of_inputs`: of tokens, attention, hidden, active; results of keys and values `of_cache`, all others 1.
    fn load(b: &mut Builder<'_>, layer: &Layer, of_inputs: [f64; 4], of_cache: [f64; 2]) -> anyhow::Result<Self> {
        let ([q, k, v], [up, down]) = (&layer.qkv, &layer.feed);
        let matrices = [q, k, v, &layer.o, up, down].map(|of| (of, None));
        let mut weights = stored(b, &matrices)?.into_iter();
        let mut next = |of: &Linear, x: f64, to: f64| {
            Projection::new(b, (weights.next().context("a matrix for each projection")?, of), x, |_| to)
        };
        let [x, attention, hidden, active] = of_inputs;
        let qkv = [next(q, x, 1.0)?, next(k, x, of_cache[0])?, next(v, x, of_cache[1])?];
        Ok(Self { qkv, o: next(&layer.o, attention, 1.0)?, feed: [next(up, hidden, 1.0)?, next(down, active, 1.0)?] })
    }
}

/// Keys and values of all heads become a new cache, and the context as pruning leaves them.
fn keep(b: &mut Builder<'_>, [k, v]: [&Integers; 2], how: Compression) -> anyhow::Result<()> {
    let lines = u16::try_from(b.caps.most_lines(k.rows as u32, 8))?;
    let bytes = 64 * usize::from(lines);
    let areas = Areas { keys: b.b.room("stream of keys", bytes)?, values: b.b.room("stream of values", bytes)?, lines };
    let prefill = u16::try_from((k.rows as u32).min(b.caps.buffer))?;
    let thresholds = [k, v].map(|rows| threshold(&b.values(rows), how.sparsity).0);
    let rows = TokenRows { tokens: k.rows as u32, channels: k.columns as u32, keys: k.at, values: v.at };
    let opening = how.opening(prefill, thresholds);
    b.then(|caps, held, window| AppendJob::first(rows, opening, areas).keep().build(caps, held, window))
}

/// The layer for some tokens. Scales of integers fit the float layer's numbers. The accelerator's activation must be
/// GELU.
///
/// # Errors
/// An error of the host crate; no room.
pub fn encoder_layer(
    (caps, window): (&Caps, &Window),
    golden: TitanusCore,
    how: Compression,
    (layer, exact): (&Layer, &Exact),
) -> anyhow::Result<Measured> {
    let b = &mut Builder::new(caps, window, golden)?;
    let unit = |rows: &Vec<Vec<f64>>| largest(rows) / 127.0;
    let of_inputs = [&exact.input, &exact.attention, &exact.hidden, &exact.active].map(unit);
    let [s_x, s_attention, s_hidden, s_active] = of_inputs;
    let [s_q, s_k, s_v] = exact.qkv.each_ref().map(unit);
    let Projections { qkv: [q, k, v], o, feed: [up, down] } = Projections::load(b, layer, of_inputs, [s_k, s_v])?;
    let width = layer.qkv[1].outputs() / layer.heads;
    let single = |scale: f64| Constant { scale: scale as f32, bias: 0 };
    let scores = b.constants(&[single(s_q * s_k / (width as f64).sqrt()), single(s_v / 255.0)])?;

    let rows = b.b.given(&exact.input)?;
    let x = b.quantized("tokens", &rows, s_x, |job| job)?;
    let queries = q.floats(b, "queries", &x)?;
    let (keys, values) = (k.integers(b, "keys", &x, |job| job)?, v.integers(b, "values", &x, |job| job)?);
    keep(b, [&keys, &values], how)?;
    let count = x.rows;
    let attention = b.b.floats("attention", count, queries.columns)?;
    for first in (0..keys.columns).step_by(width) {
        let tile = u16::try_from(first / caps.lanes as usize)?;
        let q = b.quantized("queries of a head", &queries.slice(first, width)?, s_q, |job| job)?;
        let p = b.b.floats("probabilities", count, count)?;
        b.product([count, width, count], Matrix::Keys { tile }, [q.at, p.at], scores, |job| {
            job.one_constant().exact()
        })?;
        b.b.rows(&p, &p, |job| Seen::All.softmax(job, [count, count]))?;
        let out = attention.slice(first, width)?.at;
        let sizes = [count, count, width];
        b.product(sizes, Matrix::Values { tile }, [p.at, out], scores + 1, ProductJob::one_constant)?;
    }
    let x = b.quantized("attention as integers", &attention, s_attention, |job| job)?;
    let projected = o.floats(b, "projected", &x)?;
    let norm = |of: usize| (&layer.norms[of], layer.epsilon);
    let hidden = b.b.add_and_norm("behind the attention", [&projected, &rows], norm(0))?;
    let x = b.quantized("tokens again", &hidden, s_hidden, |job| job)?;
    let up = up.floats(b, "up", &x)?;
    let active = b.activated("active", &up, None, s_active)?;
    let down = down.floats(b, "down", &active)?;
    let out = b.b.add_and_norm("behind the layer", [&down, &hidden], norm(1))?;

    let numbers = |of: &Integers, unit: f64| -> Vec<Vec<f64>> {
        b.values(of).iter().map(|row| row.iter().map(|&x| f64::from(x) * unit).collect()).collect()
    };
    let floats = |rows: &Floats| b.b.values(rows);
    let (keys, active) = (numbers(&keys, s_k), numbers(&active, s_active));
    let errors = exact.errors(&[floats(&queries), keys, floats(&attention), floats(&hidden), active, floats(&out)]);
    Ok(Measured { job: b.b.job()?, errors })
}
