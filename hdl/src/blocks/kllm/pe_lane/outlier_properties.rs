//! Proofs of outliers (`ifdef FORMAL`). Each is multiplied with the weight that its position meets, by the codebook at
//! the time when its beat was taken, and is added once. Sums of outliers leave complete. An outlier without a value is
//! told, as are too many.
//!
//! As in [`properties`](super::properties): the section keeps value and centroid of each beat from the ports, moves
//! them along with the beat and multiplies them only where the beat is added.

use super::PeLane;
use super::column::{LARGEST_SHIFT, SIGNIFICAND};
use super::properties::{Inside, Known};
use super::streams::PeLanePorts;
use crate::lang::{Array, Module, Signal, bit, cat, mux, sint, uint};

impl PeLane {
    /// With the beat at the port, the group has more outliers than it may have, or one that is nowhere.
    pub(super) fn outlier_errors(&self, m: &mut Module, io: &PeLanePorts, take: Signal, open: Signal) -> Signal {
        let (Some(outlier), Some(position)) = (io.activations.outlier, io.activations.position) else {
            return bit().lit(0);
        };
        let ty = uint(8);
        let count = m.reg("formal_outliers_q", ty);
        let many = count.q.gt(self.outliers);
        let before = mux(open, mux(many, ty.lit(self.outliers + 1), count.q), 0);
        let sum = m.wire("formal_outliers", before.wrapping_add(outlier.extend(8)));
        count.next_when(take, sum);
        sum.gt(self.outliers) | (outlier & position.extend(8).ge(self.inputs))
    }

    pub(super) fn outlier_properties(
        &self,
        m: &mut Module,
        io: &PeLanePorts,
        inside: &Inside,
        (sums, place): (Array, Signal),
        known: &Known,
    ) {
        let activations = &io.activations;
        let (Some(outlier), Some(position), Some(value), Some(out), Some(special)) =
            (activations.outlier, activations.position, activations.value, io.sums.outliers, io.sums.special)
        else {
            return;
        };
        // Sign, exponent, fraction, none of them if there is no outlier; and the centroids it meets.
        let mut beat = m.reg("formal_outlier_0_q", uint(18));
        beat.next_when(inside.front.take, cat(&[known.beat, outlier, value]));
        let mut centroids = vec![];
        for c in 0..self.columns {
            let met = (0..self.inputs)
                .fold(bit().lit(0), |met, i| met | (position.extend(8).eq(i) & known.word.bit(c * self.inputs + i)));
            let centroid = m.reg(&format!("formal_centroid_{c}_0_q"), sint(2));
            centroid.next_when(inside.front.take, known.weights.at(met));
            centroids.push(centroid.q);
        }
        for stage in 1..inside.marks.len() {
            let mut follow = |name: String, from: Signal| {
                let to = m.reg(&name, from.ty());
                to.next_when(inside.enable, from);
                to
            };
            beat = follow(format!("formal_outlier_{stage}_q"), beat.q);
            let moved = |(c, &from): (usize, &Signal)| follow(format!("formal_centroid_{c}_{stage}_q"), from).q;
            centroids = centroids.iter().enumerate().map(moved).collect();
        }
        let now = inside.marks[inside.marks.len() - 1];
        let (value, outlier, beat_known) = (beat.q.slice(0..16), beat.q.bit(16), beat.q.bit(17));
        let exponent = value.slice(10..15);

        // An outlier without a value spoils the sums of its group.
        let seen = m.reg("formal_special_q", bit());
        let has_none = m.wire("formal_has_no_value", outlier & exponent.all());
        seen.next_when(inside.add, has_none | (!now.start & seen.q));
        let done = m.reg("formal_special_done_q", bit());
        done.next_when(inside.copy, seen.q);
        m.assert_always("special_tells", !io.sums.valid | special.eq(done.q));
        let sure = m.reg_init("formal_outliers_sure_q", bit(), 0);
        let surely = beat_known & !has_none & (now.start | sure.q);
        sure.next(mux(inside.add, surely, sure.q) & !io.clear_i);
        let sure_copy = m.reg("formal_outliers_sure_copy_q", bit());
        sure_copy.next_when(inside.copy, sure.q);

        let ty = sint(self.outlier_width());
        let normal = exponent.any();
        let significand = cat(&[normal, value.slice(0..10)]).extend(SIGNIFICAND + LARGEST_SHIFT);
        let shift = m.wire("formal_shift", mux(normal, exponent.wrapping_sub(1), 0));
        let magnitude = m.wire("formal_magnitude", significand.shl_by(shift).truncate(SIGNIFICAND + LARGEST_SHIFT));
        for (c, centroid) in (0u32..).zip(centroids) {
            let counts = outlier & centroid.any();
            let magnitude = magnitude & counts.repeat(SIGNIFICAND + LARGEST_SHIFT);
            let term = m.wire(&format!("formal_term_{c}"), magnitude.extend(ty.width).as_sint());
            let column = m.reg(&format!("formal_outlier_column_{c}_q"), ty);
            let base = mux(now.start, ty.lit(0), column.q);
            let negative = value.bit(15) ^ centroid.msb();
            column.next_when(inside.add, mux(negative, base.wrapping_sub(term), base.wrapping_add(term)));
            m.assert_always(&format!("outlier_sum_is_exact_{c}"), !sure.q | sums.at(c).eq(column.q));
            let copy = m.reg(&format!("formal_outlier_copy_{c}_q"), ty);
            copy.next_when(inside.copy, column.q);
            let here = place.eq(c / self.outputs) & io.sums.valid & sure_copy.q;
            let shown = out.at(c % self.outputs);
            m.assert_always(&format!("outliers_leave_as_added_{c}"), !here | shown.eq(copy.q));
            if c == 0 {
                m.cover("adds_a_negative_outlier", inside.add & surely & negative & counts & magnitude.any());
            }
        }
        m.cover("outlier_without_a_value", io.sums.valid & special);
        m.cover("a_beat_comes_again", inside.front.take & activations.again.unwrap_or(outlier));
    }
}
