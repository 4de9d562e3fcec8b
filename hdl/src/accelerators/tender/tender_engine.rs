//! The engine for products and packings, between the shell's streams: controller, buffers, array, lanes.

use super::execution_controller::{ENTRY, ExecutionController};
use super::panel_buffer::PanelBuffer;
use super::part_sums::PartSums;
use super::result_stage::{ResultStage, ResultStagePorts};
use super::sum_buffer::SumBuffer;
use super::tender_controller::{READERS, TenderController, TenderControllerPorts};
use super::tender_lane::TenderLane;
use super::turn_buffer::TurnBuffer;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::{StreamFifo, StreamWidthConverter, Word};
use crate::blocks::tender::{MultiScaleArray, Rescale};
use crate::lang::{
    About, Array, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, Signal, Stream, bit,
    bits_for, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct TenderEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The array; rows are a power of two from 2 on, columns from 4 on, with INT8 mode.
        array: MultiScaleArray = MultiScaleArray::default();
        /// Channels of a panel that the scratchpad holds, twice.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer, twice.
        steps: u32 = 2048, in 2..=65536, tag "s";
        /// Columns of a strip of rows that the turn buffer holds, twice.
        strip: u32 = 64, in 32..=65504, note "a multiple of 32", tag "p";
        /// Also explicit requantization.
        explicit: bool = false, tag "explicit";
        /// The arithmetic on a result; as wide as the array's results.
        lane: TenderLane = TenderLane::default();
        /// Where scratchpad, index, output and turn buffer are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        for (name, value, least) in [("array.rows", p.array.rows, 2), ("array.columns", p.array.columns, 4)] {
            let right = value.is_power_of_two() && value >= least;
            rules.demand(right, name, value, format!("a power of two, {least} to 256"));
        }
        rules.demand(p.array.int8, "array.int8", p.array.int8, "true");
        // Panels hold nibbles, and index tables name rescales.
        let (pe, rescales) = (&p.array.pe, matches!(p.array.pe.rescale, Rescale::Adder | Rescale::Shifter));
        rules.demand(pe.operand_width == 4, "array.pe.operand_width", pe.operand_width, "4");
        rules.demand(rescales, "array.pe.rescale", format!("{:?}", pe.rescale).to_lowercase(), "adder or shifter");
        let width = p.array.result_width();
        rules.demand(p.lane.width == width, "lane.width", p.lane.width, format!("array's results: {width}"));
        rules.part("array", &p.array);
        rules.part("depth", &p.panels(p.array.rows));
        rules.part("depth", &p.panels(p.array.columns));
        rules.part("strip", &p.turn());
        rules.part("strip", &p.controller());
    };
}

impl TenderEngine {
    fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    fn word(&self, lines: u32) -> u32 {
        lines * self.array.pe.operand_width
    }

    fn panels(&self, lines: u32) -> PanelBuffer {
        PanelBuffer { axi: self.axi.clone(), word_width: self.word(lines), depth: self.depth, storage: self.storage }
    }

    fn indices(&self) -> PanelBuffer {
        PanelBuffer { axi: self.axi.clone(), word_width: ENTRY, depth: self.steps, storage: self.storage }
    }

    fn turn(&self) -> TurnBuffer {
        TurnBuffer {
            banks: self.array.rows.max(self.lanes()),
            lanes: self.lanes(),
            columns: self.strip,
            storage: self.storage,
        }
    }

    fn execution(&self) -> ExecutionController {
        ExecutionController { depth: self.depth, steps: self.steps, explicit: self.explicit }
    }

    fn controller(&self) -> TenderController {
        TenderController {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            rows: self.array.rows,
            columns: self.array.columns,
            operand_width: self.array.pe.operand_width,
            execution: self.execution(),
            turn: self.turn(),
        }
    }

    fn sums(&self) -> SumBuffer {
        SumBuffer {
            rows: self.array.rows,
            columns: self.array.columns,
            width: self.array.result_width(),
            storage: self.storage,
            parts: self.explicit,
        }
    }

