//! What is proved of everything with an AXI port: rules of the specification (IHI 0022, section A3), stated from the ports
//! alone. Ours are assertions, the subordinate's are assumptions.

use super::axi::{AxiAddress, AxiSpec, BOUNDARY, BURST_INCR};
use super::axi_arbiter::{AxiArbiter, AxiArbiterPorts};
use super::axi_read_dma::{AxiReadDma, AxiReadDmaPorts};
use super::axi_write_dma::{AxiWriteDma, AxiWriteDmaPorts};
use super::dma::{DmaCommand, DmaCompletion, DmaSpec};
use super::records::wrapping_next;
use crate::lang::{Bundle, Module, Signal, Stream, bit, bits_for, index_width, mux, uint};

/// Whose duty a rule is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duty {
    Ours,
    Theirs,
}

impl Duty {
    #[track_caller]
    fn state(self, m: &mut Module, name: &str, rule: Signal) {
        match self {
            Self::Ours => m.assert_always(name, rule),
            Self::Theirs => m.assume(name, rule),
        }
    }
}

/// The value of the cycle before, 0 after reset.
#[track_caller]
pub(super) fn before(m: &mut Module, name: &str, now: Signal) -> Signal {
    let held = m.reg_init(&format!("formal_{name}_q"), now.ty(), 0);
    held.next(now);
    held.q
}

/// Valid, once high, stays with all that the beat carries until it is taken (A3.2.1); it is low after reset (A3.1.2).
/// `release` lets it go. Returns that the beat is shown for the first time.
#[track_caller]
pub(super) fn stays<B: Bundle>(m: &mut Module, duty: Duty, channel: &Stream<B>, release: Option<Signal>) -> Signal {
    let name = channel.name.clone();
    let go = release.map_or_else(|| bit().lit(1), |r| !r);
    let waits = before(m, &format!("{name}_waits"), channel.valid & !channel.ready & go);
    let was = m.reg(&format!("formal_{name}_was_q"), uint(channel.data.pack().width()));
    was.next(channel.data.pack());
    let kept = channel.valid & channel.data.pack().eq(was.q);
    let released = release.unwrap_or_else(|| bit().lit(0));
    duty.state(m, &format!("{name}_stays"), !waits | kept | released);
    let running = before(m, &format!("{name}_running"), bit().lit(1));
    duty.state(m, &format!("{name}_low_after_reset"), running | !channel.valid);
    if duty == Duty::Ours {
        m.cover(&format!("{name}_stalled"), waits & channel.valid & !channel.ready);
    }
    channel.valid & !waits
}

/// A count up and down.
#[track_caller]
pub(super) fn count(
    m: &mut Module,
    name: &str,
    most: u32,
    (up, down): (Signal, Signal),
    clear: Option<Signal>,
) -> Signal {
    let width = bits_for(most.into()) + 1;
    let held = m.reg_init(&format!("formal_{name}_q"), uint(width), 0);
    let moved = held.q.wrapping_add(up).wrapping_sub(down);
    held.next(clear.map_or(moved, |clear| mux(clear, uint(width).lit(0), moved)));
    held.q
}

/// Bursts are INCR of whole beats and at most `beats` of them, at multiples of the bus width, within 4 KiB (A3.4.1).
#[track_caller]
fn legal_address(m: &mut Module, axi: &AxiSpec, beats: u32, channel: &Stream<AxiAddress>) {
    let name = channel.name.clone();
    let within = channel.addr.slice(0..BOUNDARY.trailing_zeros());
    let bytes = (channel.len + 1).shl(axi.size());
    let rule = |m: &mut Module, what: &str, holds: Signal| {
        m.assert_always(&format!("{name}_{what}"), !channel.valid | holds);
    };
    rule(m, "within_4_kib", (within + bytes).le(BOUNDARY));
    rule(m, "length", channel.len.lt(beats));
    rule(m, "whole_beats", channel.size.eq(axi.size()) & !within.slice(0..axi.size()).any());
    rule(m, "incr", channel.burst.eq(BURST_INCR));
    m.cover(&format!("{name}_longest"), channel.valid & channel.len.eq(beats - 1));
    // One burst ends at the boundary, the next one begins there.
    let ends = before(m, &format!("{name}_at_boundary"), channel.fire() & (within + bytes).eq(BOUNDARY));
    let ended = m.reg_init(&format!("formal_{name}_ended_q"), bit(), 0);
    ended.next(ends | (ended.q & !channel.fire()));
    m.cover(&format!("{name}_splits_at_4_kib"), (ended.q | ends) & channel.valid & !within.any());
}

