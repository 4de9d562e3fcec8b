//! Weight-stationary variant of the multi-scale array: weights stay, partial sums pass down the rows.
//!
//! A fold has one channel per row. Its weights move in from above, together with a bit for each row that
//! says whether a channel group ends there. Then any number of activation vectors pass. A row at the end of a group
//! doubles the partial sums after it has added its product. Below each column an accumulator adds up the folds. It is
//! doubled before each fold, as often as the rows of the fold double. An empty group is a row with weights of zero that
//! doubles.

use super::ws_accumulator::WsAccumulator;
use super::ws_pe::WsPe;
use crate::blocks::common::SkewLines;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, InStream, Module, OutArray, Signal, Timing, bit, bits_for,
    bundle, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct WeightStationaryArray {
        /// Rows of PEs: channels of a fold.
        rows: u32 = 16, in 1..=256, tag "r";
        /// Columns of PEs: outputs.
        columns: u32 = 16, in 1..=256, tag "c";
        /// The PE; the accumulators have its accumulator width too.
        pe: WsPe = WsPe::default();
        /// Accumulators of a column: activation vectors of a fold.
        depth: u32 = 64, in 2..=65_536, tag "d";
    }
}

bundle! {
    /// One row of weights.
    pub struct WeightRow(p: WeightStationaryArray) {
        /// A channel group ends with this row.
        doubles: Field = bit(),
        /// The weights are signed.
        weight_signed: Field = bit(),
        /// A weight for each column.
        weight: FieldArray = uint(p.pe.operand_width).array(p.columns),
    }
}

bundle! {
    /// One activation vector.
    pub struct ActVector(p: WeightStationaryArray) {
        /// The fold is the first one of this sum.
        first: Field = bit(),
        /// The fold is the last one of this sum: it leaves.
        last: Field = bit(),
        /// Number of the sum.
        index: Field = uint(index_width(p.depth.into())),
        /// The activations are signed.
        act_signed: Field = bit(),
        /// An activation for each row.
        act: FieldArray = uint(p.pe.operand_width).array(p.rows),
    }
}

ports! {
    /// Ports of [`WeightStationaryArray`].
    pub struct WeightStationaryArrayPorts(p: &WeightStationaryArray) {
        /// One row of weights: it enters at the top, and all rows move down.
        load: InStream<WeightRow> = p.clone(),
        /// One activation vector.
        step: InStream<ActVector> = p.clone(),
        /// Column c shows a sum in this cycle; never held back.
        result_valid_o: OutArray = bit().array(p.columns),
        /// The sums, when valid.
        result_o: OutArray = sint(p.pe.accumulator_width).array(p.columns),
        /// When valid: the sum or one of its partial sums left its range, or it has a number that does not exist.
        overflow_o: OutArray = bit().array(p.columns),
    }
}

impl WeightStationaryArray {
    fn extended(&self, value: Signal, signed: Signal) -> Signal {
        cat(&[signed & value.msb(), value])
    }
}

impl Block for WeightStationaryArray {
    type Ports = WeightStationaryArrayPorts;
    const ABOUT: About = About {
        name: "weight_stationary_array",
        summary: "weight-stationary systolic array whose rows double partial sums at the end of channel groups",
        contract: "The array holds the last `rows` beats of load, the last one in the top row: the first beat of a\n\
            fold goes to the bottom row. A beat of step: partial(c) = 0; for each row r from the top: partial(c) +=\n\
            act[r] x weight[r][c], and is doubled where row r was loaded with `doubles`.\n\
            sum[index](c) = (first ? 0 : sum[index](c) x 2^(doubling rows)) + partial(c). With `last`, column c\n\
            shows it rows + c + 1 cycles after the step.\n\
            overflow_o: some step of this sum was not exact in accumulator_width bits (sums wrap), or index is not\n\
            below depth (the sum is not kept).\n\
            load_ready_o is low until the last step has passed all rows; step_ready_o is low in a cycle of a load,\n\
            and in the cycle after a step for the same index. Results must be taken when valid.\n\
            A fold may be broken off at any time by one load per row, a sum by `first`. Reset drops\n\
            vectors on their way; all weights and sums are unknown until they are loaded and begun again.",
        reference: "Tender, sections IV-B and VI-D",
    };

