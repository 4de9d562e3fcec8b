//! What is proved of everything with an AXI port: rules of the specification (IHI 0022, section A3). Our duties are
//! assertions, the subordinate's duties are assumptions. Next to them are intermediate steps of the proofs, which look
//! inside: a prover finds few such steps in time.

mod arbiter;
mod beats;
mod order;
mod reads;
mod writes;

pub(super) use arbiter::{arbiter, turns};
pub(super) use beats::{Beats, Load};
pub(super) use order::ArbiterState;
pub(super) use reads::{ReadState, read_dma};
pub(super) use writes::{WriteState, write_dma};

use super::axi::{AxiAddress, AxiSpec, BOUNDARY, BURST_INCR};
use super::dma::{DmaCommand, DmaCompletion, DmaSpec, UNIT};
use super::resize::resize;
use crate::lang::{Array, Bundle, Module, Signal, Stream, Type, bit, bits_for, index_width, mux, reduce, uint};

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
    if axi.bytes() < UNIT {
        // A prover cannot follow so many beats up to the boundary.
        return;
    }
    // One burst ends at the boundary, the next one begins there.
    let ends = before(m, &format!("{name}_at_boundary"), channel.fire() & (within + bytes).eq(BOUNDARY));
    let ended = m.reg_init(&format!("formal_{name}_ended_q"), bit(), 0);
    ended.next(ends | (ended.q & !channel.fire()));
    m.cover(&format!("{name}_splits_at_4_kib"), (ended.q | ends) & channel.valid & !within.any());
}

/// Bursts with beats that are not done, in order.
pub(super) struct Lengths {
    /// Of them.
    pub number: Signal,
    /// The coming beat is the last one of its burst.
    pub last: Signal,
    head: Signal,
    tail: Signal,
    beat: Signal,
    lens: Array,
    most: u32,
}

/// A burst that begins.
#[derive(Clone, Copy)]
pub(super) struct NewBurst {
    /// It begins in this cycle.
    pub(super) begins: Signal,
    /// Its beats, less one.
    pub(super) len: Signal,
}

/// Adds bursts that begin, `beat` is a beat of the first one; `most`, a power of two, are there at once.
#[track_caller]
pub(super) fn lengths(m: &mut Module, name: &str, most: u32, burst: NewBurst, beat: Signal) -> Lengths {
    let NewBurst { begins: push, len } = burst;
    let len_ty = len.ty();
    let ty = uint(index_width(most.into()));
    let words = m.regs(&format!("formal_{name}_len"), len_ty, most);
    let pointer = |m: &mut Module, what: &str, step: Signal| {
        let at = m.reg_init(&format!("formal_{name}_{what}_q"), ty, 0);
        at.next_when(step, at.q.wrapping_add(1));
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
    let fits = number.le(most);
    m.assert_always(&format!("{name}_in_order"), fits & tail.eq(head.wrapping_add(resize(number, ty.width))));
    let within = mux(number.any(), at.q.le(words.q.at(head)), !at.q.any());
    m.assert_always(&format!("{name}_within_a_burst"), within);
    Lengths { number, last, head, tail, beat: at.q, lens: words.q, most }
}

impl Lengths {
    fn ty(&self) -> Type {
        self.head.ty()
    }

    /// Beats of all bursts that are not done.
    fn beats(&self) -> Signal {
        let each = (0..self.most).map(|j| {
            let len = self.lens.at(self.head.wrapping_add(j));
            mux(self.number.gt(j), len + 1, 0)
        });
        let each: Vec<Signal> = each.collect();
        reduce(&each, |a, b| a + b).unwrap_or_else(|| uint(1).lit(0))
    }

    /// The design's records of the same bursts have the same lengths.
    fn agree(&self, m: &mut Module, name: &str, records: &[Signal]) {
        for (i, record) in records.iter().enumerate() {
            let inside = self.ty().lit(i as u32).wrapping_sub(self.head).lt(self.number);
            m.assert_always(&format!("{name}_record_{i}"), !inside | record.eq(self.lens.at(i as u32)));
        }
    }
}

/// The lengths in the records of bursts.
fn record_lens(axi: &AxiSpec, dma: &DmaSpec, records: Array) -> Vec<Signal> {
    let len = |word: Signal| word.slice(axi.address_width..axi.address_width + dma.len_width());
    (0..dma.outstanding).map(|i| len(records.at(i))).collect()
}

/// Commands that a DMA holds.
#[derive(Clone, Copy)]
pub(super) struct Commands {
    /// One is being checked.
    pub(super) checking: Signal,
    /// Slots that are in use.
    pub(super) used: Signal,
}

/// How many commands are in flight.
fn commands(
    m: &mut Module,
    dma: &DmaSpec,
    (command, completion): (&Stream<DmaCommand>, &Stream<DmaCompletion>),
    held: Commands,
    abort: Signal,
) -> Signal {
    let in_hand = count(m, "in_hand", dma.commands + 1, (command.fire(), completion.fire()), Some(abort));
    m.assert_always("commands_are_kept", in_hand.eq(held.used + held.checking));
    m.assert_always("commands_fit", in_hand.le(dma.commands + 1));
    m.assert_always("ends_follow_commands", !completion.valid | in_hand.any());
    let refused = m.reg_init("formal_refused_q", bit(), 0);
    refused.next(refused.q | (completion.fire() & completion.error.bit(2)));
    m.cover("refused_then_good", refused.q & completion.valid & completion.error.eq(0));
    m.cover("bus_error", completion.valid & completion.error.eq(3));
    in_hand
}

/// A soft reset from `abort` to the first idle cycle after it.
fn aborting(m: &mut Module, abort: Signal, idle: Signal) -> Signal {
    let held = m.reg_init("formal_aborting_q", bit(), 0);
    held.next(abort | (held.q & !idle));
    held.q
}
