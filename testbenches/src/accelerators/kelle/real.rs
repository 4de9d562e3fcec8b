//! A key head of the real model with its query heads, decoded: a prompt, then token after token over a small budget.

use anyhow::ensure;
use golden::accelerators::kelle::{HEAD_BYTES, KelleTop};
use golden::kelle::aerp::softmax;
use golden::tender::granularity::relative_error;
use half::f16;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop as Top};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::bus::AxiSpec;
use host::kelle::{
    Attention, AttentionJob, Caps, ClearJob, Policy, Quantizers, RecomputeJob, RefreshJob, RestoreJob, Rows, SaveJob,
};
use host::vector::Operand;
use host::{Descriptor, Window};
use lower::chain::{ChainBuilder, Floats, Measured};
use sim::stimulus::real_numbers;

/// Tokens of a trace.
const TOKENS: usize = 384;
/// The largest integer of a calibrated activation.
const LARGEST: f64 = 30_000.0;

/// A decoding to do.
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    /// Layer of the model: 2, 14 or 28.
    pub layer: u32,
    /// Query heads, of three.
    pub group: usize,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens after the prompt.
    pub steps: usize,
    /// Which tokens the head keeps after the prompt.
    pub policy: Policy,
    /// Values come after the scores.
    pub late: bool,
    /// How many of the first tokens are kept as normalised rows after the prompt. They come again with each step.
    pub recompute: usize,
    /// Before the last steps the head is saved to memory, emptied and brought back.
    pub away: bool,
    /// How often rows are refreshed. If given, the head's tokens are written to memory at the end, and the head is
    /// emptied.
    pub refresh: Option<RefreshJob>,
}

/// A decoding.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The chain; its results with the name `attention` belong to the tokens.
    pub measured: Measured,
    prompt: usize,
    /// Where results are.
    out: Floats,
    /// The results with a full cache.
    full: Vec<Vec<f64>>,
}

/// Results of attention.
pub const ATTENTION: &str = "attention";

impl Decoded {
    fn numbers(&self, bytes: &[u8]) -> Vec<Vec<f64>> {
        let number = |pair: &[u8]| f16::from_le_bytes([pair[0], pair[1]]).to_f64();
        let row = |bytes: &[u8]| bytes[..2 * self.out.columns].chunks(2).map(number).collect();
        bytes.chunks(self.out.at.stride as usize).map(row).collect()
    }

    /// The distance of the steps' attention, as bytes in memory, from a full cache, and from the job's own results.
    ///
    /// # Errors
    /// The job has no such results.
    pub fn errors(&self, attention: &[u8]) -> anyhow::Result<[f64; 2]> {
        let own = self.numbers(self.measured.job.results(ATTENTION)?);
        let of = self.numbers(attention);
        let error = |right: &[Vec<f64>]| relative_error(&right[self.prompt..], &of[self.prompt..]);
        Ok([error(&self.full), error(&own)])
    }
}

/// 8 x 8 PEs on a bus of 16 bytes, and a head of 64 tokens. Up to 8 tokens may be kept as normalised rows.
#[must_use]
pub fn head_top() -> Top {
    let spec = KelleSpec {
        axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
        rows: 8,
        columns: 8,
        tokens: 4,
        inner: 64,
        weights: 64,
        ..KelleSpec::default()
    };
    let attention = AttentionSpec { spec: spec.clone(), heads: 1, recompute: 8, ..AttentionSpec::default() };
    Top { vector: VectorParameters { max_beats: 16, ..VectorParameters::all() }, spec, attention, ..Top::default() }
}

/// Queries of each head, keys and values of a layer's key head.
struct Trace {
    queries: Vec<Vec<Vec<f64>>>,
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
}

