//! Columns of sums, or of fp16 numbers, become results: lanes, one for each row, and their constants.

use super::sum_buffer::{SumBuffer, SumColumn};
use super::tender_lane::{LaneTimes, TenderLane};
use crate::blocks::common::row::{Section, later};
use crate::lang::{
    About, Block, Field, FieldArray, In, InBundle, InStream, Module, Out, OutStream, Signal, Timing, bit, bits_for,
    bundle, cat, mux, parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ResultStage {
        /// Rows of the array.
        rows: u32 = 16, in power_of_two(2..=256), tag "r";
        /// Columns of the array.
        columns: u32 = 16, in power_of_two(4..=256), tag "c";
        /// A lane.
        lane: TenderLane = TenderLane::default();
    }
}

impl ResultStage {
    fn sums(&self) -> SumBuffer {
        SumBuffer { rows: self.rows, columns: self.columns, width: self.lane.width, ..SumBuffer::default() }
    }

    fn used_width(&self) -> u32 {
        bits_for(self.rows.into())
    }
}

bundle! {
    /// The mode for the columns of an operation.
    pub struct ResultMode(_unit: ()) {
        /// Rows of the matrix, from 1 on.
        rows: Field = uint(16),
        /// Its columns, from 1 on.
        columns: Field = uint(16),
        /// Numbers are fp16, not sums.
        from_values: Field = bit(),
        /// Operands have 8 bits: half of the rows are in use, sums in odd rows.
        int8: Field = bit(),
        /// Results are integers of the operands' width, not fp16.
        integers: Field = bit(),
        /// Integers are unsigned.
        unsigned: Field = bit(),
        /// Negative numbers become 0.
        relu: Field = bit(),
        /// Constants belong to rows, not to columns.
        per_row: Field = bit(),
    }
}

bundle! {
    /// Constants of a column, or of a row.
    pub struct Constants(_unit: ()) {
        /// fp32.
        scale: Field = uint(32),
        /// fp32.
        bias: Field = uint(32),
        /// fp32.
        quantizer: Field = uint(32),
    }
}

bundle! {
    /// fp16 numbers, one for each row.
    pub struct Numbers(rows: u32) {
        /// The numbers.
        values: FieldArray = uint(16).array(*rows),
    }
}

bundle! {
    /// Results of a column.
    pub struct Results(rows: u32) {
        /// fp16 numbers, or integers in the low bits; 0 in rows that the matrix does not have.
        values: FieldArray = uint(16).array(*rows),
    }
}

ports! {
    /// Ports of [`ResultStage`].
    pub struct ResultStagePorts(p: &ResultStage) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// An operation begins; nothing is inside.
        begin_i: In = bit(),
        /// Its mode; steady from begin_i on up to its last result.
        mode: InBundle<ResultMode> = (),
        /// Columns of sums.
        sum: InStream<SumColumn> = p.sums(),
        /// Columns of fp16 numbers; taken instead with mode_from_values_i.
        number: InStream<Numbers> = p.rows,
        /// Constants: for each panel the constants of all columns, or of its rows.
        constants: InStream<Constants> = (),
        /// Results, column by column.
        result: OutStream<Results> = p.rows,
        /// For one cycle: a column had a sum that overflowed.
        sum_overflow_o: Out = bit(),
        /// For one cycle: a column has a result that is infinite, a NaN, saturated or from a NaN.
        overflow_o: Out = bit(),
    }
}

