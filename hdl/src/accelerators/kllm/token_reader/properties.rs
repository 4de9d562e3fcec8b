//! Proofs of the reader (`ifdef FORMAL`), from its ports alone: no index is lost or doubled, and each outlier is once
//! absent from the indices and once added.
//!
//! Rows of tokens alternate between two rows of any content. So data kept from the token before, or taken from the next
//! one, shows.

use super::{OUTLIER, TokenReader, TokenReaderPorts};
use crate::lang::{Module, Signal, bit, mux, uint};

/// Positions and outliers of a token that are followed, at most.
const POSITIONS: u32 = 4;
const ROOM: u32 = 2;

/// Wide enough for all counts.
const WIDTH: u32 = 17;

impl TokenReader {
    pub(super) fn properties(&self, m: &mut Module, io: &TokenReaderPorts) {
        let (Some(outlier), Some(position), Some(value), Some(again)) =
            (io.beats.outlier, io.beats.position, io.beats.value, io.beats.again)
        else {
            return;
        };
        // Rows are beats, and all positions and outliers are followed.
        if (self.axi.data_width, self.spec.inner(), 2 * self.spec.kmax) != (2 * OUTLIER, POSITIONS, ROOM) {
            return;
        }
        let (ty, inputs, clear, size) = (uint(WIDTH), self.spec.inputs, io.clear_i, &io.size);
        m.formal(|m| {
            m.comment("The environment: a row is a beat; sizes are right, and steady from clear_i on.");
            let began = m.reg_init("formal_began_q", bit(), 0);
            began.next(began.q | clear);
            for (name, size, from, most) in [
                ("tokens", size.tokens.extend(WIDTH), 1, 2),
                ("inner", size.inner, 1, POSITIONS),
                ("outliers", size.outliers, 0, ROOM),
                ("fits", size.fits.extend(WIDTH), 0, 1),
            ] {
                let before = m.reg(&format!("formal_{name}_q"), ty);
                before.next(size);
                m.assume(&format!("{name}_steady"), !began.q | clear | size.eq(before.q));
                m.assume(&format!("{name}_right"), size.ge(from) & size.le(most));
            }
            m.assume("tokens_not_integers", !size.integers);
            // Which of two rows comes next, of each kind; and which token is in hand.
            let turn = |m: &mut Module, name: &str, moves: Signal| {
                let turn = m.reg_init(name, bit(), 0);
                turn.next((turn.q ^ moves) & !clear);
                turn.q
            };
            let rows = [("head", &io.heads), ("index", &io.indices), ("outlier", &io.outliers)];
            let [heads, indices, outliers] = rows.map(|(name, row)| {
                m.assume(&format!("{name}_row_is_a_beat"), row.row_last);
                m.assume(&format!("{name}_row_of_a_product"), !row.valid | began.q);
                let both = m.regs(&format!("formal_{name}"), row.data.data.ty(), 2);
                m.for_each(name, 2, |m, k| both.next(m, k, both.q.at(k)));
                let next = turn(m, &format!("formal_{name}_turn_q"), row.fire());
                m.assume(&format!("{name}_is_one_of_two"), row.data.data.eq(both.q.at(next)));
                both.q
            });
            let leaves = io.beats.fire();
            let ends = leaves & io.beats.last;
            let now = turn(m, "formal_token_turn_q", ends);

            m.comment("The token in hand, as its rows say it, if they are right.");
            let [head, indices, records] = [heads, indices, outliers].map(|rows| rows.at(now));
            let count = m.wire("formal_count", head.slice(16..32).extend(WIDTH));
            let place = |k: u32| records.slice(k * OUTLIER..k * OUTLIER + 16).extend(WIDTH);
            let right = |head: Signal, records: Signal| {
                let (count, bits) = (head.slice(16..32).extend(WIDTH), head.slice(32..40));
                let place = |k: u32| records.slice(k * OUTLIER..k * OUTLIER + 16).extend(WIDTH);
                let inside = count.eq(0) | place(0).lt(size.inner);
                let ascend = count.le(1) | (place(1).gt(place(0)) & place(1).lt(size.inner));
                count.le(size.outliers) & (bits.eq(3) | bits.eq(4)) & inside & ascend
            };
            let both = [0, 1].map(|k| right(heads.at(k), outliers.at(k)));
            let right = m.wire("formal_right", both[0] & both[1]);
            m.assert_always("right_tokens_are_no_error", !(began.q & right & io.error_o));
            let head_is_right = heads.at(now).slice(16..32).extend(WIDTH).le(size.outliers);
            m.assert_always("a_wrong_head_is_told", !io.scale.fire() | head_is_right | io.error_o);

            m.comment("The beat in hand: positions before it, outliers that left.");
            let at = m.reg_init("formal_at_q", ty, 0);
            let gone = m.reg_init("formal_gone_q", ty, 0);
            let here = |k: u32| count.gt(k) & place(k).ge(at.q) & place(k).lt(at.q.wrapping_add(inputs));
            let first = gone.q.eq(0);
            let brings = m.wire("formal_brings", (first & here(0)) | (gone.q.eq(1) & here(1)));
            let more = m.wire("formal_more", first & here(0) & here(1));
            let valid = m.wire("formal_valid", io.beats.valid & began.q & right & !clear);
            m.assert_always("an_outlier_in_its_beat", !valid | outlier.eq(brings));
            m.assert_always("again_while_there_are_more", !valid | again.eq(more));
            let (its_place, its_value) =
                (mux(first, place(0), place(1)), |k: u32| records.slice(k * OUTLIER + 16..k * OUTLIER + 32));
            let offset = its_place.wrapping_sub(at.q).slice(0..position.width());
            m.assert_always("at_its_place", !(valid & brings) | position.eq(offset));
            m.assert_always("its_value", !(valid & brings) | value.eq(mux(first, its_value(0), its_value(1))));
            for i in 0..inputs {
                let here = at.q.wrapping_add(i);
                let masked = (0..ROOM).fold(bit().lit(0), |any, k| any | (count.gt(k) & place(k).eq(here)));
                let present = here.lt(size.inner) & !masked & !more;
                m.assert_always(&format!("present_{i}"), !valid | io.beats.present.at(i).eq(present));
                let index = (0..POSITIONS)
                    .fold(uint(4).lit(0), |index, p| index | (indices.slice(4 * p..4 * p + 4) & here.eq(p).repeat(4)));
                m.assert_always(&format!("index_{i}"), !(valid & present) | io.beats.index.at(i).eq(index));
            }
            let last = at.q.wrapping_add(inputs).ge(size.inner) & !more;
            m.assert_always("last_is_last", !valid | io.beats.last.eq(last));
            let all = gone.q.wrapping_add(brings.extend(WIDTH));
            m.assert_always("all_outliers_by_the_last", !(valid & io.beats.last) | all.eq(count));
            let none = ty.lit(0);
            let moved = mux(leaves & !again, at.q.wrapping_add(inputs), at.q);
            at.next(mux(clear | ends, none, moved));
            gone.next(mux(clear | ends, none, mux(leaves, all, gone.q)));

            m.comment("Each token has a scale before its first beat; weights are kept up to the last token.");
            let scaled = m.reg_init("formal_scaled_q", bit(), 0);
            scaled.next((io.scale.fire() | (scaled.q & !ends)) & !clear);
            m.assert_always("a_scale_each", !valid | scaled.q);
            m.assert_always("one_token_at_a_time", !(io.scale.fire() & scaled.q));
            m.assert_always("its_scale", !io.scale.valid | io.scale.data.data.eq(head.slice(0..16)));
            let token = m.reg_init("formal_token_q", bit(), 0);
            let last_token = size.tokens.eq(1) | token.q;
            token.next((token.q ^ ends) & !(ends & last_token) & !clear);
            m.assert_always("kept_for_the_next_token", !valid | io.beats.keep.eq(size.fits & !last_token));
            m.cover("two_outliers_of_a_beat", leaves & right & again);
            m.cover("a_second_token", ends & now & right & count.eq(2));
        });
    }
}
