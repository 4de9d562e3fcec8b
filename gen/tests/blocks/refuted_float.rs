//! Faults that the proofs of floating-point units refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;

#[test]
fn faults_of_floating_point_units_are_refuted() {
    let fault = |block, what, fault, by| Refutation { block, proof: 0, what, fault, by, step: 0 };
    refute(vec![
        fault("float_add", "infinity less infinity is a number", Fault::net("undefined", "1'b0"), "undefined_is_nan"),
        fault("float_add", "a difference of zero is negative", Fault::net("vanished", "1'b0"), "cancelled"),
        fault("float_add", "the first operand counts as the larger", Fault::net("swap", "1'b0"), "sign_of_the_larger"),
        fault("float_mul", "0 times infinity is a number", Fault::net("undefined", "1'b0"), "undefined_is_nan"),
        fault("float_mul", "one factor has no sign", Fault::net("sign", "a_i[15]"), "sign_of_product"),
        fault("float_compare", "the zeros differ", Fault::net("zeros", "1'b0"), "equal_numbers"),
        fault(
            "float_convert",
            "what is rounded up goes down",
            Fault::operator("rounded", "+", "-"),
            "neighbour_of_normal_numbers",
        ),
        Refutation {
            proof: 3,
            ..fault(
                "float_convert",
                "positive numbers are rounded up to infinity",
                Fault::net("largest", "1'b0"),
                "what_is_too_large",
            )
        },
        fault("float_from_int", "a complement lacks its unit", Fault::net("up", "1'b0"), "exact_above_2_to_the_3"),
        fault("float_to_int", "what is too large wraps", Fault::net("outside", "beyond"), "beyond_is_the_end"),
    ]);
}
