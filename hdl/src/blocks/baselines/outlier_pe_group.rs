//! PE group of OLAccel: lanes of narrow multiply-accumulates that share an activation, and one more multiplier for
//! outlier weights.
//!
//! A weight that does not fit a lane is cut in two. The lane multiplies its lower half, the extra multiplier its upper
//! half, and the lane adds both products in the same step. If one step has several such weights, all but one need a
//! second step, in which the lanes multiply upper halves. With wide activations it is the group for outlier
//! activations.
//!
//! Nothing is passed on: the activation goes to all lanes, and a lane's weight is its own. Sums, flags and the row of
//! registers beside them are as in `tender_pe` with `drain = double`.

use crate::lang::{
    About, Array, Block, CatalogBlock, In, InArray, Module, Out, Proof, Regs, Signal, Timing, bit, index_width, mux,
    parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OutlierPeGroup {
        /// Lanes, each with a multiplier and a sum of its own.
        lanes: u32 = 16, in 2..=64, tag "l";
        /// Width of the activation in bits, signed: 16 in the group for outlier activations.
        act_width: u32 = 4, in 2..=16, tag "x";
        /// Width of half a weight in bits, signed.
        weight_width: u32 = 4, in 2..=8, tag "w";
        /// Width of a sum in bits, signed.
        accumulator_width: u32 = 32, in 7..=64, note "at least act_width + 2 x weight_width + 1", tag "a";
    }
    rules = |p, rules| {
        let least = p.addend_width() + 1;
        let allowed = format!("act_width + 2 x weight_width + 1 = {least} to 64");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
    };
}

ports! {
    /// Ports of [`OutlierPeGroup`].
    pub struct OutlierPeGroupPorts(p: &OutlierPeGroup) {
        /// First step of a tile, at any time: all sums start from zero.
        first_i: In = bit(),
        /// Last step of a tile: the sums after it are kept for the drain.
        last_i: In = bit(),
        /// The activation of all lanes.
        act_i: In = sint(p.act_width),
        /// The lanes' weights, or halves of them.
        weights_i: InArray = sint(p.weight_width).array(p.lanes),
        /// `weights_i` holds upper halves: products count 2^weight_width times.
        upper_i: In = bit(),
        /// Upper half of the outlier among the weights; 0 if there is none.
        outlier_i: In = sint(p.weight_width),
        /// Its lane; one that does not exist drops it.
        outlier_lane_i: In = uint(index_width(p.lanes.into())),
        /// The row starts to shift its sums out, from each lane to the next.
        drain_i: In = bit(),
        /// Sum that enters the first lane.
        result_i: In = sint(p.accumulator_width),
        /// Its overflow flag.
        overflow_i: In = bit(),
        /// The register beside the last lane's sum; unknown until the first tile.
        result_o: Out = sint(p.accumulator_width),
        /// Some step of the sum in `result_o` did not fit; moves with it.
        overflow_o: Out = bit(),
    }
}

impl Block for OutlierPeGroup {
    type Ports = OutlierPeGroupPorts;
    const ABOUT: About = About {
        name: "outlier_pe_group",
        summary: "lanes of narrow multiply-accumulates with an extra multiplier for outlier weights, the PE group of OLAccel",
        contract: "Sum of lane k' = (first_i ? 0 : sum) + act_i x (weights_i[k] x (upper_i ? 2^weight_width : 1) +\n\
            (outlier_lane_i = k ? outlier_i x 2^weight_width : 0)).\n\
            A sum that does not fit wraps, and sets the lane's flag until the next first_i.\n\
            The sums of a tile are in the row of registers from the cycle after they are complete until drain_i.\n\
            From then on each register takes the sum of the lane before, the first one result_i, a place a cycle.\n\
            Sums that are complete before drain_i take the place of sums that wait.\n\
            first_i may come in any cycle and drops the sums and flags. Reset drops sums that wait or move; sums\n\
            are unknown until the next first_i.",
        reference: "OLAccel (Park, Kim and Yoo, ISCA 2018): lanes with an additional MAC; Tender, section V-A",
    };

    fn build(&self, m: &mut Module, io: &OutlierPeGroupPorts) {
        let sum_ty = sint(self.accumulator_width);
        let sums = m.regs("acc", sum_ty, self.lanes);
        let flags = m.regs("overflow", bit(), self.lanes);
        let outlier = m.wire("outlier", io.act_i * io.outlier_i);
        let lane_width = io.outlier_lane_i.width();
        m.for_each("lanes", self.lanes, |m, k| {
            let product = m.wire("product", io.act_i * io.weights_i.at(k));
            let wide = self.addend_width();
            let own = m.wire("own", mux(io.upper_i, product.shl(self.weight_width), product.extend(wide)));
            let chosen = io.outlier_lane_i.eq(k.value(lane_width));
            let of_outlier = m.wire("of_outlier", mux(chosen, outlier.shl(self.weight_width), sint(wide).lit(0)));
            let addend = m.wire("addend", own + of_outlier);
            let base = m.wire("base", mux(!io.first_i, sums.q.at(k), 0));
            let sum = m.wire("sum", base.wrapping_add(addend.extend(self.accumulator_width)));
            m.comment("An addend is at most a quarter of the range: only from the outer quarters can a sum leave it.");
            let outer = base.msb() ^ base.bit(self.accumulator_width - 2);
            let leaves = m.wire("leaves", outer & (sum.msb() ^ base.msb()));
            sums.next(m, k, sum);
            flags.next(m, k, leaves | (flags.q.at(k) & !io.first_i));
        });
        let row = self.row(m, io, sums, flags);
        self.properties(m, io, (sums.q, flags.q), row);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).phase("drain", self.lanes, "sums of a tile, from drain_i")
    }
}

