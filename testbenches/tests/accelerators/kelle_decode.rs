//! Heads of the real model, decoded by Kelle's hardware: its cells hold, or decay.

use std::sync::Mutex;
use test_tag::tag;

use golden::accelerators::kelle::Replay;
use golden::kelle::edram_bank::Distribution;
use hdl::accelerators::kelle::{AttentionSpec, KelleTop};
use host::kelle::{Caps, Counts, Intervals, Policy, RefreshJob};
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use sim::bus::AxiConfig;
use sim::stimulus::Stall;
use testbenches::accelerators::kelle::decay::{self, Aged};
use testbenches::accelerators::kelle::golden_of;
use testbenches::accelerators::kelle::real::{ATTENTION, Decode, decode, head_top};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0xff_ffff, address_width: 40 };

/// 64 tokens of a prompt and 256 after it, while 64 stay, with pauses of memory. Every result equals the golden model,
/// and so do all keys, values and scores at the end. The paper's intervals are for a clock of 1 GHz, and no access
/// waits for a refresh. At 25 MHz there are many refreshes, and nothing else changes; there, values come after the
/// scores.
#[tag(full)]
#[test]
#[ignore = "a minute: 480 steps of a head"]
fn real_head_with_evictions() {
    let block = head_top();
    let golden = golden_of(&block).unwrap();
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    on_hardware(&block, &config, |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 200).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let mut all = Vec::new();
        for (megahertz, steps, late, recompute, away) in [
            (1000, 256, false, 0, false),
            (25, 64, true, 0, false),
            (25, 64, false, 0, true),
            (25, 64, false, 8, true),
            (25, 64, false, 0, false),
            (25, 64, false, 8, false),
        ] {
            let policy = Policy::of_budget(64, 24);
            let refresh = RefreshJob::of_paper(16, megahertz);
            let refresh_job = Some(refresh);
            let of =
                Decode { layer: 14, group: 3, prompt: 64, steps, policy, late, recompute, away, refresh: refresh_job };
            let job = decode(&caps, &WINDOW, golden.clone(), of).unwrap().measured.job;
            let cycles = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}")).cycles;
            let counts = Counts::read(&mut device).unwrap();
            println!(
                "{steps} steps at {megahertz} MHz, {recompute} come again, away {away}: {cycles} cycles, {counts:?}"
            );
            assert_eq!((counts.evictions, counts.refresh_stalls), (steps as u64, 0));
            // Of each refresh keys and values. No row is refreshed more often than the shortest intervals say; and at least the first
            // tokens are there in all steps, of low scores or of high ones.
            let often = |interval: u32| cycles / u64::from(interval);
            let most = 2 * 65 * (often(refresh.high.msb) + often(refresh.high.lsb));
            let always = cycles * steps as u64 / (steps as u64 + 64);
            let stay = u64::from(policy.sink).saturating_sub(recompute as u64);
            let least = 2 * stay * (always / u64::from(refresh.low.msb + 1000));
            assert!((least..=most).contains(&counts.refreshes), "{} refreshes, {least} to {most}", counts.refreshes);
            all.push((job, counts.refreshes as f64 / cycles as f64));
        }
        // Tokens that come again change no result, and nobody refreshes them: of 65 rows 8. A head that was away changes
        // none either, whether some of its tokens come again or not.
        let [.., (away, _), (away_again, _), (kept, often), (again, seldom)] = &all[..] else { panic!() };
        for other in [again, away, away_again] {
            assert!(kept.results(ATTENTION).unwrap() == other.results(ATTENTION).unwrap());
        }
        assert!(*seldom < 0.95 * often, "{seldom} refreshes a cycle, {often} when all are kept");
    });
}

/// Times of cells and intervals are divided by this: a millisecond ages cells as 0.2 s do.
const FASTER: u64 = 200;

/// The same array with half of the tokens, and cells that decay.
fn decaying() -> KelleTop {
    let block = head_top();
    let attention =
        AttentionSpec { slots: 32, interval: 100, patience: 8, tick_log2: 1, retention_model: true, ..block.attention };
    KelleTop { attention, ..block }
}

/// A cycle is a nanosecond.
fn every(microseconds: [u32; 4]) -> RefreshJob {
    let [high_msb, high_lsb, low_msb, low_lsb] = microseconds.map(|time| time * 1000 / FASTER as u32);
    let (high, low) = (Intervals { msb: high_msb, lsb: high_lsb }, Intervals { msb: low_msb, lsb: low_lsb });
    RefreshJob { threshold: 16, high, low }
}

