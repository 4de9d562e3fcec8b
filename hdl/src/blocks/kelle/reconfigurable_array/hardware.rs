//! The hardware of the array.

use super::lane_results::LaneResults;
use super::{ReconfigurableArray, ReconfigurableArrayPorts};
use crate::blocks::common::SkewLines;
use crate::lang::{About, Array, Block, Module, Signal, Timing, bit, bits_for, cat, mux, select, sint, uint};

impl Block for ReconfigurableArray {
    type Ports = ReconfigurableArrayPorts;
    const ABOUT: About = About {
        name: "reconfigurable_array",
        summary: "weight-stationary systolic array of bytes, whose products can be transposed in place",
        contract: "A step, with w[r][c] the weights swapped in last: y[c] = sum of act[r] x w[r][c] over r, or\n\
            transposed y[r] = sum of act[c] x w[r][c] over c. sum[index][i] = (first ? 0 : sum[index][i]) + y[i] x\n\
            2^(operand_width x place), for each lane i. With `last` the sums leave at result; they stay as well. A\n\
            swap takes the weights that were last loaded into each row, in an earlier cycle.\n\
            Operands of two bytes, exactly: steps of high bytes (signed) and low ones (unsigned), place = the\n\
            number of high ones.\n\
            overflow: some sum since `first` was not exact in accumulator_width bits (sums wrap), or index is not\n\
            below depth.\n\
            load waits where a swap has not yet passed its row: row r can be loaded r cycles after the swap. step\n\
            waits only where its results would have no place.",
        reference: "Kelle, section 5.2, figure 11",
    };

    fn build(&self, m: &mut Module, io: &ReconfigurableArrayPorts) {
        let lane_results = m.instance("u_results", LaneResults { array: self.clone() });
        let step = m.wire("step_fire", io.step.fire());
        let load = m.wire("load_fire", io.load.fire());
        let enters = m.wire("enters", step & io.step.last);
        let swaps = m.wire("swaps", step & io.step.swap);
        m.connect(io.step.ready, (lane_results.room_o | !io.step.last) & !io.clear_i);
        let passed = self.passed(m, io, swaps);
        m.connect(io.load.ready, passed & !io.clear_i);

        m.comment("Fields of a step on their way: PE (r, c) is at place r + c, accumulator i after the mesh.");
        let mesh = [io.step.weight_signed, io.step.act_signed, io.step.transposed, swaps];
        let edge = [io.step.transposed, io.step.index, io.step.place, io.step.last, io.step.first, step];
        let mesh = self.line(m, "mesh_line", &mesh, self.rows + self.columns - 1, io.clear_i);
        let edge = self.line(m, "edge_line", &edge, 2 * self.lanes() - 1, io.clear_i);

        let (below, right) = self.mesh(m, io, load, mesh);
        m.connect(lane_results.clear_i, io.clear_i);
        m.connect(lane_results.enters_i, enters);
        m.connect(lane_results.index_i, io.step.index);
        m.connect(lane_results.transposed_i, io.step.transposed);
        m.connect_stream(&io.result, &lane_results.result);
        let valid = m.nets("lane_valid", bit(), self.lanes());
        let kind = m.nets("lane_transposed", bit(), self.lanes());
        let sum = m.nets("lane_sum", sint(self.accumulator_width), self.lanes());
        m.for_each("edge", self.lanes(), |m, i| {
            let u = m.instance("u_accumulator", self.accumulator());
            // A cycle before the partial sum.
            let tag = m.wire("edge_tag", edge.at(i + (self.lanes() - 1)));
            m.connect(u.clear_i, io.clear_i);
            m.connect(u.valid_i, tag.bit(0));
            m.connect(u.first_i, tag.bit(1));
            m.connect(u.last_i, tag.bit(2));
            m.connect(u.place_i, tag.slice(3..5));
            m.connect(u.index_i, tag.slice(5..tag.width() - 1));
            m.connect(u.transposed_i, tag.msb());
            m.connect(u.above_i, below.at(i));
            m.connect(u.left_i, right.at(i));
            m.connect(valid.at(i), u.result_valid_o);
            m.connect(kind.at(i), u.transposed_o);
            m.connect(sum.at(i), u.result_o);
            m.connect(lane_results.lane_valid_i.at(i), u.result_valid_o);
            m.connect(lane_results.lane_sum_i.at(i), u.result_o);
            m.connect(lane_results.lane_overflow_i.at(i), u.overflow_o);
        });
        m.for_each("taps", self.rows, |m, i| {
            m.connect(io.row_valid_o.at(i), valid.at(i) & kind.at(i));
            m.connect(io.row_sum_o.at(i), sum.at(i));
        });
    }

    fn timing(&self) -> Timing {
        let lanes = self.lanes();
        Timing::new()
            .beat(1)
            .phase("load", self.rows, "of the weights of all rows")
            .phase("row", lanes + 1, "from a step to row_valid_o of row 0; row i has it i cycles later")
            .phase("result", 2 * lanes + 2, "from a last step to the first beat of its result, where none is before it")
    }
}