/// The bursts whose beats are not all done, in order: `push` adds one of `len`, `beat` is a beat of the first one. Returns
/// how many there are, and whether the coming beat is the last one of its burst.
#[track_caller]
pub(super) fn lengths(
    m: &mut Module,
    name: &str,
    most: u32,
    (push, len): (Signal, Signal),
    beat: Signal,
) -> (Signal, Signal) {
    let len_ty = len.ty();
    let ty = uint(index_width(most.into()));
    let words = m.regs(&format!("formal_{name}_len"), len_ty, most);
    let pointer = |m: &mut Module, what: &str, step: Signal| {
        let at = m.reg_init(&format!("formal_{name}_{what}_q"), ty, 0);
        at.next_when(step, wrapping_next(at.q, most - 1));
        at.q
    };
    let done = m.net(&format!("formal_{name}_done"), bit());
    let tail = pointer(m, "tail", push);
    let head = pointer(m, "head", done);
    m.for_each(&format!("formal_{name}"), most, |m, i| {
        let here = m.wire(&format!("formal_{name}_here"), push & tail.eq(i.value(ty.width)));
        words.next_when(m, i, here, len);
    });
    let number = count(m, &format!("{name}_number"), most, (push, done), None);
    let at = m.reg_init(&format!("formal_{name}_beat_q"), len_ty, 0);
    let last = m.wire(&format!("formal_{name}_last"), at.q.eq(words.q.at(head)));
    m.connect(done, beat & last);
    at.next_when(beat, mux(last, len_ty.lit(0), at.q.wrapping_add(1)));
    (number, last)
}

/// Whether some command that obeys the rules was taken, and how many are in hand.
fn commands(
    m: &mut Module,
    (axi, dma): (&AxiSpec, &DmaSpec),
    command: &Stream<DmaCommand>,
    completion: &Stream<DmaCompletion>,
    abort: Signal,
) -> (Signal, Signal) {
    let rest = command.rows.wrapping_sub(1) * command.stride;
    let end = m.wire("formal_end", command.address + rest + command.row_bytes);
    let multiples = !command.address.slice(0..6).any() & !command.stride.slice(0..6).any();
    let reaches = end.le(num_bigint::BigInt::from(1) << axi.address_width);
    let legal = m.wire("formal_legal", multiples & command.rows.any() & command.row_bytes.any() & reaches);
    let any = m.reg_init("formal_any_q", bit(), 0);
    any.next(any.q | (command.fire() & legal));
    let in_hand = count(m, "in_hand", dma.commands + 1, (command.fire(), completion.fire()), Some(abort));
    m.assert_always("commands_fit", in_hand.le(dma.commands + 1));
    m.assert_always("ends_follow_commands", !completion.valid | in_hand.any());
    m.cover("refused_then_good", any.q & completion.valid & completion.error.bit(2));
    m.cover("bus_error", completion.valid & completion.error.eq(3));
    let completed = count(m, "completed", 3, (completion.fire() & completion.error.eq(0), bit().lit(0)), None);
    m.cover("two_commands", completed.eq(2));
    (any.q, in_hand)
}

/// A soft reset from `abort` to the first idle cycle behind it.
fn aborting(m: &mut Module, abort: Signal, idle: Signal) -> Signal {
    let held = m.reg_init("formal_aborting_q", bit(), 0);
    held.next(abort | (held.q & !idle));
    held.q
}

pub(super) fn read_dma(m: &mut Module, p: &AxiReadDma, io: &AxiReadDmaPorts, owed: Signal) {
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
    let (number, last) = lengths(m, "read", most, (ar.fire(), len), r.fire());
    let beats = |now: Signal| mux(now, len + 1, 0);
    let due = count(m, "due", p.buffer_beats, (beats(ar.fire()), r.fire()), None);
    m.assume("data_was_asked_for", !r.valid | (number.any() & due.any()));
    m.assume("last_is_last", !r.valid | r.last.eq(last));
    m.assert_always("outstanding_bursts", number.le(most));
    // There is room for all that was asked for, and for what is being asked for.
    m.assert_always("owes_what_it_asked_for", (due + beats(ar.valid)).eq(owed));
    m.assert_always("takes_what_it_asked_for", !due.any() | r.ready);
    let (any, in_hand) = commands(m, (&p.axi, &p.dma), &io.command, &io.completion, io.abort_i);
    m.assert_always("refused_commands_stay_off_the_bus", any | !ar.valid);
    m.assert_always("idle_owes_nothing", !io.idle_o | !(ar.valid | number.any() | in_hand.any()));
    let aborting = aborting(m, io.abort_i, io.idle_o);
    m.assert_always("abort_asks_no_more", !(aborting & new_address));
    m.assert_always("abort_shows_nothing", !(io.abort_i | aborting) | !(io.output.valid | io.completion.valid));
    // Each command that ends well had its last beat.
    let ends_well = io.completion.fire() & io.completion.error.eq(0);
    let lasts = count(m, "lasts", p.dma.commands, (io.output.fire() & io.output.last, ends_well), Some(io.abort_i));
    m.assert_always("well_after_last", !(io.completion.valid & io.completion.error.eq(0)) | lasts.any());
    m.assert_always("last_ends_a_row", !(io.output.valid & io.output.last) | io.output.row_last);
    let bytes = io.output.bytes;
    m.assert_always("bytes_of_a_beat", !io.output.valid | (bytes.any() & bytes.le(p.axi.bytes())));
    m.assert_always("only_ends_are_short", !io.output.valid | io.output.row_last | bytes.eq(p.axi.bytes()));
    m.cover("pauses", number.any() & !r.valid & r.ready);
    m.cover("all_outstanding", number.eq(most));
    m.cover("aborted_with_address", io.abort_i & ar.valid & !ar.ready);
    m.cover("aborted_with_data", io.abort_i & number.any() & r.valid);
    m.cover("aborted_with_output", io.abort_i & !number.any() & !io.idle_o);
    let was_aborting = before(m, "was_aborting", aborting & !io.idle_o);
    m.cover("idle_after_abort", was_aborting & io.idle_o);
}

