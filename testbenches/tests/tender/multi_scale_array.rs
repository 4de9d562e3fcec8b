//! The multi-scale array: all configurations, the real model's projections, cycles against their formula, broken arrays.

use std::sync::Mutex;
use test_tag::tag;

use golden::tender::calibration::{Calibration, Scheme, Sign, Weights};
use golden::tender::granularity::{product, relative_error};
use golden::tender::matmul::{dequantize, group_products, requantized_sum, tender_product};
use golden::tender::multi_scale_array::Beat;
use golden::tender::schedule::steps;
use hdl::blocks::tender::{Drain, MultiScaleArray, Overflow, Rescale, TenderPe};
use hdl::lang::CatalogBlock;
use models::tender::projection::projection;
use models::tender::requantization::Passes;
use rand::RngExt;
use sim::Design;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::tender::controller::{Controller, Fed, Tile, session};
use testbenches::tender::multi_scale_array::bench;
use testbenches::tender::product::{Product, predicted};

fn run<F: Fn(&mut Controller<'_>) -> sim::Result<()>>(p: &MultiScaleArray, work: F) {
    let design = Design::from(&hdl::lang::elaborate(p).unwrap());
    let session = session(p, work).unwrap();
    sim::run(&*session, &design, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn configurations() {
    for block in std::iter::once(MultiScaleArray::default()).chain(MultiScaleArray::configurations()) {
        let options = options(150);
        sim::kit::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// 50 tokens, 37 outputs, 576 or 1536 channels on 16 x 16 PEs: the projections of layers 14 and 2, as numbers.
#[test]
fn real_projections() {
    for (name, bits, groups) in [("14 q", 4, 8), ("14 q", 8, 8), ("2 down", 4, 14)] {
        let projection = projection(name).unwrap();
        let x = &projection.x[..50];
        let w: Vec<Vec<f64>> = projection.w.iter().map(|row| row[..37].to_vec()).collect();
        let calibration = Calibration::of(x, Scheme::new(bits, groups, Sign::Signed).unwrap()).unwrap();
        let weights = Weights::quantize(&w, bits).unwrap();
        let rows: Vec<_> = x.iter().map(|row| calibration.quantize(row)).collect();
        let sums = Mutex::new(Vec::new());
        run(&MultiScaleArray::default(), |controller| {
            let product = Product { rows: &rows, weights: &weights.values, int8: bits == 8 };
            let got = product.sums(controller, &steps(&calibration, controller.array().pe.max_shift))?;
            assert_eq!(controller.overflows(), 0);
            *sums.lock().unwrap() = got;
            Ok(())
        });
        let sums = sums.into_inner().unwrap();
        let products = group_products(&rows, &weights.values, &calibration.group, calibration.scales.len());
        assert_eq!(sums, requantized_sum(&products), "{name}");
        // As numbers: the golden model's error and no other, since the sums are the same.
        let exact = product(x, &w);
        let error = |y: &[Vec<f64>]| relative_error(&exact, y);
        let of_array = error(&dequantize(&sums, &calibration, &weights));
        let of_model = error(&tender_product(x, 256, calibration.scheme(), &weights).unwrap());
        assert_eq!(of_array, of_model, "{name}");
        println!("{name} in {bits} bits, {} groups: relative error {of_array:.2e}", calibration.scales.len());
        let bound = if bits == 8 { 1e-3 } else { 0.25 };
        assert!(of_array > 0.0 && of_array < bound, "{name} in {bits} bits: {of_array}");
    }
}

/// A tile of `channels` ones, with `rescales` rescales after the first channel.
fn ones(controller: &Controller<'_>, int8: bool, channels: usize, rescales: usize) -> Tile {
    let (rows, columns) = controller.extent(int8);
    let mut beats = vec![Beat::Multiply { act: vec![1; rows], weight: vec![1; columns] }; channels];
    beats.splice(1..1, std::iter::repeat_n(Beat::Rescale(1), rescales));
    Tile { beats, int8, act_signed: true, weight_signed: true }
}

/// The only cost of groups is one cycle each; fill and drain follow the formula in the documentation.
#[test]
fn cycles_are_those_of_the_formula() {
    let pe = TenderPe { accumulator_width: 11, overflow: Overflow::Saturate, ..TenderPe::default() };
    let small = MultiScaleArray { rows: 5, columns: 3, pe, int8: false, ..MultiScaleArray::default() };
    let pe = TenderPe { drain: Drain::Single, rescale: Rescale::Shifter, max_shift: 3, ..TenderPe::default() };
    let single = MultiScaleArray { rows: 2, columns: 7, pe, int8: false, ..MultiScaleArray::default() };
    let pe = TenderPe { pipelined: true, ..TenderPe::default() };
    let pipelined = MultiScaleArray { rows: 4, columns: 6, pe: pe.clone(), int8: true, ..MultiScaleArray::default() };
    let narrow = MultiScaleArray {
        rows: 3,
        columns: 2,
        pe: TenderPe { drain: Drain::Single, ..pe },
        int8: false,
        ..MultiScaleArray::default()
    };
    for p in [MultiScaleArray::default(), small, single, pipelined, narrow] {
        let (r, c) = (u64::from(p.rows), u64::from(p.columns));
        run(&p, |controller| {
            for int8 in [false, p.int8] {
                for (channels, groups) in [(1, 1), (1, 4), (2, 1), (15, 1), (16, 1), (17, 3), (100, 1), (100, 14)] {
                    let tile = ones(controller, int8, channels, groups - 1);
                    let fed: Vec<Fed> = (0..3).map(|_| controller.tile(&tile, || false)).collect::<sim::Result<_>>()?;
                    let end = controller.finish()?;
                    let steps = channels as u64 + (groups as u64 - 1);
                    // Fill, steps, drain; one from the last sum to the drain, one where nibbles are combined.
                    // Pipelined: one at the edge, one after the multipliers, two more for the nibbles.
                    let more = if p.pe.pipelined { 2 + 2 * u64::from(p.int8) } else { 0 };
                    let total = steps + (r - 1) + (c - 1) + c + 1 + u64::from(p.int8) + more;
                    let period = match p.pe.drain {
                        Drain::Double => steps.max(c),
                        Drain::Single => steps + c + 1,
                    };
                    assert_eq!(end + 1 - fed[2].last, total - (steps - 1), "{p:?} {channels} {groups}");
                    assert_eq!(fed[2].last - fed[1].last, period, "{p:?} {channels} {groups}");
                    assert_eq!(fed[1].last - fed[0].last, period);
                    assert_eq!(fed[0].last - fed[0].first, steps - 1);
                }
            }
            Ok(())
        });
    }
}

/// The sticky flag, at its edge: sums that just fit, sums that leave and come back.
#[test]
fn overflow_is_never_silent() {
    // The array of the bench's tests with 12-bit accumulators; the golden model says which sums are wrong.
    let pe = TenderPe { accumulator_width: 12, drain: Drain::Single, ..TenderPe::default() };
    let p = MultiScaleArray { rows: 2, columns: 4, pe, int8: true, ..MultiScaleArray::default() };
    run(&p, |controller| {
        let multiply = |act: i64, weight: i64| Beat::Multiply { act: vec![act; 2], weight: vec![weight; 4] };
        let times = |beat: Beat, count: usize| std::iter::repeat_n(beat, count);
        // 2047 = 9 x 225 + 22; one more unit leaves the range.
        let to_the_edge = || times(multiply(15, 15), 9).chain([multiply(11, 2)]);
        let unsigned: [Vec<Beat>; 4] = [
            to_the_edge().collect(),
            to_the_edge().chain([multiply(1, 1)]).collect(),
            times(multiply(4, 8), 32).chain([Beat::Rescale(1)]).collect(),
            times(multiply(1, 1), 1).chain(times(Beat::Rescale(1), 11)).chain(times(Beat::Rescale(1), 3)).collect(),
        ];
        let mut flags = Vec::new();
        for beats in unsigned {
            let before = controller.overflows();
            controller.tile(&Tile { beats, int8: false, act_signed: false, weight_signed: false }, || false)?;
            controller.finish()?;
            flags.push(controller.overflows() - before);
        }
        let signed: [Vec<Beat>; 3] = [
            // -1024 doubled is -2048, and fits.
            times(multiply(-8, 4), 32).chain([Beat::Rescale(1)]).collect(),
            times(multiply(-8, 4), 32).chain([multiply(-1, 1), Beat::Rescale(1), multiply(7, 7)]).collect(),
            times(multiply(-8, -8), 32).chain(times(multiply(-8, 7), 37)).collect(),
        ];
        for beats in signed {
            let before = controller.overflows();
            controller.tile(&Tile { beats, int8: false, act_signed: true, weight_signed: true }, || false)?;
            controller.finish()?;
            flags.push(controller.overflows() - before);
        }
        assert_eq!(flags, [0, 8, 8, 8, 0, 8, 8]);
        Ok(())
    });
}

#[test]
fn broken_arrays_are_noticed() {
    let pe = TenderPe { accumulator_width: 12, drain: Drain::Single, ..TenderPe::default() };
    let p = MultiScaleArray { rows: 2, columns: 4, pe, int8: true, ..MultiScaleArray::default() };
    let faults = [
        ("a rescale does not move down", Fault::net("rescale_q", "1'b0")),
        ("a bubble is not empty", Fault::net("multiplies", "step_fire")),
        ("low nibbles have a sign", Fault::net("act_now_low_signed", "step_act_signed_i")),
        ("the mode of another tile", Fault::net("int8_line_q", "{right[3], right[3:0]}").into("int8_row[0]")),
        ("a flag is lost", Fault::net("high_flag_q", "1'b0")),
        ("the next tile comes too early", Fault::net("step_ready_o", "1'b1")),
    ];
    must_be_noticed(&p, bench, 150, &faults);
    let p = MultiScaleArray { pe: TenderPe { pipelined: true, ..p.pe }, ..p };
    let faults = [
        ("the row moves before its last product", Fault::net("g_row[1].adds_q", "last[9]")),
        ("a column is added to a sum of its own", Fault::net("bytes_q", "1'b1").into("high_column_q")),
        ("the low row has no place", Fault::net("lower_q", "upper_q").into("column_q")),
        ("the flag of the first column is lost", Fault::net("high_flag_q", "1'b0")),
        ("a last step overtakes its operands", Fault::net("last_entered_q", "last_now")),
        ("the mode comes a cycle early", Fault::net("int8_entered_q", "step_int8_i")),
    ];
    must_be_noticed(&p, bench, 150, &faults);
}

/// Section VI-F: one pass for all groups costs next to nothing, a pass for each group does.
#[test]
fn explicit_requantization_is_slower() {
    let p = MultiScaleArray::default();
    let mut projection = projection("14 q").unwrap();
    projection.x.truncate(32);
    projection.w.iter_mut().for_each(|row| row.truncate(16));
    let mut before = 0;
    for groups in [4, 8] {
        let passes = Passes::new(&projection, groups).unwrap();
        let product = Product { rows: &passes.rows, weights: &passes.weights, int8: false };
        let cycles = product.measured(&p, passes.ways()).unwrap();
        assert_eq!(cycles, passes.ways().map(|way| predicted(&p, way, 2)));
        // Two tiles, a bubble for each rescale.
        let ([base, implicit, explicit], rescales) = (cycles, passes.rescales());
        assert_eq!(implicit, base + 2 * rescales as u64);
        assert!(rescales > 2 && rescales < groups, "{rescales}");
        assert!(explicit > implicit && explicit > before, "{cycles:?}");
        before = explicit;
    }
}

/// The paper's size: a tile of 1024 channels in 8 groups, INT4 and INT8.
#[tag(release)]
#[test]
#[ignore = "builds a model of 4096 PEs, minutes"]
fn paper_size() {
    let p = MultiScaleArray { rows: 64, columns: 64, ..MultiScaleArray::default() };
    run(&p, |controller| {
        let mut rng = controller.rng("operands");
        for (int8, range) in [(false, -8..8), (true, -128..128)] {
            let (rows, columns) = controller.extent(int8);
            let mut operands = |count: usize| (0..count).map(|_| rng.random_range(range.clone())).collect::<Vec<i64>>();
            let mut beats: Vec<Beat> =
                (0..1024).map(|_| Beat::Multiply { act: operands(rows), weight: operands(columns) }).collect();
            for g in (1..8).rev() {
                beats.insert(g * g * 16, Beat::Rescale(1));
            }
            let tile = Tile { beats, int8, act_signed: true, weight_signed: true };
            let start = controller.cycle();
            controller.tile(&tile, || false)?;
            let end = controller.finish()?;
            // Steps, skew, drain, one to its start, one after the combination of nibbles.
            assert_eq!(end + 1 - start, (1024 + 7) + 63 + 63 + 64 + 1 + 1);
            assert_eq!(controller.overflows(), 0);
        }
        Ok(())
    });
}
