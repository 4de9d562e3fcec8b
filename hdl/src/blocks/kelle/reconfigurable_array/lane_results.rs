//! Results of the reconfigurable array. Each lane keeps its own results as they come, one cycle after its neighbour.
//! They leave in beats of some lanes of one result.

use super::{ArrayResult, ReconfigurableArray};
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InArray, Module, Out, OutStream, Signal, Timing, bit, bits_for, cat, index_width, mux,
    parameters, ports, select, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LaneResults {
        /// The array.
        array: ReconfigurableArray = ReconfigurableArray::default();
    }
}

ports! {
    /// Ports of [`LaneResults`].
    pub struct LaneResultsPorts(p: &LaneResults) {
        /// Drops all results.
        clear_i: In = bit(),
        /// A result will come: its place is taken.
        enters_i: In = bit(),
        /// Its number.
        index_i: In = uint(index_width(p.array.depth.into())),
        /// It is the result of a transposed product.
        transposed_i: In = bit(),
        /// There is a place.
        room_o: Out = bit(),
        /// Lane i has its part of the next result in this cycle.
        lane_valid_i: InArray = bit().array(p.array.lanes()),
        /// The sum, with lane_valid_i.
        lane_sum_i: InArray = sint(p.array.accumulator_width).array(p.array.lanes()),
        /// Its flag, likewise.
        lane_overflow_i: InArray = bit().array(p.array.lanes()),
        /// Results, a few lanes a beat.
        result: OutStream<ArrayResult> = p.array.clone(),
    }
}

impl Block for LaneResults {
    type Ports = LaneResultsPorts;
    const ABOUT: About = About {
        name: "lane_results",
        summary: "results that come lane after lane and leave in beats of lanes",
        contract: "Results leave in the order of enters_i, each in beats 0, 1, .. of `beat` lanes, up to its last\n\
            lane in use. The first beat can leave two cycles after the last lane came. room_o is low while\n\
            `results` results are inside. clear_i drops all.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &LaneResultsPorts) {
        let array = &self.array;
        let (lanes, width) = (array.lanes(), array.accumulator_width + 1);
        let slot_ty = uint(index_width(array.results.into()));
        let count_ty = uint(bits_for(array.results.into()));
        let after = |slot: Signal| mux(slot.eq(array.results - 1), slot_ty.lit(0), slot.wrapping_add(1));
        let clear = |next: Signal, zero: Signal| mux(io.clear_i, zero, next);

        m.comment("Places: taken when a result is on its way, full when its last lane is there, free when its last beat has left.");
        let leaves = m.net("leaves", bit());
        let fetches = m.net("fetches", bit());
        let whole = m.wire("whole", io.lane_valid_i.at(lanes - 1));
        let counts = |m: &mut Module, name: &str, up: Signal, down: Signal| {
            let count = m.reg_init(name, count_ty, 0);
            let next = select(&[(up & !down, count.q.wrapping_add(1)), (down & !up, count.q.wrapping_sub(1))], count.q);
            count.next(clear(next, count_ty.lit(0)));
            count.q
        };
        let inside = counts(m, "inside_q", io.enters_i, leaves);
        let complete = counts(m, "complete_q", whole, fetches);
        m.connect(io.room_o, inside.lt(array.results));
        let head = m.reg_init("head_q", slot_ty, 0);
        head.next(clear(mux(io.enters_i, after(head.q), head.q), slot_ty.lit(0)));
        let tail = m.reg_init("tail_q", slot_ty, 0);
        tail.next(clear(mux(fetches, after(tail.q), tail.q), slot_ty.lit(0)));
        let what = m.regs("what", uint(io.index_i.width() + 1), array.results);
        m.for_each("places", array.results, |m, i| {
            let here = m.wire("here", io.enters_i & head.q.eq(i.value(slot_ty.width)));
            what.next_when(m, i, here, cat(&[io.transposed_i, io.index_i]));
        });

        m.comment("The oldest result is at the output registers of the memories; its beats leave one by one.");
        let there = m.reg_init("there_q", bit(), 0);
        let now = m.reg("now_q", uint(io.index_i.width() + 1));
        now.next_when(fetches, what.q.at(tail.q));
        let group_ty = uint(index_width(array.groups(lanes).into()));
        let group = m.reg("group_q", group_ty);
        let transposed = now.q.msb();
        let last_of = |count: u32| group_ty.lit(array.groups(count) - 1);
        let last_group = m.wire("last_group", mux(transposed, last_of(array.rows), last_of(array.columns)));
        let last = m.wire("last", group.q.eq(last_group));
        let moves = m.wire("moves", io.result.fire());
        m.connect(leaves, moves & last);
        m.connect(fetches, complete.any() & (!there.q | leaves) & !io.clear_i);
        there.next(clear(fetches | (there.q & !leaves), bit().lit(0)));
        group.next(mux(fetches, group_ty.lit(0), mux(moves, group.q.wrapping_add(1), group.q)));

        let words = m.grid("word", uint(width), array.groups(lanes), array.beat);
        m.for_each("groups", array.groups(lanes), |m, g| {
            m.for_each("lanes", array.beat, |m, k| {
                let lane = g * array.beat + k;
                let ram = m.instance("u_lane", Ram::words(array.results, width, RamImplementation::Inferred));
                let place = m.reg_init("place_q", slot_ty, 0);
                let comes = io.lane_valid_i.at(lane);
                place.next(clear(mux(comes, after(place.q), place.q), slot_ty.lit(0)));
                m.connect(ram.write_i, comes);
                m.connect(ram.write_address_i, place.q);
                m.connect(ram.data_i, cat(&[io.lane_overflow_i.at(lane), io.lane_sum_i.at(lane).as_uint()]));
                m.connect(ram.read_i, fetches);
                m.connect(ram.read_address_i, tail.q);
                m.connect(words.at((g, k)), ram.data_o);
            });
        });
        m.connect(io.result.valid, there.q);
        m.connect(io.result.transposed, transposed);
        m.connect(io.result.index, now.q.slice(0..io.index_i.width()));
        m.connect(io.result.group, group.q);
        m.connect(io.result.last, last);
        let used_ty = io.result.used.ty();
        let rest = |count: u32| used_ty.lit(count - (array.groups(count) - 1) * array.beat);
        let used = mux(transposed, rest(array.rows), rest(array.columns));
        m.connect(io.result.used, mux(last, used, used_ty.lit(array.beat)));
        m.for_each("beat", array.beat, |m, k| {
            let word = m.wire("word_here", words.at((group.q, k)));
            m.connect(io.result.sum.at(k), word.slice(0..width - 1).as_sint());
            m.connect(io.result.overflow.at(k), word.msb());
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}
