//! Two pages of numbers that are filled by rows and used by columns, or the other way round.
//!
//! Element (r, c) lies in bank (r * group + c) modulo the number of banks, at address c: neither the elements of `group`
//! columns nor neighbours in a row meet in a bank.

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Array, Block, Bundle, Field, FieldArray, In, InStream, Module, OutStream, Signal, Timing, Type, bit,
    bits_for, bundle, cat, index_width, mux, parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct TurnBuffer {
        /// Banks: rows of a page at most, times group.
        banks: u32 = 16, in power_of_two(2..=1024), tag "b";
        /// Elements of a beat of a row, a power of two.
        lanes: u32 = 8, in power_of_two(2..=256), note "at most banks", tag "l";
        /// Columns of a page at most.
        columns: u32 = 64, in 2..=65536, note "a multiple of lanes and of group", tag "c";
        /// Columns that are filled or used in a cycle, a power of two.
        group: u32 = 1, in power_of_two(1..=32), note "at most banks", tag "g", named "when set";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        rules.demand(p.lanes <= p.banks, "lanes", p.lanes, format!("at most banks = {}", p.banks));
        rules.demand(p.group <= p.banks, "group", p.group, format!("at most banks = {}", p.banks));
        for (name, of) in [("lanes", p.lanes), ("group", p.group)] {
            let whole = p.columns.is_multiple_of(of.max(1));
            rules.demand(whole, "columns", p.columns, format!("a multiple of {name} = {of}"));
        }
    };
}

impl TurnBuffer {
    fn row(&self) -> Type {
        uint(index_width(self.banks.into()))
    }

    fn column(&self) -> Type {
        uint(index_width(self.columns.into()))
    }
}

bundle! {
    /// Size of a page.
    pub struct Page(p: TurnBuffer) {
        /// Rows, from 1 on.
        rows: Field = uint(bits_for(p.banks.into())),
        /// Columns, from 1 on.
        columns: Field = uint(bits_for(p.columns.into())),
    }
}

bundle! {
    /// Elements of a row, `lanes` of them at most, or of `group` columns, all columns of a row after each other.
    pub struct Elements(p: TurnBuffer) {
        /// fp16 numbers, the first ones.
        values: FieldArray = uint(16).array(p.banks),
    }
}

ports! {
    /// Ports of [`TurnBuffer`].
    pub struct TurnBufferPorts(p: &TurnBuffer) {
        /// Drops both pages at the coming edge.
        clear_i: In = bit(),
        /// Pages are filled by rows and used by columns; else the other way round. Steady while anything is inside.
        by_rows_i: In = bit(),
        /// Size of the next page.
        page: InStream<Page> = p.clone(),
        /// Its elements: row by row, `lanes` a beat, or `group` columns a beat.
        fill: InStream<Elements> = p.clone(),
        /// The same elements: `group` columns a beat, or row by row, `lanes` a beat; elements after the end of a row
        /// mean nothing.
        output: OutStream<Elements> = p.clone(),
    }
}

/// The place of a side in its page.
struct Walk {
    row: Signal,
    column: Signal,
    last: Signal,
}

