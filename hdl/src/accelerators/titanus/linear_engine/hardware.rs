//! The hardware of the engine.

use super::super::constant_table::ConstantTable;
use super::super::context_products::ContextProducts;
use super::super::linear_places::Work;
use super::super::linear_results::LinearResultsPorts;
use super::super::titanus_spec::{COUNT, SumBeat, used_bits};
use super::{LOAD, LinearEngine, LinearEnginePorts};
use crate::accelerators::engine::{EnginePorts, fork_all, merge_all};
use crate::accelerators::rows::{rows_of, rows_to_words};
use crate::accelerators::sizes::fit;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::bus::RowBeat;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{Own, first_error};
use crate::blocks::common::stream::StreamWidthConverterPorts;
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::titanus::DcimLinearPorts;
use crate::lang::{About, Block, Bundle, Module, Signal, Stream, bit, bits_for, mux, uint};

impl Block for LinearEngine {
    type Ports = LinearEnginePorts;
    const ABOUT: About = About {
        name: "linear_engine",
        summary: "loads and products of the Titanus core",
        contract: "Operations as titanus_load and titanus_multiply name their fields, checked and done as\n\
            operation_controller says. ERROR_SIZE (9) refuses a matrix or constants beyond what there is. Results as\n\
            in linear_results. With the option exact an overflow lets a product end with ERROR_OVERFLOW (14).",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &LinearEnginePorts) {
        let shell = &io.shell;
        let load = (!self.overlaps).then(|| shell.decode(m, "u_load", self.load()));
        let product = shell.decode(m, "u_multiply", self.multiply());
        let controller = shell.controller(m, self.controller());
        shell.command(m, &controller);
        let load = match &load {
            Some(load) => Some((m.wire("loads", shell.operation.opcode.eq(LOAD)), load)),
            None => {
                m.unused(shell.operation.opcode);
                None
            }
        };
        let mut work = Work { load, product: &product, context: bit().lit(0), values: bit().lit(0) };
        let context = m.wire("of_context", work.multiplies(Some(product.matrix.any())));
        let values = m.wire("of_values", context & product.matrix.bit(1));
        (work.context, work.values) = (context, values);
        self.refuse(m, &work, io.context_tokens_i, &controller);
        self.place(m, &work, &controller);
        let (clear, begin) = (shell.abort_i, controller.begin_o);

        m.comment("Rows that are read go to the loader, to the store or to products with the context.");
        let loader = load.map(|(loads, load)| (loads, load, m.instance("u_loader", self.loader())));
        if let Some((_, load, loader)) = &loader {
            m.connect(loader.clear_i, clear);
            m.connect(loader.begin_i, begin);
            loader.fields(m, load);
        }
        let exact = work.multiplies(Some(product.exact));
        let own = controller.own();
        Own {
            done: loader.as_ref().map_or(own.done, |(loads, _, loader)| !*loads | loader.done_o),
            result: first_error(&[(controller.overflowed_o & exact, job_error::OVERFLOW)]),
            ..own
        }
        .connect(m, &controller);
        let names = ["key_rows", "value_rows", "store_rows"];
        let rows = names.map(|name| rows_of(m, name, &self.axi));
        let keys = m.wire("keys_used", context & !values);
        let loading = loader.as_ref().map(|(loads, ..)| m.wire("loading", *loads & !controller.idle_o));
        let chosen: Vec<Signal> = loading.into_iter().chain([keys, values]).collect();
        let targets = loader.iter().map(|(.., loader)| loader.rows.clone()).chain(rows.iter().cloned());
        fork_all(m, "rows", &chosen, &shell.read.at(0), &targets.collect::<Vec<_>>());

        let store = m.instance("u_store", self.spec.store.clone());
        m.connect(store.clear_i, clear);
        match &loader {
            Some((.., loader)) => m.connect_stream(&store.write, &loader.weights),
            None => io.written(m, &store),
        }
        self.store_inputs(m, &work, Loading { begin, loading, clear }, &rows[2], &store);

        let products = m.instance("u_context", ContextProducts { spec: self.spec.clone() });
        m.connect(products.clear_i, clear);
        let byte_overflows = self.context_inputs(m, (values, clear), (&rows[0], &rows[1]), &products.x);
        m.connect(io.read_o, products.read_o);
        io.place.drive(m, "context", &products.place);
        m.connect_each("context_data", products.data_i, io.data_i);
        m.connect(io.multiplications_o, products.multiplications_o);
        m.connect(io.skipped_o, products.skipped_o);

        m.comment("Sums become results.");
        let results = m.instance("u_results", self.results());
        let table = m.instance("u_table", ConstantTable { spec: self.spec.clone() });
        m.connect(results.clear_i, clear);
        m.connect(results.begin_i, begin);
        let constant = match &loader {
            Some((.., loader)) => [loader.write_o, loader.index_o, loader.scale_o, loader.bias_o],
            None => io.constant(),
        };
        m.connect_pairs([
            (table.write_i, constant[0]),
            (table.write_index_i, constant[1]),
            (table.scale_i, constant[2]),
            (table.bias_i, constant[3]),
            (table.read_i, results.read_o),
            (table.read_index_i, results.read_index_o),
            (table.single_i, product.one_constant),
            (products.values_i, values),
            (products.elements_i, product.inner.extend(COUNT)),
            (products.results_i, product.columns.extend(COUNT)),
            (products.first_tile_i, fit(product.first_row, products.first_tile_i.width())),
            (results.results_i, product.columns.extend(COUNT)),
            (results.first_constant_i, product.constant),
            (results.single_i, product.one_constant),
            (results.int8_i, product.integers),
            (results.relu_i, product.relu),
        ]);
        m.connect_each("scales", results.scale_i, table.scale_o);
        m.connect_each("biases", results.bias_i, table.bias_o);
        let sums = Self::store_sums(&store);
        let sums = [products.sum.clone(), sums];
        merge_all(m, ("sum", &self.spec.results()), &[context], &results.sum, &sums);
        self.written(m, shell, product.integers, &results);

        let width = bits_for(self.most_overflows().into());
        let overflows = (results.overflows_o.extend(width)).wrapping_add(byte_overflows.extend(width));
        let overflows = m.wire("overflows", overflows);
        m.connect(shell.overflows_o, overflows);
        m.connect(controller.overflow_i, overflows.any());
        let computes = match &loader {
            Some((.., loader)) => store.input.fire() | store.write.fire() | products.computing_o | loader.write_o,
            None => store.input.fire() | products.computing_o,
        };
        m.connect(shell.computing_o, computes);
    }
}

