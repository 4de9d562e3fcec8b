//! Refreshes while real texts are decoded.

use models::kelle::decode::Trace;
use models::kelle::refresh::{PAPER, decoded, uniform};

/// What the documentation claims of refreshes saved on decode traces.
#[test]
fn two_dimensional_refresh_saves() {
    for (layer, head) in [(2, 0), (14, 0), (28, 2)] {
        let trace = Trace::read(layer, head).unwrap_or_else(|e| panic!("{e}"));
        let count = |i| decoded(&trace, 64, 8, 256, i).unwrap_or_else(|e| panic!("{e}")).refreshes as f64;
        let ours: f64 = PAPER.iter().map(|(_, i)| count(*i)).sum();
        let (org, uni) = (2.0 * count(uniform(45_000)), 2.0 * count(uniform(360_000)));
        assert!(org > 16.0 * ours && uni > 2.0 * ours, "{layer}.{head}: {org} {uni} {ours}");
    }
}