impl Trace {
    fn read(layer: u32, group: usize, tokens: usize) -> anyhow::Result<Self> {
        ensure!((1..=TOKENS).contains(&tokens), "{tokens} tokens are asked for, must be 1 to {TOKENS}");
        ensure!((1..=3).contains(&group), "{group} query heads are asked for, must be 1 to 3");
        let rows = |what: &str| real_numbers(&format!("l{layer:02}_{what}_trace"));
        let (q, mut keys, mut values) = (rows("q")?, rows("k")?, rows("v")?);
        keys.truncate(tokens);
        values.truncate(tokens);
        let queries = (0..group).map(|head| q[head * TOKENS..][..tokens].to_vec()).collect();
        Ok(Self { queries, keys, values })
    }

    /// The factor of each number, such that the largest one becomes 30,000.
    fn quantizers(&self) -> Quantizers {
        let most = |rows: &[Vec<f64>]| rows.iter().flatten().fold(0f64, |most, x| most.max(x.abs()));
        let queries = self.queries.iter().map(|rows| most(rows)).fold(0.0, f64::max);
        let [queries, keys, values] =
            [queries, most(&self.keys), most(&self.values)].map(|most| (LARGEST / most) as f32);
        Quantizers { queries, keys, values }
    }

    /// Attention over all tokens up to its own, heads side by side.
    fn full(&self, token: usize) -> Vec<f64> {
        let of_head = |queries: &Vec<Vec<f64>>| -> Vec<f64> {
            let query = &queries[token];
            let scale = (query.len() as f64).sqrt();
            let score = |key: &Vec<f64>| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() / scale;
            let weights = softmax(&self.keys[..=token].iter().map(score).collect::<Vec<_>>());
            let element = |d: usize| weights.iter().zip(&self.values).map(|(w, v)| w * v[d]).sum();
            (0..query.len()).map(element).collect()
        };
        self.queries.iter().flat_map(of_head).collect()
    }
}

/// Decodes in head 0 of an accelerator whose heads are empty. Returns the chain, and the distance of its results from a
/// full cache, for the prompt and for the steps. The last steps have descriptors of their own; the steps before share
/// one.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn decode(caps: &Caps, window: &Window, golden: KelleTop, of: Decode) -> anyhow::Result<Decoded> {
    let tokens = of.prompt + of.steps;
    let trace = Trace::read(of.layer, of.group, tokens)?;
    let quantizers = trace.quantizers();
    let mut b = ChainBuilder::new(caps.vector, window, golden)?;
    let side_by_side =
        |token: usize| trace.queries.iter().flat_map(|rows| rows[token].iter().copied()).collect::<Vec<f64>>();
    let queries = b.given(&(0..tokens).map(side_by_side).collect::<Vec<_>>())?;
    let (keys, values) = (b.given(&trace.keys)?, b.given(&trace.values)?);
    let out = b.floats(ATTENTION, tokens, queries.columns)?;
    let elements = keys.columns as u32;
    let scale = (1.0 / f64::from(elements).sqrt()) as f32;
    let behind = |rows: &Floats, first: usize| {
        let address = rows.at.address + first as u64 * u64::from(rows.at.stride);
        Operand { address, ..rows.at }
    };
    let attend_with = |[keys, values]: [Operand; 2], first: usize, count: usize| {
        let (queries, out) = (behind(&queries, first), behind(&out, first));
        let job = AttentionJob::new(Attention {
            head: 0,
            tokens: count as u32,
            group: of.group as u32,
            elements,
            policy: of.policy,
            quantizers,
            scale,
            rows: Rows { queries, keys, values, out },
        });
        let job = job.exact();
        if of.late { job.late() } else { job }
    };
    let attend =
        |first: usize, count: usize| attend_with([&keys, &values].map(|rows| behind(rows, first)), first, count);
    let mut descriptors: Vec<Descriptor> = Vec::new();
    if let Some(refresh) = of.refresh {
        descriptors.push(refresh.build(caps, window)?);
    }
    if of.prompt > 0 {
        descriptors.extend(attend(0, of.prompt).build_prompt(caps, window)?);
    }
    let alone = if of.recompute > 0 { of.steps } else { of.steps.min(4) };
    for slot in 0..of.recompute as u32 {
        descriptors.push(RecomputeJob { head: 0, position: slot, slot }.build(caps, window)?);
    }
    if of.steps > alone {
        descriptors.push(attend(of.prompt, of.steps - alone).build(caps, window)?);
    }
    let row = (HEAD_BYTES as usize + 4 * keys.columns).next_multiple_of(64);
    let room = |b: &mut ChainBuilder<KelleTop>, tokens: usize| {
        b.room("cached tokens", tokens * row).map(|address| Operand { address, stride: row as u32 })
    };
    if of.away {
        let held = (tokens - alone).min(of.policy.budget.into());
        let (head, first, tokens, place) = (0, 0, held as u32, room(&mut b, held)?);
        descriptors.push(SaveJob { head, first, tokens, elements, out: place }.build(caps, window)?);
        descriptors.push(ClearJob { first: 0, heads: 1 }.build(caps, window)?);
        descriptors.push(RestoreJob { head, first, tokens, elements, saved: place }.build(caps, window)?);
    }
    for token in tokens - alone..tokens {
        let job = match of.recompute {
            0 => attend(token, 1),
            again => {
                let rows = |all: &[Vec<f64>]| [&all[..again], &all[token..=token]].concat();
                let places = [b.given(&rows(&trace.keys))?.at, b.given(&rows(&trace.values))?.at];
                attend_with(places, token, 1).again(again as u8)
            }
        };
        descriptors.push(job.build(caps, window)?);
    }
    descriptors.into_iter().try_for_each(|descriptor| b.then(descriptor))?;
    if of.refresh.is_some() {
        let cached = b.model().head(0).tokens.len();
        let out = room(&mut b, cached)?;
        b.then(SaveJob { head: 0, first: 0, tokens: cached as u32, elements, out }.build(caps, window)?)?;
        b.then(ClearJob { first: 0, heads: 1 }.build(caps, window)?)?;
    }
    let ours = b.values(&out);
    let full: Vec<Vec<f64>> = (0..tokens).map(|token| trace.full(token)).collect();
    let error = |range: std::ops::Range<usize>| relative_error(&full[range.clone()], &ours[range]);
    let mut errors = Vec::new();
    if of.prompt > 0 {
        errors.push(("prompt", error(0..of.prompt)));
    }
    errors.push(("steps", error(of.prompt..tokens)));
    Ok(Decoded { measured: Measured { job: b.finish()?, errors }, prompt: of.prompt, out, full })
}

