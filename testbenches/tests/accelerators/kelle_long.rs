//! 32 heads of 2,048 tokens: 65,568 rows of the cache.

use golden::accelerators::kelle::KelleTop as Golden;
use golden::tender::granularity::relative_error;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::bus::AxiSpec;
use host::kelle::{Attention, AttentionJob, Caps, Counts, Policy, Quantizers, RestoreJob, Rows, SaveJob};
use host::vector::Operand;
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use lower::chain::{ChainBuilder, Job};
use rand::RngExt;
use sim::bus::AxiConfig;
use sim::stimulus::rng_for;
use test_tag::tag;
use testbenches::accelerators::kelle::{caps_of, golden_of, timing};

const WINDOW: Window = Window { base: 0x1000, limit: 0x7fff_ffff, address_width: 40 };
const BUDGET: u32 = 2048;
const HEADS: u32 = 32;
const ELEMENTS: usize = 64;
/// Tokens that enter after the restored ones, and how many must go for them.
const TOKENS: usize = 3;
const EVICTED: u64 = 2;
const QUANTIZERS: Quantizers = Quantizers { queries: 2000.0, keys: 2000.0, values: 20_000.0 };

/// The heads, beside an array of this size. Rows are refreshed under the job, in cycles that nobody else wants.
fn block([rows, columns]: [u32; 2]) -> KelleTop {
    let axi = AxiSpec { address_width: 40, data_width: 128, id_width: 1 };
    let spec = KelleSpec { axi, rows, columns, tokens: 4, inner: 64, weights: 64, ..KelleSpec::default() };
    let attention = AttentionSpec { spec: spec.clone(), heads: HEADS, slots: BUDGET, ..AttentionSpec::default() };
    let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
    let patient = timing::patient(KelleTop { spec, attention, vector, ..KelleTop::default() });
    KelleTop { attention: AttentionSpec { interval: 150_000, ..patient.attention }, ..patient }
}

/// Random numbers from -1 to 1.
fn numbers(seed: &str, rows: usize) -> Vec<Vec<f64>> {
    let mut rng = rng_for(1, seed);
    (0..rows).map(|_| (0..ELEMENTS).map(|_| rng.random_range(-1.0..1.0)).collect()).collect()
}