impl Block for ResultStage {
    type Ports = ResultStagePorts;
    const ABOUT: About = About {
        name: "result_stage",
        summary: "columns of sums or of fp16 numbers become columns of results",
        contract: "Columns as they come, `columns` of them for each panel of as many rows as the array has in the\n\
            mode. A column needs its constants. With per_row the constants of the panel's rows come first, in one\n\
            cycle each, when the panel before it has left the lanes. Results as in tender_lane; the flags count\n\
            rows that the matrix has.",
        reference: "Tender, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &ResultStagePorts) {
        let (rows, mode) = (self.rows, &io.mode);
        let LaneTimes { scale: to_scale, bias: to_bias, quantizer: to_quantizer, result: latency } = self.lane.times();
        let used_ty = uint(self.used_width());
        let end = Section::new(m, "end", (latency, 16 * rows), io.clear_i);
        let begins = m.net("begins", bit());

        m.comment("The place of a column in its matrix, and the rows of its panel.");
        let panel = m.wire("panel", mux(mode.int8, used_ty.lit(rows / 2), used_ty.lit(rows)));
        let left = m.reg("left_q", uint(16));
        let more = m.wire("more", left.q.gt(panel.extend(16)));
        let used = m.wire("used", mux(more, panel, left.q.slice(0..used_ty.width)));
        let column = m.reg("column_q", uint(16));
        let last = m.wire("last", begins & column.q.wrapping_add(1).eq(mode.columns));
        let zero = uint(16).lit(0);
        column.next_when(io.begin_i | begins, mux(io.begin_i | last, zero, column.q.wrapping_add(1)));
        let fewer = left.q.wrapping_sub(panel.extend(16));
        left.next_when(io.begin_i | last, mux(io.begin_i, mode.rows, fewer));

        m.comment("Constants of rows are kept.");
        let inside = m.reg_init("inside_q", uint(latency), 0);
        inside.next(mux(io.clear_i, uint(latency).lit(0), cat(&[inside.q.slice(0..latency - 1), begins])));
        let loaded = m.reg_init("loaded_q", used_ty, 0);
        let whole = m.wire("whole", loaded.q.eq(used));
        let loads = m.wire("loads", mode.per_row & !whole & !inside.q.any() & io.constants.valid & !io.clear_i);
        let counted = mux(loads, loaded.q.wrapping_add(1), loaded.q);
        loaded.next(mux(io.clear_i | io.begin_i | last, used_ty.lit(0), counted));
        let kept = |m: &mut Module, name: &str, value: Signal| {
            let kept = m.regs(name, uint(32), rows);
            m.for_each(name, rows, |m, i| {
                let here = m.wire(&format!("{name}_here"), loads & loaded.q.eq(i.value(used_ty.width)));
                kept.next_when(m, i, here, value);
            });
            kept.q
        };
        let scales = kept(m, "row_scale", io.constants.scale);
        let biases = kept(m, "row_bias", io.constants.bias);
        let quantizers = kept(m, "row_quantizer", io.constants.quantizer);

        m.comment("A column begins.");
        let arrived = m.wire("arrived", mux(mode.from_values, io.number.valid, io.sum.valid));
        let known = m.wire("known", mux(mode.per_row, whole, io.constants.valid));
        m.connect(begins, arrived & known & end.room);
        let free = m.wire("free", known & end.room);
        m.connect(io.sum.ready, free & !mode.from_values);
        m.connect(io.number.ready, free & mode.from_values);
        m.connect(io.constants.ready, mux(mode.per_row, loads, begins));
        let scale = later(m, "scale", io.constants.scale, to_scale);
        let bias = later(m, "bias", io.constants.bias, to_bias);
        let quantizer = later(m, "quantizer", io.constants.quantizer, to_quantizer);
        let (scale, bias) = (m.wire("scale", scale), m.wire("bias", bias));
        let quantizer = m.wire("quantizer", quantizer);
        let late_used = later(m, "used", used, latency);
        let late_used = m.wire("used_now", late_used);
        let sums = m.nets("lane_sum", io.sum.sums.ty().element, rows);
        let flags = m.nets("lane_flag", bit(), rows);
        for (name, from, to) in [("choose_sum", io.sum.sums, sums), ("choose_flag", io.sum.overflow, flags)] {
            m.for_each(&format!("{name}_low"), rows / 2, |m, i| {
                m.connect(to.at(i), mux(mode.int8, from.at(i * 2 + 1), from.at(i)));
            });
            m.for_each(&format!("{name}_high"), rows / 2, |m, i| {
                m.connect(to.at(i + rows / 2), from.at(i + rows / 2));
            });
        }
        let results = m.nets("lane_result", uint(16), rows);
        let overflow = m.nets("lane_overflow", bit(), rows);
        let wrong = m.nets("lane_wrong", bit(), rows);
        m.for_each("lane", rows, |m, i| {
            let lane = m.instance("u_lane", self.lane.clone());
            m.connect(lane.from_value_i, mode.from_values);
            m.connect(lane.relu_i, mode.relu);
            m.connect(lane.int8_i, mode.int8);
            m.connect(lane.unsigned_i, mode.unsigned);
            m.connect(lane.integer_i, mode.integers);
            m.connect(lane.sum_i, sums.at(i));
            m.connect(lane.value_i, io.number.values.at(i));
            m.connect(lane.scale_i, mux(mode.per_row, scales.at(i), scale));
            m.connect(lane.bias_i, mux(mode.per_row, biases.at(i), bias));
            m.connect(lane.quantizer_i, mux(mode.per_row, quantizers.at(i), quantizer));
            let mine = m.wire("mine", late_used.gt(i.value(used_ty.width)));
            m.connect(results.at(i), lane.y_o & mine.repeat(16));
            m.connect(overflow.at(i), lane.overflow_o & mine);
            m.connect(wrong.at(i), flags.at(i) & used.gt(i.value(used_ty.width)));
        });

        m.comment("Results that leave.");
        m.connect(end.enters, begins);
        end.catch(m, "end", begins, results.packed(), io.clear_i);
        m.connect_handshake(&io.result, &end.fifo.output);
        m.connect(end.leaves, io.result.fire());
        let word = m.wire("word", end.fifo.output.data.data);
        let word = m.split("word_values", word, uint(16).array(rows));
        m.connect_each("result_values", io.result.values, word);
        m.connect(io.sum_overflow_o, begins & !mode.from_values & wrong.packed().any());
        m.connect(io.overflow_o, inside.q.msb() & overflow.packed().any());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.lane.latency() + 1)
    }
}
