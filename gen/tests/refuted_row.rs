//! What the proofs of the frame of rows refute, as `docs/proofs.md` lists it.

mod support;

use support::refute::{Fault, refute};

#[test]
fn faults_of_the_row_frame_are_refuted() {
    let fault = |what, edit, by, step| Fault { block: "row_frame", proof: 1, what, edit, by, step };
    refute(vec![
        fault("beats enter a full buffer", ("wire room =", "wire room = 1'b1 |"), "beats_fit", 3),
        fault(
            "a beat starts without a place",
            ("& answers_output_valid & (taken_q", "& answers_output_valid & 1'b1 | (taken_q"),
            "results_fit",
            6,
        ),
        fault("every beat ends a row", ("wire ends_row =", "wire ends_row = 1'b1 |"), "rows_end_where_they_did", 7),
        fault("a cut is not told", ("wire cut = full & !input_last_i", "wire cut = 1'b0"), "error_of_its_row", 7),
        fault("the rest of a row that was cut comes in", ("store & cut", "1'b0"), "beats_in_order", 8),
        fault("a clear does not begin a row", ("first_q) | clear_i", "first_q)"), "answer_of_its_row", 8),
    ]);
}
