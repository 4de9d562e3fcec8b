//! The engine for products, between the streams of the shell.
//!
//! Rows of fp16 come first and become INT8. Then columns of weights come, a word in each cycle: a beat of the bus has the
//! weights of as many channels, which meet the same channels of all rows. So there is an accumulator for a row, not for a
//! product. Results of a column leave together, and turn into rows on their way to memory.

mod properties;

use senbazuru::accelerator::prelude::*;
use senbazuru::hdl::accelerators::rows::rows_to_words;
use senbazuru::hdl::accelerators::sizes::{fit, groups};
use senbazuru::hdl::accelerators::tender::{StripWalker, StripWalkerPorts, TurnBuffer};
use senbazuru::hdl::blocks::common::row::{Section, later, later_valid};
use senbazuru::hdl::blocks::common::shell::OperationControllerPorts;
use senbazuru::hdl::blocks::common::{RamImplementation, StreamFifoPorts, StreamWidthConverter};
use senbazuru::standard::group_rounder::GroupRounderPorts;

use crate::operation::{ProductOperation, ProductOperationPorts};
use crate::row::{DotRow, DotRowPorts, EXPONENT};

parameters! {
    /// What the engine for products is built of.
    pub struct ProductParameters {
        /// Rows that multiply at the same time.
        rows: u32 = 16, in power_of_two(2..=128), tag "r";
        /// Channels that share an exponent.
        group: u32 = 8, in power_of_two(2..=64), note "at most elements of a beat", tag "g";
        /// Channels of the longest row.
        channels: u32 = 4096, in 1..=16_384, tag "k";
        /// Columns of results that turn into rows at a time, twice.
        strip: u32 = 32, in multiple_of(32, 32..=1024), tag "p";
        /// Where rows and results are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ProductEngine {
        /// The bus; a beat has a weight for each 4 bits.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The array.
        array: ProductParameters = ProductParameters::default(), named "inline";
        /// Its operations wait for those of other engines.
        waits: bool = false, tag "waits";
    }
    rules = |p, rules| {
        rules.part("group", &p.row());
        rules.part("strip", &p.turn());
        rules.part("strip", &p.walker());
        rules.part("group", &p.exponents());
        let words = u64::from(p.row().words);
        let bytes = 65_535 * words * u64::from(p.exponents().output_width / 8);
        p.dma.demand_row(rules, bytes.max(2 * 65_535));
        rules.part("dma", &p.controller());
    };
}

impl ProductEngine {
    /// Operands that are read: rows, weights, exponents.
    pub const READERS: u32 = 3;

    /// Elements of a beat.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    /// Weights of a beat.
    #[must_use]
    pub fn weights(&self) -> u32 {
        self.axi.data_width / 4
    }

    /// A row of the array.
    #[must_use]
    pub fn row(&self) -> DotRow {
        let (weights, group) = (self.weights(), self.array.group);
        DotRow { weights, group, words: self.array.channels.div_ceil(weights), storage: self.array.storage }
    }

    /// Its operation.
    #[must_use]
    pub fn operation(&self) -> ProductOperation {
        ProductOperation { rows: self.array.rows, channels: self.array.channels }
    }

    /// Exponents of a word of weights, out of beats.
    fn exponents(&self) -> StreamWidthConverter {
        let output_width = EXPONENT * self.weights() / self.array.group.max(1);
        StreamWidthConverter { input_width: self.axi.data_width, output_width, granule: 8 }
    }

    fn turn(&self) -> TurnBuffer {
        let (rows, lanes) = (self.array.rows, self.lanes());
        TurnBuffer {
            banks: rows.max(lanes),
            lanes,
            columns: self.array.strip,
            storage: self.array.storage,
            ..TurnBuffer::default()
        }
    }

    fn walker(&self) -> StripWalker {
        StripWalker { axi: self.axi.clone(), dma: self.dma.clone(), rows: self.array.rows, turn: self.turn() }
    }

    /// Weights are read before the rows are there.
    fn controller(&self) -> OperationController {
        let of = OperationController::of(&self.axi, &self.dma, Self::READERS);
        OperationController { prepares: true, waits: self.waits, late: self.waits.into(), ..of }
    }
}