impl LinearEnginePorts {
    /// Weights from the engine for loads.
    fn written(&self, m: &mut Module, store: &DcimLinearPorts) {
        let to = &store.write;
        let fields = [
            (Some(to.valid), self.weights_valid_i),
            (self.weights_ready_o, Some(to.ready)),
            (Some(to.row), self.weights_row_i),
            (Some(to.column), self.weights_column_i),
        ];
        fields.into_iter().for_each(|(to, from)| m.connect_option(to, from));
        if let Some(weights) = self.weights_i {
            m.connect_each("weights", to.weights, weights);
        }
    }

    /// A constant from the engine for loads: whether there is one, its number, scale and bias.
    fn constant(&self) -> [Signal; 4] {
        let of = |port: Option<Signal>| port.expect("operations overlap");
        [self.constant_valid_i, self.constant_index_i, self.constant_scale_i, self.constant_bias_i].map(of)
    }
}

/// How an operation comes to the store.
#[derive(Clone, Copy)]
struct Loading {
    begin: Signal,
    /// It loads weights; none in an engine for products alone.
    loading: Option<Signal>,
    /// Drops all of it.
    clear: Signal,
}

impl LinearEngine {
    /// Rows of x as vectors of the store, each with its rectangle.
    fn store_inputs(
        &self,
        m: &mut Module,
        work: &Work<'_>,
        Loading { begin, loading, clear }: Loading,
        rows: &Stream<RowBeat>,
        store: &DcimLinearPorts,
    ) {
        let words: StreamWidthConverterPorts = m.instance("u_inputs", self.bytes_to_words(8 * self.spec.store.load));
        m.connect(words.clear_i, clear);
        rows_to_words(m, "input", rows, &words);
        let (from, to) = (&words.output, &store.input);
        m.connect_handshake(to, from);
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
        let product = work.product;
        let others = loading.map_or(work.context, |loading| work.context | loading);
        let rows = mux(others, uint(16).lit(0), product.rows);
        let due = m.wire("placing", left.q.any());
        left.next(mux(clear, uint(16).lit(0), mux(begin, rows, left.q.wrapping_sub(placed.extend(16)))));
        m.connect(place.valid, due);
        let cells = &self.spec.store.tile.cells;
        let first_row = fit(product.first_row, place.first_row.width());
        let last = |first: Signal, count: Signal, each: u32| {
            let more = count.wrapping_sub(1);
            first.wrapping_add(fit(more.shr(each.trailing_zeros()), first.width()))
        };
        m.connect_pairs([
            (place.first_row, first_row),
            (place.first_column, product.first_column),
            (place.last_row, last(first_row, product.inner, cells.inputs)),
            (place.last_column, last(product.first_column, product.columns, cells.outputs)),
        ]);
    }

