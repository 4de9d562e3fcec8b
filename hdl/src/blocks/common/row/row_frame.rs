//! The frame of a unit that works on rows: it keeps a row while the row is analysed, and hands out its beats with the
//! answer.
//!
//! It works with two pipelines that nothing stops. The analysis sees every beat and gives one answer for each row. The
//! lanes change a beat. A beat goes to the lanes when the answer is there and the output has a place for it.

mod hardware;
mod properties;

use super::pipe::{later, later_valid};
use crate::blocks::common::StreamFifo;
use crate::blocks::common::stream::FifoStorage;
use crate::lang::{
    CatalogBlock, Field, In, InOption, InStream, Module, Out, OutOption, OutStream, Proof, Reg, Signal, bit, bits_for,
    bundle, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct RowFrame {
        /// Bits of a beat's data.
        width: u32 = 64, in 1..=65536, tag "w";
        /// Elements of a beat.
        lanes: u32 = 4, in 1..=4096, tag "l";
        /// Beats of the longest row.
        max_beats: u32 = 16, in 1..=65536, tag "b";
        /// Beats that are kept. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 32, in 1..=65_536, note "at least max_beats", tag "k";
        /// Bits that come with the first beat of a row, and belong to the row.
        row_width: u32 = 0, in 0..=256, tag "r", named "when set";
        /// Bits of the answer to a row.
        result_width: u32 = 16, in 1..=256, tag "f", named "when set";
        /// Bits of a beat that leaves.
        output_width: u32 = 64, in 1..=65536, tag "o", named "when set";
        /// Cycles from a beat at the analysis to its prepared beat; 0 keeps it as it is.
        preparation: u32 = 0, in 0..=255, tag "p";
        /// Bits of a prepared beat.
        kept_width: u32 = 64, in 1..=65536, tag "q", named "when set";
        /// Cycles from the last beat of a row at the analysis to the answer.
        analysis: u32 = 3, in 1..=255, tag "a";
        /// Cycles from a beat at the lanes to the changed beat.
        scaling: u32 = 2, in 1..=255, tag "s";
        /// Where beats are kept.
        storage: FifoStorage = FifoStorage::Memory, tag "";
    }
    rules = |p, rules| {
        rules.demand(p.buffer >= p.max_beats, "buffer", p.buffer, format!("{} to 65536", p.max_beats));
        let most = 65536 / p.lanes.max(1);
        rules.demand(p.max_beats <= most, "max_beats", p.max_beats, format!("1 to {most}: rows of up to 65536 elements"));
    };
}

