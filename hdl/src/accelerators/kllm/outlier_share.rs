//! Number of outliers of a row that each of its segments looks for.

use super::kllm_spec::COUNT;
use super::quantizer_spec::OUTLIERS;
use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Proof, Signal, bit, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct OutlierShare {
        /// Bits of the number of outliers.
        count_width: u32 = OUTLIERS, in 1..=32, tag "o";
        /// Bits of the number of segments.
        segment_width: u32 = COUNT, in 1..=32, tag "s";
    }
}

ports! {
    /// Ports of [`OutlierShare`].
    pub struct OutlierSharePorts(p: &OutlierShare) {
        /// Begins with the first segment of a row at the coming edge.
        clear_i: In = bit(),
        /// Outliers of a row; steady from clear_i on.
        count_i: In = uint(p.count_width),
        /// Segments of a row, from 1 on; steady from clear_i on.
        segments_i: In = uint(p.segment_width),
        /// Goes on to the next segment at the coming edge, from the last one of a row to the first one; not while
        /// ready_o is low.
        next_i: In = bit(),
        /// share_o is right.
        ready_o: Out = bit(),
        /// Outliers of this segment.
        share_o: Out = uint(p.count_width),
    }
}

impl OutlierShare {
    /// Width of the remainder: it is less than the segments, and then a row's outliers are added.
    fn rest_width(&self) -> u32 {
        self.count_width.max(self.segment_width) + 1
    }
}

impl Block for OutlierShare {
    type Ports = OutlierSharePorts;
    const ABOUT: About = About {
        name: "outlier_share",
        summary: "outliers of a row, shared among its segments",
        contract: "share_o of segment s of n is floor(count (s + 1) / n) - floor(count s / n). It comes share_o + 1\n\
            cycles after clear_i or next_i: no more than the time in which the outliers are found. Without a\n\
            divider: the remainder goes on to the next segment, and is 0 after the last one.",
        reference: "KLLM, section IV-C",
    };

    fn build(&self, m: &mut Module, io: &OutlierSharePorts) {
        let (ty, share_ty) = (uint(self.rest_width()), uint(self.count_width));
        let rest = m.reg_init("rest_q", ty, 0);
        let share = m.reg_init("share_q", share_ty, 0);
        let segments = io.segments_i.extend(ty.width);
        let more = m.wire("more", rest.q.ge(segments));
        let count = io.count_i.extend(ty.width);
        let fewer = mux(more, rest.q.wrapping_sub(segments), rest.q);
        rest.next(mux(io.clear_i, count, mux(io.next_i, rest.q.wrapping_add(count), fewer)));
        let counted = share.q.wrapping_add(more.extend(share_ty.width));
        share.next(mux(io.clear_i | io.next_i, share_ty.lit(0), counted));
        m.connect(io.ready_o, !more);
        m.connect(io.share_o, share.q);
        self.properties(m, io, rest.q);
    }
}

impl OutlierShare {
    /// Shares of a row add up to its outliers, and each share is the difference of two neighbouring sums.
    fn properties(&self, m: &mut Module, io: &OutlierSharePorts, rest: Signal) {
        m.formal(|m| {
            let wide = self.count_width + self.segment_width + 2;
            let begun = m.reg_init("formal_begun_q", bit(), 0);
            begun.next(begun.q | io.clear_i);
            let [count, segments] =
                [("formal_count_q", io.count_i), ("formal_segments_q", io.segments_i)].map(|(name, value)| {
                    let held = m.reg(name, value.ty());
                    held.next_when(io.clear_i, value);
                    held.q
                });
            let steady = io.count_i.eq(count) & io.segments_i.eq(segments);
            m.assume("sizes_are_steady", io.clear_i | !begun.q | steady);
            m.assume("there_is_a_segment", io.segments_i.any());
            m.assume("begins_with_a_clear", begun.q | !io.next_i);
            m.assume("waits_until_ready", io.ready_o | !io.next_i);
            // Segments and outliers before this one.
            let at = m.reg("formal_segment_q", io.segments_i.ty());
            let given = m.reg("formal_given_q", io.count_i.ty());
            let last = m.wire("formal_last", at.q.wrapping_add(1).eq(segments));
            let zero = at.q.ty().lit(0);
            at.next(mux(io.clear_i, zero, mux(io.next_i, mux(last, zero, at.q.wrapping_add(1)), at.q)));
            let sum = m.wire("formal_sum", given.q + io.share_o);
            let none = given.q.ty().lit(0);
            given.next(mux(io.clear_i, none, mux(io.next_i, mux(last, none, sum.slice(0..self.count_width)), given.q)));
            let due = m.wire("formal_due", (count * (at.q + 1)).extend(wide));
            let whole = m.wire("formal_whole", (sum * segments).extend(wide));
            // sum = floor(count (segment + 1) / segments).
            let floor = whole.le(due) & due.lt(whole.wrapping_add(segments.extend(wide)));
            let ready = m.wire("formal_ready", begun.q & io.ready_o & !io.clear_i);
            let here = m.wire("formal_here", begun.q & !io.clear_i);
            m.assert_always("a_segment_of_the_row", !here | at.q.lt(segments));
            m.assert_always("what_is_left_over", !here | due.eq(whole.wrapping_add(rest.extend(wide))));
            m.assert_always("floor_of_what_is_due", !ready | floor);
            m.assert_always("all_are_given", !(ready & last) | sum.eq(count.extend(sum.width())));
            m.cover("a_second_row", begun.q & io.next_i & last & io.share_o.ge(2));
        });
    }
}

impl CatalogBlock for OutlierShare {
    fn configurations() -> Vec<Self> {
        vec![Self { count_width: 3, segment_width: 2 }, Self { count_width: 2, segment_width: 5 }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |count_width, segment_width| Proof {
            block: Self { count_width, segment_width },
            depth: 8,
            cover_depth: 16,
            induction: true,
        };
        vec![prove(3, 2), prove(2, 3)]
    }
}