    fn build(&self, m: &mut Module, io: &WeightStationaryArrayPorts) {
        let (rows, columns) = (self.rows, self.columns);
        let step = m.wire("step_fire", io.step.fire());
        let load = m.wire("load_fire", io.load.fire());
        m.comment("An accumulator reads a sum a cycle before it writes it: the same one not twice in a row.");
        let stepped = m.reg_init("stepped_q", bit(), 0);
        let index = m.reg("index_q", io.step.index.ty());
        stepped.next(step);
        index.next(io.step.index);
        let again = m.wire("again", stepped.q & index.q.eq(io.step.index));
        m.connect(io.step.ready, !(io.load.valid & io.load.ready) & !again);
        if rows == 1 {
            m.connect(io.load.ready, 1);
        } else {
            let passing = m.reg_init("passing_q", uint(bits_for(u64::from(rows) - 1)), 0);
            let passes = m.wire("passes", passing.q.any());
            let less = mux(passes, passing.q.wrapping_sub(1), 0);
            passing.next(mux(step, passing.q.ty().lit(rows - 1), less));
            m.connect(io.load.ready, !passes);
        }
        let operand = sint(self.pe.operand_width + 1);
        let weight = m.grid("weight", operand, rows + 1, columns);
        let doubles = m.grid("doubles", bit(), rows + 1, columns);
        let act = m.grid("act", operand, rows, columns + 1);
        let partial = m.grid("partial", sint(self.pe.accumulator_width), rows + 1, columns);
        let overflow = m.grid("overflow", bit(), rows + 1, columns);
        let loads = m.nets("loads", bit(), columns);
        m.connect(loads.at(0), load);
        m.for_each("loads_right", columns - 1, |m, c| {
            let loads_q = m.reg_init("loads_q", bit(), 0);
            loads_q.next(loads.at(c));
            m.connect(loads.at(c + 1), loads_q.q);
        });
        let lines = |lanes, width| SkewLines { lanes, width, ..SkewLines::default() };
        let above = m.instance("u_weight_skew", lines(columns, self.pe.operand_width + 2));
        m.for_each("above", columns, |m, c| {
            let value = self.extended(io.load.weight.at(c), io.load.weight_signed);
            m.connect(above.data_i.at(c), cat(&[io.load.doubles, value]));
            m.connect(weight.at((0, c)), above.data_o.at(c).slice(0..self.pe.operand_width + 1).as_sint());
            m.connect(doubles.at((0, c)), above.data_o.at(c).msb());
            m.connect(partial.at((0, c)), 0);
            m.connect(overflow.at((0, c)), 0);
        });
        let left = m.instance("u_act_skew", lines(rows, self.pe.operand_width + 1));
        m.for_each("left", rows, |m, r| {
            let value = self.extended(io.step.act.at(r), io.step.act_signed);
            m.connect(left.data_i.at(r), value);
            m.connect(act.at((r, 0)), left.data_o.at(r).as_sint());
        });
        m.for_each("row", rows, |m, r| {
            m.for_each("column", columns, |m, c| {
                let u = m.instance("u_pe", self.pe.clone());
                m.connect(u.load_i, loads.at(c));
                m.connect(u.weight_i, weight.at((r, c)));
                m.connect(u.doubles_i, doubles.at((r, c)));
                m.connect(u.act_i, act.at((r, c)));
                m.connect(u.partial_i, partial.at((r, c)));
                m.connect(u.overflow_i, overflow.at((r, c)));
                m.connect(weight.at((r + 1, c)), u.weight_o);
                m.connect(doubles.at((r + 1, c)), u.doubles_o);
                m.connect(act.at((r, c + 1)), u.act_o);
                m.connect(partial.at((r + 1, c)), u.partial_o);
                m.connect(overflow.at((r + 1, c)), u.overflow_o);
            });
        });
        self.accumulators(m, io, step, load, (partial, overflow));
    }