/// Each of the heads gets 2,047 tokens from memory, as another layer or sequence has left them, and then three new ones.
/// Returns the job and the distance of the last token's attention from real numbers.
fn long_job(caps: &Caps, golden: Golden, heads: impl Iterator<Item = u32>) -> (Job, f64) {
    let mut b = ChainBuilder::new(caps.vector, &WINDOW, golden).unwrap();
    let (elements, before) = (ELEMENTS as u32, BUDGET - 1);
    let row = 64 + 4 * ELEMENTS;
    let place = |address| Operand { address, stride: row as u32 };
    let [queries, keys, values] = ["queries", "keys", "values"].map(|kind| numbers(kind, TOKENS));
    let [q, k, v] = [&queries, &keys, &values].map(|rows| b.given(rows).unwrap());
    let integer = |x: &f64, of: f32| (x * f64::from(of)).round() as i16;
    let (mut worst, mut count) = (0f64, 0);
    for head in heads {
        let [old_keys, old_values] = ["old keys", "old values"].map(|kind| numbers(&format!("{kind} {head}"), 2047));
        let mut rng = rng_for(2, &format!("scores of {head}"));
        let mut saved = Vec::new();
        for (key, value) in old_keys.iter().zip(&old_values) {
            let mut front = [0; 64];
            front[0] = rng.random();
            saved.extend(front);
            let vectors = key.iter().map(|x| integer(x, QUANTIZERS.keys));
            let vectors = vectors.chain(value.iter().map(|x| integer(x, QUANTIZERS.values)));
            saved.extend(vectors.flat_map(i16::to_le_bytes));
        }
        let saved = place(b.store(saved).unwrap());
        let restore = RestoreJob { head, first: 0, tokens: before, elements, saved };
        b.then(restore.build(caps, &WINDOW).unwrap()).unwrap();
        let out = b.floats("attention", TOKENS, ELEMENTS).unwrap();
        let entering = Attention {
            head,
            tokens: 1,
            group: 1,
            elements,
            policy: Policy::of_budget(BUDGET as u16, 12),
            quantizers: QUANTIZERS,
            scale: 0.125,
            rows: Rows { queries: q.at, keys: k.at, values: v.at, out: out.at },
        };
        // The first token sees all that were restored; nobody has gone yet.
        b.then(AttentionJob::new(entering).build(caps, &WINDOW).unwrap()).unwrap();
        let [mut all_keys, mut all_values] = [old_keys, old_values];
        all_keys.push(keys[0].clone());
        all_values.push(values[0].clone());
        let score = |key: &Vec<f64>| 0.125 * queries[0].iter().zip(key).map(|(q, k)| q * k).sum::<f64>();
        let weights = golden::kelle::aerp::softmax(&all_keys.iter().map(score).collect::<Vec<_>>());
        let real = (0..ELEMENTS).map(|d| weights.iter().zip(&all_values).map(|(w, v)| w * v[d]).sum());
        let real: Vec<f64> = real.collect();
        worst = worst.max(relative_error(&[real], &b.values(&out)[..1]));
        let later = |at: Operand| Operand { address: at.address + u64::from(at.stride), ..at };
        let rows = Rows { queries: later(q.at), keys: later(k.at), values: later(v.at), out: later(out.at) };
        let rest = Attention { tokens: TOKENS as u32 - 1, rows, ..entering };
        b.then(AttentionJob::new(rest).build(caps, &WINDOW).unwrap()).unwrap();
        let out = place(b.room("saved tokens", BUDGET as usize * row).unwrap());
        let save = SaveJob { head, first: 0, tokens: BUDGET, elements, out };
        b.then(save.build(caps, &WINDOW).unwrap()).unwrap();
        count += 1;
        assert_eq!(b.model().head(head as usize).tokens.len(), BUDGET as usize, "head {count}");
    }
    (b.finish().unwrap(), worst)
}

/// A job on all heads, in the golden model and in its recurrence of cycles.
#[test]
fn all_heads_of_2048_tokens() {
    let block = block([32, 32]);
    assert_eq!(block.attention.rows(), 65_568);
    let golden = golden_of(&block).unwrap();
    let (job, worst) = long_job(&caps_of(golden.shape()), golden, 0..HEADS);
    assert_eq!(job.descriptors, 4 * HEADS);
    assert!((1e-6..0.02).contains(&worst), "{worst}");
    let cycles = timing::clock((&block, 20), &WINDOW).unwrap().cycles(&job).unwrap();
    // Per head: rows of 20 beats and a write come, and 2,048 of them go. Each of the tokens reads 2,048 keys and values
    // twice, slice by slice.
    let (moved, read) = (2047 * 21 + 2048 * 20, TOKENS as u64 * 4 * 2 * 2048);
    let least = u64::from(HEADS) * (moved + read);
    println!("{cycles} cycles for {HEADS} heads, at least {least}; relative error {worst}");
    assert!((least..2 * least).contains(&cycles), "{cycles} cycles, at least {least}");
}

/// The first and the last head on the hardware with all rows: each byte is the golden model's, and the cycles are the
/// recurrence's, with refreshes of all rows underneath.
#[tag(full)]
#[test]
#[ignore = "minutes: two heads of 2,048 tokens on a cache of 65,568 rows"]
fn two_of_32_heads_on_hardware() {
    let block = block([16, 8]);
    let golden = golden_of(&block).unwrap();
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 200).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let (job, _) = long_job(&caps, golden.clone(), [0, HEADS - 1].into_iter());
        for _ in 0..caps.cache_rows {
            device.bus().cycle().unwrap();
        }
        let cycles = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}")).cycles;
        let counts = Counts::read(&mut device).unwrap();
        println!("{cycles} cycles, {counts:?}");
        assert_eq!(cycles, timing::clock((&block, 20), &WINDOW).unwrap().cycles(&job).unwrap());
        assert_eq!((counts.evictions, counts.refresh_stalls), (2 * EVICTED, 0));
        assert!(counts.refreshes > 2 * u64::from(BUDGET), "{counts:?}");
    });
}
