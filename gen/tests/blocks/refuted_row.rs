//! Faults that the proofs of the frame of rows refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;

#[test]
fn faults_of_the_row_frame_are_refuted() {
    let fault = |what, fault, by, step| Refutation { block: "row_frame", proof: 1, what, fault, by, step };
    refute(vec![
        fault("beats enter a full buffer", Fault::net("room", "1'b1"), "beats_fit", 5),
        fault("a cut is not told", Fault::net("cut", "1'b0"), "error_of_its_row", 9),
        fault(
            "a clear does not begin a row",
            Fault::net("clear_i", "1'b0").into("first_q"),
            "nothing_taken_while_cleared",
            2,
        ),
    ]);
}
