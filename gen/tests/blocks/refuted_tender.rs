//! Faults that the proofs of Tender's blocks and of their parts refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;

#[test]
fn faults_of_tender_are_refuted() {
    let fault = |block, proof, what, fault, by, step| Refutation { block, proof, what, fault, by, step };
    let (pe, array, mesh) = ("tender_pe", "multi_scale_array", "mac_mesh");
    refute(vec![
        fault(
            "compactor",
            1,
            "a lane is not cleared",
            Fault::net("compacted[1]", "moved[16]"),
            "nothing_above_count",
            0,
        ),
        fault("compactor", 1, "an element is not moved", Fault::net("moved[10]", "moved[5]"), "kept_in_order", 0),
        fault("compactor", 1, "a lane too many is counted", Fault::net("count", "3'd6 - gaps[19]"), "counts_lanes", 0),
        fault("expander", 1, "a lane is not cleared", Fault::net("expanded[0]", "returned[0]"), "placed_in_order", 0),
        fault(
            mesh,
            1,
            "activations stop at the first PE",
            Fault::net("act_i", "act_q").into("act_q").module("mac_pe"),
            "sum_0_1",
            4,
        ),
        fault(
            mesh,
            1,
            "a clear drops the product as well",
            Fault::net("product", "clear_i ? 4'd0 : right").into("acc_q").module("mac_pe"),
            "sum_0_0",
            3,
        ),
        fault(
            mesh,
            1,
            "a clear is passed on too late",
            Fault::net("clear_i", "right & !clear_q").into("clear_q").module("mac_pe"),
            "sum_0_1",
            5,
        ),
        fault(pe, 0, "a tile begins from the sum before", Fault::net("base", "acc_q"), "sum_is_exact_or_flagged", 3),
        fault(pe, 0, "a flag outlives its tile", Fault::net("overflow", "overflow_q | leaves"), "flag_tells", 3),
        fault(pe, 0, "a sum does not wait", Fault::net("holds_q", "1'b0").into("holds_q"), "sum_waits", 6),
        fault(
            pe,
            1,
            "a row is subtracted without its 1",
            Fault::net("rows_2_upper", "$signed({row_2[4], row_2[4:1]}) + $signed({row_3[4], row_3})"),
            "sum_is_exact_or_flagged",
            3,
        ),
        fault(
            pe,
            6,
            "the product does not wait",
            Fault::net("product_q", "product").into("acc_q"),
            "sum_is_exact_or_flagged",
            4,
        ),
        fault(
            pe,
            7,
            "a product joins the neighbour's sum",
            Fault::net("arriving", "product_q"),
            "shifts_its_neighbour",
            3,
        ),
        fault(
            array,
            0,
            "the mode of another tile",
            Fault::net("int8_row[0]", "drain[0] ? int8_line_q[1] : int8_q"),
            "low_shows",
            6,
        ),
        fault(
            array,
            0,
            "nibbles are exchanged",
            Fault::net("column", "{right[11:0], right[13:12]}").into("high_column_q"),
            "high_shows_bytes",
            8,
        ),
        fault(
            array,
            0,
            "a flag of a nibble is lost",
            Fault::net("high_flag_q", "1'b0").into("high_out_overflow_q"),
            "high_shows_bytes",
            8,
        ),
        fault(array, 0, "low nibbles have a sign", Fault::net("act_now_low_signed", "step_act_signed_i"), "act_0_0", 2),
        fault(array, 1, "a rescale does not move down", Fault::net("g_below[0].rescale_q", "1'b0"), "controls_1_0", 3),
        fault(array, 1, "a bubble is not empty", Fault::net("multiplies", "step_fire"), "bubble_is_empty_0_0", 2),
    ]);
}