    fn part_sums(&self) -> PartSums {
        let SumBuffer { rows, columns, width, storage, .. } = self.sums();
        PartSums { rows, columns, width, storage }
    }

    fn results(&self) -> ResultStage {
        ResultStage { rows: self.array.rows, columns: self.array.columns, lane: self.lane.clone() }
    }

    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    /// Cycles from a last step to the last sum of its tile, and a few more.
    fn flush(&self) -> u32 {
        self.array.rows + 2 * self.array.columns + 8
    }
}

ports! {
    /// Ports of [`TenderEngine`].
    pub struct TenderEnginePorts(p: &TenderEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand, and no sum is in the array.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The array takes a step with products in this cycle.
        computing_o: Out = bit(),
        /// For one cycle: a column of a panel had a sum that overflowed.
        sum_overflow_o: Out = bit(),
        /// For one cycle: a column of a panel has a result that is infinite, a NaN, saturated or from a NaN.
        overflow_o: Out = bit(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = 24,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: A or rows, B, indices, constants.
        read_command: OutStreams<DmaCommand> = (READERS, p.commands()),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, p.commands()),
        /// The rows.
        write: OutStreams<Word> = (1, p.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.axi.clone()),
    }
}

impl Block for TenderEngine {
    type Ports = TenderEnginePorts;
    const ABOUT: About = About {
        name: "tender_engine",
        summary: "index buffer, execution controller, scratchpad, array, output buffer and result lanes",
        contract: "Operations as tender_controller describes them: products of panels, and rows that become panels.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &TenderEnginePorts) {
        let abort = io.abort_i;
        let controller = m.instance("u_controller", self.controller());
        for (to, from) in [
            (controller.abort_i, abort),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));

        let stage = m.instance("u_results", self.results());
        self.product(m, io, &controller, &stage);
        self.constants(m, io, &stage);
        m.connect(stage.clear_i, abort);
        m.connect(stage.begin_i, controller.begin_o);
        stage.mode.drive(m, "mode", &controller.mode);
        m.connect(controller.overflow_i, stage.sum_overflow_o | stage.overflow_o);
        m.connect(io.sum_overflow_o, stage.sum_overflow_o);
        m.connect(io.overflow_o, stage.overflow_o);
    }
}