    fn timing(&self) -> Timing {
        let (rows, columns) = (self.rows, self.columns);
        Timing::new()
            .beat(1)
            .phase("load", rows, "of the weights of a fold")
            .phase("first_sum", rows + 1, "from a step to its sum of the first column")
            .phase("last_sum", rows + columns, "from a step to its sum of the last column")
    }
}

impl WeightStationaryArray {
    fn accumulators(
        &self,
        m: &mut Module,
        io: &WeightStationaryArrayPorts,
        step: Signal,
        load: Signal,
        bottom: (Array, Array),
    ) {
        let (rows, columns) = (self.rows, self.columns);
        m.comment("Doubling rows of this fold: the rows that the last `rows` loads brought.");
        let recent = m.reg_init("recent_q", uint(rows), 0);
        let now = io.load.doubles;
        let leaves = recent.q.msb();
        let moved = if rows == 1 { now } else { cat(&[recent.q.slice(0..rows - 1), now]) };
        recent.next_when(load, moved);
        let count = m.reg_init("shift_q", uint(bits_for(rows.into())), 0);
        let up = m.wire("shift_up", now & !leaves);
        let down = m.wire("shift_down", leaves & !now);
        let less = mux(down, count.q.wrapping_sub(1), count.q);
        count.next_when(load, mux(up, count.q.wrapping_add(1), less));
        // Fields that go with a vector: they reach its accumulators a cycle before its partial sum.
        let tag = [count.q, io.step.index, io.step.last, io.step.first, step];
        let tag = m.wire("tag", cat(&tag));
        let index = index_width(self.depth.into());
        let stages = m.nets("tags", tag.ty(), rows + columns - 1);
        m.connect(stages.at(0), tag);
        m.for_each("tags_on", rows + columns - 2, |m, i| {
            let valid = m.reg_init("tag_valid_q", bit(), 0);
            let rest = m.reg("tag_q", uint(tag.width() - 1));
            valid.next(stages.at(i).bit(0));
            rest.next(stages.at(i).slice(1..tag.width()));
            m.connect(stages.at(i + 1), cat(&[rest.q, valid.q]));
        });
        let block = WsAccumulator { depth: self.depth, accumulator_width: self.pe.accumulator_width, max_shift: rows };
        m.for_each("below", columns, |m, c| {
            let u = m.instance("u_accumulator", block.clone());
            let tag = m.wire("tag_here", stages.at(c + (rows - 1)));
            m.connect(u.valid_i, tag.bit(0));
            m.connect(u.first_i, tag.bit(1));
            m.connect(u.last_i, tag.bit(2));
            m.connect(u.index_i, tag.slice(3..3 + index));
            m.connect(u.shift_i, tag.slice(3 + index..tag.width()));
            m.connect(u.partial_i, bottom.0.at((rows, c)));
            m.connect(u.overflow_i, bottom.1.at((rows, c)));
            m.connect(io.result_valid_o.at(c), u.result_valid_o);
            m.connect(io.result_o.at(c), u.result_o);
            m.connect(io.overflow_o.at(c), u.overflow_o);
        });
    }
}

impl CatalogBlock for WeightStationaryArray {
    fn configurations() -> Vec<Self> {
        let set = |rows, columns, operand_width, accumulator_width, depth| {
            let pe = WsPe { operand_width, accumulator_width };
            Self { rows, columns, pe, depth }
        };
        vec![set(1, 1, 2, 6, 2), set(3, 5, 8, 18, 7), set(6, 2, 4, 12, 16)]
    }
}
