//! The sums of parts in several sizes, and broken.

use hdl::accelerators::tender::PartSums;
use hdl::blocks::common::RamImplementation;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed_by;
use sim::{Design, RunOptions};
use testbenches::accelerators::part_sums::bench;

fn block(rows: u32, columns: u32, width: u32) -> PartSums {
    PartSums { rows, columns, width, storage: RamImplementation::Inferred }
}

fn design(block: &PartSums) -> Design {
    Design::from(&hdl::lang::elaborate(block).unwrap())
}

#[test]
fn several_sizes() {
    for block in [block(2, 4, 2), block(4, 8, 41), block(16, 4, 64)] {
        let options = RunOptions { vectors: 1000, ..RunOptions::default() };
        let bench = bench(&block).unwrap();
        sim::run(&*bench, &design(&block), &options).unwrap_or_else(|e| panic!("{block:?}: {e}"));
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("sums begin anew with each part", Fault::net("begins_q", "1'b1")),
        ("sums are not doubled", Fault::net("doubles_q", "1'b0")),
        ("a sum is read while it is written", Fault::net("waits", "1'b0")),
        ("sums that leave their range are not told", Fault::net("g_row[0].leaves", "1'b0")),
        ("an overflow of a part is forgotten", Fault::net("g_row[1].flag_q", "1'b0")),
        ("a sum stays after an abort", Fault::net("clear_i", "1'b0")),
        ("parts wait for columns that nobody writes", Fault::net("waits", "kept_q")),
        ("a column leaves with each part", Fault::net("ends_q", "1'b1")),
    ];
    let block = block(4, 8, 10);
    must_be_noticed_by(&*bench(&block).unwrap(), &design(&block), 500, &faults);
}
