//! Strips of a matrix of fp16 rows. A strip has as many rows as a panel, and as many columns as a page of the turn
//! buffer.

use super::turn_buffer::{Page, TurnBuffer};
use crate::accelerators::sizes::fit;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaSpec};
use crate::lang::{
    About, Block, Field, In, InBundle, Module, Out, OutStream, Signal, bit, bundle, cat, mux, parameters, ports, uint,
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
        self.properties(m, io, [rows.q, columns.q]);
    }
}

impl StripWalker {
    /// Strips are inside of the matrix, and each of its elements is in one strip. `left` are the rows and columns that are
    /// to come.
    fn properties(&self, m: &mut Module, io: &StripWalkerPorts, left: [Signal; 2]) {
        m.formal_alone(|m| {
            m.comment("The environment: a matrix that stays, and a beginning when nothing is to come.");
            let (matrix, busy) = (&io.matrix, io.busy_o);
            m.assume("begins_when_idle", !io.begin_i | !busy);
            let sizes = matrix.rows.any() & matrix.columns.any();
            m.assume("there_is_a_matrix", sizes);
            let values = [matrix.address, matrix.stride, matrix.rows, matrix.columns, matrix.half];
            let kept = m.reg("formal_matrix_q", uint(values.iter().map(|value| value.width()).sum()));
            kept.next(cat(&values));
            m.assume("the_matrix_stays", !busy | kept.q.eq(cat(&values)));

            m.comment("Where the strip begins, by what has been taken; and an element that the prover chooses.");
            let (wide, none) = (uint(17), uint(17).lit(0));
            let of = |value: Signal| value.extend(17);
            let [row, column] = ["row", "column"].map(|name| m.reg(&format!("formal_{name}_q"), wide));
            let line = m.reg("formal_line_q", uint(self.axi.address_width));
            let [had, had_page] = ["had", "had_page"].map(|name| m.reg_init(&format!("formal_{name}_q"), bit(), 0));
            let taken = m.wire("formal_taken", busy & (had.q | io.command.ready) & (had_page.q | io.page.ready));
            had.next((had.q | io.command.fire()) & !taken & !io.clear_i);
            had_page.next((had_page.q | io.page.fire()) & !taken & !io.clear_i);
            let [rows, columns] = [of(io.command.rows), fit(io.command.row_bytes.shr(1), 17)];
            let ends_row = m.wire("formal_ends_row", column.q.wrapping_add(columns).eq(of(matrix.columns)));
            let along = mux(ends_row, none, column.q.wrapping_add(columns));
            column.next(mux(io.begin_i, none, mux(taken, along, column.q)));
            let down = mux(taken & ends_row, row.q.wrapping_add(rows), row.q);
            row.next(mux(io.begin_i, none, down));
            let far = |count: u32| fit(matrix.stride.shl(count.trailing_zeros()), self.axi.address_width);
            let further = line.q.wrapping_add(mux(matrix.half, far(self.rows / 2), far(self.rows)));
            line.next(mux(io.begin_i, matrix.address, mux(taken & ends_row, further, line.q)));
            let [chosen_row, chosen_column] =
                ["row", "column"].map(|name| m.reg(&format!("formal_chosen_{name}_q"), uint(16)));
            chosen_row.next(chosen_row.q);
            chosen_column.next(chosen_column.q);
            let [r, c] = [of(chosen_row.q), of(chosen_column.q)];
            let in_panel = m.wire("formal_in_panel", r.ge(row.q) & r.lt(row.q.wrapping_add(rows)));
            let in_strip = in_panel & c.ge(column.q) & c.lt(column.q.wrapping_add(columns));
            let in_strip = m.wire("formal_in_strip", in_strip);
            let count = m.reg("formal_count_q", uint(2));
            count.next(mux(io.begin_i, uint(2).lit(0), count.q.wrapping_add((taken & in_strip).extend(2))));
            let inside = m.wire("formal_inside", r.lt(of(matrix.rows)) & c.lt(of(matrix.columns)));

            m.assert_always("offers_are_of_a_strip", io.command.valid.eq(busy & !had.q));
            m.assert_always("pages_are_of_a_strip", io.page.valid.eq(busy & !had_page.q));
            let at = line.q.wrapping_add(fit(column.q.shl(1), self.axi.address_width));
            m.assert_always("begins_where_it_should", !busy | io.command.address.eq(at));
            m.assert_always("rows_of_the_matrix", !busy | row.q.wrapping_add(rows).le(of(matrix.rows)));
            let end = column.q.wrapping_add(columns);
            m.assert_always("columns_of_the_matrix", !busy | end.le(of(matrix.columns)));
            let same = of(io.page.rows).eq(rows) & of(io.page.columns).eq(columns);
            m.assert_always("a_page_as_the_command", !busy | (same & rows.any() & columns.any()));
            let before = r.lt(row.q) | (in_panel & c.lt(column.q));
            let so_far = (before & inside).extend(2);
            m.assert_always("each_element_once", !busy | count.q.eq(so_far));
            let last = taken & ends_row & row.q.wrapping_add(rows).eq(of(matrix.rows));
            m.assert_always("all_elements", !last | count.q.wrapping_add(in_strip.extend(2)).eq(inside.extend(2)));
            let over = m.reg_init("formal_over_q", bit(), 0);
            over.next(last & !io.clear_i);
            m.assert_always("it_ends_with_the_last", !over.q | !busy);
            m.comment("For induction: what is to come.");
            let [rows_left, columns_left] = left.map(of);
            m.assert_always("rows_left", !busy | row.q.wrapping_add(rows_left).eq(of(matrix.rows)));
            m.assert_always("columns_left", !busy | column.q.wrapping_add(columns_left).eq(of(matrix.columns)));
            m.cover("a_second_panel", last & row.q.any() & column.q.any());
        });
    }
}