pub(super) fn write_dma(m: &mut Module, p: &AxiWriteDma, io: &AxiWriteDmaPorts) {
    let (aw, w, b) = (&io.mem.aw, &io.mem.w, &io.mem.b);
    let most = p.dma.outstanding;
    let new_address = stays(m, Duty::Ours, aw, None);
    let new_beat = stays(m, Duty::Ours, w, None);
    stays(m, Duty::Theirs, b, None);
    stays(m, Duty::Theirs, &io.command, Some(io.abort_i));
    stays(m, Duty::Theirs, &io.input, Some(io.abort_i));
    stays(m, Duty::Ours, &io.completion, Some(io.abort_i));
    legal_address(m, &p.axi, p.dma.burst_beats, aw);
    // Beats are those of the addresses shown before, and all of them are here (A3.4.1).
    let (unsent, last) = lengths(m, "write", most, (new_address, aw.len.truncate(p.dma.len_width())), w.fire());
    m.assert_always("beats_have_an_address", !w.valid | unsent.any());
    m.assert_always("last_is_last", !w.valid | w.last.eq(last));
    m.assert_always("data_is_here", !unsent.any() | w.valid);
    // A response comes behind its address and its last beat (A3.3.1).
    let answers = b.fire();
    let addresses = count(m, "addresses", most, (aw.fire(), answers), None);
    let written = count(m, "written", most, (w.fire() & w.last, answers), None);
    m.assume("answers_were_earned", !b.valid | (addresses.any() & written.any()));
    m.assert_always("takes_answers", !(addresses.any() & written.any()) | b.ready);
    let shown = count(m, "shown", most, (new_address, answers), None);
    m.assert_always("outstanding_bursts", shown.le(most));
    let (any, in_hand) = commands(m, (&p.axi, &p.dma), &io.command, &io.completion, io.abort_i);
    m.assert_always("refused_commands_stay_off_the_bus", any | !(aw.valid | w.valid));
    m.assert_always("idle_owes_nothing", !io.idle_o | !(aw.valid | w.valid | shown.any() | in_hand.any()));
    let aborting = aborting(m, io.abort_i, io.idle_o);
    m.assert_always("abort_begins_no_more", !(aborting & new_address));
    m.assert_always("abort_writes_no_more", !(aborting & new_beat) | !w.strb.any());
    m.assert_always("abort_shows_nothing", !(io.abort_i | aborting) | !io.completion.valid);
    m.assert_always("abort_takes_nothing", !(io.abort_i | aborting) | !io.input.ready);
    // No write is reported before all is answered: with one command in hand, nothing is owed when it ends.
    let ended = io.completion.valid & in_hand.eq(1);
    m.assert_always("ends_when_answered", !ended | !shown.any());
    m.cover("pauses", addresses.any() & written.any() & !b.valid & b.ready);
    m.cover("all_outstanding", shown.eq(most));
    m.cover("beats_ahead_of_address", aw.valid & !aw.ready & w.valid & w.ready & w.last);
    m.cover("aborted_with_address", io.abort_i & aw.valid & !aw.ready);
    m.cover("aborted_with_beat", io.abort_i & w.valid & !w.ready & unsent.any());
    m.cover("beat_without_strobes", aborting & new_beat);
    m.cover("aborted_with_answer", io.abort_i & !unsent.any() & addresses.any());
    let was_aborting = before(m, "was_aborting", aborting & !io.idle_o);
    m.cover("idle_after_abort", was_aborting & io.idle_o);
}

