//! What the proofs of parts of accelerators refute, as `docs/proofs.md` lists it.

mod support;

use sim::fault::Fault;
use support::refute::{Refutation, refute};

#[test]
fn faults_of_the_execution_controller_are_refuted() {
    let of = |proof| {
        move |what, fault: Fault, by, step| Refutation { block: "execution_controller", proof, what, fault, by, step }
    };
    let (fault, explicit) = (of(0), of(1));
    let net = Fault::net;
    refute(vec![
        fault(
            "a tile ends without a place for its sums",
            net("ready", "a_valid_i & b_valid_i"),
            "freed_with_its_place",
            4,
        ),
        fault("a word is read of a panel that is not there", net("ready", "!last_q | room_i"), "words_of_panels", 4),
        fault(
            "an entry is read while the one before it waits",
            net("reads", "active_q & index_valid_i"),
            "two_ahead_at_most",
            6,
        ),
        fault("a step is lost while the array waits", net("advance", "1'b1"), "two_ahead_at_most", 6),
        fault("a panel of A is given back with each tile", net("a_free_o", "ends"), "a_row_of_tiles", 4),
        fault("indices are given back with each row of tiles", net("index_free_o", "a_free_o"), "all_rows", 4),
        fault("it goes on behind a wrong entry", net("bad", "1'b0").into("go"), "an_error_stays", 5),
        explicit("a part does not begin anew", net("fresh_q", "1'b0"), "first_is_first", 6),
        explicit("the sums of a part stay", net("ends_part", "1'b0"), "last_is_last", 5),
        explicit("each part gives its panel back", net("b_free_o", "take_o"), "freed_with_its_place", 4),
    ]);
}
