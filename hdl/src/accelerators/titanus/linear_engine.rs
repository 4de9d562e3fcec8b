//! The engine for loads and products, between the shell's streams: controller, loader, store, context products,
//! results.

use super::constant_table::ConstantTable;
use super::context_products::{ContextPlace, ContextProducts};
use super::linear_controller::{LinearController, WORDS};
use super::linear_results::{LinearResults, LinearResultsPorts};
use super::probability_lanes::ProbabilityLanes;
use super::titanus_spec::{LinearWork, SumBeat, TitanusSpec, used_bits};
use super::weight_loader::WeightLoader;
use crate::accelerators::engines::{fork_all, merge};
use crate::accelerators::rows::{rows_of, rows_to_words};
use crate::accelerators::vector::RowPacker;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::blocks::titanus::DcimLinearPorts;
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::lang::{
    About, Block, Bundle, In, InArray, InStream, Module, Out, OutBundle, OutStream, Signal, Stream, bit, bits_for, mux,
    parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LinearEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| {
        rules.part("dma", &p.controller());
        rules.part("spec", &p.loader());
        rules.part("axi", &p.bytes_to_words(8 * p.spec.store.load));
        rules.part("axi", &p.bytes_to_words(8 * p.spec.lanes));
        rules.part("axi", &p.probabilities_to_words());
        rules.part("axi", &p.to_beats());
        rules.part("axi", &p.packer());
    };
}

impl LinearEngine {
    fn controller(&self) -> LinearController {
        LinearController { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn loader(&self) -> WeightLoader {
        WeightLoader { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn bytes_to_words(&self, width: u32) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: width, granule: 8 }
    }

    fn probabilities_to_words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width / 2, output_width: 8 * self.spec.lanes, granule: 8 }
    }

    fn to_beats(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: 16 * self.spec.results(), output_width: self.axi.data_width, granule: 16 }
    }

    fn packer(&self) -> RowPacker {
        RowPacker { lanes: self.axi.data_width / 16 }
    }

    /// The unit that turns sums into results.
    #[must_use]
    pub fn results(&self) -> LinearResults {
        LinearResults { spec: self.spec.clone() }
    }

    /// The unit that turns probabilities into bytes.
    #[must_use]
    pub fn probabilities(&self) -> ProbabilityLanes {
        ProbabilityLanes { axi: self.axi.clone() }
    }

    /// Most overflows of a cycle: of results, and of bytes of probabilities.
    #[must_use]
    pub fn most_overflows(&self) -> u32 {
        self.spec.results() + self.axi.data_width / 16
    }

    fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }
}

