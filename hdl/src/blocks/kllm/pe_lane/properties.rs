//! Proofs of a lane (`ifdef FORMAL`): beat by beat, from the ports to the sums.
//!
//! The section keeps its own banks, codebooks and counts of pairs, taken from the ports. Each beat that is taken gets a
//! number and the value that it must add to each column; both move along with the beat. Beats are added in the order of
//! their numbers, none twice and none left out, each where its columns begin and end. Each beat adds the right value,
//! and the sums that leave are the sums that were added up.

use super::column::product_width;
use super::front::{Front, Mark};
use super::streams::PeLanePorts;
use super::{PairProducts, PeLane};
use crate::lang::{Array, Module, Signal, bit, cat, mux, reduce, sint, uint};

/// What the properties see beside the ports.
pub(super) struct Inside<'a> {
    pub front: &'a Front,
    /// Beats on their way.
    pub marks: &'a [Mark],
    /// All ranks move on; the beat at the end is added; complete columns are copied.
    pub enable: Signal,
    pub add: Signal,
    pub copy: Signal,
    /// Complete columns wait for it.
    pub done: Signal,
    /// Beats of sums that have not left.
    pub leaving: Signal,
    pub sums: Array,
    /// The sums of outliers.
    pub outlier_sums: Option<Array>,
}

/// What the section knows of the beat at the port.
pub(super) struct Known {
    /// The word that the beat meets.
    pub word: Signal,
    /// Centroids of the weights.
    pub weights: Array,
    /// The word is one, and the weights' codebook is written.
    pub beat: Signal,
}

/// Numbers of beats and groups: more than are ever inside.
const NUMBERS: u32 = 4;

impl PeLane {
    /// Small enough for a solver.
    fn is_small(&self) -> bool {
        self.columns * self.inputs <= 4 && self.a_bits + self.w_bits <= 2 && self.centroid_bits == 2 && self.buffer == 2
    }

    pub(super) fn properties(&self, m: &mut Module, io: &PeLanePorts, inside: &Inside) {
        m.formal(|m| {
            let (clear, take) = (io.clear_i, inside.front.take);
            let taken = take | io.weights.fire() | io.codebook.fire();
            m.assert_always("nothing_taken_while_cleared", !(clear & taken));
            let waits = m.reg_init("formal_waits_q", bit(), 0);
            waits.next(io.sums.valid & !io.sums.ready & !clear);
            let shown = m.reg("formal_shown_q", io.sums.sum.at(0).ty());
            shown.next(io.sums.sum.at(0));
            m.assert_always("offer_stays", !waits.q | (io.sums.valid & io.sums.sum.at(0).eq(shown.q)));
            m.assert_always(
                "copied_when_free",
                !inside.copy | inside.leaving.eq(0) | (inside.leaving.eq(1) & io.sums.fire()),
            );
            m.cover("waits_with_columns", inside.done & !inside.copy);
            m.cover("cleared_while_waiting", clear & waits.q);
            m.cover("is_wrong", io.sums.valid & io.sums.error);
            m.cover("is_right", io.sums.valid & !io.sums.error & io.sums.last);
            // A product with more than one centroid of activations is made when these are written.
            if self.is_small() && self.products == PairProducts::Lookup {
                self.beats(m, io, inside);
            }
        });
    }

