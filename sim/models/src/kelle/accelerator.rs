//! Decoding on the golden model of `kelle_top`, token by token, in the accelerator's numbers. The input is a key head
//! of a real model with all query heads that share it.

use anyhow::{Context, ensure};
use golden::accelerators::kelle::{KelleTop, Shape};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::vector::{STEP_BITS, Shape as VectorShape};
use golden::common::float::Function;
use golden::common::shell::job_controller::Limits;
use half::f16;
use host::kelle::{Attention, AttentionJob, Caps, Policy, Quantizers, Rows};
use host::vector::{self, Operand, Units};
use host::{Chain, Window};

use super::decode::{Trace, WIDTH};

/// Query heads of a key head.
pub const GROUP: usize = 3;
/// Where a job is, and its rows: queries, keys, values, results.
const PLACES: [u64; 5] = [0x1000, 0x2000, 0x3000, 0x4000, 0x5000];
const WINDOW: Window = Window { base: 0x1000, limit: 0xffff, address_width: 40 };
/// The largest integer of a calibrated activation.
const LARGEST: f64 = 30_000.0;

/// A key head over a text, with its query heads.
#[derive(Clone, Debug)]
pub struct Group {
    traces: Vec<Trace>,
    /// Attention's output over all tokens, by query head and token.
    full: Vec<Vec<Vec<f64>>>,
    quantizers: Quantizers,
}

/// The result of decoding.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// For each query head: |output - full output| / |full output|, Euclidean, in the mean over the steps with a full
    /// cache.
    pub errors: Vec<f64>,
    /// Tokens that were evicted.
    pub evictions: u64,
    /// Activations that were saturated.
    pub saturations: u64,
}

impl Group {
    /// Reads the recorded heads of a layer. Activations are calibrated on the text.
    ///
    /// # Errors
    /// A missing or damaged file.
    pub fn read(layer: u32) -> anyhow::Result<Self> {
        let traces = (0..GROUP).map(|head| Trace::read(layer, head)).collect::<sim::Result<Vec<_>>>()?;
        let full = traces.iter().map(|trace| trace.full().into_iter().map(|(_, output)| output).collect()).collect();
        let most = |rows: &[Vec<f64>]| rows.iter().flatten().fold(0f64, |most, x| most.max(x.abs()));
        let quantizer = |most: f64| (LARGEST / most) as f32;
        let queries = traces.iter().map(|trace| most(&trace.q)).fold(0.0, f64::max);
        let first = traces.first().context("a layer has heads")?;
        let (keys, values) = (quantizer(most(&first.k)), quantizer(most(&first.v)));
        let quantizers = Quantizers { queries: quantizer(queries), keys, values };
        Ok(Self { traces, full, quantizers })
    }

    /// Tokens of the text.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.traces.first().map_or(0, Trace::tokens)
    }

    /// Decodes the text from its first token. Importance has so many bits.
    ///
    /// # Errors
    /// A policy that the accelerator refuses.
    pub fn decode(&self, policy: Policy, score_bits: u32) -> anyhow::Result<Outcome> {
        let (shape, caps) = accelerator(policy.budget.into(), score_bits);
        let top = KelleTop::new(shape).map_err(anyhow::Error::msg)?;
        let at = |place: usize| Operand { address: PLACES[place], stride: 0 };
        let entering = Attention {
            head: 0,
            tokens: 1,
            group: GROUP as u32,
            elements: WIDTH as u32,
            policy,
            quantizers: self.quantizers,
            scale: (1.0 / (WIDTH as f64).sqrt()) as f32,
            rows: Rows { queries: at(1), keys: at(2), values: at(3), out: at(4) },
        };
        let job = AttentionJob::new(entering).build(&caps, &WINDOW)?;
        let mut memory = SparseMemory::new();
        let image = Chain::new().then(job).place(PLACES[0], &WINDOW, 1)?;
        memory.store(image.address, &image.bytes);
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
        let mut outcome = Outcome { errors: vec![0.0; GROUP], evictions: 0, saturations: 0 };
        let mut steps = 0;
        for token in 0..self.tokens() {
            let queries: Vec<f64> = self.traces.iter().flat_map(|trace| trace.q[token].clone()).collect();
            for (place, row) in [(1, &queries), (2, &self.traces[0].k[token]), (3, &self.traces[0].v[token])] {
                let bytes: Vec<u8> = row.iter().flat_map(|&x| golden::kllm::fp16::half(x).to_le_bytes()).collect();
                memory.store(PLACES[place], &bytes);
            }
            let full = top.head(0).tokens.len() == usize::from(policy.budget);
            let report = top.run(limits, PLACES[0], &mut memory);
            ensure!(report.end.code == 0, "token {token} ends with error {}", report.end.code);
            outcome.evictions += report.counts().evictions;
            outcome.saturations += report.counts().saturations;
            if full {
                let bytes = memory.bytes(PLACES[4], 2 * GROUP * WIDTH);
                let results: Vec<f64> = bytes.chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f64()).collect();
                for (head, ours) in results.chunks(WIDTH).enumerate() {
                    outcome.errors[head] += distance(&self.full[head][token], ours);
                }
                steps += 1;
            }
        }
        outcome.errors.iter_mut().for_each(|error| *error /= f64::from(steps.max(1)));
        Ok(outcome)
    }
}

/// |ours - exact| / |exact|.
fn distance(exact: &[f64], ours: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let apart: f64 = exact.iter().zip(ours).map(|(a, b)| square(a - b)).sum();
    (apart / exact.iter().map(|&x| square(x)).sum::<f64>()).sqrt()
}

/// An accelerator with the paper's array, which keeps so many tokens of one head.
fn accelerator(slots: u32, score_bits: u32) -> (Shape, Caps) {
    let vector = VectorShape {
        lanes: 8,
        max_beats: 8,
        function: Function::Silu,
        address_width: WINDOW.address_width,
        steps: STEP_BITS,
    };
    let shape = Shape {
        rows: 32,
        columns: 32,
        tokens: 1,
        inner: 32,
        heads: 1,
        slots,
        width: WIDTH as u32,
        group: GROUP as u32,
        score_lanes: 8,
        score_bits,
        amount_bits: score_bits + 1,
        interval_bits: 24,
        cache_rows: slots + 1,
        save: true,
        recompute: 0,
        vector,
    };
    let units = Units { softmax: true, layer_norm: true, rotary: true };
    let caps = Caps {
        rows: shape.rows,
        columns: shape.columns,
        tokens: shape.tokens,
        inner: shape.inner,
        heads: shape.heads,
        slots,
        width: shape.width,
        group: shape.group,
        score_lanes: shape.score_lanes,
        score_bits,
        amount_bits: shape.amount_bits,
        interval_bits: shape.interval_bits,
        cache_rows: shape.cache_rows,
        save: shape.save,
        recompute: shape.recompute,
        vector: vector::Caps { opcode: 3, lanes: vector.lanes, max_beats: vector.max_beats, function: 2, units },
    };
    (shape, caps)
}