ports! {
    /// Ports of [`LinearEngine`].
    pub struct LinearEnginePorts(p: &LinearEngine) {
        /// Drops everything; weights and constants stay.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// Something is multiplied, or written into the store, in this cycle.
        computing_o: Out = bit(),
        /// Results, and bytes of probabilities, of this cycle that overflow.
        overflows_o: Out = uint(bits_for(p.most_overflows().into())),
        /// Multiplications of a dot product with the context that ends in this cycle.
        multiplications_o: Out = p.spec.engine().skipped(),
        /// Skipped multiplications among them.
        skipped_o: Out = p.spec.engine().skipped(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Tokens of the context; steady while an operation is in hand.
        context_tokens_i: In = uint(TOKENS),
        /// The context is read.
        read_o: Out = bit(),
        /// Where.
        place: OutBundle<ContextPlace> = p.spec.context_memory(),
        /// The data read, a cycle later.
        data_i: InArray = sint(8).array(p.spec.lanes),
        /// Read commands for memory.
        read_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// The rows.
        read: InStream<RowBeat> = p.axi.clone(),
        /// How reading ended.
        read_end: InStream<DmaCompletion> = p.axi.clone(),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// The rows.
        write: OutStream<Word> = p.axi.data_width,
        /// How writing ended.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

impl Block for LinearEngine {
    type Ports = LinearEnginePorts;
    const ABOUT: About = About {
        name: "linear_engine",
        summary: "loads and products of the Titanus core",
        contract: "Operations as linear_controller describes them, results as in linear_results.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &LinearEnginePorts) {
        let controller = m.instance("u_controller", self.controller());
        for (to, from) in [
            (controller.abort_i, io.abort_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
            (controller.context_tokens_i, io.context_tokens_i),
            (io.idle_o, controller.idle_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        m.connect_stream(&io.read_command, &controller.read_command);
        m.connect_stream(&controller.read_end, &io.read_end);
        m.connect_stream(&io.write_command, &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end);
        let work = &controller.work;
        let (clear, begin) = (io.abort_i, controller.begin_o);

        m.comment("Rows that are read go to the loader, to the store or to products with the context.");
        let loader = m.instance("u_loader", self.loader());
        m.connect(loader.clear_i, clear);
        m.connect(loader.begin_i, begin);
        m.connect(controller.loaded_i, loader.done_o);
        let names = ["key_rows", "value_rows", "store_rows"];
        let rows = names.map(|name| rows_of(m, name, &self.axi));
        let targets = [loader.rows.clone(), rows[0].clone(), rows[1].clone(), rows[2].clone()];
        let keys = m.wire("keys_used", work.context & !work.values);
        fork_all(m, "rows", &[controller.loads_o, keys, work.values], &io.read, &targets);

        let store = m.instance("u_store", self.spec.store.clone());
        m.connect(store.clear_i, clear);
        m.connect_stream(&store.write, &loader.weights);
        self.store_inputs(m, (work, begin, controller.loads_o, clear), &rows[2], &store);

        let products = m.instance("u_context", ContextProducts { spec: self.spec.clone() });
        m.connect(products.clear_i, clear);
        let byte_overflows = self.context_inputs(m, (work, clear), (&rows[0], &rows[1]), &products.x);
        m.connect(io.read_o, products.read_o);
        io.place.drive(m, "context", &products.place);
        m.connect_each("context_data", products.data_i, io.data_i);
        self.counts(m, io, work, (products.done_o, products.skipped_o));

        m.comment("Sums become results.");
        let results = m.instance("u_results", self.results());
        let table = m.instance("u_table", ConstantTable { spec: self.spec.clone() });
        m.connect(results.clear_i, clear);
        m.connect(results.begin_i, begin);
        for (to, from) in [
            (table.write_i, loader.write_o),
            (table.write_index_i, loader.index_o),
            (table.scale_i, loader.scale_o),
            (table.bias_i, loader.bias_o),
            (table.read_i, results.read_o),
            (table.read_index_i, results.read_index_o),
            (table.single_i, work.single),
            (loader.constants_i, work.constants),
            (loader.rows_i, work.rows),
            (loader.first_row_i, work.first_row),
            (loader.first_column_i, work.first_column),
            (loader.first_constant_i, work.first_constant),
            (products.values_i, work.values),
            (products.elements_i, work.elements),
            (products.results_i, work.results),
            (products.first_tile_i, work.first_tile),
            (results.results_i, work.results),
            (results.first_constant_i, work.first_constant),
            (results.single_i, work.single),
            (results.int8_i, work.int8),
            (results.relu_i, work.relu),
        ] {
            m.connect(to, from);
        }
        m.connect_each("scales", results.scale_i, table.scale_o);
        m.connect_each("biases", results.bias_i, table.bias_o);
        let sums = Self::store_sums(&store);
        merge(m, ("sum", &self.spec.results()), work.context, &results.sum, (&products.sum, &sums));
        self.written(m, io, work, &results);

        let width = bits_for(self.most_overflows().into());
        let overflows = (results.overflows_o.extend(width)).wrapping_add(byte_overflows.extend(width));
        let overflows = m.wire("overflows", overflows);
        m.connect(io.overflows_o, overflows);
        m.connect(controller.overflow_i, overflows.any());
        m.connect(io.computing_o, store.input.fire() | store.write.fire() | products.computing_o | loader.write_o);
    }
}

impl LinearEngine {
    /// Rows of x as vectors of the store, each with its rectangle.
    fn store_inputs(
        &self,
        m: &mut Module,
        (work, begin, loads, clear): (&LinearWork, Signal, Signal, Signal),
        rows: &Stream<RowBeat>,
        store: &DcimLinearPorts,
    ) {
        let words: StreamWidthConverterPorts = m.instance("u_inputs", self.bytes_to_words(8 * self.spec.store.load));
        m.connect(words.clear_i, clear);
        rows_to_words(m, "input", rows, &words);
        let (from, to) = (&words.output, &store.input);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        m.connect(to.last, from.last);
        let bytes = m.split("input_bytes", from.data.data, uint(8).array(self.spec.store.load));
        let strobes = m.split("input_strobes", from.strobe, bit().array(self.spec.store.load));
        m.for_each("inputs", self.spec.store.load, |m, k| {
            m.connect(to.x.at(k), (bytes.at(k) & strobes.at(k).repeat(8)).as_sint());
        });
        m.comment("A rectangle for each row.");
        let left = m.reg_init("places_left_q", uint(16), 0);
        let place = &store.place;
        let placed = m.wire("placed", place.fire());
        let rows = mux(work.context | loads, uint(16).lit(0), work.rows);
        let due = m.wire("placing", left.q.any());
        left.next(mux(clear, uint(16).lit(0), mux(begin, rows, left.q.wrapping_sub(placed.extend(16)))));
        m.connect(place.valid, due);
        let cells = &self.spec.store.tile.cells;
        let last = |first: Signal, count: Signal, each: u32| {
            let more = count.wrapping_sub(1);
            let more = more.slice(each.trailing_zeros()..more.width());
            first.wrapping_add(if more.width() < first.width() {
                more.extend(first.width())
            } else {
                more.truncate(first.width())
            })
        };
        for (to, from) in [
            (place.first_row, work.first_row),
            (place.first_column, work.first_column),
            (place.last_row, last(work.first_row, work.elements, cells.inputs)),
            (place.last_column, last(work.first_column, work.results, cells.outputs)),
        ] {
            m.connect(to, from);
        }
    }

    /// Rows of x, int8 or probabilities, as words for the context. Returns the bytes of this cycle that overflow.
    fn context_inputs(
        &self,
        m: &mut Module,
        (work, clear): (&LinearWork, Signal),
        (keys, values): (&Stream<RowBeat>, &Stream<RowBeat>),
        to: &Stream<Part>,
    ) -> Signal {
        let width = 8 * self.spec.lanes;
        let bytes: StreamWidthConverterPorts = m.instance("u_key_words", self.bytes_to_words(width));
        m.connect(bytes.clear_i, clear);
        rows_to_words(m, "key", keys, &bytes);
        let lanes = m.instance("u_probabilities", self.probabilities());
        m.connect(lanes.clear_i, clear);
        m.connect_stream(&lanes.input, values);
        let words: StreamWidthConverterPorts = m.instance("u_value_words", self.probabilities_to_words());
        m.connect(words.clear_i, clear);
        let (from, input) = (&lanes.output, &words.input);
        m.connect(input.valid, from.valid);
        m.connect(from.ready, input.ready);
        m.connect(input.data.data, from.values.packed());
        m.connect(input.last, from.last);
        let strobe = m.nets("value_strobe", bit(), self.lanes());
        m.for_each("value_bytes", self.lanes(), |m, k| {
            m.connect(strobe.at(k), from.used.gt(k.value(used_bits(self.lanes()))))
        });
        m.connect(input.strobe, strobe.packed());
        merge(m, ("x", &(width, 8)), work.values, to, (&words.output, &bytes.output));
        lanes.overflows_o
    }

    fn store_sums(store: &DcimLinearPorts) -> Stream<SumBeat> {
        let from = &store.output;
        Stream::new("store_sum", from.valid, from.ready, SumBeat { sums: from.sums, last: from.last })
    }

    fn counts(&self, m: &mut Module, io: &LinearEnginePorts, work: &LinearWork, (done, skipped): (Signal, Signal)) {
        let width = skipped.width();
        let elements =
            if work.elements.width() < width { work.elements.extend(width) } else { work.elements.truncate(width) };
        m.connect(io.multiplications_o, elements & done.repeat(width));
        m.connect(io.skipped_o, skipped & done.repeat(width));
    }

    /// Results as packed rows.
    fn written(&self, m: &mut Module, io: &LinearEnginePorts, work: &LinearWork, results: &LinearResultsPorts) {
        let beats: StreamWidthConverterPorts = m.instance("u_beats", self.to_beats());
        m.connect(beats.clear_i, io.abort_i);
        let (from, input) = (&results.result, &beats.input);
        m.connect(input.valid, from.valid);
        m.connect(from.ready, input.ready);
        m.connect(input.data.data, from.values.packed());
        m.connect(input.last, from.last);
        let strobe = m.nets("result_strobe", bit(), self.spec.results());
        m.for_each("result_lanes", self.spec.results(), |m, k| {
            m.connect(strobe.at(k), from.used.gt(k.value(used_bits(self.spec.results()))));
        });
        m.connect(input.strobe, strobe.packed());
        let packer = m.instance("u_packer", self.packer());
        m.connect(packer.clear_i, io.abort_i);
        m.connect(packer.format_i, work.int8.extend(2));
        let (from, to) = (&beats.output, &packer.input);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        let values = m.split("beat_values", from.data.data, uint(16).array(self.lanes()));
        m.connect_each("beat_value", to.values, values);
        let strobes: Vec<Signal> = (0..self.lanes()).map(|k| from.strobe.bit(k)).collect();
        let used = popcount::ones(m, "used", &strobes);
        m.connect(to.used, used);
        m.connect(to.last, from.last);
        m.connect(to.error, 0);
        m.connect(to.overflow, 0);
        m.connect_stream(&io.write, &packer.output);
    }
}
