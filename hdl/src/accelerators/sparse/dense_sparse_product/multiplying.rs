//! The product: channel by channel to the array and to the lanes beside it, then both sums together.

use super::finding::{Reads, Rows};
use super::{DenseSparseProduct, DenseSparseProductPorts};
use crate::blocks::common::arith::priority_encoder::lowest;
use crate::lang::{Array, Module, Signal, bit, bits_for, index_width, mux, sint, uint};

const STATES: [&str; 5] = ["Idle", "Multiply", "Close", "Merge", "Give"];

/// The values of the channel that is multiplied.
pub(super) struct Channel {
    /// Its weights are there.
    pub(super) here: Signal,
    /// They are taken.
    pub(super) takes: Signal,
    /// Per row.
    pub(super) values: Array,
    /// Per row: it is an outlier.
    pub(super) marked: Array,
    /// Per row, the array's operand.
    pub(super) dense: Array,
    /// An outlier goes to the lanes.
    pub(super) serves: Signal,
    /// Its row, as a number and as a bit.
    pub(super) row: Signal,
    pub(super) chosen: Signal,
    /// The unit of the array's sums, before and after this step.
    pub(super) scale: Signal,
}

/// A step for the array.
pub(super) struct Step {
    pub(super) moves: Signal,
    pub(super) doubles: Signal,
    pub(super) first: Signal,
    pub(super) last: Signal,
    /// Its sums.
    pub(super) results: Array,
}

/// What the lanes do in a cycle.
struct Phase {
    idle: Signal,
    /// Sums of the array are added to sums of outliers.
    merges: Signal,
    /// Rows of results leave.
    gives: Signal,
}

impl DenseSparseProduct {
    pub(super) fn product(&self, m: &mut Module, io: &DenseSparseProductPorts) {
        let clear = io.clear_i;
        let fsm = m.fsm("state", &STATES);
        let [idle, multiplies, closes, merges, gives] = STATES.map(|state| fsm.is(state));
        let reads = Reads {
            now: m.net("reads", bit()),
            word: m.net("read_word", uint(index_width(self.words().into()))),
            release: m.net("releases", bit()),
        };
        let rows = self.find(m, io, reads);

        m.comment("A channel: outliers go to the lanes one by one, all else to the array with the last of them.");
        let at = m.reg_init("channel_q", uint(index_width(self.channels.into())), 0);
        let (begins, ends) = (at.q.eq(0), m.wire("last_channel", at.q.eq(self.channels - 1)));
        let begins = m.wire("first_channel", begins);
        let here = m.wire("channel_here", multiplies & io.weight.valid);
        let shift = m.reg("shift_q", uint(self.shift_width));
        let scale = m.wire("scale", mux(begins, io.weight.shift, shift.q));
        let doubles = m.wire("doubles", here & scale.gt(io.weight.shift));
        let served = m.reg_init("served_q", uint(self.rows), 0);
        let (values, marked, dense) = self.elements(m, &rows, at.q, scale);
        let pending = m.wire("pending", marked.packed() & !served.q);
        let serves = m.wire("serves", here & pending.any());
        let bits: Vec<Signal> = (0..self.rows).map(|r| pending.bit(r)).collect();
        let (_, row) = lowest(m, "pending_row", &bits);
        let row = m.wire("served_row", row.extend(self.row_type().width));
        let chosen = m.wire("chosen", uint(self.rows).lit(1).shl_by(row) & serves.repeat(self.rows));
        let rest = m.wire("rest", (pending & !chosen).any());
        let sends = m.wire("sends", here & !doubles & !rest);

        let array = m.instance("u_array", self.array());
        m.free_in_proofs("u_array");
        let step = &array.step;
        let last = m.wire("last_step", mux(closes, shift.q.eq(1), sends & ends & scale.eq(0)));
        m.connect(step.valid, doubles | sends | closes);
        m.connect(step.first, sends & begins);
        m.connect(step.last, last);
        if let Some(rescale) = step.rescale {
            m.connect(rescale, doubles | closes);
        }
        m.connect(step.act_signed, 1);
        m.connect(step.weight_signed, 1);
        m.for_each("operands", self.rows, |m, r| m.connect(step.act.at(r), dense.at(r).as_uint()));
        m.for_each("weights", self.columns, |m, c| m.connect(step.weight.at(c), io.weight.weights.at(c).as_uint()));
        let moves = m.wire("step_moves", step.fire());
        let takes = m.wire("takes", sends & step.ready);
        m.connect(io.weight.ready, takes);
        shift.next_when(moves, mux(sends, scale, shift.q.wrapping_sub(1)));
        let none = served.q.ty().lit(0);
        served.next(mux(clear | takes, none, served.q | chosen));
        let tile_ends = m.wire("tile_ends", takes & ends);
        let first = at.q.ty().lit(0);
        let next = m.wire("next_channel", mux(takes, at.q.wrapping_add(1), at.q));
        at.next(mux(clear | tile_ends, first, next));

        m.comment("A word has some channels; it is read with the step before the first of them.");
        let (word, _) = self.place(next);
        let (_, lane) = self.place(at.q);
        m.connect(reads.now, (idle & rows.there) | (takes & !ends & lane.all()));
        m.connect(reads.word, word);
        m.connect(reads.release, tile_ends & io.weight.release);
        let rises = m.wire("rises", takes & io.weight.shift.gt(scale));
        let error = m.reg_init("order_error_q", bit(), 0);
        error.next((error.q | rises) & !clear);
        m.connect(io.order_error_o, error.q);

        let channel = Channel { here, takes, values, marked, dense, serves, row, chosen, scale };
        let step = Step { moves, doubles: doubles | closes, first: sends & begins, last, results: array.result_o };
        let over = self.results(m, io, (&channel, &step), Phase { idle, merges, gives });

        for from in STATES {
            fsm.goto(from, clear, "Idle");
        }
        fsm.goto("Idle", rows.there, "Multiply");
        fsm.goto("Multiply", moves & last, "Merge");
        fsm.goto("Multiply", tile_ends, "Close");
        fsm.goto("Close", moves & last, "Merge");
        fsm.goto("Merge", over, "Give");
        fsm.goto("Give", io.product.fire() & io.product.last, "Idle");
        self.properties(m, io, (&rows, reads), (&channel, &step), idle);
    }