#[cfg(test)]
mod tests {
    use golden::accelerators::kelle::Shape;
    use golden::accelerators::vector;
    use golden::common::float::Function;

    use super::super::caps_of;
    use super::*;

    const SHAPE: Shape = Shape {
        recompute: 0,
        rows: 16,
        columns: 16,
        tokens: 4,
        inner: 64,
        heads: 2,
        slots: 96,
        width: 64,
        group: 3,
        score_lanes: 8,
        score_bits: 8,
        amount_bits: 9,
        interval_bits: 23,
        cache_rows: 194,
        save: false,
        vector: vector::Shape {
            lanes: 8,
            max_beats: 8,
            function: Function::Silu,
            address_width: 40,
            steps: vector::STEP_BITS,
        },
    };

    /// While there is room, only roundings cost precision. After that, 64 tokens have to do.
    #[test]
    fn errors_of_a_decoding() {
        let window = Window { base: 0x1000, limit: 0xff_ffff, address_width: 40 };
        for (layer, group, most) in [(14, 1, 0.05), (14, 3, 0.1), (28, 3, 0.4)] {
            let policy = Policy::of_budget(64, 24);
            let (late, away) = (false, false);
            let of = Decode { layer, group, prompt: 96, steps: 288, policy, late, recompute: 0, away, refresh: None };
            let golden = KelleTop::new(SHAPE).unwrap();
            let Measured { job, errors } = decode(&caps_of(&SHAPE), &window, golden, of).unwrap().measured;
            println!("layer {layer}, {group} query heads: {errors:?}");
            assert_eq!(job.descriptors, 7);
            assert!(errors[0].1 < 2e-6 && (1e-4..most).contains(&errors[1].1), "layer {layer}: {errors:?}");
        }
    }
}