bundle! {
    /// Part of a row on its way in.
    pub struct FrameBeat(shape: (u32, u32)) {
        /// The elements and what belongs to them.
        data: Field = uint(shape.0),
        /// In the last beat: number of elements in use, from the first one on.
        used: Field = uint(bits_for(shape.1.into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

bundle! {
    /// Part of a row on its way out.
    pub struct FrameResult(shape: (u32, u32)) {
        /// The beat as the lanes changed it.
        data: Field = uint(shape.0),
        /// Elements in use: all, except in a last beat.
        used: Field = uint(bits_for(shape.1.into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
        /// The row broke a rule: the same in all of its beats.
        error: Field = bit(),
    }
}

ports! {
    /// Ports of [`RowFrame`].
    pub struct RowFramePorts(p: &RowFrame) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Rows that come.
        input: InStream<FrameBeat> = (p.width, p.lanes),
        /// Bits of a row, with its first beat.
        row_i: InOption = uint(p.row_width.max(1)).when(p.row_width > 0),
        /// There is a beat for the analysis.
        beat_valid_o: Out = bit(),
        /// It begins a row.
        beat_first_o: Out = bit(),
        /// It ends a row.
        beat_last_o: Out = bit(),
        /// Elements in use.
        beat_used_o: Out = uint(bits_for(p.lanes.into())),
        /// Elements of the row up to this beat.
        beat_count_o: Out = uint(bits_for((p.lanes * p.max_beats).into())),
        /// The bits that came with the first beat of its row.
        beat_row_o: OutOption = uint(p.row_width.max(1)).when(p.row_width > 0),
        /// Its data.
        beat_data_o: Out = uint(p.width),
        /// The prepared beat for the beat of `preparation` cycles ago; present with `preparation`.
        kept_i: InOption = uint(p.kept_width).when(p.preparation > 0),
        /// The answer to the row that ended `analysis` cycles ago.
        result_i: In = uint(p.result_width),
        /// There is a beat for the lanes.
        lane_valid_o: Out = bit(),
        /// The beat as it was kept.
        lane_data_o: Out = uint(p.kept()),
        /// The answer to its row.
        lane_result_o: Out = uint(p.result_width),
        /// The changed beat for the beat of `scaling` cycles ago.
        lane_i: In = uint(p.output_width),
        /// Rows that leave, as many as came, in order.
        output: OutStream<FrameResult> = (p.output_width, p.lanes),
    }
}

impl RowFrame {
    /// Cycles that a beat stays in a FIFO at least.
    fn fifo_latency(&self) -> u32 {
        if self.storage == FifoStorage::Registers { 1 } else { 2 }
    }

    /// Cycles from the one in which a row's last beat is taken to the one in which its first beat can leave.
    #[must_use]
    pub fn latency(&self) -> u32 {
        2 + self.analysis + self.scaling + 2 * self.fifo_latency()
    }

    /// Cycles from the first beat that is offered to the last one that leaves, for a row of `elements` that is alone
    /// and never waits.
    #[must_use]
    pub fn cycles(&self, elements: u32) -> u32 {
        2 * elements.div_ceil(self.lanes) + self.latency() - 1
    }

    /// Bits of a beat that waits.
    fn kept(&self) -> u32 {
        if self.preparation > 0 { self.kept_width } else { self.width }
    }

    fn fifo(&self, width: u32, depth: u32) -> StreamFifo {
        StreamFifo { width, depth: depth.max(2), storage: self.storage, slack: 0 }
    }

    /// Places of the output: one for each cycle from a start to the end of its reservation.
    fn places(&self) -> u32 {
        self.scaling + self.fifo_latency() + 2
    }
}

/// A beat that is in order: the gate lets it through.
struct Gate {
    valid: Signal,
    data: Signal,
    used: Signal,
    first: Signal,
    last: Signal,
    error: Signal,
    count: Signal,
    row: Option<Signal>,
    /// A beat is let in.
    store: Signal,
    /// The input does not belong to a row: its beginning was cut.
    dropping: Signal,
}

/// Counts up with `comes` and down with `goes`.
fn count(places: Reg, comes: Signal, goes: Signal, clear: Signal) {
    let width = places.q.width();
    let moved = places.q.wrapping_add(comes.extend(width)).wrapping_sub(goes.extend(width));
    places.next(mux(clear, uint(width).lit(0), moved));
}

impl RowFrame {
    /// Takes beats, puts them in order, and holds one for a cycle.
    fn gate(&self, m: &mut Module, io: &RowFramePorts, room: Signal) -> Gate {
        let clear = io.clear_i;
        let (lanes, used) = (self.lanes, bits_for(self.lanes.into()));
        let place_ty = uint(index_width(self.max_beats.into()));
        let first = m.reg_init("first_q", bit(), 1);
        let dropping = m.reg_init("dropping_q", bit(), 0);
        let place = m.reg_init("place_q", place_ty, 0);
        m.connect(io.input.ready, (dropping.q | room) & !clear);
        let fire = m.wire("fire", io.input.fire());
        let store = m.wire("store", fire & !dropping.q);
        let full = m.wire("full", place.q.eq(self.max_beats - 1));
        let cut = m.wire("cut", full & !io.input.last);
        let last = m.wire("last", io.input.last | full);
        let wrong = m.wire("wrong", io.input.last & (io.input.used.eq(0) | io.input.used.gt(lanes)));
        let all = m.wire("all", !io.input.last | wrong);
        let used = m.wire("used", mux(all, uint(used).lit(lanes), io.input.used));
        // While beats are dropped, a row has ended: its first beat comes next.
        first.next((mux(store, last, first.q)) | clear);
        dropping.next(mux(dropping.q, !(fire & io.input.last), store & cut) & !clear);
        let next = mux(store, mux(last, place_ty.lit(0), place.q.wrapping_add(1)), place.q);
        place.next(mux(clear, place_ty.lit(0), next));

        let count_ty = io.beat_count_o.ty();
        let before = m.reg_init("before_q", count_ty, 0);
        let count = m.wire("count", before.q.wrapping_add(used));
        before.next(mux(clear, count_ty.lit(0), mux(store, mux(last, count_ty.lit(0), count), before.q)));
        let row = io.row_i.map(|row| {
            let held = m.reg("row_q", row.ty());
            held.next_when(store & first.q, row);
            held.q
        });
        Gate {
            valid: later_valid(m, "beat_valid", store, 1, clear),
            data: later(m, "beat_data", io.input.data.data, 1),
            used: later(m, "beat_used", used, 1),
            first: later(m, "beat_first", first.q, 1),
            last: later(m, "beat_last", last, 1),
            error: later(m, "beat_error", wrong | cut, 1),
            count: later(m, "beat_count", count, 1),
            row,
            store,
            dropping: dropping.q,
        }
    }
}

impl CatalogBlock for RowFrame {
    fn configurations() -> Vec<Self> {
        let set = |lanes, max_beats, buffer, row_width, (preparation, analysis, scaling), storage| Self {
            width: 16 * lanes,
            lanes,
            max_beats,
            buffer,
            row_width,
            result_width: 16,
            preparation,
            kept_width: 16 * lanes,
            output_width: 16 * lanes,
            analysis,
            scaling,
            storage,
        };
        vec![
            set(1, 1, 1, 3, (0, 1, 1), FifoStorage::Registers),
            set(3, 5, 5, 0, (5, 7, 1), FifoStorage::Registers),
            set(2, 7, 15, 40, (4, 2, 9), FifoStorage::Memory),
            set(16, 2, 40, 0, (0, 20, 6), FifoStorage::Memory),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |max_beats, buffer| Proof {
            block: Self {
                width: 3,
                lanes: 2,
                max_beats,
                buffer,
                row_width: 1,
                result_width: 2,
                preparation: 0,
                kept_width: 3,
                output_width: 5,
                analysis: 1,
                scaling: 1,
                storage: FifoStorage::Registers,
            },
            depth: 10,
            cover_depth: 16,
            // The search for a proof for all time does not end within minutes.
            induction: false,
        };
        vec![prove(1, 1), prove(2, 2), prove(2, 3)]
    }
}