    /// The values of a channel, their outlier marks, and the operands of the array.
    fn elements(&self, m: &mut Module, rows: &Rows, at: Signal, scale: Signal) -> (Array, Array, Array) {
        let (lanes, width) = (self.lanes, self.activation_width);
        let (_, lane) = self.place(at);
        let values = m.nets("value", sint(width), self.rows);
        let marked = m.nets("marked", bit(), self.rows);
        let dense = m.nets("dense", sint(self.operand_width), self.rows);
        m.for_each("elements", self.rows, |m, r| {
            let word = m.wire("row_word", rows.values.slice_at(r * (lanes * width), lanes * width));
            let elements = m.split("element", word, sint(width).array(lanes));
            m.connect(values.at(r), elements.at(lane));
            m.connect(marked.at(r), rows.masks.at(r).bit_at(lane));
            let quantizer = m.instance("u_quantizer", self.quantizer());
            m.connect(quantizer.value_i, values.at(r));
            m.connect(quantizer.shift_i, scale);
            m.connect(dense.at(r), mux(marked.at(r), sint(self.operand_width).lit(0), quantizer.integer_o));
        });
        (values, marked, dense)
    }

    /// The lanes: outliers while the array multiplies, the array's sums when they leave it, then rows of results.
    /// Returns when all sums are merged.
    fn results(
        &self,
        m: &mut Module,
        io: &DenseSparseProductPorts,
        (channel, step): (&Channel, &Step),
        phase: Phase,
    ) -> Signal {
        let Phase { idle, merges, gives } = phase;
        let (rows, columns, row_type) = (self.rows, self.columns, self.row_type());
        m.comment("Rows that have a sum of outliers.");
        let begun = m.reg_init("begun_q", uint(rows), 0);
        let nothing = begun.q.ty().lit(0);
        begun.next(mux(idle, nothing, begun.q | channel.chosen));

        m.comment("Cycles since the last step: sum (r, c) leaves the array with number 2 columns + r - c.");
        let time = uint(bits_for((4 * columns + 2 * rows).into()));
        let since = m.reg_init("since_q", time, 1);
        since.next(mux(merges, since.q.wrapping_add(1), time.lit(1)));
        let over = m.wire("all_merged", since.q.eq(2 * columns + rows));

        let given = m.reg_init("given_q", row_type, 0);
        let (goes, last) = (m.wire("row_goes", io.product.fire()), given.q.eq(rows - 1));
        let last = m.wire("last_row", last);
        let shown = m.wire("shown", mux(goes, given.q.wrapping_add(1), given.q));
        given.next(mux(io.clear_i | (goes & last), row_type.lit(0), shown));
        m.connect(io.product.valid, gives);
        m.connect(io.product.last, last);

        let outlier = m.wire("outlier", channel.values.at(channel.row));
        m.for_each("lanes", columns, |m, c| {
            let lane = m.instance("u_lane", self.lane());
            let leaves = m.wire("leaves", since.q.wrapping_add(c.value(time.width)).wrapping_sub(2 * columns));
            let merging = m.wire("merging", merges & leaves.lt(rows));
            let leaving = leaves.slice(0..row_type.width);
            let row = m.wire("lane_row", mux(merging, leaving, mux(channel.serves, channel.row, shown)));
            let weight = m.wire("lane_weight", io.weight.weights.at(c));
            m.connect(lane.multiply_i, channel.serves);
            m.connect(lane.merge_i, merging);
            m.connect(lane.row_i, row);
            m.connect(lane.again_i, begun.q.bit_at(row));
            m.connect(lane.value_i, outlier);
            m.connect(lane.weight_i, weight);
            m.connect(lane.array_i, step.results.at(leaving));
            m.connect(io.product.sums.at(c), lane.sum_o);
        });
        over
    }
}