impl TenderEngine {
    /// From panels to columns of sums.
    fn product(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        controller: &TenderControllerPorts,
        stage: &ResultStagePorts,
    ) {
        let abort = io.abort_i;
        m.comment("Scratchpad and index buffer.");
        let a = m.instance("u_scratchpad_a", self.panels(self.array.rows));
        let b = m.instance("u_scratchpad_b", self.panels(self.array.columns));
        let index = m.instance("u_index", self.indices());
        let product = controller.product_o;
        let source = io.read.at(0);
        m.connect(a.input.valid, source.valid & product);
        a.input.data.drive(m, "a_input", &source.data);
        m.connect_stream(&b.input, &io.read.at(1));
        m.connect_stream(&index.input, &io.read.at(2));
        for buffer in [&a, &b, &index] {
            m.connect(buffer.clear_i, abort);
        }

        m.comment("Steps.");
        let execution = m.instance("u_execution", self.execution());
        let array = m.instance("u_array", self.array.clone());
        let sums = m.instance("u_sums", self.sums());
        execution.tiles.drive(m, "tiles", &controller.tiles);
        for (to, from) in [
            (execution.clear_i, abort),
            (execution.begin_i, controller.begin_o & product),
            (controller.index_error_i, execution.error_o),
            (execution.index_valid_i, index.valid_o),
            (index.read_i, execution.index_read_o),
            (index.address_i, execution.index_address_o),
            (execution.index_entry_i, index.data_o),
            (index.free_i, execution.index_free_o),
            (execution.a_valid_i, a.valid_o),
            (execution.b_valid_i, b.valid_o),
            (a.free_i, execution.a_free_o),
            (b.free_i, execution.b_free_o),
            (a.read_i, execution.read_o),
            (b.read_i, execution.read_o),
            (a.address_i, execution.channel_o),
            (b.address_i, execution.channel_o),
            (execution.room_i, sums.room_o),
            (sums.take_i, execution.take_o),
            // Rows that INT8 mode leaves out have not changed pages: each operation begins with the same ones.
            (sums.clear_i, abort | controller.begin_o),
            (sums.int8_i, controller.signs.int8),
            (sums.columns_i, controller.mode.columns),
        ] {
            m.connect(to, from);
        }
        m.connect(array.step.valid, execution.step.valid);
        m.connect(execution.step.ready, array.step.ready);
        m.connect(array.step.first, execution.step.first);
        m.connect(array.step.last, execution.step.last);
        if let Some(rescale) = array.step.rescale {
            m.connect(rescale, execution.step.rescale.extend(rescale.width()));
        }
        if let Some(int8) = array.step.int8 {
            m.connect(int8, controller.signs.int8);
        }
        m.connect(array.step.act_signed, controller.signs.act_signed);
        m.connect(array.step.weight_signed, controller.signs.weight_signed);
        let nibble = uint(self.array.pe.operand_width);
        let acts = m.split("act", a.data_o, nibble.array(self.array.rows));
        let weights = m.split("weight", b.data_o, nibble.array(self.array.columns));
        m.connect_each("array_act", array.step.act, acts);
        m.connect_each("array_weight", array.step.weight, weights);
        let moves = m.wire("step_moves", execution.step.fire());
        m.connect(io.computing_o, moves & !execution.step.rescale);

        m.comment("Sums.");
        m.connect_each("sums_valid", sums.result_valid_i, array.result_valid_o);
        m.connect_each("sums_result", sums.result_i, array.result_o);
        m.connect_each("sums_overflow", sums.overflow_i, array.overflow_o);
        let pairs = [(sums.doubles_i, execution.doubles_o), (sums.ends_i, execution.ends_o)];
        for (to, from) in pairs.into_iter().filter_map(|(to, from)| to.zip(from)) {
            m.connect(to, from);
        }
        if self.explicit {
            let parts = m.instance("u_part_sums", self.part_sums());
            m.connect(parts.clear_i, abort | controller.begin_o);
            m.connect_stream(&parts.part, &sums.column);
            m.connect_stream(&stage.sum, &parts.column);
        } else {
            m.connect_stream(&stage.sum, &sums.column);
        }

        m.comment("Sums of a tile that was broken off may still be in the array.");
        let flush_ty = uint(bits_for(self.flush().into()));
        let flush = m.reg_init("flush_q", flush_ty, 0);
        let some = m.wire("some_flush", flush.q.any());
        let ends = m.wire("tile_ends", moves & execution.step.last);
        let less = mux(some, flush.q.wrapping_sub(1), flush_ty.lit(0));
        flush.next(mux(ends, flush_ty.lit(self.flush()), less));
        m.connect(io.idle_o, controller.idle_o & !some & !execution.busy_o);
        self.turned(m, io, controller, stage, a.input.ready);
    }

