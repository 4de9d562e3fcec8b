//! Strips of a matrix of fp16 rows. A strip has as many rows as a panel, and as many columns as a page of the turn
//! buffer.

use super::turn_buffer::{Page, TurnBuffer};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaSpec};
use crate::lang::{
    About, Block, Field, In, InBundle, Module, Out, OutStream, bit, bundle, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct StripWalker {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Rows of a panel.
        rows: u32 = 16, in 2..=256, tag "r";
        /// Pages.
        turn: TurnBuffer = TurnBuffer::default();
    }
    rules = |p, rules| {
        // Of two bytes each, at addresses that are multiples of 64 bytes.
        rules.demand(p.turn.columns.is_multiple_of(32), "turn.columns", p.turn.columns, "a multiple of 32");
        rules.demand(p.rows.is_power_of_two(), "rows", p.rows, "a power of two");
    };
}

bundle! {
    /// A matrix of fp16 rows.
    pub struct Matrix(p: StripWalker) {
        /// Address of the first row.
        address: Field = uint(p.axi.address_width),
        /// Bytes from row to row.
        stride: Field = uint(p.dma.stride_width),
        /// Rows, from 1 on.
        rows: Field = uint(16),
        /// Columns, from 1 on.
        columns: Field = uint(16),
        /// Panels have half the rows.
        half: Field = bit(),
    }
}

ports! {
    /// Ports of [`StripWalker`].
    pub struct StripWalkerPorts(p: &StripWalker) {
        /// Drops the matrix.
        clear_i: In = bit(),
        /// Begins; only while busy_o is low.
        begin_i: In = bit(),
        /// Which matrix; steady from begin_i on while busy_o.
        matrix: InBundle<Matrix> = p.clone(),
        /// Strips are to come.
        busy_o: Out = bit(),
        /// Strips as a DMA moves them.
        command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// The same strips as pages.
        page: OutStream<Page> = p.turn.clone(),
    }
}

impl Block for StripWalker {
    type Ports = StripWalkerPorts;
    const ABOUT: About = About {
        name: "strip_walker",
        summary: "cuts a matrix of fp16 rows into strips, as DMA commands and as pages",
        contract: "Panel by panel, strip by strip: one command and one page for each, in any order of the two.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StripWalkerPorts) {
        let matrix = &io.matrix;
        let strip = self.turn.columns;
        let (rows_width, columns_width) = (io.page.rows.width(), io.page.columns.width());
        let address_width = self.axi.address_width;
        let active = m.reg_init("active_q", bit(), 0);
        let rows = m.reg("rows_q", uint(16));
        let columns = m.reg("columns_q", uint(16));
        let line = m.reg("line_q", uint(address_width));
        let address = m.reg("address_q", uint(address_width));
        m.connect(io.busy_o, active.q);

        let panel = m.wire("panel", mux(matrix.half, uint(16).lit(self.rows / 2), uint(16).lit(self.rows)));
        let last_panel = m.wire("last_panel", rows.q.le(panel));
        let last_strip = m.wire("last_strip", columns.q.le(strip));
        let some_rows = m.wire("some_rows", mux(last_panel, rows.q, panel));
        let some_columns = m.wire("some_columns", mux(last_strip, columns.q, uint(16).lit(strip)));

        m.comment("A strip is done when both have taken it.");
        let commanded = m.reg_init("commanded_q", bit(), 0);
        let paged = m.reg_init("paged_q", bit(), 0);
        m.connect(io.command.valid, active.q & !commanded.q);
        m.connect(io.page.valid, active.q & !paged.q);
        let had = m.wire("had", commanded.q | io.command.ready);
        let had_page = m.wire("had_page", paged.q | io.page.ready);
        let moves = m.wire("moves", active.q & had & had_page);
        commanded.next(active.q & had & !moves & !io.clear_i);
        paged.next(active.q & had_page & !moves & !io.clear_i);
        let ends = m.wire("ends", moves & last_strip & last_panel);
        active.next((io.begin_i | (active.q & !ends)) & !io.clear_i);

        let next_panel = m.wire("next_panel", moves & last_strip);
        rows.next_when(io.begin_i | next_panel, mux(io.begin_i, matrix.rows, rows.q.wrapping_sub(panel)));
        let fewer = columns.q.wrapping_sub(some_columns);
        columns.next_when(io.begin_i | moves, mux(io.begin_i | last_strip, matrix.columns, fewer));
        let shift = self.rows.trailing_zeros();
        let whole = matrix.stride.shl(shift);
        let bytes = m.wire("panel_bytes", mux(matrix.half, matrix.stride.shl(shift - 1).extend(whole.width()), whole));
        let wide = address_width.max(bytes.width());
        let far = m.wire("next_line", line.q.extend(wide).wrapping_add(bytes.extend(wide)));
        let next_line = far.slice(0..address_width);
        line.next_when(io.begin_i | next_panel, mux(io.begin_i, matrix.address, next_line));
        let along = address.q.wrapping_add(uint(address_width).lit(2 * strip));
        let next = mux(io.begin_i, matrix.address, mux(last_strip, next_line, along));
        address.next_when(io.begin_i | moves, next);

        m.connect(io.command.address, address.q);
        m.connect(io.command.row_bytes, some_columns.shl(1).extend(self.dma.row_width));
        m.connect(io.command.rows, some_rows);
        m.connect(io.command.stride, matrix.stride);
        m.connect(io.page.rows, some_rows.slice(0..rows_width));
        m.connect(io.page.columns, some_columns.slice(0..columns_width));
    }
}
