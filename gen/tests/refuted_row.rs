//! What the proofs of the frame of rows refute, as `docs/proofs.md` lists it.

mod support;

use sim::fault::Fault;
use support::refute::{Refutation, refute};

#[test]
fn faults_of_the_row_frame_are_refuted() {
    let fault = |what, fault, by, step| Refutation { block: "row_frame", proof: 1, what, fault, by, step };
    refute(vec![
        fault("beats enter a full buffer", Fault::net("room", "1'b1"), "beats_fit", 3),
        fault(
            "a beat starts without a place",
            Fault::net("start", "kept_output_valid & answers_output_valid"),
            "results_fit",
            6,
        ),
        fault("every beat ends a row", Fault::net("ends_row", "1'b1"), "rows_end_where_they_did", 7),
        fault("a cut is not told", Fault::net("cut", "1'b0"), "error_of_its_row", 7),
        fault("the rest of a row that was cut comes in", Fault::net("dropping_q", "1'b0"), "beats_in_order", 8),
        fault("a clear does not begin a row", Fault::net("clear_i", "1'b0").into("first_q"), "answer_of_its_row", 8),
    ]);
}