/// 100 cycles: with a slack of 116 no cell gets as old as the weakest one holds, 225 cycles.
const SAFE: [u32; 4] = [20; 4];
/// The paper's.
const TWO_DIMENSIONAL: [u32; 4] = [360, 5400, 1440, 7200];

/// Decodes on hardware with cells that decay, under each of these refreshes. Values come before or after the scores,
/// so many tokens come again, and the head may be away for a while.
fn decayed(tokens: [usize; 2], seed: u64, runs: &[([u32; 4], bool, usize, bool)]) -> Vec<Aged> {
    let block = decaying();
    let golden = golden_of(&block).unwrap();
    let [prompt, steps] = tokens;
    let cells =
        Replay::new(golden.shape(), block.attention.banks, seeds::seed(seed), &Distribution::tail().scaled(FASTER));
    let all = Mutex::new(Vec::new());
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let record = decay::prepare(hardware, &block, &cells).unwrap();
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 200).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for &(refresh, late, recompute, away) in runs {
            let job = every(refresh);
            let policy = Policy::of_budget(32, 24);
            let refresh_job = Some(job);
            let of = Decode { layer: 14, group: 3, prompt, steps, policy, late, recompute, away, refresh: refresh_job };
            let decoded = decode(&caps, &WINDOW, golden.clone(), of).unwrap();
            let aged = decay::run(&mut device, (&block, &WINDOW), (&decoded, &job), (&cells, &record));
            let aged = aged.unwrap_or_else(|e| panic!("{refresh:?}: {e:#}"));
            println!("{refresh:?}: {aged:?}");
            all.lock().unwrap().push(aged);
        }
    });
    all.into_inner().unwrap()
}

/// With safe intervals, decoding gives the same results as cells that hold their bits. With the paper's intervals,
/// keys, values and results equal the golden cells bit for bit. The golden cells see the same accesses and refreshes,
/// and these are legal. This holds also where values come after the scores, and where tokens come again, whose cells
/// nobody refreshes, and for a head that is saved and brought back.
#[tag(full)]
#[test]
#[ignore = "two minutes: a model of its own, and seven runs of it"]
fn cells_that_decay() {
    let runs = [
        (SAFE, false, 0, false),
        (SAFE, false, 0, true),
        (TWO_DIMENSIONAL, false, 0, false),
        (TWO_DIMENSIONAL, true, 0, false),
        (TWO_DIMENSIONAL, false, 6, false),
        (TWO_DIMENSIONAL, false, 0, true),
        (TWO_DIMENSIONAL, false, 6, true),
    ];
    let [safe, safe_away, aged, late, again, away, both] = decayed([32, 48], 1, &runs).try_into().unwrap();
    for safe in [safe, safe_away] {
        assert_eq!((safe.flips, safe.from_exact), (0, 0.0));
    }
    for aged in [aged, late, again, away, both] {
        assert!(aged.flips > 100 && aged.from_exact > 0.0 && aged.counts.refreshes < safe.counts.refreshes / 4);
    }
    assert!(late.cycles < aged.cycles, "{late:?} beside {aged:?}");
}

/// The rows of the paper's table 4: two dimensional, and uniform.
const TABLE: [([u32; 4], u32); 3] =
    [([180, 3600, 720, 5400], 540), (TWO_DIMENSIONAL, 1050), ([720, 9000, 2880, 10800], 2062)];

/// The cost of decay over intervals: longer intervals cost more, with equal refresh or by importance and byte, as in
/// the paper's table 4.
#[tag(full)]
#[test]
#[ignore = "a simulation of minutes; scripts/test --release runs it"]
fn errors_over_intervals() {
    let intervals = [SAFE].into_iter().chain(TABLE.iter().flat_map(|&(both, uniform)| [both, [uniform; 4]]));
    let aged = decayed([32, 288], 2, &intervals.map(|intervals| (intervals, false, 0, false)).collect::<Vec<_>>());
    assert_eq!((aged[0].flips, aged[0].from_exact), (0, 0.0));
    let rows: Vec<&[Aged]> = aged[1..].chunks(2).collect();
    for pair in rows.windows(2) {
        for k in 0..2 {
            assert!(pair[0][k].from_exact < pair[1][k].from_exact, "longer intervals cost more: {pair:?}");
        }
    }
}
