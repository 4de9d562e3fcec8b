//! From beats of the bus to packed beats of rows, and back.
//!
//! Rows begin at multiples of 64 bytes. On buses of up to 64 bytes each row begins in a beat of its own; on a bus of
//! 128 bytes it begins in either half of a beat.

use super::axi::{AxiSpec, AxiWriteData};
use super::axi_read_dma::RowBeat;
use super::dma::{DmaSpec, Rows, UNIT};
use super::properties::Beats;
use super::resize::resize;
use super::slots::Job;
use crate::blocks::common::stream::Word;
use crate::lang::{Bundle, Module, Signal, Stream, bit, bits_for, cat, connect_all, mux, uint};

/// Where in the rows of a command the data is.
struct Place {
    active: Signal,
    slot: Signal,
    /// Bytes of the row that are left.
    left: Signal,
    row_last: Signal,
    last: Signal,
    /// There is no command, or there are rows and bytes of a row left.
    has_work: Signal,
    /// Beats that are left, where a proof counts them.
    beats: Option<Signal>,
    /// The row began in the upper half of a beat.
    odd: Signal,
    /// The first half beat of that row is done.
    primed: Signal,
}

/// Events that move the place; nets that are driven later.
struct Moves {
    /// A beat of the row is done.
    step: Signal,
    /// The upper half that an odd row begins with is done.
    half: Signal,
    /// The command ends here.
    breaks: Signal,
}

/// The walk over the rows of commands, the same in both directions.
pub(super) struct RowWalk<'a> {
    /// The bus.
    pub axi: &'a AxiSpec,
    /// The DMA.
    pub dma: &'a DmaSpec,
    /// Forget all.
    pub clear: Signal,
}

/// The end of a command's data.
pub(super) struct RowsEnd {
    /// Now.
    pub ends: Signal,
    /// Place of the command.
    pub slot: Signal,
    /// There is no command, or there are rows and bytes of a row left.
    pub has_work: Signal,
    /// Beats that are left, where a proof counts them.
    pub beats: Option<Signal>,
}