ports! {
    /// Ports of [`ProductEngine`].
    pub struct ProductEnginePorts(p: &ProductEngine) {
        /// To the shell. The DMAs read rows, weights, exponents. It computes when a word of weights comes. A column with
        /// a result that is infinite or no number counts as a result that is not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 1),
    }
}

impl Block for ProductEngine {
    type Ports = ProductEnginePorts;
    const ABOUT: About = About {
        name: "crane_products",
        summary: "products of fp16 rows with columns of INT4 in groups that share an exponent",
        contract: "An operation as crane_product_operation names its fields, done as in operation_controller. Rows become\n\
            INT8 as in group_rounder; numbers and sums are as in crane_row. Columns come one after the other, a word of\n\
            weights in each cycle. With the option exact, ERROR_OVERFLOW (14) tells at its end that a result is infinite\n\
            or no number.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &ProductEnginePorts) {
        let shell = &io.shell;
        let o = shell.only(m, self.operation());
        let controller = shell.controller(m, self.controller());
        let strips = m.instance("u_strips", self.walker());
        m.connect(shell.idle_o, controller.idle_o);
        controller.refuse(m, &o.decoder, bit().lit(0), bit().lit(0));
        let result = first_error(&[(controller.overflowed_o & o.exact, job_error::OVERFLOW)]);
        Own { result, done: !strips.busy_o, ..controller.own() }.connect(m, &controller);
        self.place(m, io, &o, (&controller, &strips));

        let rows: Vec<DotRowPorts> =
            (0..self.array.rows).map(|r| m.instance(&format!("u_row_{r}"), self.row())).collect();
        let rounder = m.instance("u_rounder", self.row().rounder());
        let loaded = self.load(m, io, (controller.begin_o, &rounder), &rows);
        let section = Section::new(m, "result", (DotRow::LATENCY, 16 * self.array.rows), shell.abort_i);
        let comes = self.weights_come(m, io, (loaded, &section), &rows);
        m.connect(shell.computing_o, comes);
        let results = m.nets("row_result", uint(16), self.array.rows);
        for (r, row) in (0..).zip(&rows) {
            m.connect(row.shift_i, o.shift);
            m.connect(results.at(r), row.result_o);
        }
        section.catch(m, "result", section.enters, results.packed(), shell.abort_i);
        m.connect(section.leaves, section.fifo.output.fire());
        let inexact = self.turned(m, io, &o, (&strips, &section.fifo));
        m.connect(controller.overflow_i, inexact);
        m.connect(shell.overflows_o, inexact);
        self.properties(m, io, (&controller, &strips), (&section, &rows));
    }
}

impl ProductEngine {
    /// Operands and commands: rows, weights, exponents. Results move in strips.
    fn place(
        &self,
        m: &mut Module,
        io: &ProductEnginePorts,
        o: &ProductOperationPorts,
        (controller, strips): (&OperationControllerPorts, &StripWalkerPorts),
    ) {
        let (width, abort) = (self.dma.row_width, io.shell.abort_i);
        let words = m.wire("words", groups(o.channels, self.weights(), 16));
        let share = (self.exponents().output_width / 8).trailing_zeros();
        // Fields are there for cycles before the check of this operand.
        let bytes = m.reg("exponent_bytes_q", uint(width));
        bytes.next(fit((o.columns * words).shl(share), width));
        let row_bytes = m.wire("row_bytes", fit(o.channels.shl(1), width));
        let column_bytes = m.wire("column_bytes", fit((o.channels + 1).shr(1), width));
        let out_bytes = m.wire("out_bytes", fit(o.columns.shl(1), width));
        let rows = m.wire("rows", fit(o.rows, 16));
        let yes = bit().lit(1);
        let places = [
            Place { address: o.x_address, row_bytes, rows, stride: o.x_stride },
            Place { address: o.weight_address, row_bytes: column_bytes, rows: o.columns, stride: o.weight_stride },
            Place::row(o.exponent_address, bytes.q),
            Place { address: o.out_address, row_bytes: out_bytes, rows, stride: o.out_stride },
        ];
        for (k, place) in (0..).zip(places) {
            let own = if k == Self::READERS { bit().lit(0) } else { yes };
            controller.check(m, k, yes, place);
            controller.command(m, k, own, place);
        }
        for k in 0..Self::READERS {
            m.connect_stream(&io.shell.read_command.at(k), &controller.read_command.at(k));
            m.connect(controller.other_taken_i.at(k), 0);
        }
        m.connect(strips.clear_i, abort);
        m.connect(strips.begin_i, controller.begin_o);
        m.connect(strips.matrix.address, o.out_address.slice(0..self.axi.address_width));
        m.connect(strips.matrix.stride, o.out_stride);
        m.connect(strips.matrix.rows, rows);
        m.connect(strips.matrix.columns, o.columns);
        m.connect(strips.matrix.half, 0);
        let (write, none) = (io.shell.write_command.at(0), controller.write_command.at(0));
        m.connect(none.ready, 0);
        for unused in [none.valid, none.address, none.row_bytes, none.rows, none.stride] {
            m.unused(unused);
        }
        m.connect_stream(&write, &strips.command);
        m.connect(controller.other_taken_i.at(Self::READERS), write.fire());
    }

