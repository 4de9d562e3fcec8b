//! `reduce_top`, whose files lie in one folder: jobs and their cycles.

use senbazuru::accelerators::reduce::{ReduceTop, bench};
use sim::kit::{options, run_all};

#[test]
fn jobs_of_all_configurations() {
    for report in run_all::<ReduceTop>(bench, &options(150)).unwrap_or_else(|e| panic!("{e:#}")) {
        assert!(report.compared > 1000, "{} values", report.compared);
    }
}
