//! The engine for a product of a linear layer, between the shell's streams: controller, memories, lanes, and the array.

use super::activation_memory::ActivationMemory;
use super::column_constants::ColumnConstants;
use super::integer_lanes::{IntegerLane, IntegerLanes};
use super::kelle_spec::KelleSpec;
use super::linear_controller::{LinearController, READERS, WORDS};
use super::panel_pages::PanelPages;
use super::sum_lanes::{SumLane, SumLanes};
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::{FifoStorage, StreamFifo, Word};
use crate::blocks::kelle::{ArrayResult, ArrayRow, ArrayStep};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, bits_for, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LinearEngine {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: KelleSpec = KelleSpec::default();
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
    }
    rules = |p, rules| {
        let width = p.spec.accumulator_width;
        rules.demand(p.sum.width == width, "sum.width", p.sum.width, format!("accumulator_width = {width}"));
        rules.part("spec", &p.controller());
        rules.part("spec", &p.constants());
        rules.part("sum", &p.sums());
        rules.part("integer", &p.integers());
    };
}

impl LinearEngine {
    fn controller(&self) -> LinearController {
        LinearController { dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn constants(&self) -> ColumnConstants {
        ColumnConstants { spec: self.spec.clone() }
    }

    fn sums(&self) -> SumLanes {
        SumLanes { lanes: self.spec.lanes(), lane: self.sum.clone() }
    }

    fn pages(&self) -> PanelPages {
        let spec = &self.spec;
        PanelPages { lanes: spec.lanes(), columns: spec.columns, panel: spec.panel(), rows: spec.tokens }
    }

    fn memory(&self) -> ActivationMemory {
        let spec = &self.spec;
        ActivationMemory { lanes: spec.lanes(), tile: spec.rows, rows: spec.tokens, inner: spec.inner }
    }

    fn integers(&self) -> IntegerLanes {
        IntegerLanes { lanes: self.spec.lanes(), lane: self.integer.clone() }
    }
}

ports! {
    /// Ports of [`LinearEngine`].
    pub struct LinearEnginePorts(p: &LinearEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// For one cycle: an operation that is right begins; the array is to be cleared.
        begin_o: Out = bit(),
        /// Numbers that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// Results of this cycle that are infinite or no number.
        overflows_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Rows of weights to the array.
        load: OutStream<ArrayRow> = p.spec.array(),
        /// Steps of the array.
        step: OutStream<ArrayStep> = p.spec.array(),
        /// Results of the array.
        result: InStream<ArrayResult> = p.spec.array(),
        /// What to read: rows, panels, constants.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.spec.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.spec.axi.clone(), p.dma.clone())),
        /// The rows.
        write: OutStreams<Word> = (1, p.spec.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.spec.axi.clone()),
    }
}

impl Block for LinearEngine {
    type Ports = LinearEnginePorts;
    const ABOUT: About = About {
        name: "linear_engine",
        summary: "rows of fp16 numbers times a matrix of 8-bit weights, around the reconfigurable array",
        contract: "Operations as linear_controller describes them: rows become integers and stay, weights pass the\n\
            array once, results leave panel by panel.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &LinearEnginePorts) {
        let (spec, lanes) = (&self.spec, self.spec.lanes());
        let controller = m.instance("u_controller", self.controller());
        for (to, from) in [
            (controller.abort_i, io.abort_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (io.idle_o, controller.idle_o),
            (io.begin_o, controller.begin_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));
        let begin = controller.begin_o;
        // State of the operation before.
        let clear = m.wire("clear", io.abort_i | begin);

        m.comment("Rows become integers, which stay.");
        let integers = m.instance("u_integers", self.integers());
        let memory = m.instance("u_memory", self.memory());
        m.connect(integers.clear_i, clear);
        m.connect(memory.clear_i, clear);
        m.connect(integers.quantizer_i, controller.quantizer_o);
        let x = io.read.at(0);
        m.connect(integers.input.valid, x.valid);
        m.connect(x.ready, integers.input.ready);
        let values = m.split("x", x.data.data, uint(16).array(lanes));
        m.connect_each("x_values", integers.input.values, values);
        m.connect(integers.input.used, x.bytes.slice(1..1 + integers.input.used.width()));
        m.connect(integers.input.last, x.row_last);
        m.unused(x.bytes);
        m.unused(x.last);
        m.connect_stream(&memory.input, &integers.output);
        m.connect(io.saturations_o, integers.saturations_o);

        m.comment("Weights wait for the array.");
        let words = m.instance("u_weight_words", spec.weight_words());
        m.connect(words.clear_i, clear);
        rows_to_words(m, "weights", &io.read.at(1), &words);
        let width = 8 * spec.columns;
        let fifo = StreamFifo { width, depth: spec.weights, storage: FifoStorage::Memory, slack: 0 };
        let weights = m.instance("u_weights", fifo);
        m.connect(weights.clear_i, clear);
        m.connect(weights.input.valid, words.output.valid);
        m.connect(words.output.ready, weights.input.ready);
        m.connect(weights.input.data.data, words.output.data.data);
        for unused in [words.output.strobe, words.output.last, weights.level_o, weights.almost_full_o] {
            m.unused(unused);
        }

        m.comment("Steps.");
        let walk = m.instance("u_walk", self.controller().walk());
        m.connect(walk.clear_i, io.abort_i);
        m.connect(walk.begin_i, begin);
        walk.size.drive(m, "walk_size", &controller.size);
        m.connect_stream(&walk.weights, &weights.output);
        m.connect_stream(&io.load, &walk.load);
        m.connect_stream(&io.step, &walk.step);
        m.connect(walk.here_i, memory.rows_o.eq(controller.size.vectors));
        m.connect(memory.read_i, walk.read_o);
        m.connect(memory.row_i, walk.vector_o);
        m.connect(memory.tile_i, walk.tile_o);
        m.unused(walk.done_o);
        m.for_each("tile", spec.rows, |m, r| m.connect(walk.tile_i.at(r), memory.tile_o.at(r)));
        let more = spec.array().lanes() - spec.rows;
        m.for_each("no_tile", more, |m, r| m.connect(walk.tile_i.at(r + spec.rows), 0));

        m.comment("Sums of a group need its constants.");
        let constants = m.instance("u_constants", self.constants());
        let sums = m.instance("u_sums", self.sums());
        let pages = m.instance("u_pages", self.pages());
        m.connect(constants.clear_i, io.abort_i);
        m.connect(constants.begin_i, begin);
        m.connect(constants.columns_i, controller.columns_o);
        m.connect_stream(&constants.input, &io.read.at(2));
        m.connect(sums.clear_i, clear);
        m.connect(sums.input.valid, io.result.valid & constants.valid_o);
        m.connect(io.result.ready, sums.input.ready & constants.valid_o);
        m.connect_each("sum", sums.input.sum, io.result.sum);
        m.connect_each("scale", sums.input.scale, constants.scale_o);
        m.connect_each("bias", sums.input.bias, constants.bias_o);
        m.connect(sums.input.used, constants.used_o);
        let beat = io.result.group.slice(0..constants.beat_i.width());
        m.connect(constants.beat_i, beat);
        let rows = controller.size.vectors;
        let last_row = io.result.index.extend(rows.width()).wrapping_add(1).eq(rows);
        let ends = m.wire("group_ends", io.result.fire() & io.result.last & last_row);
        m.connect(constants.next_i, ends);
        // Sums are exact, results are not transposed, and groups of columns are whole beats.
        m.unused(io.result.overflow.packed());
        m.unused(io.result.transposed);
        m.unused(io.result.used);
        m.unused(io.result.group);

        m.connect(pages.clear_i, io.abort_i);
        m.connect(pages.begin_i, begin);
        m.connect(pages.rows_i, rows);
        m.connect(pages.columns_i, controller.columns_o);
        m.connect(pages.groups_i, controller.size.groups);
        m.unused(pages.empty_o);
        m.connect_stream(&pages.input, &sums.output);
        m.connect_stream(&io.write.at(0), &pages.output);
        m.connect(io.overflows_o, sums.overflows_o);
        m.connect(controller.inexact_i, sums.overflows_o.any() | integers.saturations_o.any());
    }
}
