//! The eDRAM bank in all its configurations, and broken ones.

use hdl::blocks::common::RamImplementation;
use hdl::blocks::kelle::EdramBank;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::edram_bank::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(20_000)).unwrap() {
        assert!(report.compared >= 2000, "{report:?}");
    }
}

#[test]
fn broken_banks_are_noticed() {
    let faults = [
        ("a row is young again by a read", Fault::net("write", "right | read").into("restored")),
        ("bits die a cycle early", Fault::operator("flips[3]", "<", "<=")),
        ("the read enable is stuck at 1", Fault::net("read", "1'b1")),
        ("the bank reads in each cycle without a refresh", Fault::net("read", "right | !refresh")),
        ("a write beside a refresh read is made", Fault::net("write", "back | write_i")),
        ("a write-back of nothing is made", Fault::net("back", "refresh_write_i & !refresh_read_i")),
    ];
    must_be_noticed(
        &EdramBank { rows: 9, width: 16, implementation: RamImplementation::Inferred, retention_model: true },
        bench,
        20_000,
        &faults,
    );
}
