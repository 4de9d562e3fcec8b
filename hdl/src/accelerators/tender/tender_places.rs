//! What an operation of the engine for products reads and writes: where operands are, and which commands the DMAs get.

use super::engine_pe::EnginePe;
use super::strip_walker::StripWalkerPorts;
use super::tender_engine::{MATMUL, RECORD, TenderEngineOf, TenderEnginePorts};
use super::tender_operations::{MatmulOperationPorts, PackOperation};
use crate::accelerators::sizes::{fit, groups};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationControllerPorts, Own, Place, first_error};
use crate::lang::{Module, Signal, bit, connect_all, mux, uint};

/// The operation in hand: a product, or a packing.
pub(super) struct Fields {
    /// It is a product.
    pub product: Signal,
    /// Its fields. A packing has its own at the same places, with the rows in place of the left matrix.
    pub of: MatmulOperationPorts,
    /// Results are integers in panels.
    pub integers: Signal,
    /// Panels of rows, and panels of columns.
    pub tiles: (Signal, Signal),
    /// Something is not 0 that must be; a number stands for nothing; a size is out of its range.
    wrong: [Signal; 3],
}

impl<P: EnginePe> TenderEngineOf<P> {
    pub(super) fn fields(&self, m: &mut Module, io: &TenderEnginePorts) -> Fields {
        let of = io.shell.decode(m, "u_matmul", self.matmul());
        let opcode = io.shell.operation.opcode;
        let wrong = [of.decoder.reserved, of.decoder.unknown, of.decoder.wrong_size];
        let (product, wrong) = if self.overlaps {
            m.unused(opcode);
            (bit().lit(1), wrong)
        } else {
            let pack = io.shell.decode(m, "u_pack", PackOperation {}).decoder;
            let product = m.wire("product", opcode.eq(MATMUL));
            let [reserved, unknown, wrong_size] = wrong;
            let of_packing = [(reserved, pack.reserved), (unknown, pack.unknown), (wrong_size, pack.wrong_size)];
            (product, of_packing.map(|(of_product, of_packing)| mux(product, of_product, of_packing)))
        };
        let integers = m.wire("integers", of.integers | !product);
        let mut panels = |name: &str, lines: Signal, of_lines: u32| {
            let (halves, all) = (groups(lines, of_lines / 2, 16), groups(lines, of_lines, 16));
            m.wire(name, mux(of.int8, halves, all))
        };
        let tiles =
            (panels("row_tiles", of.rows, self.array.rows), panels("column_tiles", of.columns, self.array.columns));
        Fields { product, of, integers, tiles, wrong }
    }

    /// Why an operation is wrong, and when it ends.
    pub(super) fn check(
        &self,
        m: &mut Module,
        fields: &Fields,
        controller: &OperationControllerPorts,
        (index_error, strips): (Signal, &StripWalkerPorts),
    ) {
        let [reserved, unknown, wrong_size] = fields.wrong;
        let wrongs = [(reserved, job_error::RESERVED), (unknown, job_error::FIELD), (wrong_size, job_error::SIZE)];
        m.connect(controller.wrong_i, first_error(&wrongs));
        let inexact = controller.overflowed_o & fields.of.exact;
        let fail = first_error(&[(index_error, job_error::FIELD), (inexact, job_error::OVERFLOW)]);
        Own { fail, done: !strips.busy_o, ..controller.own() }.connect(m, controller);
    }

