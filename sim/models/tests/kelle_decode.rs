//! Decoding on real queries, keys and values.

use golden::kelle::decode::Numbers;
use models::kelle::decode::{Policy, RECORDED, Trace, run};

/// What the documentation's tables claim: averaged over the recorded heads AERP is clearly better than a recent window, and
/// better than the first and the recent tokens from 32 tokens on. Scores of 8 bits keep most of that, of 4 bits little.
#[test]
fn aerp_is_better_than_a_window() {
    let traces: Vec<_> = RECORDED.iter().map(|&(l, h)| Trace::read(l, h).unwrap_or_else(|e| panic!("{e}"))).collect();
    let full: Vec<_> = traces.iter().map(Trace::full).collect();
    for tokens in [16, 32, 64, 128] {
        let mean = |policy| {
            let error = |t: usize| run(&traces[t], &full[t], tokens, policy).unwrap_or_else(|e| panic!("{e}")).error;
            (0..traces.len()).map(error).sum::<f64>() / traces.len() as f64
        };
        let window = mean(Policy::Window);
        for policy in [Policy::Softmax, Policy::Products, Policy::Hardware(Numbers::FOUR_BITS)] {
            assert!(mean(policy) < 0.4 * window, "{tokens} {policy:?}");
        }
        if tokens >= 32 {
            let first = mean(Policy::SinkAndWindow);
            let [eight, four] = [Numbers::EIGHT_BITS, Numbers::FOUR_BITS].map(|n| mean(Policy::Hardware(n)));
            assert!(mean(Policy::Softmax) < 0.9 * first && mean(Policy::Products) < 0.9 * first, "{tokens}");
            assert!(eight < 0.8 * first && eight < four && four < first, "{tokens}: {eight} {four} {first}");
        }
    }
}
