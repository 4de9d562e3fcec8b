//! The operation, and the engine that does it between the streams of the shell.
//!
//! An example: rows of signed 16-bit integers, to each of which a number is added. Replace it by yours.

use senbazuru::accelerator::prelude::*;

parameters! {
    /// Elaboration parameters of the operation.
    pub struct {{ type }}Operation {
        /// Elements of the longest row.
        max_columns: u32 = 4096, in 1..=1_048_576, tag "c";
    }
}

// This table makes the decoder, the checks of what must be 0 and of sizes, the C header, the Rust constants of the host,
// and what the bench writes and damages.
operation! {
    /// Adds a number to each element of some rows.
    pub struct {{ type }}OperationPorts(p: &{{ type }}Operation) = "{{ name }}_operation", 128 bytes {
        /// Rows.
        rows at 32: Size = (32, 1..=65535);
        /// Elements of a row.
        columns at 36: Size = (32, 1..=p.max_columns);
        /// How it is done.
        options at 40, 4 bytes {
            /// The number, two's complement.
            addend at 0: Bits = 16;
            /// A sum that leaves the range of 16 bits is an error.
            exact at 16: Flag = ();
        }
        /// Bytes from row to row.
        x_stride at 44: Stride = ();
        /// Bytes from result to result.
        out_stride at 48: Stride = ();
        /// The rows.
        x_address at 56: Address = ();
        /// Where the results go.
        out_address at 64: Address = ();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct {{ type }}Engine {
        /// How it reaches memory; a beat has an element for each 16 bits.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// Its operation.
        operation: {{ type }}Operation = {{ type }}Operation::default(), named "inline";
    }
    rules = |p, rules| {
        p.bus.dma.demand_row(rules, 2 * u64::from(p.operation.max_columns));
        rules.part("dma", &p.controller());
    };
}

impl {{ type }}Engine {
    fn controller(&self) -> OperationController {
        OperationController::of(&self.bus.axi, &self.bus.dma, 1)
    }
}

ports! {
    /// Ports of [`{{ type }}Engine`].
    pub struct {{ type }}EnginePorts(p: &{{ type }}Engine) {
        /// To the shell: one reader, and one event a cycle to count.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 1),
    }
}

impl Block for {{ type }}Engine {
    type Ports = {{ type }}EnginePorts;
    const ABOUT: About = About {
        name: "{{ name }}_engine",
        summary: "adds a number to each element of rows of signed 16-bit integers",
        contract: "An operation as {{ name }}_operation names its fields, done as in operation_controller: each result is\n\
            the sum, clipped to 16 bits. With the option exact, ERROR_OVERFLOW (14) tells at its end that a sum was clipped.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &{{ type }}EnginePorts) {
        let shell = &io.shell;
        let o = shell.only(m, self.operation.clone());
        let controller = shell.controller(m, self.controller());
        shell.command(m, &controller);
        controller.refuse(m, &o.decoder, bit().lit(0), bit().lit(0));
        let result = first_error(&[(controller.overflowed_o & o.exact, job_error::OVERFLOW)]);
        Own { result, ..controller.own() }.connect(m, &controller);

        m.comment("Operands: what is read, then what is written.");
        let (one, rows) = (bit().lit(1), o.rows);
        let row_bytes = m.wire("row_bytes", o.columns.shl(1).extend(self.bus.dma.row_width));
        let places = [(o.x_address, o.x_stride), (o.out_address, o.out_stride)];
        for (k, (address, stride)) in (0..).zip(places) {
            let place = Place { address, row_bytes, rows, stride };
            controller.check(m, k, one, place);
            controller.command(m, k, one, place);
        }

        m.comment("A beat that comes is a beat that goes.");
        let (read, write) = (shell.read.at(0), shell.write.at(0));
        let lanes = self.bus.axi.data_width / 16;
        let x = m.split("x", read.data.data, sint(16).array(lanes));
        let results = m.nets("result", sint(16), lanes);
        let clips = m.nets("clips", bit(), lanes);
        m.for_each("element", lanes, |m, i| {
            let sum = m.wire("sum", x.at(i) + o.addend.as_sint());
            m.connect(results.at(i), sum.saturate(16));
            let used = m.wire("used", read.bytes.shr(1).gt(i.value(read.bytes.width())));
            m.connect(clips.at(i), used & results.at(i).ne(sum));
        });
        m.unused(read.row_last);
        m.unused(read.last);
        m.connect_handshake(&write, &read);
        m.connect(write.data.data, results.packed());
        let clipped = m.wire("clipped", read.fire() & clips.packed().any());
        m.connect(controller.overflow_i, clipped);
        m.connect(shell.overflows_o, clipped);
        m.connect(shell.computing_o, read.fire());
    }
}
