//! What is proved of the read DMA.

use super::{Commands, Duty, NewBurst, aborting, before, commands, legal_address, lengths, record_lens, stays};
use crate::blocks::common::bus::axi_read_dma::{AxiReadDma, AxiReadDmaPorts};
use crate::lang::{Array, Module, Signal, mux};

/// What the registers of a read DMA hold, for the intermediate steps of its proofs.
pub(in super::super) struct ReadState {
    pub(in super::super) owed: Signal,
    pub(in super::super) level: Signal,
    pub(in super::super) open: Signal,
    pub(in super::super) tail: Signal,
    pub(in super::super) head: Signal,
    pub(in super::super) beat: Signal,
    pub(in super::super) records: Array,
    pub(in super::super) commands: Commands,
    pub(in super::super) has_work: Signal,
}

pub(in super::super) fn read_dma(m: &mut Module, p: &AxiReadDma, io: &AxiReadDmaPorts, at: &ReadState) {
    let (ar, r) = (&io.mem.ar, &io.mem.r);
    let most = p.dma.outstanding;
    let new_address = stays(m, Duty::Ours, ar, None);
    stays(m, Duty::Theirs, r, None);
    stays(m, Duty::Theirs, &io.command, Some(io.abort_i));
    stays(m, Duty::Ours, &io.output, Some(io.abort_i));
    stays(m, Duty::Ours, &io.completion, Some(io.abort_i));
    legal_address(m, &p.axi, p.dma.burst_beats, ar);
    // Data comes for addresses that were taken, with last where it belongs (A3.3.1, A3.4.1).
    let len = ar.len.truncate(p.dma.len_width());
    let reads = lengths(m, "read", most, NewBurst { begins: ar.fire(), len }, r.fire());
    m.assume("data_was_asked_for", !r.valid | reads.number.any());
    m.assume("last_is_last", !r.valid | r.last.eq(reads.last));
    m.assert_always("outstanding_bursts", (reads.number + ar.valid).le(most));
    // There is room for all beats that were requested, and for the burst that is offered.
    m.assert_always("takes_what_it_asked_for", !reads.number.any() | r.ready);
    m.assert_always("room_for_all", (at.owed + at.level).le(p.buffer_beats));
    let asking = mux(ar.valid, len + 1, 0);
    m.assert_always("owes_what_it_asked_for", (at.owed + reads.beat).eq(reads.beats() + asking));
    // The records match the bursts: as many, in the same places, as long.
    m.assert_always("open_bursts", at.open.eq(reads.number + ar.valid));
    m.assert_always("owes_bursts", io.owes_o.eq(reads.number.any() | ar.valid));
    m.assert_always("first_record", at.head.eq(reads.head) & at.beat.eq(reads.beat));
    m.assert_always("last_record", at.tail.eq(reads.tail.wrapping_add(ar.valid)));
    let records = record_lens(&p.axi, &p.dma, at.records);
    reads.agree(m, "read", &records);
    for (i, record) in records.iter().enumerate() {
        m.assert_always(&format!("asked_record_{i}"), !ar.valid | reads.tail.ne(i as u32) | record.eq(len));
    }
    let in_hand = commands(m, &p.dma, (&io.command, &io.completion), at.commands, io.abort_i);
    m.assert_always("idle_owes_nothing", !io.idle_o | !(ar.valid | reads.number.any() | in_hand.any()));
    let aborting = aborting(m, io.abort_i, io.idle_o);
    m.assert_always("abort_asks_no_more", !(aborting & new_address));
    m.assert_always("abort_shows_nothing", !(io.abort_i | aborting) | !(io.output.valid | io.completion.valid));
    m.assert_always("last_ends_a_row", !(io.output.valid & io.output.last) | io.output.row_last);
    m.assert_always("has_work", at.has_work);
    let bytes = io.output.bytes;
    m.assert_always("bytes_of_a_beat", !io.output.valid | (bytes.any() & bytes.le(p.axi.bytes())));
    m.assert_always("only_ends_are_short", !io.output.valid | io.output.row_last | bytes.eq(p.axi.bytes()));
    m.cover("pauses", reads.number.any() & !r.valid & r.ready);
    m.cover("all_outstanding", reads.number.eq(most));
    m.cover("aborted_with_address", io.abort_i & ar.valid & !ar.ready);
    m.cover("aborted_with_data", io.abort_i & reads.number.any() & r.valid);
    m.cover("aborted_with_output", io.abort_i & !reads.number.any() & !io.idle_o);
    let was_aborting = before(m, "was_aborting", aborting & !io.idle_o);
    m.cover("idle_after_abort", was_aborting & io.idle_o);
}
