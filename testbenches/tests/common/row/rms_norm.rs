//! RMS norm in all configurations, broken, and of real rows.

use golden::common::row::{Distance, exact_rms_norm, rms_norm};
use hdl::blocks::common::RmsNorm;
use hdl::blocks::common::stream::FifoStorage;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::common::row::rms_norm::bench;

use super::{EPSILON, gains, largest, rows};

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    let block = RmsNorm { lanes: 2, max_beats: 3, buffer: 4, gain: true, storage: FifoStorage::Registers };
    let faults = [
        ("unused lanes count", Fault::net("counts", "!x_special").module("square_lane")),
        ("odd exponents are even", Fault::net("odd", "1'b0").module("inverse_root")),
        ("digits of the root are lost", Fault::net("digit", "1'b0").module("root_digit")),
        ("subnormal results are not placed", Fault::net("low", "1'b0").module("round_half")),
        ("a NaN is normalised", Fault::net("special", "1'b0").module("square_lane")),
    ];
    must_be_noticed(&block, bench, 150, &faults);
}

/// The residual stream of a real model, with elements up to 23,380, its own gains, and the other tensors of 576
/// columns.
#[test]
fn of_real_rows() {
    let gain = gains("l14_attn_norm");
    let mut all = Distance::default();
    for name in ["l14_attn_residual", "l02_ffn_in", "l14_attn_out", "l28_attn_in"] {
        let mut here = Distance::default();
        for x in rows(name) {
            let got = rms_norm::rms_norm(&x, Some(&gain), EPSILON).unwrap_or_else(|| panic!("{name} is undefined"));
            here = here.or(largest(&got, &exact_rms_norm(&x, &gain, EPSILON)));
        }
        println!("rms_norm of {name}: {:.4} ulp, {:.2e}, {} elements", here.ulp, here.absolute, here.count);
        all = all.or(here);
    }
    assert!(all.count == 4 * 64 * 576 && all.ulp > 0.4 && all.ulp <= 0.52, "{all:?}");
}