    fn beats(&self, m: &mut Module, io: &PeLanePorts, inside: &Inside) {
        let (clear, take, front) = (io.clear_i, inside.front.take, inside.front);
        let number = uint(NUMBERS);
        let up = |count: Signal, by: Signal| count.wrapping_add(by.extend(count.width()));

        // Banks as the ports show them: by turns, words and where the last one is.
        let bits = self.columns * self.inputs * self.w_bits;
        let word_ty = uint(bits);
        let (fill, turn) = (m.reg_init("formal_fill_q", bit(), 0), m.reg_init("formal_fill_turn_q", bit(), 0));
        let comes = m.wire("formal_comes", io.weights.fire());
        let filled = m.wire("formal_filled", comes & (io.weights.last | fill.q));
        fill.next((fill.q ^ comes) & !filled & !clear);
        turn.next((turn.q ^ filled) & !clear);
        let words = m.regs("formal_word", word_ty, 4);
        let ends_at = m.regs("formal_ends_at", bit(), 2);
        let place = cat(&[turn.q, fill.q]);
        m.for_each("formal_words", 4, |m, w| {
            let here = m.wire("formal_word_here", comes & place.eq(w.value(2)));
            words.next_when(m, w, here, io.weights.index.packed());
        });
        m.for_each("formal_ends", 2, |m, b| {
            let here = m.wire("formal_end_here", filled & turn.q.eq(b.value(1)));
            ends_at.next_when(m, b, here, fill.q);
        });
        let (at, using) = (m.reg_init("formal_at_q", bit(), 0), m.reg_init("formal_use_turn_q", bit(), 0));
        let again = io.activations.again.unwrap_or_else(|| bit().lit(0));
        let ends = m.wire("formal_ends_here", (io.activations.end | io.activations.last | at.q) & !again);
        let goes = m.wire("formal_goes", take & ends);
        at.next((at.q ^ (take & !again)) & !goes & !clear);
        using.next((using.q ^ (goes & !io.activations.keep)) & !clear);
        let full = m.reg_init("formal_full_q", uint(2), 0);
        let back = m.wire("formal_back", goes & !io.activations.keep);
        full.next(mux(clear, uint(2).lit(0), up(full.q, filled).wrapping_sub(back.extend(2))));
        m.assert_always("two_banks", full.q.le(2) & !(full.q.eq(2) & comes) & !(full.q.eq(0) & take));
        let word = m.wire("formal_word_now", words.q.at(cat(&[using.q, at.q])));
        let met = m.reg("formal_met_q", word_ty);
        met.next_when(take, word);
        // After the last word there is anything; such a group is wrong.
        let known = m.wire("formal_within", !at.q | ends_at.q.at(using.q));
        let known_word = m.reg("formal_known_word_q", bit());
        known_word.next_when(take, known);
        m.assert_always("beat_meets_its_word", !front.mark.valid | !known_word.q | front.word.packed().eq(met.q));
        m.cover("uses_the_second_bank", take & using.q & at.q);

        // Codebooks as the ports show them; -2 counts as -1.
        let value = mux(io.codebook.value.eq(-2), sint(2).lit(-1), io.codebook.value);
        let entry = m.wire("formal_entry", value);
        let weights = m.regs("formal_weight", sint(2), 2);
        let ty = sint(product_width(2));
        let products = m.regs("formal_product", ty, 4);
        let index = io.codebook.index;
        m.for_each("formal_weights", 2, |m, w| {
            let here = io.codebook.fire() & !io.codebook.activation & index.eq(w.value(1));
            weights.next_when(m, w, here, entry);
        });
        for a in 0..2u32 {
            let here = m.wire(&format!("formal_row_{a}"), io.codebook.fire() & io.codebook.activation & index.eq(a));
            for w in 0..2u32 {
                let product = entry * weights.q.at(w);
                products.next_when(m, a * 2 + w, here, product.truncate(ty.width));
            }
        }

        // Products are known once their row was written after both weights.
        let (both, rows) =
            (m.reg_init("formal_weights_known_q", uint(2), 0), m.reg_init("formal_rows_known_q", uint(2), 0));
        let one = mux(index.eq(0), uint(2).lit(1), 2);
        let fires = |activation: Signal| (io.codebook.fire() & activation).repeat(2);
        both.next(both.q | (one & fires(!io.codebook.activation)));
        rows.next(rows.q | (one & fires(io.codebook.activation) & both.q.all().repeat(2)));
        let weights_known = known & both.q.all();
        let known = m.wire("formal_known", known & rows.q.all());

        // The value that a beat must add, and its number.
        let counted = m.reg_init("formal_taken_q", number, 0);
        counted.next(mux(clear, number.lit(0), up(counted.q, take)));
        let open = m.reg_init("formal_open_q", bit(), 0);
        open.next(mux(take, !io.activations.last, open.q) & !clear);
        let mut tag = m.reg("formal_tag_0_q", uint(NUMBERS + 4));
        let high = io.activations.high;
        let marks = cat(&[known, !open.q, high, io.activations.last]);
        tag.next_when(take, cat(&[marks, counted.q]));
        let mut adds: Vec<Signal> = vec![];
        for c in 0..self.columns {
            let terms: Vec<_> = (0..self.inputs)
                .map(|i| {
                    let weight = word.bit(c * self.inputs + i);
                    let product = products.q.at(cat(&[io.activations.index.at(i), weight]));
                    mux(io.activations.present.at(i), product, 0).extend(self.sum_width())
                })
                .collect();
            let sum = reduce(&terms, |a, b| a.wrapping_add(b)).unwrap_or_else(|| sint(self.sum_width()).lit(0));
            let kept = m.reg(&format!("formal_adds_{c}_0_q"), sint(self.sum_width()));
            kept.next_when(take, sum);
            adds.push(kept.q);
        }
        // Pairs so far, up to more than there may be.
        let (limit, most) = (17 * self.k, uint(8));
        let (pairs, wrong) = (m.reg("formal_pairs_q", most), m.reg("formal_wrong_q", bit()));
        let now = io.activations.present.elements().iter().fold(most.lit(0), |sum, &p| up(sum, p));
        let now = mux(high, times_16(now), now);
        let before = mux(open.q & pairs.q.gt(limit), most.lit(limit + 1), mux(open.q, pairs.q, 0));
        let sum = m.wire("formal_pairs", before.wrapping_add(now));
        pairs.next_when(take, sum);
        let apart = ends & at.q.ne(ends_at.q.at(using.q));
        let outlier = self.outlier_errors(m, io, take, open.q);
        let error = m.wire("formal_wrong", sum.gt(limit) | apart | outlier | (open.q & wrong.q));
        wrong.next_when(take, error);
        let mut errors = m.reg("formal_error_0_q", bit());
        errors.next_when(take, error);

        // All of it moves along with the beat.
        let mut inside_now = up(number.lit(0), inside.marks[0].valid);
        for (stage, mark) in inside.marks.iter().enumerate().skip(1) {
            inside_now = up(inside_now, mark.valid);
            let mut follow = |name: String, from: Signal| {
                let to = m.reg(&name, from.ty());
                to.next_when(inside.enable, from);
                to
            };
            tag = follow(format!("formal_tag_{stage}_q"), tag.q);
            errors = follow(format!("formal_error_{stage}_q"), errors.q);
            let moved = |(c, &from): (usize, &Signal)| follow(format!("formal_adds_{c}_{stage}_q"), from).q;
            adds = adds.iter().enumerate().map(moved).collect();
        }
        let now = inside.marks[inside.marks.len() - 1];
        let added = m.reg_init("formal_added_q", number, 0);
        added.next(mux(clear, number.lit(0), up(added.q, inside.add)));
        m.assert_always("beats_in_order", !now.valid | tag.q.slice(0..NUMBERS).eq(added.q));
        m.assert_always("no_beat_lost", counted.q.wrapping_sub(added.q).eq(inside_now));
        let flags = tag.q.slice(NUMBERS..NUMBERS + 3);
        m.assert_always("columns_begin_and_end", !now.valid | cat(&[now.start, now.high, now.last]).eq(flags));

        // Columns.
        let (sure, sure_now) = (m.reg_init("formal_sure_q", bit(), 0), tag.q.bit(NUMBERS + 3));
        sure.next(mux(inside.add, sure_now & (now.start | sure.q), sure.q) & !clear);
        let sure_copy = m.reg("formal_sure_copy_q", bit());
        sure_copy.next_when(inside.copy, sure.q);
        let (done_error, left_error) = (m.reg("formal_done_error_q", bit()), m.reg("formal_left_error_q", bit()));
        done_error.next_when(inside.enable, errors.q);
        left_error.next_when(inside.copy, done_error.q);
        let position = m.wire("formal_position", uint(8).lit(self.drain()).wrapping_sub(inside.leaving.extend(8)));
        for (c, &add) in (0u32..).zip(&adds) {
            let column = m.reg(&format!("formal_column_{c}_q"), sint(self.sum_width()));
            let base = mux(flags.bit(2), sint(self.sum_width()).lit(0), column.q);
            let addend = mux(flags.bit(1), times_16(add), add);
            column.next_when(inside.add, base.wrapping_add(addend));
            m.assert_always(&format!("sum_is_exact_{c}"), !sure.q | inside.sums.at(c).eq(column.q));
            let copy = m.reg(&format!("formal_copy_{c}_q"), sint(self.sum_width()));
            copy.next_when(inside.copy, column.q);
            let here = position.eq(c / self.outputs) & io.sums.valid & sure_copy.q;
            let shown = io.sums.sum.at(c % self.outputs);
            m.assert_always(&format!("leaves_what_was_added_{c}"), !here | shown.eq(copy.q));
        }
        m.assert_always("error_tells", !io.sums.valid | io.sums.error.eq(left_error.q));

        if let Some(sums) = inside.outlier_sums {
            let known = Known { word, weights: weights.q, beat: weights_known };
            self.outlier_properties(m, io, inside, (sums, position), &known);
        }

        // Groups.
        let groups = m.reg_init("formal_groups_q", number, 0);
        let went = io.sums.fire() & io.sums.last;
        let came = take & io.activations.last;
        groups.next(mux(clear, number.lit(0), up(groups.q, came).wrapping_sub(went.extend(NUMBERS))));
        let mut there = up(up(number.lit(0), inside.done), inside.leaving.any());
        for mark in inside.marks {
            there = up(there, mark.valid & mark.last);
        }
        m.assert_always("no_group_lost", groups.q.eq(there));
        m.cover("high_nibble", inside.add & now.high & now.valid);
        m.cover("adds_a_negative_product", inside.add & adds[0].lt(0));
    }
}

/// In the same width.
fn times_16(value: Signal) -> Signal {
    let low = cat(&[value.slice(0..value.width() - 4), uint(4).lit(0)]);
    if value.ty().signed { low.as_sint() } else { low }
}
