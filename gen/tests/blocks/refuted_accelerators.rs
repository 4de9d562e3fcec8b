//! Faults that the proofs of accelerators and of their parts refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;
use test_tag::tag;

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
        fault("it goes on after a wrong entry", net("bad", "1'b0").into("go"), "an_error_stays", 5),
        explicit("a part does not begin anew", net("fresh_q", "1'b0"), "first_is_first", 6),
        explicit("the sums of a part stay", net("ends_part", "1'b0"), "last_is_last", 5),
        explicit("each part gives its panel back", net("b_free_o", "take_o"), "freed_with_its_place", 4),
    ]);
}

fn part(block: &'static str) -> impl Fn(&'static str, Fault, &'static str, u32) -> Refutation {
    move |what, fault, by, step| Refutation { block, proof: 0, what, fault, by, step }
}

#[tag(full)]
#[test]
#[ignore = "minutes: all properties of the controller are tried"]
fn faults_of_the_controller_are_refuted() {
    refute(vec![part("operation_controller")(
        "wrong fields begin all the same",
        Fault::net("fields_are_right", "fields"),
        "wrong_fields_begin_nothing",
        4,
    )]);
}

#[test]
fn faults_of_commands_and_codebooks_are_refuted() {
    let (list, loader) = (part("command_list"), part("codebook_loader"));
    let net = Fault::net;
    refute(vec![
        list("an operation is over at once", net("all_over", "1'b1"), "done_behind_the_last_end", 3),
        list("no error is told", net("first_fault", "3'd0"), "an_error_is_told", 4),
        loader("midpoints are kept as centroids", net("is_activation", "1'b1"), "what_waits", 4),
        loader("it counts what does not come", net("moves", "1'b1"), "count_of_both", 3),
    ]);
}

#[test]
fn faults_of_lists_and_importance_are_refuted() {
    let (list, importance) = (part("token_list"), part("importance_unit"));
    let (slots, turns, strips) = (part("recompute_slots"), part("array_turns"), part("strip_walker"));
    let net = Fault::net;
    refute(vec![
        strips("the last strip is as wide as all", net("last_strip", "1'b0"), "columns_of_the_matrix", 3),
        strips("the last panel is as high as all", net("last_panel", "1'b0"), "rows_of_the_matrix", 3),
        strips("a page is left out", net("had_page", "1'b1").into("moves"), "begins_where_it_should", 4),
        strips("a panel is twice as far", net("panel_bytes", "right << 1"), "begins_where_it_should", 4),
        turns("the array stays after its operation", Fault::operator("turn_q", "&", "|"), "one_user_has_it", 3),
        turns("the second user has to wait for ever", net("turn_q", "1'b1"), "one_user_has_it", 3),
        turns("an operation that has ended stays", net("leaves_i[0]", "1'b0"), "one_user_has_it", 4),
        list("the victim's row is lost", net("victim_row_q", "2'd0"), "list_is_read", 9),
        list("a token remains", net("after", "next"), "list_is_read", 11),
        list("moves end one early", net("at_end", "1'b1"), "takes_its_time", 8),
        slots("a token that goes keeps its slot", net("lost", "1'b0"), "slot_1_is_held", 8),
        slots("rows that are emptied keep theirs", net("writes", "freed_q | keep_i"), "a_token_that_has_a_slot", 6),
        slots("a token that goes is not forgotten", net("freed_q", "1'b0"), "a_token_that_has_a_slot", 9),
        slots("all heads have the same slots", net("place", "slot_i"), "slot_1_is_held", 6),
        importance("a first token goes", net("is_first", "1'b0"), "the_first_ones_stay", 8),
        importance("a recent token goes", net("is_recent", "1'b0"), "the_recent_ones_stay", 8),
        importance("it is known before the last panel", net("passes_i", "1'b0"), "known_behind_all_sums", 9),
        importance(
            "sums of a query are lost",
            net("adds_q", "right & judges_q").into("update_q"),
            "each_old_token_grows",
            11,
        ),
        importance("a free row grows", net("is_old", "1'b1").into("update_q"), "only_old_tokens_grow", 5),
    ]);
}

#[tag(release)]
#[test]
#[ignore = "minutes: faults that show after many steps"]
fn faults_of_factors_and_tokens_are_refuted() {
    let (ring, reader) = (part("factor_ring"), part("token_reader"));
    let net = Fault::net;
    refute(vec![
        ring("factors do not go round", net("again", "1'b0"), "the_record_of_its_turn", 10),
        ring("factors leave before all of a panel came", net("opens", "1'b1"), "the_record_of_its_turn", 8),
        reader("a second outlier of a beat is lost", net("repeats", "1'b0"), "again_while_there_are_more", 6),
        reader("an outlier that was sent counts as an inlier", net("gone[0]", "1'b0"), "present_0", 7),
        reader(
            "outliers of a token are left for the next one",
            net("behind_q", "1'b1"),
            "right_tokens_are_no_error",
            4,
        ),
    ]);
}

#[test]
fn faults_of_products_with_outliers_are_refuted() {
    let fault = part("dense_sparse_product");
    let net = Fault::net;
    refute(vec![
        fault("outliers of other rows are forgotten", net("rest", "1'b0"), "in_the_array_or_beside", 3),
        fault("an outlier is served again", net("served_q", "2'd0"), "beside_once", 4),
        fault(
            "an outlier stays in the array",
            net("marked[1]", "1'b0").into("dense[1]"),
            "outliers_are_zero_in_the_array",
            3,
        ),
        fault("halves are cut off", net("up", "1'b0"), "rounded_to_nearest_ties_to_even", 3),
        fault("a scale may rise", net("scale", "weight_shift_i"), "the_least_scale_so_far", 4),
        fault(
            "the last doublings are left out",
            net("last_step", "takes & last_channel"),
            "ends_at_the_finest_scale",
            5,
        ),
        fault("a row begins from the tile before", net("begun_q", "2'd3"), "sum_0_0", 10),
        fault("a row is found as soon as it is loaded", net("row_ends", "comes"), "all_rows_came", 5),
        fault("sums are merged a cycle early", net("since_q", "right + 1'b1").into("leaves"), "sum_0_0", 10),
    ]);
}