    /// Rows come, and become integers. Returns that all are there.
    fn load(
        &self,
        m: &mut Module,
        io: &ProductEnginePorts,
        (begins, rounder): (Signal, &GroupRounderPorts),
        rows: &[DotRowPorts],
    ) -> Signal {
        m.comment("Rows.");
        let (lanes, abort, x) = (self.lanes(), io.shell.abort_i, io.shell.read.at(0));
        let values = m.split("x", x.data.data, uint(16).array(lanes));
        m.connect_each("x_values", rounder.values_i, values);
        m.for_each("x_used", lanes, |m, i| {
            m.connect(rounder.used_i.at(i), x.bytes.shr(1).gt(i.value(x.bytes.width())));
        });
        m.connect(x.ready, 1);
        let address = rows[0].write_address_i.ty();
        let place = m.reg_init("quarter_q", uint(address.width + 2), 0);
        let row = m.reg_init("row_q", uint(index_width(self.array.rows.into())), 0);
        let fire = m.wire("x_comes", x.fire());
        let starts = m.wire("x_starts", begins | abort);
        let zero = place.q.ty().lit(0);
        place.next(mux(starts | (fire & x.row_last), zero, mux(fire, place.q.wrapping_add(1), place.q)));
        let next = mux(fire & x.row_last, row.q.wrapping_add(1), row.q);
        row.next(mux(starts, row.q.ty().lit(0), next));
        let came = later_valid(m, "x_came", fire, 1, abort);
        let was = later(m, "x_place", place.q, 1);
        let of_row = later(m, "x_row", row.q, 1);
        let last = later(m, "x_last", x.last, 1);
        let quarter = was.slice(0..2);
        let enables: Vec<Signal> = (0..4).rev().map(|k| quarter.eq(k)).collect();
        let enables = m.wire("quarter", cat(&enables));
        for (r, ports) in (0u32..).zip(rows) {
            let here = m.wire(&format!("row_{r}_comes"), came & of_row.eq(r));
            m.connect(ports.write_i, enables & here.repeat(4));
            m.connect(ports.write_address_i, was.slice(2..address.width + 2));
            m.connect_each(&format!("row_{r}_integers"), ports.integers_i, rounder.integers_o);
            m.connect_each(&format!("row_{r}_exponents"), ports.exponents_i, rounder.exponents_o);
            let special = m.reg_init(&format!("special_{r}_q"), bit(), 0);
            special.next(!begins & (special.q | (here & rounder.special_o)));
            m.connect(ports.special_i, special.q);
        }
        let loaded = m.reg_init("loaded_q", bit(), 0);
        loaded.next(!starts & (loaded.q | (came & last)));
        loaded.q
    }

