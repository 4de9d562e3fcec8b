//! The macro in all configurations, broken ones, and real weights and activations.

use hdl::blocks::titanus::{DcimCells, DcimImplementation, DcimMacro};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use sim::stimulus::real_numbers;
use test_tag::tag;
use testbenches::titanus::dcim_macro::{bench, products};

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 1500, false);
}

#[test]
fn faults_are_found() {
    let cells = DcimCells { inputs: 5, outputs: 2, weight_width: 3, ..DcimCells::default() };
    let faults = [
        ("the sign is added", Fault::net("sign_q", "1'b0").into("g_output[0].sum_q")),
        ("bits do not move", Fault::net("step", "1'b0").into("x[1]")),
        ("weights change under a vector", Fault::net("write_ready_o", "1'b1")),
        ("a vector goes before a row", Fault::net("input_ready_o", "free & moves & !clear_i")),
        ("a clear leaves the vector at work", Fault::net("clear_i", "1'b0").into("left_q")),
        ("a clear leaves the last sum", Fault::net("clear_i", "1'b0").into("added_q")),
        ("a clear leaves a result", Fault::net("clear_i", "1'b0").into("done_q")),
        ("a result does not wait", Fault::net("waits", "1'b0")),
        ("a reset leaves a vector", Fault::net("rst_ni", "1'b1").into("left_q")),
        (
            "the row beyond the last is the first",
            Fault::net("row_i", "right == 3'd7 ? 3'd0 : right").module("dcim_cells"),
        ),
    ];
    must_be_noticed(&DcimMacro { input_width: 3, cells }, bench, 1500, &faults);
}

/// Scaled to signed integers of 8 bits by the largest magnitude.
pub fn integers(rows: &[&[f64]]) -> Vec<Vec<i64>> {
    let largest = rows.iter().flat_map(|row| row.iter()).fold(0.0f64, |most, x| most.max(x.abs()));
    rows.iter().map(|row| row.iter().map(|x| (x / largest * 127.0).round() as i64).collect()).collect()
}

/// A corner of a real query projection, as registers and as the model of a macro: results, and 10 cycles for a vector, 8 for
/// each further one.
fn real_products(cells: &DcimCells) {
    let (weights, x) = (real_numbers("l14_w_q").unwrap(), real_numbers("l14_attn_in").unwrap());
    let (inputs, outputs) = (cells.inputs as usize, cells.outputs as usize);
    let matrix = integers(&weights[..inputs].iter().map(|row| &row[..outputs]).collect::<Vec<_>>());
    let vectors = integers(&x[..12].iter().map(|row| &row[..inputs]).collect::<Vec<_>>());
    for implementation in [DcimImplementation::Registers, DcimImplementation::BlackBox] {
        let p = DcimMacro { cells: DcimCells { implementation, ..cells.clone() }, ..DcimMacro::default() };
        let bench = |p: &DcimMacro| {
            let (block, matrix, vectors) = (p.clone(), matrix.clone(), vectors.clone());
            sim::kit::bench(p, move |sim, run| {
                let cycles = products(&block, (&mut *sim, &mut *run), &matrix, &vectors)?;
                run.expect_equal(sim, "cycles", "12 vectors", 10 + 8 * 11, cycles)
            })
        };
        let design = hdl::lang::elaborate(&p).unwrap();
        sim::run(&*bench(&p).unwrap(), &sim::Design::from(&design), &options(1)).unwrap();
    }
}

#[test]
fn real_weights_and_activations() {
    real_products(&DcimCells { inputs: 64, outputs: 8, ..DcimCells::default() });
}

#[tag(full)]
#[test]
#[ignore = "minutes: the paper's size"]
fn default_parameters() {
    real_products(&DcimCells::default());
    run(&DcimMacro::default(), bench, &options(3000)).unwrap();
}
