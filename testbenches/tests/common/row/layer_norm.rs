//! Layer norm in all configurations, broken, and of real rows.

use golden::common::row::{Distance, exact_layer_norm, layer_norm};
use hdl::blocks::common::LayerNorm;
use hdl::blocks::common::stream::FifoStorage;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use test_tag::tag;
use testbenches::common::row::layer_norm::bench;

use super::{EPSILON, gains, largest, rows};

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[tag(full)]
#[test]
#[ignore = "half a minute: each fault is a large model"]
fn faults_are_found() {
    let block = LayerNorm { lanes: 2, max_beats: 3, buffer: 4, affine: true, storage: FifoStorage::Registers };
    let faults = [
        ("unused lanes count", Fault::net("counts", "!x_special").module("fixed_lane")),
        ("a difference has the sign of its element", Fault::net("negative", "1'b0").module("centre_lane")),
        ("a sum is not divided", Fault::net("below", "1'b0").module("inverse_root")),
    ];
    must_be_noticed(&block, bench, 150, &faults);
}

/// The same rows. This model has no layer norm with gains or biases. So the gains come from its RMS norm, and a row
/// serves as biases.
#[test]
fn of_real_rows() {
    let (gain, bias) = (gains("l14_attn_norm"), rows("l02_ffn_in")[0].clone());
    let mut all = Distance::default();
    for name in ["l14_attn_residual", "l14_attn_out", "l28_attn_in"] {
        let (mut plain, mut here) = (Distance::default(), Distance::default());
        let (one, none) = (vec![0x3c00; 576], vec![0; 576]);
        for x in rows(name) {
            let defined = |row: Option<Vec<u16>>| row.unwrap_or_else(|| panic!("{name} is undefined"));
            let got = defined(layer_norm::layer_norm(&x, None, EPSILON));
            plain = plain.or(largest(&got, &exact_layer_norm(&x, &one, &none, EPSILON)));
            let got = defined(layer_norm::layer_norm(&x, Some((&gain, &bias)), EPSILON));
            here = here.or(largest(&got, &exact_layer_norm(&x, &gain, &bias, EPSILON)));
        }
        println!("layer_norm of {name}: {:.4} ulp, {:.2e}, {} elements", plain.ulp, plain.absolute, plain.count);
        println!("with gain and bias: {:.4} ulp, {:.2e}", here.ulp, here.absolute);
        assert!(here.absolute <= 2.0 * plain.absolute, "{here:?}");
        all = all.or(plain);
    }
    assert!(all.count == 3 * 64 * 576 && all.ulp > 0.4 && all.ulp <= 0.52, "{all:?}");
}
