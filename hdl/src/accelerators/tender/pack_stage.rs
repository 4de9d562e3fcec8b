//! Columns of fp16 numbers become columns of integers, several in a cycle: lanes, one for each number, and their
//! constants.

use super::tender_lane::{LaneTimes, TenderLane};
use crate::blocks::common::arith::popcount;
use crate::blocks::common::row::{Section, later, later_valid};
use crate::lang::{
    About, Array, Block, Field, FieldArray, In, InBundle, InStream, Module, Out, OutStream, Signal, Timing, Type, bit,
    bits_for, bundle, mux, parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct PackStage {
        /// Rows of a panel.
        rows: u32 = 16, in power_of_two(2..=256), tag "r";
        /// Columns that begin in a cycle.
        group: u32 = 1, in power_of_two(1..=32), tag "g";
        /// A lane.
        lane: TenderLane = TenderLane::default();
    }
}

impl PackStage {
    /// Numbers of a cycle.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.rows * self.group
    }

    fn count(&self, most: u32) -> Type {
        uint(bits_for(most.into()))
    }
}

bundle! {
    /// The mode for the columns of an operation.
    pub struct PackMode(_unit: ()) {
        /// Rows of the matrix, from 1 on.
        rows: Field = uint(16),
        /// Its columns, from 1 on.
        columns: Field = uint(16),
        /// Integers have 8 bits: half of the rows are in use.
        int8: Field = bit(),
        /// Integers are unsigned.
        unsigned: Field = bit(),
        /// Negative numbers become 0.
        relu: Field = bit(),
    }
}

bundle! {
    /// Columns of numbers.
    pub struct NumberColumns(p: PackStage) {
        /// fp16; those of a row after each other.
        values: FieldArray = uint(16).array(p.lanes()),
    }
}

bundle! {
    /// Constants of columns.
    pub struct ColumnConstants(p: PackStage) {
        /// fp32.
        scale: FieldArray = uint(32).array(p.group),
        /// fp32.
        bias: FieldArray = uint(32).array(p.group),
        /// fp32.
        quantizer: FieldArray = uint(32).array(p.group),
    }
}

bundle! {
    /// Columns of integers.
    pub struct IntegerColumns(p: PackStage) {
        /// Integers in the low bits, those of a column after each other; 0 in rows that the matrix does not have.
        values: FieldArray = uint(8).array(p.lanes()),
    }
}

ports! {
    /// Ports of [`PackStage`].
    pub struct PackStagePorts(p: &PackStage) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// An operation begins; nothing is inside.
        begin_i: In = bit(),
        /// Its mode; steady from begin_i on up to its last result.
        mode: InBundle<PackMode> = (),
        /// `group` columns; fewer at the end of a panel, where the rest means nothing.
        number: InStream<NumberColumns> = p.clone(),
        /// Constants of the same columns: those of all columns for each panel.
        constants: InStream<ColumnConstants> = p.clone(),
        /// Results of the same columns.
        result: OutStream<IntegerColumns> = p.clone(),
        /// Columns that have a saturated result, or one from a NaN.
        overflows_o: Out = p.count(p.group),
    }
}

