//! The store of matrices in all configurations, broken ones, cycles, and a real projection.

use hdl::blocks::titanus::{DcimCells, DcimImplementation, DcimLinear, DcimMacro};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use sim::stimulus::real_numbers;
use test_tag::tag;
use testbenches::titanus::dcim_linear::{bench, cycles, products};

use super::dcim_macro::integers;
use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 200, false);
}

fn store((inputs, outputs): (u32, u32), (rows, columns): (u32, u32), (load, drain): (u32, u32)) -> DcimLinear {
    let cells = DcimCells { inputs, outputs, implementation: DcimImplementation::BlackBox, ..DcimCells::default() };
    DcimLinear { tile: DcimMacro { cells, ..DcimMacro::default() }, rows, columns, load, drain }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a vector goes to all rows", Fault::net("row_used[1]", "1'b1")),
        ("sums of other rows are added", Fault::net("head_row[0]", "1'b1")),
        ("columns of the next vector leave", Fault::net("head_last", "column_last_q").into("until_q")),
        ("a vector is left over from the one before", Fault::net("placed", "1'b0").into("x[3]")),
        ("a vector does not wait for its macros", Fault::net("macro_ready[2]", "1'b1")),
        ("sums do not wait for all macros", Fault::net("macro_valid[4]", "1'b1")),
        ("sums that leave are overwritten", Fault::net("sums_free", "1'b1")),
        ("a vector that waits is overwritten", Fault::net("free", "1'b1")),
        ("weights change under a vector", Fault::net("write_ready[1]", "1'b1")),
        ("a row that is not there is written", Fault::net("g_row[2].of_row", "write_row_i[2]")),
        (
            "a column that is not there is written",
            Fault::net("g_row[0].g_column[2].of_macro", "g_row[0].of_row & write_column_i[1]"),
        ),
        ("a clear leaves a vector that comes", Fault::net("clear_i", "1'b0").into("open_q")),
        ("a clear leaves a vector that waits", Fault::net("clear_i", "1'b0").into("full_q")),
        ("a clear leaves sums", Fault::net("clear_i", "1'b0").into("drains_q")),
        ("a clear leaves a beat of sums", Fault::net("clear_i", "1'b0").into("offered_q")),
        ("a clear leaves rectangles", Fault::net("clear_i", "1'b0").into("u_commands")),
    ];
    must_be_noticed(&store((2, 2), (3, 3), (1, 1)), bench, 600, &faults);
}

/// Weights of a real query projection and activations of the same layer, both scaled to 8 bits.
fn real(p: &DcimLinear, inputs: usize, outputs: usize, count: usize) {
    let (weights, x) = (real_numbers("l14_w_q").unwrap(), real_numbers("l14_attn_in").unwrap());
    let matrix = integers(&weights[..inputs].iter().map(|row| &row[..outputs]).collect::<Vec<_>>());
    let vectors = integers(&x[..count].iter().map(|row| &row[..inputs]).collect::<Vec<_>>());
    let wanted = cycles(p, count as u64, inputs, outputs);
    let block = p.clone();
    let bench = sim::kit::bench(p, move |sim, run| {
        let cycles = products(&block, (&mut *sim, &mut *run), &matrix, &vectors)?;
        run.expect_equal(sim, "cycles", "all vectors", wanted, cycles)
    });
    let design = hdl::lang::elaborate(p).unwrap();
    sim::run(&*bench.unwrap(), &sim::Design::from(&design), &options(1)).unwrap();
}

/// Bound by inputs, by bits, and by sums; rows and columns that the matrix does not fill.
#[test]
fn real_weights_and_cycles() {
    for (load, drain) in [(1, 8), (32, 8), (32, 1)] {
        real(&store((32, 8), (3, 4), (load, drain)), 70, 27, 9);
    }
}

#[tag(release)]
#[test]
#[ignore = "minutes: a whole projection in 54 macros"]
fn whole_projection() {
    real(&DcimLinear::default(), 576, 64, 24);
}