/// Sums on their way out.
struct Row {
    results: Array,
    overflows: Array,
    complete: Signal,
}

impl OutlierPeGroup {
    /// Width of a lane's addend in a step.
    fn addend_width(&self) -> u32 {
        self.act_width + 2 * self.weight_width
    }

    /// The registers beside the sums, one step for all lanes.
    fn row(&self, m: &mut Module, io: &OutlierPeGroupPorts, sums: Regs, flags: Regs) -> Row {
        let complete = m.reg_init("last_q", bit(), 0);
        complete.next(io.last_i);
        // The receiver of the sums may be busy still: they wait until all can move.
        let holds = m.reg_init("holds_q", bit(), 0);
        holds.next(complete.q | (holds.q & !io.drain_i));
        let moves = m.wire("moves", complete.q | io.drain_i | !holds.q);
        let results = m.regs("result", sint(self.accumulator_width), self.lanes);
        let overflows = m.regs("result_overflow", bit(), self.lanes);
        let left = m.nets("left", sint(self.accumulator_width), self.lanes);
        let left_overflow = m.nets("left_overflow", bit(), self.lanes);
        m.connect(left.at(0), io.result_i);
        m.connect(left_overflow.at(0), io.overflow_i);
        m.for_each("row", self.lanes - 1, |m, k| {
            m.connect(left.at(k + 1), results.q.at(k));
            m.connect(left_overflow.at(k + 1), overflows.q.at(k));
        });
        m.for_each("places", self.lanes, |m, k| {
            results.next_when(m, k, moves, mux(complete.q, sums.q.at(k), left.at(k)));
            overflows.next_when(m, k, moves, mux(complete.q, flags.q.at(k), left_overflow.at(k)));
        });
        m.connect(io.result_o, results.q.at(self.lanes - 1));
        m.connect(io.overflow_o, overflows.q.at(self.lanes - 1));
        Row { results: results.q, overflows: overflows.q, complete: complete.q }
    }

    /// Each lane's step against exact arithmetic of whole weights, and the row.
    fn properties(&self, m: &mut Module, io: &OutlierPeGroupPorts, (sums, flags): (Array, Array), row: Row) {
        if self.addend_width() > 6 || self.accumulator_width > 8 || self.lanes > 3 {
            return;
        }
        m.formal(|m| {
            let seen = m.reg_init("spec_seen_q", bit(), 0);
            seen.next(bit().lit(1));
            let waits = m.reg_init("spec_waits_q", bit(), 0);
            waits.next(row.complete | (waits.q & !io.drain_i));
            let moved = m.reg_init("spec_moved_q", bit(), 0);
            moved.next(!row.complete & io.drain_i);
            let half = 1i64 << self.weight_width;
            for k in 0..self.lanes {
                let name = |what: &str| format!("spec_{what}_{k}");
                let chosen = io.outlier_lane_i.eq(k);
                let lane_weight = io.weights_i.at(k);
                let wide = 2 * self.weight_width + 2;
                let low = mux(io.upper_i, (lane_weight * half).extend(wide), lane_weight.extend(wide));
                let high = mux(chosen, (io.outlier_i * half).extend(wide), sint(wide).lit(0));
                let weight = m.wire(&name("weight"), low + high);
                let start = m.wire(&name("start"), mux(io.first_i, sint(self.accumulator_width).lit(0), sums.at(k)));
                let exact = m.wire(&name("exact"), start + io.act_i * weight);
                let value = m.reg(&name("sum_q"), exact.ty());
                value.next(exact);
                let flag = m.reg(&name("flag_q"), bit());
                flag.next(flags.at(k) & !io.first_i);
                let fits = m.wire(&name("fits"), value.q.saturate(self.accumulator_width).eq(value.q));
                let wrapped = value.q.truncate(self.accumulator_width);
                m.assert_always(&format!("sum_{k}_is_exact_or_wraps"), !seen.q | sums.at(k).eq(wrapped));
                m.assert_always(&format!("flag_{k}_tells"), !seen.q | flags.at(k).eq(flag.q | !fits));
                m.cover(&format!("lane_{k}_overflows"), seen.q & flags.at(k) & !flag.q);
                let kept = m.reg(&name("kept_q"), sums.at(k).ty());
                kept.next_when(row.complete, sums.at(k));
                let kept_flag = m.reg(&name("kept_flag_q"), bit());
                kept_flag.next_when(row.complete, flags.at(k));
                let entered = m.reg(&name("entered_q"), sums.at(k).ty());
                entered.next(if k == 0 { io.result_i } else { row.results.at(k - 1) });
                let held = row.results.at(k).eq(kept.q) & row.overflows.at(k).eq(kept_flag.q);
                m.assert_always(&format!("sum_{k}_waits"), !waits.q | held);
                m.assert_always(&format!("sum_{k}_moves"), !moved.q | row.results.at(k).eq(entered.q));
            }
            m.cover("sums_wait", waits.q & !row.complete & io.result_o.lt(-2));
        });
    }
}

impl CatalogBlock for OutlierPeGroup {
    fn configurations() -> Vec<Self> {
        let set = |lanes, act_width, weight_width, accumulator_width| Self {
            lanes,
            act_width,
            weight_width,
            accumulator_width,
        };
        vec![set(2, 2, 2, 7), set(3, 5, 3, 12), set(16, 16, 4, 32), set(5, 16, 8, 64)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |lanes, act_width, weight_width, accumulator_width| Proof {
            block: Self { lanes, act_width, weight_width, accumulator_width },
            depth: 5,
            cover_depth: 16,
            induction: true,
        };
        vec![proof(2, 2, 2, 7), proof(3, 2, 2, 8)]
    }
}
