//! Rows from memory become weights of the store, or constants of the table.

use super::linear_operations::LoadOperationPorts;
use super::titanus_spec::TitanusSpec;
use crate::accelerators::engine::fork_all;
use crate::accelerators::rows::{rows_of, rows_to_words};
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts};
use crate::blocks::titanus::StoredRow;
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutStream, bit, index_width, mux, parameters, ports, sint, uint,
};

/// Bits of a constant: a scale and a bias.
const CONSTANT: u32 = 64;

parameters! {
    /// Elaboration parameters.
    pub struct WeightLoader {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec", &p.converter(p.weights()));
        rules.part("spec", &p.converter(CONSTANT));
    };
}

impl WeightLoader {
    /// Bits of the weights of an input in a column of macros.
    fn weights(&self) -> u32 {
        8 * self.spec.store.tile.cells.outputs
    }

    fn converter(&self, width: u32) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: width, granule: 8 }
    }
}

ports! {
    /// Ports of [`WeightLoader`].
    pub struct WeightLoaderPorts(p: &WeightLoader) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// Work begins; nothing is inside.
        begin_i: In = bit(),
        /// Constants come, not weights; this and the following inputs are steady from begin_i up to done_o.
        constants_i: In = bit(),
        /// Rows, from 1 on.
        rows_i: In = uint(16),
        /// First row of macros.
        first_row_i: In = uint(index_width(p.spec.store.rows.into())),
        /// First column of macros.
        first_column_i: In = uint(index_width(p.spec.store.columns.into())),
        /// First constant.
        first_constant_i: In = p.spec.constant(),
        /// Rows of weights, or one of constants.
        rows: InStream<RowBeat> = p.axi.clone(),
        /// Weights for the store.
        weights: OutStream<StoredRow> = p.spec.store.clone(),
        /// A constant for the table.
        write_o: Out = bit(),
        /// Its number.
        index_o: Out = p.spec.constant(),
        /// Its scale.
        scale_o: Out = uint(32),
        /// Its bias.
        bias_o: Out = sint(32),
        /// All rows of the work have been written.
        done_o: Out = bit(),
    }
}

impl Block for WeightLoader {
    type Ports = WeightLoaderPorts;
    const ABOUT: About = About {
        name: "weight_loader",
        summary: "rows from memory become weights, or constants",
        contract: "Row i of a matrix is input i from the first row of macros on. Its bytes are the outputs from the\n\
            first column on, and zeros up to the end of the last column. Constants follow each other from the first\n\
            one on. A word a cycle, while the store takes it.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &WeightLoaderPorts) {
        let weights: StreamWidthConverterPorts = m.instance("u_weights", self.converter(self.weights()));
        let constants: StreamWidthConverterPorts = m.instance("u_constants", self.converter(CONSTANT));
        m.connect(weights.clear_i, io.clear_i);
        m.connect(constants.clear_i, io.clear_i);
        let to = ["constant_rows", "weight_rows"].map(|name| rows_of(m, name, &self.axi));
        fork_all(m, "rows", &[io.constants_i], &io.rows, &to);
        rows_to_words(m, "constant", &to[0], &constants);
        rows_to_words(m, "weight", &to[1], &weights);

        m.comment("Weights.");
        let (from, to) = (&weights.output, &io.weights);
        m.connect_handshake(to, from);
        let bytes = m.split("weight_bytes", from.data.data, uint(8).array(self.spec.store.tile.cells.outputs));
        let strobes = m.split("weight_strobes", from.strobe, bit().array(bytes.count()));
        m.for_each("outputs", bytes.count(), |m, k| {
            m.connect(to.weights.at(k), (bytes.at(k) & strobes.at(k).repeat(8)).as_sint());
        });
        let row = m.reg("row_q", to.row.ty());
        let column = m.reg("column_q", to.column.ty());
        let shift = self.spec.store.tile.cells.inputs.trailing_zeros();
        let first = io.first_row_i.shl(shift);
        let first =
            if first.width() < to.row.width() { first.extend(to.row.width()) } else { first.truncate(to.row.width()) };
        let moved = m.wire("weights_moved", to.fire());
        let row_ends = m.wire("row_ends", moved & from.last);
        row.next_when(io.begin_i | row_ends, mux(io.begin_i, first, row.q.wrapping_add(1)));
        let next = mux(io.begin_i | row_ends, io.first_column_i, column.q.wrapping_add(1));
        column.next_when(io.begin_i | moved, next);
        m.connect(to.row, row.q);
        m.connect(to.column, column.q);

        m.comment("Constants.");
        let output = &constants.output;
        m.connect(output.ready, 1);
        m.unused(output.strobe);
        let writes = m.wire("writes", output.valid & !io.clear_i);
        m.connect(io.write_o, writes);
        let index = m.reg("index_q", io.index_o.ty());
        index.next_when(io.begin_i | writes, mux(io.begin_i, io.first_constant_i, index.q.wrapping_add(1)));
        m.connect(io.index_o, index.q);
        m.connect(io.scale_o, output.data.data.slice(0..32));
        m.connect(io.bias_o, output.data.data.slice(32..64).as_sint());

        let left = m.reg("left_q", uint(16));
        let ends = m.wire("ends", row_ends | (writes & output.last));
        left.next_when(io.begin_i | ends, mux(io.begin_i, io.rows_i, left.q.wrapping_sub(1)));
        m.connect(io.done_o, !left.q.any());
    }
}

impl WeightLoaderPorts {
    /// The fields of an operation that the loader needs.
    pub(super) fn fields(&self, m: &mut Module, load: &LoadOperationPorts) {
        m.connect_pairs([
            (self.constants_i, load.constants),
            (self.rows_i, load.rows.extend(16)),
            (self.first_row_i, load.first_row),
            (self.first_column_i, load.first_column),
            (self.first_constant_i, load.constant),
        ]);
    }
}
