//! The buffer of levels in all configurations, and broken ones.

use hdl::blocks::titanus::ScaleZeroBuffer;
use testbenches::titanus::scale_zero_buffer::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 1000, false);
}

#[test]
fn faults_are_found() {
    let faults = [("a word that is written is read late", "same_q ? passed_q : word", "word")];
    let block = ScaleZeroBuffer { lanes: 2, tiles: 1, levels: 2, width: 18 };
    must_be_found(&block, bench, 1000, &faults);
}