impl Block for PackStage {
    type Ports = PackStagePorts;
    const ABOUT: About = About {
        name: "pack_stage",
        summary: "columns of fp16 numbers become columns of integers, several in a cycle",
        contract: "Panel by panel, `group` columns as they come, with their constants. Results as in tender_lane;\n\
            overflows_o counts columns and rows that the matrix has.",
        reference: "Tender, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &PackStagePorts) {
        let (rows, group, mode) = (self.rows, self.group, &io.mode);
        let LaneTimes { result: latency, .. } = self.lane.times();
        let end = Section::new(m, "end", (latency, 8 * self.lanes()), io.clear_i);
        let begins = m.wire("begins", io.number.valid & io.constants.valid & end.room);
        m.connect(io.number.ready, io.constants.valid & end.room);
        m.connect(io.constants.ready, begins);
        m.connect(end.enters, begins);

        m.comment("Rows and columns of the matrix that are here.");
        let (used, here) = self.places(m, io, begins);
        let used = later(m, "used", used, latency);
        let used = m.wire("used_now", used);
        let here = later(m, "here", here, latency);
        let here = m.wire("here_now", here);

        let results = m.nets("lane_result", uint(8), self.lanes());
        let overflow = m.nets("lane_overflow", bit(), self.lanes());
        let columns = m.nets("column_overflow", bit(), group);
        let constants = self.constants(m, io);
        m.for_each("column", group, |m, g| {
            let mine = m.wire("column_mine", here.gt(g.value(here.width())));
            m.for_each("lane", rows, |m, i| {
                let lane = m.instance("u_lane", self.lane.clone());
                m.connect(lane.from_value_i, 1);
                m.connect(lane.relu_i, mode.relu);
                m.connect(lane.int8_i, mode.int8);
                m.connect(lane.unsigned_i, mode.unsigned);
                m.connect(lane.integer_i, 1);
                m.connect(lane.sum_i, 0);
                m.connect(lane.value_i, io.number.values.at(i * group + g));
                for (to, from) in [lane.scale_i, lane.bias_i, lane.quantizer_i].into_iter().zip(constants) {
                    m.connect(to, from.at(g));
                }
                let mine = m.wire("mine", mine & used.gt(i.value(used.width())));
                m.connect(results.at(g * rows + i), lane.y_o.slice(0..8) & mine.repeat(8));
                m.unused(lane.y_o.slice(8..16));
                m.connect(overflow.at(g * rows + i), lane.overflow_o & mine);
            });
        });
        let flags = m.wire("overflows", overflow.packed());
        m.for_each("flag", group, |m, g| m.connect(columns.at(g), flags.slice_at(g * rows, rows).any()));
        let inside = later_valid(m, "inside", begins, latency, io.clear_i);
        let count = popcount::ones(m, "overflow_count", &columns.elements());
        m.connect(io.overflows_o, count & inside.repeat(count.width()));

        m.comment("Results that leave.");
        end.catch(m, "end", begins, results.packed(), io.clear_i);
        m.connect_handshake(&io.result, &end.fifo.output);
        m.connect(end.leaves, io.result.fire());
        let word = m.wire("word", end.fifo.output.data.data);
        let word = m.split("word_values", word, uint(8).array(self.lanes()));
        m.connect_each("result_values", io.result.values, word);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.lane.latency() + 1)
    }
}

impl PackStage {
    /// Rows of the panel at hand, and the columns that begin now: `group`, or what is left of the panel.
    fn places(&self, m: &mut Module, io: &PackStagePorts, begins: Signal) -> (Signal, Signal) {
        let (mode, used_ty, here_ty) = (&io.mode, self.count(self.rows), self.count(self.group));
        let half = used_ty.lit(self.rows / 2);
        let panel = m.wire("panel", mux(mode.int8, half, used_ty.lit(self.rows)));
        let rows = m.reg("rows_q", uint(16));
        let more = m.wire("more", rows.q.gt(panel.extend(16)));
        let used = m.wire("used", mux(more, panel, rows.q.slice(0..used_ty.width)));
        let columns = m.reg("columns_q", uint(16));
        let last = m.wire("last", begins & columns.q.le(self.group));
        let here = mux(columns.q.gt(self.group), here_ty.lit(self.group), columns.q.slice(0..here_ty.width));
        let whole = io.begin_i | last;
        columns.next_when(whole | begins, mux(whole, mode.columns, columns.q.wrapping_sub(self.group)));
        rows.next_when(whole, mux(io.begin_i, mode.rows, rows.q.wrapping_sub(panel.extend(16))));
        (used, m.wire("here", here))
    }

    /// Scales, biases and quantizers, each when the lanes read them.
    fn constants(&self, m: &mut Module, io: &PackStagePorts) -> [Array; 3] {
        let times = self.lane.times();
        let of = [
            ("scale", io.constants.scale, times.scale),
            ("bias", io.constants.bias, times.bias),
            ("quantizer", io.constants.quantizer, times.quantizer),
        ];
        of.map(|(name, values, after)| {
            let values = later(m, name, values.packed(), after);
            let values = m.wire(name, values);
            m.split(&format!("{name}_of"), values, uint(32).array(self.group))
        })
    }
}
