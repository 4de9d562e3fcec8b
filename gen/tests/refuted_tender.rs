//! What the proofs of Tender's blocks and of their parts refute, as `docs/proofs.md` lists it.

mod support;

use support::refute::{Fault, refute};

#[test]
fn faults_of_tender_are_refuted() {
    let fault = |block, proof, what, edit, by, step| Fault { block, proof, what, edit, by, step };
    let (pe, array, mesh) = ("tender_pe", "multi_scale_array", "mac_mesh");
    refute(vec![
        fault("compactor", 1, "a lane is not cleared", ("{2{present[i + 15]}}", "{2{1'b1}}"), "nothing_above_count", 0),
        fault(
            "compactor",
            1,
            "an element stays behind",
            ("moves[i + 7] ? moved[i + 7] : moved[i + 5]", "moved[i + 5]"),
            "kept_in_order",
            0,
        ),
        fault("compactor", 1, "a lane too many is counted", ("3'd5 - gaps[19]", "3'd6 - gaps[19]"), "counts_lanes", 0),
        fault("expander", 1, "a lane is not cleared", ("{2{mask_i[i]}}", "{2{1'b1}}"), "placed_in_order", 0),
        fault(mesh, 1, "activations stop at the first PE", ("act_q <= act_i;", "act_q <= act_q;"), "sum_0_1", 4),
        fault(mesh, 1, "a clear drops the product as well", ("clear_i ? acc_wide :", "clear_i ? 5'd0 :"), "sum_0_0", 3),
        fault(
            mesh,
            1,
            "a clear is passed on too late",
            ("clear_q <= clear_i;", "clear_q <= clear_i & !clear_q;"),
            "sum_0_1",
            5,
        ),
        fault(
            pe,
            0,
            "a tile begins from the sum before",
            ("!first_i ? acc_q : 10'sd0", "acc_q"),
            "sum_is_exact_or_flagged",
            3,
        ),
        fault(pe, 0, "a flag outlives its tile", ("(overflow_q & !first_i) |", "overflow_q |"), "flag_tells", 3),
        fault(
            pe,
            0,
            "a sum does not wait",
            ("holds_q <= last_q | (holds_q & !drain_i)", "holds_q <= last_q"),
            "sum_waits",
            6,
        ),
        fault(array, 0, "the mode of another tile", ("int8_line_q[2]", "int8_line_q[1]"), "low_shows", 6),
        fault(
            array,
            0,
            "nibbles are exchanged",
            ("high_column_q <= column;", "high_column_q <= {column[11:0], column[13:12]};"),
            "high_shows_bytes",
            8,
        ),
        fault(
            array,
            0,
            "a flag of a nibble is lost",
            ("column_flag | high_flag_q", "column_flag"),
            "high_shows_bytes",
            8,
        ),
        fault(
            array,
            0,
            "low nibbles have a sign",
            ("step_act_signed_i & !step_int8_i", "step_act_signed_i"),
            "act_0_0",
            2,
        ),
        fault(
            array,
            1,
            "a rescale does not move down",
            ("rescale_q <= rescale[3*i]", "rescale_q <= 1'b0 & rescale[3*i]"),
            "controls_1_0",
            3,
        ),
        fault(
            array,
            1,
            "a bubble is not empty",
            ("step_fire & !step_rescale_i", "step_fire"),
            "bubble_is_empty_0_0",
            2,
        ),
    ]);
}
