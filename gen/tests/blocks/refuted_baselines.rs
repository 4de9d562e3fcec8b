//! Faults that the proofs of the baselines' blocks refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;

#[test]
fn faults_of_baselines_are_refuted() {
    let fault = |block, what, fault, by, step| Refutation { block, proof: 0, what, fault, by, step };
    let (pe, group, serial) = ("exponent_pe", "outlier_pe_group", "bit_serial_pe");
    refute(vec![
        fault(pe, "a tile begins from the one before", Fault::net("base", "acc_q"), "sum_is_exact_or_flagged", 3),
        fault(pe, "an overflow is forgotten", Fault::net("overflow", "leaves"), "flag_tells", 3),
        fault(pe, "a sum does not wait for its row", Fault::net("holds_q", "1'b0"), "sum_waits", 5),
        fault(group, "the extra multiplier rests", Fault::net("outlier", "4'd0"), "sum_0_is_exact_or_wraps", 3),
        fault(
            group,
            "an upper half counts once",
            Fault::net("upper_i", "1'b0").into("g_lanes[0].own"),
            "sum_0_is_exact_or_wraps",
            3,
        ),
        fault(group, "sums do not wait for their row", Fault::net("holds_q", "1'b0"), "sum_0_waits", 5),
        fault(serial, "the common exponent is too small", Fault::net("largest", "3'd0"), "no_exponent_beyond_0", 2),
        fault(serial, "ties go up", Fault::net("up", "shift_4[0]"), "a_tie_is_even", 2),
        fault(serial, "lost bits do not count", Fault::net("lost", "1'b0"), "rounded_to_nearest", 2),
        fault(
            serial,
            "a scale begins from the one before",
            Fault::net("scale_first_i", "1'b0").into("result_q"),
            "result_is_sum_times_scale",
            3,
        ),
    ]);
}