impl ReconfigurableArray {
    /// The swap before is past the row that is to be loaded.
    fn passed(&self, m: &mut Module, io: &ReconfigurableArrayPorts, swaps: Signal) -> Signal {
        if self.rows == 1 {
            m.unused(io.load.row);
            return bit().lit(1);
        }
        m.comment("Cycles since the last swap: it has passed as many rows, and is in the next one.");
        let ty = uint(bits_for(u64::from(self.rows) - 1));
        let since = m.reg_init("since_q", ty, u64::from(self.rows) - 1);
        let most = ty.lit(self.rows - 1);
        let all = m.wire("all_passed", since.q.eq(most));
        let on = mux(all, most, since.q.wrapping_add(1));
        since.next(select(&[(io.clear_i, most), (swaps, ty.lit(1))], on));
        let now = m.wire("since", mux(swaps, ty.lit(0), since.q));
        io.load.row.le(now) | now.eq(self.rows - 1)
    }

    /// A value and the same value of the cycles before; the lowest bit, which is last, is cleared.
    fn line(&self, m: &mut Module, name: &str, parts: &[Signal], length: u32, clear: Signal) -> Array {
        let now = m.wire(&format!("{name}_in"), cat(parts));
        let line = m.nets(name, now.ty(), length);
        m.connect(line.at(0), now);
        m.for_each(name, length - 1, |m, i| {
            let valid = m.reg_init(&format!("{name}_valid_q"), bit(), 0);
            let rest = m.reg(&format!("{name}_rest_q"), uint(now.width() - 1));
            valid.next(line.at(i).bit(0) & !clear);
            rest.next(line.at(i).slice(1..now.width()));
            m.connect(line.at(i + 1), cat(&[rest.q, valid.q]));
        });
        line
    }

    /// The PEs. For each lane, the sum from above and the sum from the left leave.
    fn mesh(&self, m: &mut Module, io: &ReconfigurableArrayPorts, load: Signal, line: Array) -> (Array, Array) {
        let (rows, columns, lanes) = (self.rows, self.columns, self.lanes());
        let (operand, partial_ty) = (uint(self.operand_width), sint(self.pe().partial_width));
        let lines = |lanes, width| SkewLines { lanes, width, ..SkewLines::default() };
        let weights = m.instance("u_weight_skew", lines(columns, self.operand_width));
        m.connect_each("weights_in", weights.data_i, io.load.weight);
        let acts = m.instance("u_act_skew", lines(lanes, self.operand_width));
        m.connect_each("acts_in", acts.data_i, io.step.act);

        m.comment("PE (r, c) drives act and partial (r + 1, c + 1); activations enter at the edges with a 0.");
        let act = m.grid("act", operand, rows + 1, columns + 1);
        let partial = m.grid("partial", partial_ty, rows + 1, columns + 1);
        let loads = m.grid("loads", bit(), rows, columns + 1);
        m.connect(act.at((0, 0)), 0);
        m.connect(partial.at((0, 0)), 0);
        m.for_each("left", rows, |m, r| {
            m.connect(act.at((r + 1, 0)), acts.data_o.at(r));
            m.connect(partial.at((r + 1, 0)), 0);
            let here = io.load.row.eq(r.value(io.load.row.width()));
            m.connect(loads.at((r, 0)), load & here);
        });
        m.for_each("above", columns, |m, c| {
            m.connect(act.at((0, c + 1)), acts.data_o.at(c));
            m.connect(partial.at((0, c + 1)), 0);
        });
        m.for_each("row", rows, |m, r| {
            m.for_each("column", columns, |m, c| {
                let u = m.instance("u_pe", self.pe());
                let tag = m.wire("mesh_tag", line.at(r + c));
                let here = loads.at((r, c));
                let loads_q = m.reg_init("loads_q", bit(), 0);
                loads_q.next(here);
                m.connect(loads.at((r, c + 1)), loads_q.q);
                m.connect(u.load_i, here);
                m.connect(u.weight_i, weights.data_o.at(c));
                m.connect(u.swap_i, tag.bit(0));
                m.connect(u.transposed_i, tag.bit(1));
                m.connect(u.act_signed_i, tag.bit(2));
                m.connect(u.weight_signed_i, tag.bit(3));
                let (left, above) = ((r + 1, c), (r, c + 1));
                m.connect(u.act_left_i, act.at(left));
                m.connect(u.act_above_i, act.at(above));
                m.connect(u.partial_left_i, partial.at(left));
                m.connect(u.partial_above_i, partial.at(above));
                m.connect(act.at((r + 1, c + 1)), u.act_o);
                m.connect(partial.at((r + 1, c + 1)), u.partial_o);
            });
        });

        m.comment("The shorter way through the mesh is made as long as the other one.");
        let below = self.out(m, "below", columns, lanes - rows, |c| partial.at((rows, c + 1)));
        let right = self.out(m, "right", rows, lanes - columns, |r| partial.at((r + 1, columns)));
        (below, right)
    }

    /// Sums that leave the mesh, `delay` cycles later; lanes without a sum have 0.
    fn out(
        &self,
        m: &mut Module,
        name: &str,
        count: u32,
        delay: u32,
        from: impl Fn(crate::lang::Index) -> Signal,
    ) -> Array {
        let (ty, lanes) = (sint(self.pe().partial_width), self.lanes());
        let out = m.nets(&format!("{name}_out"), ty, lanes);
        let line = m.grid(name, ty, count, delay + 1);
        m.for_each(name, count, |m, i| {
            m.connect(line.at((i, 0)), from(i));
            m.for_each("later", delay, |m, j| {
                let later_q = m.reg(&format!("{name}_q"), ty);
                later_q.next(line.at((i, j)));
                m.connect(line.at((i, j + 1)), later_q.q);
            });
            m.connect(out.at(i), line.at((i, delay)));
        });
        m.for_each(&format!("{name}_none"), lanes - count, |m, i| m.connect(out.at(i + count), 0));
        out
    }
}