    /// Rows to be packed go through the turn buffer to the lanes, fp16 results through it to memory.
    fn turned(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        controller: &TenderControllerPorts,
        stage: &ResultStagePorts,
        a_ready: Signal,
    ) {
        let (rows, lanes) = (self.array.rows, self.lanes());
        let packs = m.wire("packs", !controller.product_o);
        let turn = m.instance("u_turn", self.turn());
        m.connect(turn.clear_i, io.abort_i);
        m.connect(turn.by_rows_i, packs);
        m.connect_stream(&turn.page, &controller.page);
        let source = io.read.at(0);
        for unused in [source.bytes, source.row_last, source.last] {
            m.unused(unused);
        }
        m.connect(source.ready, mux(packs, turn.fill.ready, a_ready));
        let numbers = m.split("packed_row", source.data.data, uint(16).array(lanes));
        let halves = m.wire("halves", !packs & !controller.mode.integers);
        m.connect(turn.fill.valid, mux(packs, source.valid, stage.result.valid & halves));
        // Both begin at element 0.
        let both = rows.min(lanes);
        let (fill, results) = (turn.fill.values, stage.result.values);
        m.for_each("fill", both, |m, i| {
            m.connect(fill.at(i), mux(packs, numbers.at(i), results.at(i)));
        });
        let rest = |m: &mut Module, name: &str, from: Array, count: u32| {
            m.for_each(name, count - both, |m, i| m.connect(fill.at(i + both), from.at(i + both)));
        };
        rest(m, "fill_results", results, rows);
        rest(m, "fill_numbers", numbers, lanes);
        m.connect(stage.number.valid, turn.output.valid & packs);
        m.for_each("number", rows, |m, i| m.connect(stage.number.values.at(i), turn.output.values.at(i)));

        m.comment("Words of panels, or rows, on their way to memory.");
        let width = self.word(rows);
        let words = m.instance(
            "u_words",
            StreamWidthConverter { input_width: width, output_width: self.axi.data_width, granule: 8 },
        );
        let integers = m.wire("integers", controller.mode.integers);
        m.connect(words.clear_i, io.abort_i);
        m.connect(words.input.valid, stage.result.valid & integers);
        let nibble = m.nets("low_nibble", uint(4), rows);
        let byte = m.nets("low_byte", uint(8), rows / 2);
        m.for_each("nibble", rows, |m, i| m.connect(nibble.at(i), results.at(i).slice(0..4)));
        m.for_each("byte", rows / 2, |m, i| m.connect(byte.at(i), results.at(i).slice(0..8)));
        m.connect(words.input.data.data, mux(controller.mode.int8, byte.packed(), nibble.packed()));
        m.connect(words.input.strobe, uint(1).lit(1).repeat(width / 8));
        let ends = self.panel_ends(m, controller, io.abort_i, stage.result.fire());
        m.connect(words.input.last, ends);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        let write: Stream<Word> = io.write.at(0);
        let row = m.nets("row", uint(16), lanes);
        m.for_each("row", lanes, |m, i| m.connect(row.at(i), turn.output.values.at(i)));
        m.connect(write.valid, mux(integers, words.output.valid, turn.output.valid & halves));
        m.connect(write.data.data, mux(integers, words.output.data.data, row.packed()));
        m.connect(words.output.ready, write.ready & integers);
        m.connect(turn.output.ready, mux(packs, stage.number.ready, write.ready & halves));
        m.connect(stage.result.ready, mux(integers, words.input.ready, turn.fill.ready & halves));
    }

    /// The result that leaves is the last one of its panel.
    fn panel_ends(&self, m: &mut Module, controller: &TenderControllerPorts, clear: Signal, moves: Signal) -> Signal {
        let zero = uint(16).lit(0);
        let column = m.reg_init("panel_column_q", uint(16), 0);
        let last = m.wire("panel_ends", column.q.wrapping_add(1).eq(controller.mode.columns));
        let next = mux(last, zero, column.q.wrapping_add(1));
        column.next(mux(clear | controller.begin_o, zero, mux(moves, next, column.q)));
        last
    }

    /// Records of constants.
    fn constants(&self, m: &mut Module, io: &TenderEnginePorts, stage: &ResultStagePorts) {
        m.comment("Constants.");
        let block = StreamWidthConverter { input_width: self.axi.data_width, output_width: 128, granule: 8 };
        let records = m.instance("u_records", block);
        m.connect(records.clear_i, io.abort_i);
        rows_to_words(m, "record", &io.read.at(3), &records);
        m.unused(records.output.strobe);
        m.unused(records.output.last);
        let kept = StreamFifo::registers(96, 4);
        let fifo = m.instance("u_record_fifo", kept);
        m.connect(fifo.clear_i, io.abort_i);
        m.connect(fifo.input.valid, records.output.valid);
        m.connect(records.output.ready, fifo.input.ready);
        m.connect(fifo.input.data.data, records.output.data.data.slice(0..96));
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);
        let record = m.wire("record", fifo.output.data.data);
        m.connect(stage.constants.valid, fifo.output.valid);
        m.connect(fifo.output.ready, stage.constants.ready);
        m.connect(stage.constants.scale, record.slice(0..32));
        m.connect(stage.constants.bias, record.slice(32..64));
        m.connect(stage.constants.quantizer, record.slice(64..96));
    }
}
