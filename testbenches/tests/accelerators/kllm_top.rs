//! The KLLM accelerator in all configurations, and real products on it.

use golden::accelerators::cycles::Turns;
use golden::accelerators::kllm::Beats;
use golden::tender::granularity::relative_error;
use half::f16;
use hdl::accelerators::kllm::{KllmSpec, KllmTop};
use hdl::accelerators::top::{Accelerator, TopParameters};
use hdl::lang::CatalogBlock;
use host::kllm::{self, Bits, Caps};
use host::{Bus, Counters, Device, Window};
use jobs::hardware::{on_hardware, ready};
use sim::bus::AxiConfig;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use sim::stimulus::Stall;
use test_tag::tag;
use testbenches::accelerators::kllm::real::{
    Projection, RealTokens, projection, quantization, real_size, with_orizuru,
};
use testbenches::accelerators::kllm::{COSTS, bench, golden_of, timing};

/// The last two have all operations; an ordinary run has them.
#[test]
fn all_small_configurations() {
    let mut all = KllmTop::configurations();
    all.reverse();
    assert!(all[0].appender().is_some() && all[0].quantizer().is_some());
    for block in seeds::some(&all, 2) {
        run(block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Cycles of random chains of all operations equal the golden recurrence.
#[test]
fn cycles_of_jobs() {
    let mut all = KllmTop::configurations();
    all.reverse();
    for block in seeds::some(&all, 1) {
        run(block, timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Operations of four engines that overlap: results, errors, resets and cycles, with one port, and one for each DMA.
#[test]
fn operations_overlap() {
    let block = KllmTop::configurations().into_iter().find(|block| block.bus.overlaps).unwrap();
    let readers = block.readers();
    assert_eq!(readers.len(), 4);
    let dmas = readers.iter().sum::<u32>() + readers.len() as u32;
    for ports in [1, dmas] {
        let bus = TopParameters { ports, ..block.bus.clone() };
        run(&KllmTop { bus, ..block.clone() }, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// The same for all configurations, and for trees of Orizuru of every style.
#[tag(full)]
#[test]
#[ignore = "minutes: eight models"]
fn cycles_of_jobs_all() {
    use hdl::blocks::kllm::{Comparators, NodeState, TreeStyle};
    let mut all = KllmTop::configurations();
    for (comparators, node_state, levels_per_cycle) in [
        (Comparators::Parallel, NodeState::Value, 1),
        (Comparators::Parallel, NodeState::Pointer, 1),
        (Comparators::Shared, NodeState::Value, 1),
    ] {
        let tree = TreeStyle { comparators, node_state, levels_per_cycle, ..TreeStyle::default() };
        all.push(KllmTop { orizuru: 32, tree, ..all[2].clone() });
    }
    // More segments than one, whose last one may have no outlier.
    all.push(KllmTop { orizuru: 8, ..all[1].clone() });
    for block in &all {
        run(block, timing::bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Thousands of chains whose operations overlap: results, errors, resets; and cycles of thousands that are right.
#[tag(full)]
#[test]
#[ignore = "minutes: six thousand chains"]
fn thousands_of_chains_overlap() {
    let block = KllmTop::configurations().into_iter().find(|block| block.bus.overlaps).unwrap();
    run(&block, bench, &options(4000)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&block, timing::bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// The smallest configuration.
fn with_quantizer() -> KllmTop {
    KllmTop::configurations().swap_remove(0)
}

/// The same without a quantizer, for which there are more products.
fn small() -> KllmTop {
    KllmTop { orizuru: 0, ..with_quantizer() }
}

fn must_notice(faults: &[(&str, Fault)]) {
    must_be_noticed(&small(), bench, 150, faults);
}

#[tag(full)]
#[test]
#[ignore = "minutes: a model for each fault"]
fn all_faults_are_found() {
    let tokens = |net: &str, value: &str| Fault::net(net, value).module("token_reader");
    let engine = |net: &str, value: &str| Fault::net(net, value).module("kllm_engine");
    let sizes = Fault::net("wrong_size_o", "1'b0").module("kllm_matmul_operation");
    let results = |net: &str, value: &str| Fault::net(net, value).module("kllm_results");
    let order = [("outliers in any order are taken", tokens("least_q", "17'd0"))];
    must_be_noticed(&small(), bench, 400, &order);
    must_notice(&[
        ("weights are not kept for the next token", tokens("beats_keep_o", "1'b0")),
        ("a second outlier of a beat is lost", tokens("again", "1'b0")),
        ("factors of a panel stay for the next one", Fault::net("again", "factors_valid_o").module("factor_ring")),
        ("an outlier counts as an inlier too", tokens("beats_present_o", "right | {2{outlier_here & !again}}")),
        ("an outlier that was sent counts as an inlier", tokens("gone[0]", "1'b0")),
        ("positions after the last one count", tokens("beats_present_o", "right | {last & !outlier_here, 1'b0}")),
        ("any head is taken", tokens("error_o", "wrong_outlier")),
        ("centroids that do not fit are taken", Fault::net("error_o", "1'b0").module("codebook_loader")),
        ("a bank of weights never ends", Fault::net("last_beat", "1'b0").module("lane_bank")),
        ("sums after the last channel are results", results("over_q", "1'b0")),
        ("addends are added unasked", results("size_add_i", "1'b1")),
        ("the first panel never ends", results("sum_panel_moves", "1'b0")),
        ("sizes are not looked at", sizes),
        ("an overflow is no error", engine("overflow", "1'b0")),
        ("all panels are where the first one is", engine("controller_taken", "7'd0").into("panel_address_q")),
        ("results of all panels go where the first ones go", engine("controller_taken", "7'd0").into("out_address_q")),
    ]);
}

#[tag(full)]
#[test]
#[ignore = "minutes: a model for each fault"]
fn all_faults_of_the_quantizer_are_found() {
    let finder = |net: &str, value: &str| Fault::net(net, value).module("outlier_finder");
    let scanner = |net: &str, value: &str| Fault::net(net, value).module("token_scanner");
    let thresholds = |net: &str, value: &str| Fault::net(net, value).module("threshold_unit");
    let engine = |net: &str, value: &str| Fault::net(net, value).module("quantize_engine");
    let sizes = Fault::net("wrong_size_o", "1'b0").module("kllm_quantize_operation");
    let faults = [
        // The beat that waits with its outliers when the last indices have left.
        ("a row ends with its indices", scanner("row_done", "index_ends")),
        ("who is found from both sides counts twice", Fault::net("fresh_o", "marked_q").module("outlier_mask")),
        ("outliers count as inliers", scanner("mask_i", "2'd0")),
        ("the second outlier of a beat is lost", scanner("others", "1'b0")),
        ("positions after the last one count", scanner("g_counts[1].here", "1'b1")),
        ("a root counts where nobody else is", finder("others", "1'b1")),
        ("all segments look for what the first one looks for", finder("next_segment", "1'b0")),
        ("outliers of a segment are marked in the first one", finder("segment_base_q", "5'd0")),
        ("the scale of a row stays for the next one", finder("leaves", "clear_i").into("scale_q")),
        ("thresholds are of no scale", thresholds("begins", "1'b0").into("scale_q")),
        ("3 bits are searched like 4", thresholds("none", "1'b0")),
        ("sizes are not looked at", sizes),
        ("an overflow is no error", engine("overflow", "1'b0")),
    ];
    must_be_noticed(&with_quantizer(), bench, 150, &faults);
}

/// Random chains with four groups of two lanes, with fewer ports than their panels want and with as many: results and cycles.
#[tag(full)]
#[test]
#[ignore = "minutes: two models"]
fn four_groups() {
    let spec = KllmTop::configurations().swap_remove(1);
    let product = KllmSpec { lanes: 8, columns: 16, groups: 4, ..spec.product.clone() };
    for ports in [2, 6] {
        let block =
            KllmTop { bus: TopParameters { ports, ..spec.bus.clone() }, product: product.clone(), ..spec.clone() };
        run(&block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
        run(&block, timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Of lanes in groups.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each fault"]
fn faults_of_groups_are_found() {
    let engine = |net: &str, value: &str| Fault::net(net, value).module("kllm_engine");
    let groups = |net: &str, value: &str| Fault::net(net, value).module("lane_bank_a40_d128_i1_l4");
    let faults = [
        ("the second group has the panels of the first one", engine("panel_1_address_q", "panel_address_q")),
        ("panels of a group are side by side", engine("controller_taken", "8'd0").into("panel_1_address_q")),
        ("the first group shows sums of the second", groups("sums_turn_q", "1'b0")),
    ];
    let block = KllmTop { orizuru: 0, ..KllmTop::configurations().swap_remove(2) };
    must_be_noticed(&block, bench, 200, &faults);
}

/// With one port, which leaves more operations for jobs that put tokens into panels.
#[tag(full)]
#[test]
#[ignore = "minutes: a model for each fault"]
fn all_faults_of_the_appender_are_found() {
    let engine = |net: &str, value: &str| Fault::net(net, value).module("append_engine");
    let operation = |net: &str| Fault::net(net, "1'b0").module("kllm_append_operation");
    let dmas = Fault::net("dma_failed", "1'b0").module("operation_controller_a40_d128_i1_b8_o8_c4_o3_r2_t2");
    let faults = [
        ("sizes are not looked at", operation("wrong_size_o")),
        ("fields that must be 0 may be anything", operation("reserved_o")),
        ("any head is taken", engine("wrong_head", "1'b0")),
        ("errors of DMAs are no errors", dmas),
        ("a position is a channel of its panel", engine("operation_position", "1'b0").into("u_appender")),
        ("constants are written where lines are", engine("controller_taken", "3'd0").into("lines_given_2_q")),
        ("constants are read where lines are", engine("controller_taken", "3'd0").into("lines_given_1_q")),
        ("the last beat of a token has no line", engine("beats_sum", "elements")),
        ("the last panel has no line", engine("panels_sum", "elements")),
        ("all lines are in the first beat", engine("beats_ahead", "24'd0")),
        ("the scale is at the first position", engine("scale_at", "24'd0")),
        ("the token before is not dropped", engine("appender_clear_in", "abort_i")),
    ];
    let mut block = KllmTop::configurations().swap_remove(2);
    block.bus.ports = 1;
    must_be_noticed(&block, bench, 200, &faults);
}

pub(crate) const WINDOW: Window = Window { base: 0x10_0000, limit: 0x3f_ffff, address_width: 40 };

/// Cycles that an ideal memory takes here.
pub(crate) const LATENCY: u32 = 20;

/// The cost of a projection.
struct Cost {
    counters: Counters,
    beats: kllm::Beats,
    /// Beside the product of the numbers themselves.
    error: f64,
    /// Cycles with an ideal memory, by the golden recurrence.
    cycles: u64,
}

/// Runs projections; their results and beats are the model's.
fn projections(block: &KllmTop, config: &AxiConfig, jobs: &[Projection]) -> Vec<Cost> {
    let golden = golden_of(block).unwrap();
    let all = std::sync::Mutex::new(Vec::new());
    on_hardware(block, config, |hardware| {
        let (mut device, mut turns) = (Device::new(hardware), Turns::default());
        ready(&mut device, WINDOW, 4).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for &of in jobs {
            let real = projection(&caps, &WINDOW, of).unwrap();
            for image in &real.images {
                device.bus().write_memory(image.address, &image.bytes).unwrap();
            }
            device.start(real.job).unwrap();
            device.wait(10_000_000).unwrap();
            let (report, expected) = real.expected(&golden, &WINDOW);
            let mut got = vec![0; expected.len()];
            device.bus().read_memory(real.out.0, &mut got).unwrap();
            assert!(got == expected, "{of:?}");
            assert_eq!(kllm::overflows(&mut device).unwrap(), 0);
            let beats = kllm::Beats::read(&mut device).unwrap();
            assert_eq!(Beats { taken: beats.taken, repeated: beats.repeated }, report.beats());
            let row = real.out.1.stride() as usize;
            let outputs = real.exact[0].len();
            let values: Vec<Vec<f64>> = got
                .chunks(row)
                .map(|row| row[..2 * outputs].chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f64()).collect())
                .collect();
            let error = relative_error(&real.exact, &values);
            let cycles = real.cycles(&timing::timing(block, LATENCY), (&golden, &WINDOW), &mut turns);
            all.lock().unwrap().push(Cost { counters: device.counters().unwrap(), beats, error, cycles });
        }
    });
    all.into_inner().unwrap()
}

const QUERIES: Projection =
    Projection { input: "l14_attn_in", weights: "l14_w_q", bits: Bits::Four, tokens: 16, outliers: 3 };

/// The query projection of 16 tokens, W4A4 and W4A3, with 1 % of outliers and without, with pauses of memory.
#[test]
fn real_products() {
    let rough = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    let jobs = [QUERIES, Projection { bits: Bits::Three, ..QUERIES }, Projection { outliers: 0, ..QUERIES }];
    let errors: Vec<f64> =
        projections(&with_orizuru(), &rough, &jobs).into_iter().map(|measured| measured.error).collect();
    println!("{errors:?}");
    // 0.0081, 0.0153, 0.0156: an outlier in a hundred is worth as much as a bit.
    assert!(errors[0] < 0.0082 && errors[1] < 0.0154 && errors[2] > errors[1], "{errors:?}");
}

/// With a memory without pauses, the cycles of the same products equal the golden recurrence. A token takes its 72
/// beats, one for each beat that is sent again, and two cycles to begin (one without outliers). All tokens together
/// wait a few cycles for the bus. Before them come the weights once: 1,152 beats of the bus.
#[tag(full)]
#[test]
#[ignore = "a minute: five real products"]
fn cycles_of_real_products() {
    let jobs = [16, 48].map(|tokens| Projection { tokens, ..QUERIES });
    let dense = [16, 48].map(|tokens| Projection { tokens, outliers: 0, ..QUERIES });
    let one = [Projection { tokens: 1, ..QUERIES }];
    let all = projections(&real_size(), &AxiConfig::ideal(LATENCY), &[&jobs[..], &dense, &one].concat());
    for &Cost { counters, beats, cycles, .. } in &all {
        println!("{counters:?} {beats:?}, lanes busy {:.3}", beats.taken as f64 / cycles as f64);
        assert_eq!(counters.cycles, cycles);
    }
    let more = |few: usize| {
        let (few, many) = (&all[few], &all[few + 1]);
        (many.counters.cycles - few.counters.cycles, many.beats.repeated - few.beats.repeated)
    };
    let ((sparse, repeated), (dense, none)) = (more(0), more(2));
    assert!(sparse <= 32 * 74 + repeated + 10 && dense <= 32 * 73 + 10 && none == 0, "{sparse} {repeated} {dense}");
    assert!(all[4].counters.cycles < 1600, "{:?}", all[4].counters);
}

/// Panels of each group of lanes come on a port of their own. A token that waits for weights on one bus takes half the
/// time with two. Each result and cycle still equals the models.
#[tag(full)]
#[test]
#[ignore = "a minute: two models"]
fn groups_share_the_weights() {
    let costs = [(1, 1), (2, 4)].map(|(groups, ports)| {
        let mut block = real_size();
        (block.bus.ports, block.product.groups) = (ports, groups);
        let one = [Projection { tokens: 1, ..QUERIES }];
        let cost = projections(&block, &AxiConfig::ideal(LATENCY), &one).remove(0);
        assert_eq!(cost.counters.cycles, cost.cycles, "{groups} groups");
        println!("{groups} groups: {:?}", cost.counters);
        cost.counters
    });
    // 1,152 beats of weights, and 576 on each port.
    assert_eq!(costs[0].read_beats, costs[1].read_beats);
    assert!(costs[0].cycles - costs[1].cycles > 550, "{costs:?}");
}

/// Runs rows that become tokens, one after the other, and returns the counters; each byte equals the model's.
fn quantizations(
    block: &KllmTop,
    config: &AxiConfig,
    jobs: &[Projection],
    also: impl Fn(&RealTokens, &[u8]),
) -> Vec<Counters> {
    let golden = golden_of(block).unwrap();
    let all = std::sync::Mutex::new(Vec::new());
    on_hardware(block, config, |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 4).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for &of in jobs {
            let real = quantization(&caps, &WINDOW, of).unwrap();
            for image in &real.images {
                device.bus().write_memory(image.address, &image.bytes).unwrap();
            }
            device.start(real.job).unwrap();
            device.wait(10_000_000).unwrap();
            let expected = real.expected(&golden, &WINDOW);
            let mut got = vec![0; expected.len()];
            device.bus().read_memory(real.out, &mut got).unwrap();
            assert!(got == expected, "{of:?}");
            also(&real, &got);
            all.lock().unwrap().push(device.counters().unwrap());
        }
    });
    all.into_inner().unwrap()
}

/// Hidden states before the query projection, and before the down projection, where they are sparse.
const HIDDEN: [Projection; 3] = [
    QUERIES,
    Projection { bits: Bits::Three, outliers: 8, ..QUERIES },
    Projection { input: "l14_down_in", outliers: 0, tokens: 4, ..QUERIES },
];

/// Rows longer than Orizuru is wide, with pauses of memory and without.
#[test]
fn real_rows_become_tokens() {
    let block = with_orizuru();
    for config in [AxiConfig::rough(Stall::Random { num: 1, den: 8 }), AxiConfig::ideal(20)] {
        let counters = quantizations(&block, &config, &HIDDEN, |_, _| {});
        println!("{counters:?}");
    }
}

/// Cycles of a further row with a memory without pauses equal a closed formula. The time until the last row has left
/// depends on the positions of its outliers.
#[tag(full)]
#[test]
#[ignore = "half a minute: rows one after the other"]
fn cycles_of_real_rows() {
    let block = with_orizuru();
    let spec = block.quantizer().unwrap().spec;
    for outliers in [0, 3, 8] {
        let jobs = [16, 48].map(|tokens| Projection { tokens, outliers, ..QUERIES });
        let counters = quantizations(&block, &AxiConfig::ideal(20), &jobs, |_, _| {});
        let row = spec.row_cycles(576, outliers as u32);
        println!("{outliers}: {row} {counters:?}");
        assert!((counters[1].cycles - counters[0].cycles).abs_diff(32 * row) <= 4, "{outliers}: {row}, {counters:?}");
    }
}

/// The paper's size: each row is searched as a whole, so tokens equal the algorithm's.
#[tag(full)]
#[test]
#[ignore = "minutes: 273 units"]
fn tokens_of_the_algorithm() {
    let block = KllmTop { orizuru: 4096, ..real_size() };
    let counters = quantizations(&block, &AxiConfig::ideal(20), &HIDDEN, |real, got| {
        assert_eq!(real.tokens.unpack(got).unwrap(), real.whole);
    });
    println!("{counters:?}");
}

/// The paper's 16 lanes of 32 columns and 16 inputs beside Orizuru of 4,096, on a bus of 64 bytes: a real product with and
/// without outliers, real rows that become tokens, and random chains.
#[tag(full)]
#[test]
#[ignore = "minutes: 512 columns, 273 units"]
fn a_projection_of_the_papers_size() {
    let block = (COSTS.block)();
    let jobs = [QUERIES, Projection { outliers: 0, ..QUERIES }];
    for Cost { counters, error, cycles, .. } in projections(&block, &AxiConfig::ideal(LATENCY), &jobs) {
        println!("{counters:?}, error {error:.4}");
        assert_eq!(counters.cycles, cycles);
    }
    let counters = quantizations(&block, &AxiConfig::ideal(LATENCY), &HIDDEN, |real, got| {
        assert_eq!(real.tokens.unpack(got).unwrap(), real.whole);
    });
    println!("{counters:?}");
    run(&block, bench, &options(20)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&block, timing::bench, &options(20)).unwrap_or_else(|e| panic!("{e:#}"));
}