    /// Rows of x, int8 or probabilities, as words for the context. Returns the bytes of this cycle that overflow.
    fn context_inputs(
        &self,
        m: &mut Module,
        (of_values, clear): (Signal, Signal),
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
        m.connect_handshake(input, from);
        m.connect(input.data.data, from.values.packed());
        m.connect(input.last, from.last);
        let strobe = m.nets("value_strobe", bit(), self.lanes());
        m.for_each("value_bytes", self.lanes(), |m, k| {
            m.connect(strobe.at(k), from.used.gt(k.value(used_bits(self.lanes()))))
        });
        m.connect(input.strobe, strobe.packed());
        merge_all(m, ("x", &(width, 8)), &[of_values], to, &[words.output.clone(), bytes.output.clone()]);
        lanes.overflows_o
    }

    fn store_sums(store: &DcimLinearPorts) -> Stream<SumBeat> {
        let from = &store.output;
        Stream::new("store_sum", from.valid, from.ready, SumBeat { sums: from.sums, last: from.last })
    }

    /// Results as packed rows.
    fn written(&self, m: &mut Module, shell: &EnginePorts, integers: Signal, results: &LinearResultsPorts) {
        let beats: StreamWidthConverterPorts = m.instance("u_beats", self.to_beats());
        m.connect(beats.clear_i, shell.abort_i);
        let (from, input) = (&results.result, &beats.input);
        m.connect_handshake(input, from);
        m.connect(input.data.data, from.values.packed());
        m.connect(input.last, from.last);
        let strobe = m.nets("result_strobe", bit(), self.spec.results());
        m.for_each("result_lanes", self.spec.results(), |m, k| {
            m.connect(strobe.at(k), from.used.gt(k.value(used_bits(self.spec.results()))));
        });
        m.connect(input.strobe, strobe.packed());
        let packer = m.instance("u_packer", self.packer());
        m.connect(packer.clear_i, shell.abort_i);
        m.connect(packer.format_i, integers.extend(2));
        let (from, to) = (&beats.output, &packer.input);
        m.connect_handshake(to, from);
        let values = m.split("beat_values", from.data.data, uint(16).array(self.lanes()));
        m.connect_each("beat_value", to.values, values);
        let strobes: Vec<Signal> = (0..self.lanes()).map(|k| from.strobe.bit(k)).collect();
        let used = popcount::ones(m, "used", &strobes);
        m.connect(to.used, used);
        m.connect(to.last, from.last);
        m.connect(to.error, 0);
        m.connect(to.overflow, 0);
        m.connect_stream(&shell.write.at(0), &packer.output);
    }
}
