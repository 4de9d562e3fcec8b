//! A key head of the real model with its query heads, decoded: a prompt, then token after token over a small budget.

use anyhow::ensure;
use golden::kelle::aerp::softmax;
use golden::systems::kelle_top::KelleTop;
use golden::tender::granularity::relative_error;
use host::kelle::{AttentionJob, Caps, Policy, Quantizers, Rows};
use host::vector::Operand;
use host::{Descriptor, Window};
use sim::stimulus::real_numbers;

use super::super::chain_builder::{ChainBuilder, Floats, Measured};

/// Tokens of a trace.
const TOKENS: usize = 384;
/// The largest integer of a calibrated activation.
const LARGEST: f64 = 30_000.0;

/// What is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    /// Layer of the model: 2, 14 or 28.
    pub layer: u32,
    /// Query heads, of three.
    pub group: usize,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens behind it.
    pub steps: usize,
    /// What the head keeps behind the prompt.
    pub policy: Policy,
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

    /// What each number is multiplied by, such that the largest one becomes 30,000.
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

/// Decodes in head 0 of an accelerator whose heads are empty: the chain, and how far its results are from those of a full cache, of the
/// prompt and of the steps. The last steps have descriptors of their own; those before are one.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn decode(caps: &Caps, window: &Window, golden: KelleTop, of: Decode) -> anyhow::Result<Measured> {
    let tokens = of.prompt + of.steps;
    let trace = Trace::read(of.layer, of.group, tokens)?;
    let quantizers = trace.quantizers();
    let mut b = ChainBuilder::new(caps.vector, window, golden)?;
    let side_by_side =
        |token: usize| trace.queries.iter().flat_map(|rows| rows[token].iter().copied()).collect::<Vec<f64>>();
    let queries = b.given(&(0..tokens).map(side_by_side).collect::<Vec<_>>())?;
    let (keys, values) = (b.given(&trace.keys)?, b.given(&trace.values)?);
    let out = b.floats("attention", tokens, queries.columns)?;
    let scale = (1.0 / (keys.columns as f64).sqrt()) as f32;
    let attend = |first: usize, count: usize| {
        let behind =
            |rows: &Floats| Operand { address: rows.at.address + first as u64 * u64::from(rows.at.stride), ..rows.at };
        let rows = Rows { queries: behind(&queries), keys: behind(&keys), values: behind(&values), out: behind(&out) };
        let size = (of.group as u32, keys.columns as u32);
        AttentionJob::new((0, count as u32), size, of.policy, (quantizers, scale), rows).exact()
    };
    let mut descriptors: Vec<Descriptor> = Vec::new();
    if of.prompt > 0 {
        descriptors.extend(attend(0, of.prompt).build_prompt(caps, window)?);
    }
    let alone = of.steps.min(4);
    if of.steps > alone {
        descriptors.push(attend(of.prompt, of.steps - alone).build(caps, window)?);
    }
    for token in tokens - alone..tokens {
        descriptors.push(attend(token, 1).build(caps, window)?);
    }
    descriptors.into_iter().try_for_each(|descriptor| b.then(descriptor))?;
    let ours = b.values(&out);
    let full: Vec<Vec<f64>> = (0..tokens).map(|token| trace.full(token)).collect();
    let error = |range: std::ops::Range<usize>| relative_error(&full[range.clone()], &ours[range]);
    let mut errors = Vec::new();
    if of.prompt > 0 {
        errors.push(("prompt", error(0..of.prompt)));
    }
    errors.push(("steps", error(of.prompt..tokens)));
    Ok(Measured { job: b.finish()?, errors })
}

#[cfg(test)]
mod tests {
    use golden::common::float::Function;
    use golden::systems::kelle_top::Shape;
    use golden::systems::vector_top;

    use super::super::caps_of;
    use super::*;

    const SHAPE: Shape = Shape {
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
        vector: vector_top::Shape {
            lanes: 8,
            max_beats: 8,
            function: Function::Silu,
            address_width: 40,
            steps: vector_top::STEP_BITS,
        },
    };

    /// Nothing is lost while there is room but what roundings take. Behind that 64 tokens have to do.
    #[test]
    fn errors_of_a_decoding() {
        let window = Window { base: 0x1000, limit: 0xff_ffff, address_width: 40 };
        for (layer, group, most) in [(14, 1, 0.05), (14, 3, 0.1), (28, 3, 0.4)] {
            let of = Decode { layer, group, prompt: 96, steps: 288, policy: Policy::of_budget(64, 24) };
            let golden = KelleTop::new(SHAPE).unwrap();
            let Measured { job, errors } = decode(&caps_of(&SHAPE), &window, golden, of).unwrap();
            println!("layer {layer}, {group} query heads: {errors:?}");
            assert_eq!(job.descriptors, 7);
            assert!(errors[0].1 < 2e-6 && (1e-4..most).contains(&errors[1].1), "layer {layer}: {errors:?}");
        }
    }
}