impl Block for TurnBuffer {
    type Ports = TurnBufferPorts;
    const ABOUT: About = About {
        name: "turn_buffer",
        summary: "pages of numbers, filled by rows and used by columns or the other way round",
        contract: "A page is used when it is full, while the next one is filled; pages stay in order. A beat comes\n\
            and a beat leaves in each cycle.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TurnBufferPorts) {
        let (row_ty, column_ty) = (self.row(), self.column());
        let full = m.reg_init("full_q", uint(2), 0);
        let fill_page = m.reg_init("fill_page_q", bit(), 0);
        let use_page = m.reg_init("use_page_q", bit(), 0);

        m.comment("The page that is filled.");
        let open = m.reg_init("open_q", bit(), 0);
        let takes = m.wire("takes", io.page.fire());
        m.connect(io.page.ready, !open.q & !full.q.bit(1) & !io.clear_i);
        let shape = io.page.data.hold(m, "shape", takes);
        m.connect(io.fill.ready, open.q & !io.clear_i);
        let fills = m.wire("fills", io.fill.fire());
        let filling = self.walk(m, "fill", io, (io.by_rows_i, fills), &shape);
        let comes = m.wire("comes", fills & filling.last);
        open.next((takes | (open.q & !comes)) & !io.clear_i);
        fill_page.next((fill_page.q ^ comes) & !io.clear_i);
        let rows = m.regs("page_rows", shape.rows.ty(), 2);
        let columns = m.regs("page_columns", shape.columns.ty(), 2);
        for (page, here) in [(0u32, !fill_page.q), (1, fill_page.q)] {
            rows.next_when(m, page, comes & here, shape.rows);
            columns.next_when(m, page, comes & here, shape.columns);
        }

        m.comment("The page that is used.");
        let offered = m.reg_init("offered_q", bit(), 0);
        let read = m.wire("read", full.q.any() & (!offered.q | io.output.ready) & !io.clear_i);
        let used = Page {
            rows: m.wire("used_rows", rows.q.at(use_page.q)),
            columns: m.wire("used_columns", columns.q.at(use_page.q)),
        };
        let using = self.walk(m, "use", io, (!io.by_rows_i, read), &used);
        let goes = m.wire("goes", read & using.last);
        use_page.next((use_page.q ^ goes) & !io.clear_i);
        offered.next((read | (offered.q & !io.output.ready)) & !io.clear_i);
        full.next(mux(io.clear_i, uint(2).lit(0), full.q.wrapping_add(comes.extend(2)).wrapping_sub(goes.extend(2))));

        m.comment("Elements turn by the offset of their bank.");
        let fill_turn = m.wire("fill_turn", filling.turn(row_ty, self.group));
        let use_turn = m.wire("use_turn", using.turn(row_ty, self.group));
        let turned = self.turn(m, "fill", io.fill.values.packed(), fill_turn, true);
        let values = m.split("turned", turned, uint(16).array(self.banks));
        let banks: Array = m.nets("bank", uint(16), self.banks);
        let lanes = row_ty.width.max(bits_for(self.lanes.into()));
        m.for_each("bank", self.banks, |m, b| {
            let ram = m.instance("u_ram", Ram::words(2 * self.columns_rounded(), 16, self.storage));
            let at = |m: &mut Module, name: &str, walk: &Walk, turn: Signal, rows: Signal| {
                let ahead = m.wire(&format!("{name}_ahead"), b.value(row_ty.width).wrapping_sub(turn));
                let rows = rows.repeat(row_ty.width);
                let along = ahead & if self.group == 1 { rows } else { rows | row_ty.lit(self.group - 1) };
                let address = walk.column.wrapping_add(fit(along, column_ty.width));
                (m.wire(&format!("{name}_address"), address), ahead)
            };
            let (write_address, ahead) = at(m, "write", &filling, fill_turn, io.by_rows_i);
            let in_beat = ahead.extend(lanes).lt(self.lanes);
            m.connect(ram.write_i, fills & (in_beat | !io.by_rows_i));
            m.connect(ram.write_address_i, cat(&[fill_page.q, write_address]));
            m.connect(ram.data_i, values.at(b));
            let (read_address, _) = at(m, "read", &using, use_turn, !io.by_rows_i);
            m.connect(ram.read_i, read);
            m.connect(ram.read_address_i, cat(&[use_page.q, read_address]));
            m.connect(banks.at(b), ram.data_o);
        });
        let turn = m.reg("turn_q", row_ty);
        turn.next_when(read, use_turn);
        let back = self.turn(m, "use", banks.packed(), turn.q, false);
        let back = m.split("back", back, uint(16).array(self.banks));
        m.connect(io.output.valid, offered.q);
        m.connect_each("output_values", io.output.values, back);
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }
}

impl TurnBuffer {
    /// Columns of a page, so that a page begins at a bit of the address.
    fn columns_rounded(&self) -> u32 {
        self.columns.next_power_of_two()
    }

    /// Counts through a page: by rows, `lanes` elements at a time, or by columns, `group` at a time.
    fn walk(
        &self,
        m: &mut Module,
        name: &str,
        io: &TurnBufferPorts,
        (by_rows, moves): (Signal, Signal),
        page: &Page,
    ) -> Walk {
        let (row_ty, column_ty) = (self.row(), self.column());
        let row = m.reg_init(&format!("{name}_row_q"), row_ty, 0);
        let column = m.reg_init(&format!("{name}_column_q"), column_ty, 0);
        let width = page.columns.width() + 1;
        let step = mux(by_rows, uint(width).lit(self.lanes), uint(width).lit(self.group));
        let next = m.wire(&format!("{name}_next"), column.q.extend(width).wrapping_add(step));
        let row_ends = m.wire(&format!("{name}_row_ends"), next.ge(page.columns.extend(width)));
        let rows = page.rows.width();
        let last_row = row.q.extend(rows).wrapping_add(1).eq(page.rows);
        let last = m.wire(&format!("{name}_last"), row_ends & (last_row | !by_rows));
        let zero = column_ty.lit(0);
        let moved = mux(row_ends, zero, next.slice(0..column_ty.width));
        column.next(mux(io.clear_i, zero, mux(moves, moved, column.q)));
        let zero = row_ty.lit(0);
        let moved = mux(last, zero, mux(row_ends & by_rows, row.q.wrapping_add(1), row.q));
        row.next(mux(io.clear_i, zero, mux(moves, moved, row.q)));
        Walk { row: row.q, column: column.q, last }
    }

    /// Element i to place i + by (`up`), or back.
    fn turn(&self, m: &mut Module, name: &str, values: Signal, by: Signal, up: bool) -> Signal {
        let mut values = values;
        let all = values.width();
        for k in 0..by.width() {
            let cut = if up { all - (16 << k) } else { 16 << k };
            let turned = cat(&[values.slice(0..cut), values.slice(cut..all)]);
            values = m.wire(&format!("{name}_turned_{k}"), mux(by.bit(k), turned, values));
        }
        values
    }
}

/// The low bits of a number, or the number with zeros above.
fn fit(number: Signal, width: u32) -> Signal {
    if number.width() >= width { number.slice(0..width) } else { number.extend(width) }
}

impl Walk {
    /// Banks that the first element is ahead.
    fn turn(&self, ty: Type, group: u32) -> Signal {
        fit(self.row.shl(group.trailing_zeros()), ty.width).wrapping_add(fit(self.column, ty.width))
    }
}
