//! Faults that the proofs of Titanus' blocks refute.

use crate::support::refute::{Refutation, refute};
use sim::fault::Fault;

#[test]
fn faults_of_titanus_are_refuted() {
    let fault = |block, what, fault, by, step| Refutation { block, proof: 0, what, fault, by, step };
    let (macro_, store, engine) = ("dcim_macro", "dcim_linear", "computing_engine");
    let (writer, reader) = ("cache_writer", "cache_reader");
    refute(vec![
        fault(
            store,
            "sums of other rows are added",
            Fault::net("head_row[0]", "1'b1").into("term[0]"),
            "sums_of_column_0",
            9,
        ),
        fault(
            store,
            "a vector does not wait for its macros",
            Fault::net("macro_ready[1]", "1'b1"),
            "sums_of_column_0",
            11,
        ),
        fault(store, "sums do not wait for all macros", Fault::net("macro_valid[1]", "1'b1"), "sums_of_column_0", 6),
        fault(macro_, "bits do not move", Fault::net("step", "1'b0").into("x[0]"), "bits_in_order", 4),
        fault(macro_, "weights change under a vector", Fault::net("write_ready_o", "1'b1"), "weights_stay", 3),
        fault(macro_, "the sign is added", Fault::net("sign_q", "1'b0").into("sum[0]"), "sums_are_worth_their_bits", 5),
        fault(
            macro_,
            "a clear leaves the last sum",
            Fault::net("clear_i", "1'b0").into("added_q"),
            "no_vector_lost_or_doubled",
            5,
        ),
        fault(macro_, "a result does not wait", Fault::net("waits", "1'b0"), "a_result_stays", 7),
        fault(
            macro_,
            "a tree forgets two rows",
            Fault::net("sum_of_2[0]", "3'sd0").module("dcim_cells"),
            "u_cells.sum_of_chosen_weights",
            1,
        ),
        fault(
            engine,
            "what was skipped is multiplied",
            Fault::net("g_vpu[0].counts_q", "1'b1"),
            "operands_are_the_beat",
            3,
        ),
        fault(
            engine,
            "an MU that rests is added",
            Fault::net("g_vpu[0].active_q", "1'b1"),
            "skipping_changes_no_sum",
            4,
        ),
        fault(
            engine,
            "sums begin from the sums before",
            Fault::net("begins_q", "1'b0").into("sum_q"),
            "sums_of_all_beats",
            5,
        ),
        fault(
            engine,
            "a clear leaves vectors that have begun",
            Fault::net("clear_i", "1'b0").into("begins_q"),
            "vectors_begin_anew",
            5,
        ),
        fault(engine, "a result does not wait", Fault::net("waits", "1'b0"), "no_result_lost_or_doubled", 6),
        fault(
            writer,
            "a tile does not wait for the compressor",
            Fault::net("compressor_tile_ready", "1'b1").into("takes"),
            "no_tile_lost_or_doubled",
            5,
        ),
        fault(
            writer,
            "a block gives way to the other side's",
            Fault::net("held_q", "1'b0").into("values_turn"),
            "a_block_stays",
            6,
        ),
        fault(
            reader,
            "tiles after the last one are given",
            Fault::net("tokens_wanted", "1'b1").into("shows"),
            "no_more_tiles_than_asked",
            5,
        ),
        fault(reader, "a read ends ahead of its stream", Fault::net("over", "1'b1"), "streams_are_owed", 5),
    ]);
}
