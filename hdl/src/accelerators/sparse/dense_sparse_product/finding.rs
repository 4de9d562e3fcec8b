//! The way in: rows go to memory and to Orizuru, whose pops mark outliers.

use super::{DenseSparseProduct, DenseSparseProductPorts};
use crate::blocks::common::memory::DoubleBuffer;
use crate::lang::{Array, Module, Signal, bit, index_width, mux, uint};

/// How the rows in use are read: nets that the product drives.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    pub(super) now: Signal,
    pub(super) word: Signal,
    /// The rows are not used any more.
    pub(super) release: Signal,
}

/// The rows in use.
pub(super) struct Rows {
    pub(super) there: Signal,
    /// The word read last: some channels of each row.
    pub(super) values: Signal,
    /// Per row: which of these are outliers.
    pub(super) masks: Array,
    /// Rows may come.
    pub(super) room: Signal,
    /// A beat of a row is taken.
    pub(super) comes: Signal,
    /// An outlier is marked.
    pub(super) marks: Signal,
    /// The last one of the rows is found.
    pub(super) filled: Signal,
}

impl DenseSparseProduct {
    pub(super) fn find(&self, m: &mut Module, io: &DenseSparseProductPorts, reads: Reads) -> Rows {
        let (rows, clear) = (self.rows, io.clear_i);
        let finder = m.instance("u_orizuru", self.finder());
        m.free_in_proofs("u_orizuru");
        m.connect(finder.clear_i, clear);
        m.connect(finder.k_max_i, io.largest_i);
        m.connect(finder.k_min_i, io.smallest_i);
        let buffer = m.instance("u_values", DoubleBuffer { ram: self.bank() });
        m.free_in_proofs("u_values");

        m.comment("A row at a time goes to memory and to Orizuru.");
        let serving = m.reg_init("serving_q", bit(), 0);
        let room = m.wire("room", buffer.fill_ready_o);
        let may = m.wire("may_load", room & !serving.q);
        m.connect(finder.load.valid, io.row.valid & may);
        m.connect(io.row.ready, finder.load.ready & may);
        m.connect_each("load", finder.load.data.data, io.row.values);
        let comes = m.wire("comes", io.row.fire() & !clear);
        let word = m.reg_init("word_q", uint(index_width(self.words().into())), 0);
        let ends = m.wire("row_ends", comes & word.q.eq(self.words() - 1));
        let none = word.q.ty().lit(0);
        word.next(mux(clear | ends, none, mux(comes, word.q.wrapping_add(1), word.q)));
        let found = m.wire("row_found", serving.q & finder.done_o & !clear);
        serving.next((serving.q | ends) & !found & !clear);
        let row = m.reg_init("row_q", self.row_type(), 0);
        let filled = m.wire("filled", found & row.q.eq(rows - 1));
        let first = row.q.ty().lit(0);
        row.next(mux(clear | filled, first, mux(found, row.q.wrapping_add(1), row.q)));

        m.comment("Pops, one a cycle: a maximum goes first.");
        m.connect(finder.max.ready, 1);
        m.connect(finder.min.ready, !finder.max.valid);
        let marks = m.wire("marks", serving.q & (finder.max.valid | finder.min.valid) & !clear);
        let popped = m.wire("popped", mux(finder.max.valid, finder.max.index, finder.min.index));
        let (popped_word, popped_lane) = self.place(popped);
        let marked_word = m.wire("marked_word", mux(serving.q, popped_word, word.q));

        let here = m.wire("row_here", uint(rows).lit(1).shl_by(row.q));
        m.connect(buffer.clear_i, clear);
        m.connect(buffer.write_i, here & comes.repeat(rows));
        m.connect(buffer.write_address_i, word.q);
        m.connect(buffer.data_i, io.row.values.packed().repeat(rows));
        m.connect(buffer.fill_last_i, filled);
        m.connect(buffer.read_i, reads.now);
        m.connect(buffer.read_address_i, reads.word);
        m.connect(buffer.use_last_i, reads.release);

        let masks = m.nets("mask", uint(self.lanes), rows);
        m.for_each("masks", rows, |m, r| {
            let mask = m.instance("u_mask", self.mask());
            m.free_in_proofs("u_mask");
            let mine = m.wire("mine", here.slice_at(r, 1));
            m.connect(mask.clear_i, clear);
            m.connect(mask.blank_i, comes & mine);
            m.connect(mask.mark_i, marks & mine);
            m.connect(mask.word_i, marked_word);
            m.connect(mask.lane_i, popped_lane);
            m.connect(mask.fill_last_i, filled);
            m.connect(mask.read_i, reads.now);
            m.connect(mask.read_word_i, reads.word);
            m.connect(mask.use_last_i, reads.release);
            m.connect(masks.at(r), mask.mask_o);
        });
        let there = m.wire("rows_there", buffer.use_valid_o);
        let values = m.wire("values_word", buffer.data_o);
        Rows { there, values, masks, room, comes, marks, filled }
    }
}