impl RowWalk<'_> {
    fn wide(&self) -> bool {
        self.axi.bytes() > UNIT
    }

    fn moves(m: &mut Module) -> Moves {
        let mut net = |name: &str| m.net(name, bit());
        Moves { step: net("step"), half: net("half"), breaks: net("breaks") }
    }

    /// `step_bytes` gives, from `odd` and `primed`, the bytes of a row that end with a step.
    fn walk(
        &self,
        m: &mut Module,
        job: &Stream<Job>,
        moves: &Moves,
        step_bytes: impl FnOnce(Signal, Signal) -> Signal,
    ) -> (Place, Signal) {
        let dma = self.dma;
        let active = m.reg_init("moving_q", bit(), 0);
        let rows = Rows::unpack(m, "job", dma, job.rows);
        let left = m.reg("bytes_left_q", uint(dma.row_width));
        let rows_left = m.reg("rows_left_q", uint(dma.rows_width));
        let ends = m.net("ends", bit());
        m.connect(job.ready, (!active.q | ends) & !self.clear);
        let load = m.wire("load", job.fire());
        let hold = |m: &mut Module, name: &str, value: Signal| {
            let held = m.reg(name, value.ty());
            held.next_when(load, value);
            held.q
        };
        let slot = hold(m, "slot_q", job.slot);
        let row_bytes = hold(m, "row_bytes_q", rows.row_bytes);
        let (odd, primed, alternates) = if self.wide() {
            let alternates = hold(m, "alternates_q", rows.alternates);
            (Some(m.reg("odd_q", bit())), Some(m.reg_init("primed_q", bit(), 0)), alternates)
        } else {
            m.unused(moves.half);
            (None, None, bit().lit(0))
        };
        let flag = |r: Option<crate::lang::Reg>| r.map_or_else(|| bit().lit(0), |r| r.q);
        let bytes = m.wire("step_bytes", step_bytes(flag(odd), flag(primed)));
        let row_last = m.wire("row_last", left.q.le(bytes));
        let last = m.wire("last", row_last & rows_left.q.eq(1));
        m.connect(ends, (moves.step & last) | moves.breaks);
        active.next((load | (active.q & !ends)) & !self.clear);
        let turns = m.wire("turns", moves.step & row_last);
        left.next_when(load | moves.step, mux(load, rows.row_bytes, mux(turns, row_bytes, left.q.wrapping_sub(bytes))));
        rows_left.next_when(load | turns, mux(load, rows.rows, rows_left.q.wrapping_sub(1)));
        if let (Some(odd), Some(primed)) = (odd, primed) {
            odd.next_when(load | turns, mux(load, rows.odd, odd.q ^ alternates));
            primed.next((moves.half | primed.q) & !turns & !ends & !self.clear);
        }
        let beats = Beats::of(self.axi, dma).map(|b| b.of_bytes(active.q, rows_left.q, row_bytes, left.q));
        let has_work = !active.q | (left.q.any() & rows_left.q.any() & row_bytes.any());
        let place = Place {
            has_work,
            beats,
            active: active.q,
            slot,
            left: left.q,
            row_last,
            last,
            odd: flag(odd),
            primed: flag(primed),
        };
        (place, ends)
    }

    /// Beats of a row from beats of the bus. The highest bit of a word says that it is no beat but the end of the
    /// command.
    pub fn unpack(&self, m: &mut Module, from: &Stream<Word>, job: &Stream<Job>, to: &Stream<RowBeat>) -> RowsEnd {
        let (bytes, data_width) = (self.axi.bytes(), self.axi.data_width);
        let count_ty = uint(bits_for(bytes.into()));
        let moves = Self::moves(m);
        let (at, ends) = self.walk(m, job, &moves, |_, _| count_ty.lit(bytes));
        let entry = m.wire("entry", from.data.data.slice(0..data_width));
        let bad = from.data.data.bit(data_width);
        // An odd row that ends in the half that is kept needs no beat. A longer odd row needs two for its first one.
        let (data, flush, absorb) = if self.wide() {
            let half = UNIT * 8;
            let near = m.wire("near", at.left.le(UNIT));
            let carry = m.reg("carry_q", uint(half));
            carry.next_when(from.fire(), entry.slice(half..2 * half));
            let low = mux(at.primed, carry.q, entry.slice(half..2 * half));
            let data = mux(at.odd, cat(&[entry.slice(0..half), low]), entry);
            (data, m.wire("flush", at.odd & at.primed & near), m.wire("absorb", at.odd & !at.primed & !near))
        } else {
            (entry, bit().lit(0), bit().lit(0))
        };
        let good = m.wire("good", from.valid & !bad);
        let open = at.active & !self.clear;
        m.connect(to.valid, open & (flush | (good & !absorb)));
        m.connect(to.data.data, data);
        m.connect(to.bytes, mux(at.row_last, resize(at.left, count_ty.width), count_ty.lit(bytes)));
        connect_all!(m, to, at, [row_last, last]);
        m.connect(from.ready, at.active & !flush & (bad | absorb | to.ready));
        m.connect(moves.step, to.fire());
        m.connect(moves.half, open & absorb & good);
        m.connect(moves.breaks, open & from.valid & bad & !flush);
        RowsEnd { ends, slot: at.slot, has_work: at.has_work, beats: at.beats }
    }

    /// Beats of the bus from beats of a row; `room` says that one more may be pushed. Returns the beat, and when it
    /// comes.
    pub fn pack(
        &self,
        m: &mut Module,
        (from, room): (&Stream<Word>, Signal),
        job: &Stream<Job>,
    ) -> (AxiWriteData, Signal, RowsEnd) {
        let bytes = self.axi.bytes();
        let count_ty = uint(bits_for(bytes.into()));
        let moves = Self::moves(m);
        let (at, ends) = self.walk(m, job, &moves, |odd, primed| {
            if bytes > UNIT { mux(odd & !primed, count_ty.lit(UNIT), count_ty.lit(bytes)) } else { count_ty.lit(bytes) }
        });
        let input = from.data.data;
        let begins_high = at.odd & !at.primed;
        let (data, flush) = if self.wide() {
            let half = UNIT * 8;
            let carry = m.reg("carry_q", uint(half));
            carry.next_when(from.fire(), input.slice(half..2 * half));
            // The half in front of the row's first bytes has no meaning, but no simulator shall show it as unknown.
            let low = carry.q & at.primed.repeat(half);
            let data = mux(at.odd, cat(&[input.slice(0..half), low]), input);
            (data, m.wire("flush", at.odd & at.primed & at.left.le(UNIT)))
        } else {
            (input, bit().lit(0))
        };
        let open = m.wire("open", at.active & room & !self.clear);
        m.connect(from.ready, open & !flush);
        let push = m.wire("push", open & (flush | from.valid));
        m.connect(moves.step, push);
        m.connect(moves.half, push & at.odd);
        m.connect(moves.breaks, 0);
        let used = |lane: u32| {
            let low = at.left.gt(lane);
            if !self.wide() {
                low
            } else if lane < UNIT {
                low & !begins_high
            } else {
                mux(begins_high, at.left.gt(lane - UNIT), low)
            }
        };
        let lanes: Vec<Signal> = (0..bytes).rev().map(used).collect();
        let strb = m.wire("lanes", cat(&lanes));
        m.unused(at.row_last);
        let last = at.last;
        (
            AxiWriteData { data, strb, last },
            push,
            RowsEnd { ends, slot: at.slot, has_work: at.has_work, beats: at.beats },
        )
    }
}
