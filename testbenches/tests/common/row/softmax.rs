//! Softmax in all configurations, broken, and of real scores.

use golden::common::row::{Distance, exact_softmax, nearest, softmax, units};
use hdl::blocks::common::Softmax;
use hdl::blocks::common::stream::FifoStorage;
use num_bigint::BigInt;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::common::row::softmax::bench;

use super::{largest, rows};

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    let block = Softmax { lanes: 2, max_beats: 3, buffer: 4, storage: FifoStorage::Registers };
    let faults = [
        ("the sum is not shifted when the maximum grows", Fault::net("grown_q", "6'd0")),
        ("beats keep the maximum of their time", Fault::net("since", "18'd0")),
        ("what is masked counts", Fault::net("nothing", "x_special").module("power_lane")),
        ("NaN is a number", Fault::net("undefined", "1'b0").module("power_lane")),
        ("a mask lasts a beat", Fault::net("rest", "length_i")),
    ];
    must_be_noticed(&block, bench, 150, &faults);
}

/// Scores of the attention of a real model: q k / 8 of a token and the tokens before it.
#[test]
fn of_real_scores() {
    let softmax = softmax::Softmax::new();
    let unit = Softmax::default();
    let mut all = Distance::default();
    for layer in ["l02", "l14", "l28"] {
        let (queries, keys) = (rows(&format!("{layer}_q")), rows(&format!("{layer}_k")));
        let mut here = Distance::default();
        // The first head; rows of its tensor are tokens.
        for (token, query) in queries[..64].iter().enumerate().step_by(3) {
            let score = |key: &Vec<u16>| {
                let value = |x: u16| {
                    let (negative, magnitude) = units(x);
                    if negative { -BigInt::from(magnitude) } else { magnitude.into() }
                };
                let sum: BigInt = query.iter().zip(key).map(|(&q, &k)| value(q) * value(k)).sum();
                nearest(sum < BigInt::ZERO, u128::try_from(sum.magnitude()).unwrap(), -51)
            };
            let x: Vec<u16> = keys[..=token].iter().map(score).collect();
            let got = softmax.softmax(&x, x.len(), unit.lanes as usize, unit.places());
            here = here.or(largest(&got.values, &exact_softmax(&x)));
        }
        println!("softmax of {layer}: {:.4} ulp, {:.2e}, {} elements", here.ulp, here.absolute, here.count);
        all = all.or(here);
    }
    assert!(all.count > 2000 && all.ulp > 0.4 && all.ulp <= 0.65 && all.absolute <= 0.0004, "{all:?}");
}
