//! The engine for rows that become records, between the shell's streams.

use super::row_reducer::RowReducer;
use hdl::accelerators::engine::{EnginePorts, EngineSpec};
use hdl::accelerators::top::TopParameters;
use hdl::blocks::common::shell::{OperationController, Own, Place, first_error, job_error};
use hdl::blocks::common::stream::StreamWidthConverter;
use hdl::lang::{About, Block, Group, Module, bit, cat, operation, parameters, ports, uint};

/// Bytes of a record.
const RECORD: u32 = 16;

parameters! {
    /// Elaboration parameters.
    pub struct ReduceOperation {
        /// Elements of the longest row.
        max_columns: u32 = 65536, in 1..=4_194_304, tag "c";
    }
}

operation! {
    /// Rows of fp16 numbers to records of 16 bytes: sum (8), place of the maximum (4), minimum (2), maximum (2).
    pub struct ReduceOperationPorts(p: &ReduceOperation) = "reduce_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row.
        columns at 36: Size = (32, 1..=p.max_columns);
        /// How it is done.
        options at 40, 4 bytes {
            /// An element that is infinite or no number is an error.
            exact at 12: Flag = ();
        }
        /// Bytes from row to row.
        x_stride at 44: Stride = ();
        /// Bytes from record to record.
        out_stride at 48: Stride = ();
        /// Rows of fp16.
        x_address at 56: Address = ();
        /// Where the records go.
        out_address at 64: Address = ();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ReduceEngine {
        /// How it reaches memory; a beat holds one element of 16 bits per lane.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// Its operation.
        operation: ReduceOperation = ReduceOperation::default(), named "inline";
    }
    rules = |p, rules| {
        p.bus.dma.demand_row(rules, 2 * u64::from(p.operation.max_columns));
        rules.part("dma", &p.controller());
    };
}

impl ReduceEngine {
    /// What makes a record of a row.
    #[must_use]
    pub fn reducer(&self) -> RowReducer {
        RowReducer { lanes: self.bus.axi.data_width / 16 }
    }

    fn controller(&self) -> OperationController {
        OperationController::of(&self.bus.axi, &self.bus.dma, 1)
    }
}

ports! {
    /// Ports of [`ReduceEngine`].
    pub struct ReduceEnginePorts(p: &ReduceEngine) {
        /// To the shell. A row with an element that is infinite or no number counts as a result that is not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 1),
    }
}

impl Block for ReduceEngine {
    type Ports = ReduceEnginePorts;
    const ABOUT: About = About {
        name: "reduce_engine",
        summary: "controller and reducer for rows of fp16 numbers",
        contract: "An operation as reduce_operation names its fields, done as in operation_controller, on rows as in\n\
            row_reducer. With the option exact, a row with an infinity or a NaN ends it with ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &ReduceEnginePorts) {
        let shell = &io.shell;
        let o = shell.only(m, self.operation.clone());
        let controller = shell.controller(m, self.controller());
        let reducer = m.instance("u_reducer", self.reducer());
        let (input_width, output_width) = (8 * RECORD, self.bus.axi.data_width);
        let words = m.instance("u_words", StreamWidthConverter { input_width, output_width, granule: 8 });
        shell.command(m, &controller);
        controller.refuse(m, &o.decoder, bit().lit(0), bit().lit(0));
        let fail = first_error(&[(controller.overflowed_o & o.exact, job_error::OVERFLOW)]);
        Own { fail, ..controller.own() }.connect(m, &controller);
        let (width, one) = (self.bus.dma.row_width, bit().lit(1));
        let row_bytes = m.wire("row_bytes", o.columns.shl(1).extend(width));
        let x = Place { address: o.x_address, row_bytes, rows: o.rows, stride: o.x_stride };
        let row_bytes = uint(width).lit(RECORD);
        let out = Place { address: o.out_address, row_bytes, rows: o.rows, stride: o.out_stride };
        for (k, place) in [(0, x), (1, out)] {
            controller.check(m, k, one, place);
            controller.command(m, k, one, place);
        }

        m.connect_pairs([(reducer.clear_i, shell.abort_i), (words.clear_i, shell.abort_i)]);
        m.connect_stream(&reducer.input, &shell.read.at(0));
        let record = &reducer.output;
        m.connect_handshake(&words.input, record);
        let parts = [record.maximum, record.minimum, record.index, record.sum.as_uint()];
        m.connect(words.input.data.data, cat(&parts));
        m.connect_pairs([(words.input.strobe, one.repeat(RECORD)), (words.input.last, one)]);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        let write = shell.write.at(0);
        m.connect(write.valid, words.output.valid);
        m.connect(write.data.data, words.output.data.data);
        m.connect(words.output.ready, write.ready);
        let special = m.wire("special", record.fire() & record.special);
        m.connect_pairs([(controller.overflow_i, special), (shell.overflows_o, special)]);
        m.connect(shell.computing_o, reducer.input.fire());
    }
}