    /// Operands and commands: A or rows, B, indices, constants, results. Rows that are packed, and results in fp16, move
    /// in strips.
    pub(super) fn place(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        fields: &Fields,
        (controller, strips): (&OperationControllerPorts, &StripWalkerPorts),
        first: Option<Signal>,
    ) {
        let (of, product, integers, (row_tiles, column_tiles)) =
            (&fields.of, fields.product, fields.integers, fields.tiles);
        let width = self.dma.row_width;
        let times = |count: Signal, by: u32| fit(count.shl(by.trailing_zeros()), width);
        let (left, right) = (self.word(self.array.rows) / 8, self.word(self.array.columns) / 8);
        let rows_bytes = m.wire("rows_bytes", times(of.columns, 2));
        let a_bytes = m.wire("a_bytes", mux(product, times(of.channels, left), rows_bytes));
        let a_rows = m.wire("a_rows", mux(product, row_tiles, of.rows));
        let constants_bytes = m.wire("constants_bytes", times(mux(of.per_row, of.rows, of.columns), RECORD));
        let out_bytes = m.wire("out_bytes", mux(integers, times(of.columns, left), rows_bytes));
        let out_rows = m.wire("out_rows", mux(integers, row_tiles, of.rows));
        let place = |address, row_bytes, rows, stride| Place { address, row_bytes, rows, stride };
        let a = place(of.a_address, a_bytes, a_rows, of.a_stride);
        let b = place(of.b_address, times(of.channels, right), column_tiles, of.b_stride);
        let table = Place::row(of.table_address, times(of.steps, 2));
        let constants = Place::row(of.constants_address, constants_bytes);
        let out = place(of.out_address, out_bytes, out_rows, of.out_stride);
        let (yes, one, none) = (bit().lit(1), uint(16).lit(1), uint(16).lit(0));
        let operands = [(yes, a), (product, b), (product, table), (yes, constants), (yes, out)];
        for (k, (used, place)) in (0..).zip(operands) {
            controller.check(m, k, used, place);
        }
        // B is read again for each panel of A, and so are constants of columns.
        let b_times = mux(product, row_tiles, none);
        let constants = Place { rows: mux(of.per_row, one, row_tiles), ..constants };
        let mut commands = vec![(product, a), (b_times, b), (yes, constants), (product, table)];
        if let Some(first) = first {
            let [begin, rest] = self.halves(m, (first, of.channels), b);
            commands[1].1 = begin;
            commands.push((b_times & rest.row_bytes.any().repeat(16), rest));
        }
        commands.push((integers, out));
        for (k, (times, place)) in (0..).zip(commands) {
            controller.command(m, k, times, place);
        }
        self.strips(m, io, fields, controller, strips);
    }

    /// Panels of B for each of two DMAs: the first channels, and the rest of all.
    fn halves(&self, m: &mut Module, (first, all): (Signal, Signal), b: Place) -> [Place; 2] {
        let (width, word) = (self.dma.row_width, (self.word(self.array.columns) / 8).trailing_zeros());
        let bytes = |channels: Signal| fit(channels.shl(word), width);
        let begin = m.wire("first_bytes", bytes(first));
        let rest = m.wire("rest_bytes", bytes(all.extend(16).wrapping_sub(first)));
        let address = b.address.wrapping_add(begin.extend(64));
        [Place { row_bytes: begin, ..b }, Place { row_bytes: rest, address: m.wire("rest_address", address), ..b }]
    }

    /// The DMA that reads A, and the DMA that writes, take strips in some operations. Then the controller has no
    /// commands for them.
    fn strips(
        &self,
        m: &mut Module,
        io: &TenderEnginePorts,
        fields: &Fields,
        controller: &OperationControllerPorts,
        strips: &StripWalkerPorts,
    ) {
        let (of, product, abort) = (&fields.of, fields.product, io.shell.abort_i);
        m.connect(strips.clear_i, abort);
        m.connect(strips.begin_i, controller.begin_o & (!product | !fields.integers));
        let address = mux(product, of.out_address, of.a_address);
        m.connect(strips.matrix.address, address.slice(0..self.axi.address_width));
        m.connect(strips.matrix.stride, mux(product, of.out_stride, of.a_stride));
        connect_all!(m, strips.matrix, of, [rows, columns]);
        m.connect(strips.matrix.half, of.int8);

        let (read, write) = (&io.shell.read_command, io.shell.write_command.at(0));
        for k in 1..self.readers() {
            m.connect_stream(&read.at(k), &controller.read_command.at(k));
            m.connect(controller.other_taken_i.at(k), 0);
        }
        let reads = m.wire("strips_read", !product & !abort);
        let writes = m.wire("strips_write", !fields.integers & !abort);
        let own = &strips.command;
        for (k, here, to, from) in [
            (0, reads, read.at(0), controller.read_command.at(0)),
            (self.readers(), writes, write.clone(), controller.write_command.at(0)),
        ] {
            for (to, from, own) in [
                (to.valid, from.valid, own.valid),
                (to.address, from.address, own.address),
                (to.row_bytes, from.row_bytes, own.row_bytes),
                (to.rows, from.rows, own.rows),
                (to.stride, from.stride, own.stride),
            ] {
                m.connect(to, mux(here, own, from));
            }
            m.connect(from.ready, to.ready & !here);
            m.connect(controller.other_taken_i.at(k), to.fire() & here);
        }
        m.connect(own.ready, (reads & read.at(0).ready) | (writes & write.ready));
    }
}