pub(super) fn arbiter(m: &mut Module, p: &AxiArbiter, io: &AxiArbiterPorts) {
    let (mem, mgr) = (&io.mem, &io.mgr);
    let low = p.axi.id_width;
    let (ar, aw, w, b, r) = (&mem.read.ar, &mem.write.aw, &mem.write.w, &mem.write.b, &mem.read.r);
    stays(m, Duty::Ours, ar, None);
    let new_address = stays(m, Duty::Ours, aw, None);
    stays(m, Duty::Ours, w, None);
    stays(m, Duty::Theirs, b, None);
    stays(m, Duty::Theirs, r, None);
    // Data in the order of the addresses, each burst as long as its address says (A5.2).
    let most = p.outstanding + 1;
    let (unsent, last) = lengths(m, "write", most, (new_address, aw.len.bit(0)), w.fire());
    m.assert_always("beats_have_an_address", !w.valid | unsent.any());
    m.assert_always("last_is_last", !w.valid | w.last.eq(last));
    m.assert_always("addresses_ahead", unsent.le(most));
    for k in 0..p.managers {
        let (ar_k, aw_k, w_k) = (mgr.ar.at(k), mgr.aw.at(k), mgr.w.at(k));
        let (b_k, r_k) = (mgr.b.at(k), mgr.r.at(k));
        stays(m, Duty::Theirs, &ar_k, None);
        let begins = stays(m, Duty::Theirs, &aw_k, None);
        stays(m, Duty::Theirs, &w_k, None);
        stays(m, Duty::Ours, &b_k, None);
        stays(m, Duty::Ours, &r_k, None);
        // Managers keep their own rules; bursts of up to two beats are enough to see the order.
        let few = 3;
        let (promised, last) = lengths(m, &format!("write_{k}"), few, (begins, aw_k.len.bit(0)), w_k.fire());
        m.assume(&format!("beats_have_an_address_{k}"), !w_k.valid | promised.any());
        m.assume(&format!("last_is_last_{k}"), !w_k.valid | w_k.last.eq(last));
        m.assume(&format!("few_bursts_{k}"), promised.le(few) & (!begins | promised.lt(few)));
        m.assume(&format!("short_bursts_{k}"), aw_k.len.le(1));
        // What goes in comes out, under the manager's number; three places are between.
        let moves = |m: &mut Module, what: &str, (comes, goes): (Signal, Signal), seen: Signal| {
            let inside = count(m, &format!("{what}_{k}"), 3, (comes, goes), None);
            m.assert_always(&format!("{what}_came_in_{k}"), !seen | inside.any());
            m.assert_always(&format!("{what}_fits_{k}"), inside.le(3));
        };
        let of = |id: Signal| id.slice(low..id.width()).eq(k);
        moves(m, "read_address", (ar_k.fire(), ar.fire() & of(ar.id)), ar.valid & of(ar.id));
        moves(m, "write_address", (aw_k.fire(), aw.fire() & of(aw.id)), aw.valid & of(aw.id));
        moves(m, "answer", (b.fire() & of(b.id), b_k.fire()), b_k.valid);
        moves(m, "read_data", (r.fire() & of(r.id), r_k.fire()), r_k.valid);
        // Fair: others have the port at most managers - 1 times after an address has been taken in.
        let fair = |m: &mut Module, what: &str, came: Signal, out: &Stream<AxiAddress>, is_new: Signal| {
            let mine = of(out.id);
            let waits = count(m, &format!("{what}_waits_{k}"), 3, (came, is_new & mine), None);
            let others = m.reg_init(&format!("formal_{what}_others_{k}_q"), uint(bits_for(p.managers.into()) + 1), 0);
            let more = others.q.wrapping_add(is_new);
            others.next(mux(is_new & mine | !waits.any(), others.q.ty().lit(0), more));
            m.assert_always(&format!("{what}_fair_{k}"), others.q.lt(p.managers));
        };
        let new_read = channel_begins(m, &format!("ar_{k}"), ar);
        fair(m, "reads", ar_k.fire(), ar, new_read);
        fair(m, "writes", aw_k.fire(), aw, new_address);
        m.cover(&format!("waits_{k}"), ar_k.valid & !ar_k.ready);
        m.cover(&format!("data_waits_{k}"), w_k.valid & !w_k.ready);
        m.cover(&format!("answered_{k}"), b_k.fire());
        m.cover(&format!("read_{k}"), r_k.fire() & r_k.last);
    }
    m.cover("read_data_stalled", r.valid & !r.ready);
    m.cover("answer_stalled", b.valid & !b.ready);
}

/// A beat is offered that was not offered before.
fn channel_begins<B: Bundle>(m: &mut Module, name: &str, channel: &Stream<B>) -> Signal {
    let waits = before(m, &format!("{name}_waited"), channel.valid & !channel.ready);
    channel.valid & !waits
}
