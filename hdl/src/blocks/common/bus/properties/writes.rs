//! What is proved of the write DMA.

use super::{
    Beats, Commands, Duty, Load, NewBurst, aborting, before, commands, count, legal_address, lengths, record_lens,
    stays,
};
use crate::blocks::common::bus::axi_write_dma::{AxiWriteDma, AxiWriteDmaPorts};
use crate::blocks::common::bus::dma::Rows;
use crate::blocks::common::bus::rows::RowsEnd;
use crate::blocks::common::bus::slots::Job;
use crate::lang::{Array, Bundle, Module, Signal, Stream, bit, mux};

/// What the registers of a write DMA hold, for the intermediate steps of its proofs.
pub(in super::super) struct WriteState {
    pub(in super::super) here: Signal,
    pub(in super::super) level: Signal,
    pub(in super::super) shown: Signal,
    pub(in super::super) open: Signal,
    pub(in super::super) unsent: Signal,
    pub(in super::super) tail: Signal,
    pub(in super::super) data_at: Signal,
    pub(in super::super) beat: Signal,
    pub(in super::super) records: Array,
    pub(in super::super) aborting: Signal,
    pub(in super::super) commands: Commands,
    pub(in super::super) job: Stream<Job>,
    pub(in super::super) enters: Signal,
    pub(in super::super) checked: Signal,
    pub(in super::super) burst: NewBurst,
    pub(in super::super) clear: Signal,
    pub(in super::super) rows: RowsEnd,
}

pub(in super::super) fn write_dma(m: &mut Module, p: &AxiWriteDma, io: &AxiWriteDmaPorts, at: &WriteState) {
    let (aw, w, b) = (&io.mem.aw, &io.mem.w, &io.mem.b);
    let most = p.dma.outstanding;
    let new_address = stays(m, Duty::Ours, aw, None);
    let new_beat = stays(m, Duty::Ours, w, None);
    stays(m, Duty::Theirs, b, None);
    stays(m, Duty::Theirs, &io.command, Some(io.abort_i));
    stays(m, Duty::Theirs, &io.input, Some(io.abort_i));
    stays(m, Duty::Ours, &io.completion, Some(io.abort_i));
    legal_address(m, &p.axi, p.dma.burst_beats, aw);
    // Beats belong to addresses shown before, and all beats of such an address are here (A3.4.1).
    let len = aw.len.truncate(p.dma.len_width());
    let writes = lengths(m, "write", most, NewBurst { begins: new_address, len }, w.fire());
    m.assert_always("beats_have_an_address", !w.valid | writes.number.any());
    m.assert_always("last_is_last", !w.valid | w.last.eq(writes.last));
    m.assert_always("data_is_here", !writes.number.any() | w.valid);
    // A response comes after its address and its last beat (A3.3.1).
    let answers = b.fire();
    let addresses = count(m, "addresses", most, (aw.fire(), answers), None);
    let written = count(m, "written", most, (w.fire() & w.last, answers), None);
    m.assume("answers_were_earned", !b.valid | (addresses.any() & written.any()));
    m.assert_always("takes_answers", !(addresses.any() & written.any()) | b.ready);
    let shown = count(m, "shown", most, (new_address, answers), None);
    m.assert_always("outstanding_bursts", (shown + new_address).le(most));
    m.assert_always("addresses_shown", shown.eq(addresses + (aw.valid & !new_address)));
    m.assert_always("beats_owed", shown.eq(written + writes.number));
    // The records match the bursts. The design has counted a last beat that is offered as gone; the bus has not.
    let ends = m.wire("formal_ends", w.valid & w.last);
    m.assert_always("open_bursts", at.open.eq(shown + new_address));
    m.assert_always("owes_bursts", io.owes_o.eq(shown.any() | new_address));
    m.assert_always("unsent_bursts", (at.unsent + ends).eq(writes.number + new_address));
    m.assert_always("first_record", at.data_at.eq(writes.head.wrapping_add(ends)));
    m.assert_always("last_record", at.tail.eq(writes.tail.wrapping_add(new_address)));
    let sent = writes.beat.wrapping_add(w.valid);
    m.assert_always("beats_of_a_record", at.beat.eq(mux(ends, writes.beat.ty().lit(0), sent)));
    let records = record_lens(&p.axi, &p.dma, at.records);
    writes.agree(m, "write", &records);
    for (i, record) in records.iter().enumerate() {
        m.assert_always(&format!("new_record_{i}"), !new_address | writes.tail.ne(i as u32) | record.eq(len));
    }
    // The buffer holds the promised beats that have not left it, and the beats that are not promised.
    let promised = writes.beats() + mux(new_address, len + 1, 0);
    let left = writes.beat + w.valid;
    m.assert_always("buffer_holds", at.aborting | (at.level + left).eq(promised + at.here));
    m.assert_always("promised_is_shown", at.aborting | !at.unsent.any() | at.shown);
    m.assert_always("has_work", at.rows.has_work);
    // Each beat that no burst has promised is here, or is going to be packed. So the last burst begins when the walk
    // over the rows is over.
    if let (Some(work), Some(unpacked)) = (Beats::of(&p.axi, &p.dma), at.rows.beats) {
        let mut total = |name: &str, rows: Signal| {
            let rows = Rows::unpack(m, name, &p.dma, rows);
            m.unused(rows.odd);
            m.unused(rows.alternates);
            work.beats(rows.rows, rows.row_bytes)
        };
        let (enters, waits) = (total("formal_enters", at.checked), total("formal_waits", at.job.rows));
        let left = work.left(m, Load { load: at.enters, total: enters }, at.burst, at.clear, bit().lit(0));
        let zero = waits.ty().lit(0);
        let coming = unpacked + mux(at.job.valid, waits, zero);
        m.assert_always("beats_come", at.clear | left.eq(coming + at.here));
    }
    let in_hand = commands(m, &p.dma, (&io.command, &io.completion), at.commands, io.abort_i);
    m.assert_always("idle_owes_nothing", !io.idle_o | !(aw.valid | w.valid | shown.any() | in_hand.any()));
    let aborting = aborting(m, io.abort_i, io.idle_o);
    m.assert_always("abort_begins_no_more", !(aborting & new_address));
    m.assert_always("abort_writes_no_more", !(aborting & new_beat) | !w.strb.any());
    m.assert_always("abort_shows_nothing", !(io.abort_i | aborting) | !io.completion.valid);
    m.assert_always("abort_takes_nothing", !(io.abort_i | aborting) | !io.input.ready | io.idle_o);
    m.cover("pauses", addresses.any() & written.any() & !b.valid & b.ready);
    m.cover("all_outstanding", shown.eq(most));
    m.cover("beats_ahead_of_address", aw.valid & !aw.ready & w.valid & w.ready & w.last);
    m.cover("aborted_with_address", io.abort_i & aw.valid & !aw.ready);
    m.cover("aborted_with_beat", io.abort_i & w.valid & !w.ready & writes.number.any());
    m.cover("beat_without_strobes", aborting & new_beat);
    m.cover("aborted_with_answer", io.abort_i & !writes.number.any() & addresses.any());
    let was_aborting = before(m, "was_aborting", aborting & !io.idle_o);
    m.cover("idle_after_abort", was_aborting & io.idle_o);
}