    /// Weights come, word by word, as long as there is room for the result of a column. Returns that a word comes.
    fn weights_come(
        &self,
        m: &mut Module,
        io: &ProductEnginePorts,
        (loaded, section): (Signal, &Section),
        rows: &[DotRowPorts],
    ) -> Signal {
        m.comment("Weights.");
        let (abort, from) = (io.shell.abort_i, io.shell.read.at(1));
        let words = m.instance("u_words", self.exponents());
        m.connect(words.clear_i, abort);
        rows_to_words(m, "exponents", &io.shell.read.at(2), &words);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        m.unused(from.last);
        let may = m.wire("may", loaded & (section.room | !from.row_last) & !abort);
        m.connect(from.ready, may & words.output.valid);
        m.connect(words.output.ready, may & from.valid);
        let comes = m.wire("step", from.fire());
        let enters = m.wire("enters", comes & from.row_last);
        m.connect(section.enters, enters);

        let address = rows[0].address_i.ty();
        let place = m.reg_init("word_q", address, 0);
        let zero = address.lit(0);
        place.next(mux(abort | enters, zero, mux(comes, place.q.wrapping_add(1), place.q)));
        let first = later(m, "first", !place.q.any(), DotRow::TO_FIRST);
        let adds = later_valid(m, "adds", comes, DotRow::TO_FIRST, abort);
        let exponents = later(m, "weight_exponents", words.output.data.data, DotRow::TO_EXPONENTS);
        let exponents = m.split("weight_exponent", exponents, uint(EXPONENT).array(self.row().groups()));
        // Channels after the last one have no part in a sum.
        let (weights, ours) = (m.regs("weight_q", sint(4), self.weights()), m.nets("weight", sint(4), self.weights()));
        let nibbles = m.split("nibble", from.data.data, sint(4).array(self.weights()));
        m.for_each("byte", self.weights() / 2, |m, i| {
            let used = m.wire("used", from.bytes.gt(i.value(from.bytes.width())).repeat(4).as_sint());
            m.connect(ours.at(i * 2), nibbles.at(i * 2) & used);
            m.connect(ours.at(i * 2 + 1), nibbles.at(i * 2 + 1) & used);
        });
        m.for_each("weight", self.weights(), |m, i| weights.next(m, i, ours.at(i)));
        for (r, row) in rows.iter().enumerate() {
            m.connect(row.step_i, comes);
            m.connect(row.address_i, place.q);
            m.connect(row.adds_i, adds);
            m.connect(row.first_i, first);
            m.connect_each(&format!("row_{r}_weights"), row.weights_i, weights.q);
            m.connect_each(&format!("row_{r}_weight_exponents"), row.weight_exponents_i, exponents);
        }
        comes
    }

    /// Results of columns turn into rows on their way to memory. Returns that one of them is not exact.
    fn turned(
        &self,
        m: &mut Module,
        io: &ProductEnginePorts,
        o: &ProductOperationPorts,
        (strips, fifo): (&StripWalkerPorts, &StreamFifoPorts),
    ) -> Signal {
        m.comment("Results.");
        let (rows, lanes, block) = (self.array.rows, self.lanes(), self.turn());
        let turn = m.instance("u_turn", block.clone());
        m.connect(turn.clear_i, io.shell.abort_i);
        m.connect(turn.by_rows_i, 0);
        m.connect_stream(&turn.page, &strips.page);
        m.connect_handshake(&turn.fill, &fifo.output);
        let results = m.split("result", fifo.output.data.data, uint(16).array(rows));
        let strange = m.nets("strange", bit(), rows);
        m.for_each("column", rows, |m, i| {
            let result = results.at(i);
            m.connect(turn.fill.values.at(i), result);
            let used = m.wire("used_row", o.rows.gt(i.value(o.rows.width())));
            m.connect(strange.at(i), used & result.slice(10..15).all());
        });
        m.for_each("no_result", block.banks - rows, |m, i| m.connect(turn.fill.values.at(i + rows), 0));
        let write = io.shell.write.at(0);
        let beat = m.nets("beat", uint(16), lanes);
        m.for_each("beat", lanes, |m, i| m.connect(beat.at(i), turn.output.values.at(i)));
        m.connect_handshake(&write, &turn.output);
        m.connect(write.data.data, beat.packed());
        m.wire("inexact", fifo.output.fire() & strange.packed().any())
    }
}
