//! What the proofs of the baselines' blocks refute, as `docs/proofs.md` lists it.

mod support;

use sim::fault::Fault;
use support::refute::{Refutation, refute};

#[test]
fn faults_of_baselines_are_refuted() {
    let fault = |block, what, fault, by, step| Refutation { block, proof: 0, what, fault, by, step };
    let pe = "exponent_pe";
    refute(vec![
        fault(pe, "a tile begins from the one before", Fault::net("base", "acc_q"), "sum_is_exact_or_flagged", 3),
        fault(pe, "an overflow is forgotten", Fault::net("overflow", "leaves"), "flag_tells", 3),
        fault(pe, "a sum does not wait for its row", Fault::net("holds_q", "1'b0"), "sum_waits", 5),
    ]);
}
