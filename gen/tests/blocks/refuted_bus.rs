//! Faults that the proofs of the bus refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;
use test_tag::tag;

const READ: &str = "axi_read_dma";
const WRITE: &str = "axi_write_dma";
const ARBITER: &str = "axi_arbiter";
const REGISTERS: &str = "axi_lite_registers";
const OPERAND: &str = "operand_check";
const LINK: &str = "job_link";
const DISPATCHER: &str = "dispatcher";

fn fault(block: &'static str, what: &'static str, fault: Fault, by: &'static str, step: u32) -> Refutation {
    Refutation { block, proof: 0, what, fault, by, step }
}

/// A register that forgets its value instead of waiting.
fn forgets(register: &str) -> Fault {
    Fault::net(register, "1'b0").into(register)
}

#[test]
fn faults_of_the_bus_are_refuted() {
    let net = Fault::net;
    let outside = |what, parts: &str, by| {
        let parts = parts.replace("beyond", "(|end_q[65:13])").replace("below", "(first_byte < window_base_i)");
        let parts = parts.replace("above", "({2'd0, window_limit_i} < end_q)");
        fault(OPERAND, what, net("outside", &parts), by, 7)
    };
    refute(vec![
        fault(
            READ,
            "bursts are longer than allowed",
            net("room", "2'd3").module("axi_bursts"),
            "u_bursts.beats_left",
            7,
        ),
        fault(READ, "an address is withdrawn", forgets("ar_valid_q"), "mem_ar_stays", 8),
        fault(READ, "idle with beats owed", net("busy", "in_hand"), "idle_owes_nothing", 8),
        fault(READ, "nothing is owed once its address is taken", net("owes_o", "mem_arvalid_o"), "owes_bursts", 8),
        fault(WRITE, "an address ahead of its data", net("needs", "2'd1").into("may"), "beats_come", 9),
        fault(ARBITER, "answers go to both managers", net("b_to_1", "1'b1"), "answer_1_came_in", 4),
        fault(ARBITER, "the number of another", net("number_q", "1'b0").module("axi_turns"), "u_reads.came_in_0", 5),
        fault(ARBITER, "data of the other manager", net("now_word", "!right"), "last_is_last", 6),
        fault(ARBITER, "the first manager goes first", net("behind", "1'b0").module("axi_turns"), "u_reads.fair_1", 6),
        fault(ARBITER, "an abort leaves strobes", net("w_strobes", "w_strb"), "no_strobes_after_abort", 6),
        fault(REGISTERS, "read data changes", net("ctrl_rdata_o", "right ^ {32{ctrl_rready_i}}"), "r_stays", 4),
        fault(
            REGISTERS,
            "an answer ahead of its data",
            net("has_data_q", "1'b1").into("write"),
            "answers_follow_address_and_data",
            4,
        ),
        outside("the window has no end", "beyond | below", "what_passes_lies_inside"),
        outside("addresses go on past the bus", "above | below", "what_passes_lies_inside"),
        outside(
            "the last byte of the window is outside",
            "beyond | below | (window_limit_i <= end_q)",
            "what_lies_inside_passes",
        ),
        fault(
            LINK,
            "a token ahead of the tokens that it awaits",
            net("all_taken", "state_q == 3'd2"),
            "given_behind_taken",
            5,
        ),
        fault(LINK, "a token too few is given", net("one_left", "left_q == 16'd2"), "the_last_one_is_marked", 5),
        fault(
            LINK,
            "tokens follow a last one",
            net("prior_ready_o", "!(&tokens_q) & !clear_i"),
            "none_behind_a_last_one",
            3,
        ),
        fault(LINK, "tokens stay where all is dropped", net("clear_i", "1'b0").into("tokens_q"), "clear_drops_all", 3),
        fault(
            DISPATCHER,
            "what it depends on need not have ended",
            net("waits_q", "2'b0"),
            "released_after_what_it_waits_for_1",
            5,
        ),
        fault(DISPATCHER, "an engine gets a second operation", net("free", "1'b1"), "engine_0_has_one_operation", 5),
        fault(DISPATCHER, "the one before need not be right", net("any_unknown", "1'b0"), "the_one_before_is_right", 4),
        fault(DISPATCHER, "operations go after a failure", net("any_failed", "1'b0"), "none_goes_after_a_failure", 5),
        fault(DISPATCHER, "an end does not wait for others", net("settled", "state_q == 2'd1"), "waits_for_all", 3),
        fault(DISPATCHER, "any error is told", net("fails", "any_failed"), "waits_for_earlier_ones_0", 8),
        fault(OPERAND, "only the last bit of rows counts", net("again", "3'd0"), "what_is_left_of_the_product", 3),
    ]);
}

/// Faults that show late: the search is long.
#[tag(full)]
#[test]
#[ignore = "minutes: faults that proofs reach after many cycles"]
fn late_faults_of_the_bus_are_refuted() {
    refute(vec![
        fault(READ, "more is asked for than there is room", Fault::net("fits", "1'b1"), "room_for_all", 11),
        fault(READ, "the last beat is too short", Fault::operator("row_last", "<=", "<"), "bytes_of_a_beat", 11),
        fault(WRITE, "an address is withdrawn", forgets("aw_valid_q"), "mem_aw_stays", 10),
        fault(
            WRITE,
            "nothing is owed once its address is taken",
            Fault::net("owes_o", "mem_awvalid_o"),
            "owes_bursts",
            10,
        ),
        fault(WRITE, "last is forgotten", Fault::net("last_beat", "1'b0").into("w_last_q"), "last_is_last", 10),
        fault(WRITE, "a beat is withdrawn", forgets("w_valid_q"), "mem_w_stays", 11),
    ]);
}
