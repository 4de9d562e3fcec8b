//! The Titanus core in all configurations, and an attention head of the real model on it.

use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::{Matrix, Operation};
use golden::common::shell::job_controller::code;
use golden::titanus::cpq::{Config, Sequence};
use golden::titanus::kv_packer::packed;
use hdl::accelerators::titanus::{TitanusCore, TitanusSpec};
use hdl::accelerators::vector::VectorParameters;
use hdl::lang::{CatalogBlock, Parameters};
use host::Window;
use host::titanus::{Caps, Counts};
use jobs::draft::Operations;
use jobs::hardware::{on_hardware, ready};
use rand::SeedableRng;
use sim::bus::AxiConfig;
use sim::kit::{options, run};
use sim::stimulus::{Stall, StimulusRng};
use test_tag::tag;
use testbenches::accelerators::titanus::head::{Head, Keeping, real_head};
use testbenches::accelerators::titanus::{bench, caps_of, golden_of, head_core, program, timing, traffic};

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x7f_ffff, address_width: 40 };

/// All configurations, the one whose operations overlap first.
fn reversed() -> Vec<TitanusCore> {
    let mut blocks = TitanusCore::configurations();
    blocks.reverse();
    blocks
}

#[test]
fn all_small_configurations() {
    for block in seeds::some(&reversed(), 2) {
        run(block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Multiplications of a row are counted in 16 bits: a context ends with its last whole group of lanes below that.
#[test]
fn the_longest_context() {
    let with = |context| {
        let spec = TitanusSpec { lanes: 32, tiles: 16, context, ..TitanusSpec::default() };
        TitanusCore {
            vector: VectorParameters { max_beats: 4096, ..VectorParameters::all() },
            spec,
            ..TitanusCore::default()
        }
        .check()
    };
    assert!(with(65_504).is_ok(), "{:?}", with(65_504));
    let error = with(65_505).unwrap_err().to_string();
    assert!(error.contains("context") && error.contains("whole groups of 32 up to 65504"), "{error}");
}

/// The longest streams: all channels open all of their levels, one after the other, with a prompt and later. They take
/// at most the lines that a driver gives them, and not many less.
#[test]
fn lines_of_the_longest_streams() {
    let core = TitanusCore::default();
    let (lanes, levels) = (core.spec.lanes as usize, core.spec.levels as usize);
    let caps = Caps { tiles: 1, ..caps_of(&golden_of(&core).unwrap()) };
    // With 2 bits, each number is the first one above the range of the levels before it.
    let above = |&low: &i32| {
        let range = (low + 128).max(3);
        Some(range - 128 + range / 6 + 1)
    };
    let ladder: Vec<i32> = std::iter::successors(Some(-128), above).take(levels).collect();
    for bits in [2, 8] {
        for tokens in [1, 2, levels, lanes * levels, 1000] {
            // Channel c opens a level with token c, c + lanes, .. while it has one left, and is no 0 and not its lowest between.
            let number = |token: usize, c: usize| match token.checked_sub(c) {
                None => 0,
                Some(since) if bits == 8 && since % lanes == 0 && since / lanes < levels => -1 - (since / lanes) as i8,
                Some(_) if bits == 8 => 100,
                Some(since) => ladder[(since / lanes).min(levels - 1)] as i8,
            };
            let rows: Vec<Vec<i8>> = (0..tokens).map(|t| (0..lanes).map(|c| number(t, c)).collect()).collect();
            for prefill in [0, 1] {
                let sequence = Sequence::encode(Config { bits, max_levels: levels }, &rows, prefill);
                assert_eq!((sequence.levels(), sequence.overflowed()), (tokens.min(lanes * levels), false));
                let most = caps.most_lines(tokens as u32, bits);
                let lines = packed(&sequence, lanes, 64).len() as u64 / 64;
                println!("{tokens} tokens, {bits} bits, {prefill} of a prompt: {lines} lines, room for {most}");
                assert!(lines <= most, "{tokens} tokens, {bits} bits: {lines}, {most}");
                // All levels are there, and so are all masks of tokens that open one.
                let full = tokens >= lanes * levels;
                assert!(!full || 10 * most <= 12 * lines, "{tokens} tokens, {bits} bits: {lines}, {most}");
            }
        }
    }
}

/// Jobs take the cycles that the recurrence of the golden model says.
#[test]
fn cycles_of_jobs() {
    for block in seeds::some(&reversed(), 2) {
        run(block, timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Thousands of chains whose operations overlap: results, errors, resets; and cycles of thousands that are right.
#[tag(full)]
#[test]
#[ignore = "minutes: six thousand chains"]
fn thousands_of_chains_overlap() {
    let block = TitanusCore::configurations().into_iter().find(|block| block.bus.overlaps).unwrap();
    run(&block, bench, &options(4000)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&block, timing::bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Chains end well often enough, do everything, and go wrong in all ways.
#[test]
fn what_is_drawn() {
    for block in TitanusCore::configurations() {
        let (operations, model) = (Operations::of(&block), golden_of(&block).unwrap());
        let mut rng = StimulusRng::seed_from_u64(5);
        let (mut good, mut ends, mut kinds, mut damages) = (0, [0; 16], [0; 9], [0; 4]);
        // Prefills that go on with another append, tokens that are kept after others.
        let mut apart = [0; 2];
        for _ in 0..1200 {
            let program = program::draw(&mut rng, (&operations, &model), 6);
            let mut memory = SparseMemory::new();
            memory.store(program.base, &program.image);
            let report = model.run(program.limits, program.job, &mut memory);
            ends[usize::from(report.end.code)] += 1;
            good += usize::from(program.plain && report.end.code == 0 && report.is_certain());
            damages[report.damage().map_or(0, |damage| usize::from(damage.kind))] += 1;
            for executed in report.executed.iter().filter(|e| e.codes.is_empty()) {
                let kind = match &executed.operation.operation {
                    Operation::Load(load) => usize::from(load.constants),
                    Operation::Product(product) => match product.matrix {
                        Matrix::Store { .. } => 2,
                        Matrix::Keys { .. } => 3,
                        Matrix::Values { .. } => 4,
                    },
                    Operation::Append(append) => {
                        apart[0] += usize::from(append.prefill > append.tokens);
                        apart[1] += usize::from(append.position > 0 && append.keep);
                        5 + usize::from(append.position > 0)
                    }
                    Operation::Restore(_) => 7,
                    Operation::Vector(_) => 8,
                    Operation::Link(_) => unreachable!("a core without links"),
                };
                kinds[kind] += 1;
            }
        }
        println!("good {good}, ends {ends:?}, kinds {kinds:?}, damages {damages:?}, apart {apart:?}");
        assert!(apart.iter().all(|&count| count > 5), "{apart:?}");
        assert!(good > 60, "{good}");
        assert!(kinds.iter().all(|&count| count > 5), "{kinds:?}");
        assert!(damages[2] > 0 && damages[3] > 0, "{damages:?}");
        for code in [code::RESERVED, code::ALIGNMENT, code::SIZE, code::WINDOW, code::OVERFLOW, code::FIELD] {
            assert!(ends[usize::from(code)] > 0, "{code}: {ends:?}");
        }
    }
}

const CPQ: Keeping = Keeping { thresholds: [6, 6], bits: [3, 3] };

fn head(keeping: Keeping) -> Head {
    let golden = golden_of(&head_core()).unwrap();
    real_head(&caps_of(&golden), &WINDOW, golden, keeping, (16, 16)).unwrap()
}

/// Few bits lose no more than pruning has lost already, and save.
#[test]
fn a_head_is_near_the_float_one() {
    let mut totals = Vec::new();
    for (keeping, most) in [
        (Keeping { thresholds: [0, 0], bits: [8, 8] }, [1.8e-4, 0.0149, 6.9e-4, 8.1e-3]),
        (Keeping { bits: [8, 8], ..CPQ }, [1.7e-3, 0.109, 0.0117, 0.0766]),
        (CPQ, [1.7e-3, 0.109, 0.0177, 0.131]),
    ] {
        let head = head(keeping);
        println!("{keeping:?}: {:?}, {:?} bits", head.errors, head.bits.last());
        for ((name, error), most) in head.errors.iter().zip(most) {
            assert!(*error > 0.0 && *error < most, "{keeping:?}, {name}: {error:.2e}");
        }
        totals.push(head.bits.last().unwrap().iter().sum::<u64>());
    }
    // With these thresholds eight bits take as much as no packing at all, in so short a text.
    let plain = 2 * 32 * 64 * 8;
    assert!(totals[0] > totals[1] && 10 * totals[2] < 7 * plain, "{totals:?} of {plain} bits");
}

/// Prompt of 16 tokens, then 16 tokens, each a job: every byte equals the golden model's, and so does the traffic.
#[tag(full)]
#[test]
#[ignore = "a minute: a model of its own"]
fn real_head_with_pauses() {
    let head = head(CPQ);
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 4 });
    let moved = traffic(&head_core(), WINDOW, &head.jobs).unwrap();
    println!("{:?}, then {:?}", moved[0], moved[moved.len() - 1]);
    on_hardware(&head_core(), &config, |hardware| {
        let mut device = host::Device::new(hardware);
        ready(&mut device, WINDOW, 65_535).unwrap();
        assert_eq!(Caps::read(&mut device).unwrap(), caps_of(&golden_of(&head_core()).unwrap()));
        let blocks = |bits: &[u64; 2]| bits.iter().map(|bits| bits / 512).sum::<u64>();
        let mut before = 0;
        for (number, (job, bits)) in head.jobs.iter().zip(&head.bits).enumerate() {
            let counters = job.run(&mut device).unwrap();
            let counts = Counts::read(&mut device).unwrap();
            println!("{number}: {counters:?}, {counts:?}");
            let read = if number == 0 { 0 } else { blocks(bits) };
            assert_eq!((counts.blocks_read, counts.blocks_written), (read, blocks(bits) - before));
            let beats = [moved[number].read().beats, moved[number].written().beats];
            assert_eq!([counters.read_beats, counters.write_beats], beats);
            before = blocks(bits);
        }
    });
}
