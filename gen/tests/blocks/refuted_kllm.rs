//! Faults that the proofs of KLLM's lane, scaling unit and quantizer refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;
use test_tag::tag;

fn fault(what: &'static str, fault: Fault, by: &'static str, step: u32) -> Refutation {
    Refutation { block: "pe_lane", proof: 0, what, fault, by, step }
}

/// The same for the lane with outliers.
fn sparse(what: &'static str, fault: Fault, by: &'static str, step: u32) -> Refutation {
    Refutation { block: "pe_lane", proof: 2, what, fault, by, step }
}

#[test]
fn faults_of_the_lane_are_refuted() {
    refute(vec![
        fault("a bank is freed though it is kept", Fault::net("freed", "take & ends"), "beat_meets_its_word", 5),
        fault(
            "the same bank is read again",
            Fault::net("use_bank_q", "1'b0").module("double_buffer"),
            "beat_meets_its_word",
            5,
        ),
        fault("a clear keeps a beat", Fault::net("clear_i", "1'b0").into("taken_q"), "no_beat_lost", 4),
    ]);
}

#[tag(release)]
#[test]
#[ignore = "minutes: faults that show after many steps"]
fn late_faults_of_the_lane_are_refuted() {
    refute(vec![
        fault("an absent position adds", Fault::net("present_0_q", "1'b1"), "sum_is_exact_0", 12),
        fault("the table changes too late", Fault::net("building", "1'b0"), "sum_is_exact_0", 10),
        fault("columns are copied over others", Fault::net("free", "1'b1"), "copied_when_free", 8),
        fault("a beat is added while it waits", Fault::net("add", "valid_2_q & !clear_i"), "no_beat_lost", 9),
        fault("an end is not told", Fault::net("apart", "1'b0"), "error_tells", 9),
        fault("too many pairs are not told", Fault::net("wrong", "error_2_q"), "error_tells", 9),
        fault(
            "a column begins from the one before",
            Fault::net("start_i", "1'b0").module("lane_column"),
            "sum_is_exact_0",
            12,
        ),
    ]);
}

#[tag(full)]
#[test]
#[ignore = "minutes: faults that show after many steps"]
fn faults_of_outliers_are_refuted() {
    refute(vec![
        sparse("too many outliers are not told", Fault::net("too_many", "1'b0"), "error_tells", 10),
        sparse("a position that is none is not told", Fault::net("nowhere", "1'b0"), "error_tells", 9),
        sparse("an outlier without a value is not told", Fault::net("is_special", "1'b0"), "special_tells", 9),
        sparse(
            "a beat that comes again meets the next word",
            Fault::net("activations_again_i", "1'b0").into("address_q"),
            "beat_meets_its_word",
            5,
        ),
        sparse("a subnormal outlier is twice as large", Fault::net("normal", "1'b1"), "outlier_sum_is_exact_0", 9),
        sparse(
            "a negative outlier is added",
            Fault::net("outlier_negative_1_q", "1'b0").module("lane_column"),
            "outlier_sum_is_exact_0",
            9,
        ),
    ]);
}

#[tag(release)]
#[test]
#[ignore = "minutes: faults that show after many steps"]
fn faults_of_the_scaling_unit_are_refuted() {
    let fault =
        |what, fault, by, step| -> Refutation { Refutation { block: "scaling_unit", proof: 0, what, fault, by, step } };
    refute(vec![
        fault("sums are taken without factors", Fault::net("begins", "sums_valid_i & scale_room"), "taken_together", 2),
        fault("marks leave a beat early", Fault::net("marks_5_q", "{right[7:0], 2'b00}"), "marks_of_its_beat", 8),
        fault("an infinite scale is a number", Fault::net("no_value", "sums_special_i"), "no_value_of_its_beat", 8),
        fault(
            "a clear keeps a beat",
            Fault::net("clear_i", "1'b0").into("scale_valid_5_q"),
            "leaves_only_what_came",
            8,
        ),
    ]);
}

#[test]
fn faults_of_the_quantizer_are_refuted() {
    let mask = |what, fault, by, step| Refutation { block: "outlier_mask", proof: 0, what, fault, by, step };
    let share = |what, fault, by, step| Refutation { block: "outlier_share", proof: 0, what, fault, by, step };
    refute(vec![
        mask("who is found from both sides counts twice", Fault::net("fresh_o", "marked_q"), "fresh_once", 5),
        mask(
            "the row in use is filled",
            Fault::net("fill_last_i", "1'b0").into("fill_bank_q"),
            "the_bit_of_its_row",
            5,
        ),
        mask("a mark marks its neighbour", Fault::net("one_hot", "2'b11"), "the_bit_of_its_row", 5),
        share("the rest is lost", Fault::net("clear_i", "clear_i | next_i").into("rest_q"), "what_is_left_over", 4),
        share("a share is one too small", Fault::net("more", "right & (share_q != 3'd1)"), "floor_of_what_is_due", 4),
    ]);
}
