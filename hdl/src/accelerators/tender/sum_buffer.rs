//! Output buffer: sums leave the array as a wavefront and go on column by column.

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, FieldArray, FieldOption, In, InArray, InOption, Module, Out, OutStream, Signal, Timing, bit,
    bits_for, bundle, cat, index_width, mux, parameters, ports, power_of_two, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct SumBuffer {
        /// Rows of the array.
        rows: u32 = 16, in power_of_two(2..=256), tag "r";
        /// Columns of the array.
        columns: u32 = 16, in power_of_two(4..=256), tag "c";
        /// Bits of a sum.
        width: u32 = 41, in 2..=64, tag "w";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
        /// Tiles that have a place.
        tiles: u32 = 2, in 2..=4, tag "t", named "when set";
        /// A tile may come in parts.
        parts: bool = false, tag "parts";
    }
}

bundle! {
    /// A column of a tile: the sums that the array's rows showed.
    pub struct SumColumn(p: SumBuffer) {
        /// The sum of each row; in INT8 mode the sums of odd rows mean something.
        sums: FieldArray = sint(p.width).array(p.rows),
        /// Whether it overflowed.
        overflow: FieldArray = bit().array(p.rows),
        /// A rescale ended its part: the sums of the parts before it count twice.
        doubles: FieldOption = bit().when(p.parts),
        /// It belongs to the first part of its tile.
        begins: FieldOption = bit().when(p.parts),
        /// It belongs to the last part of its tile.
        ends: FieldOption = bit().when(p.parts),
        /// Which column of the tile.
        place: FieldOption = uint(index_width(p.columns.into())).when(p.parts),
    }
}

ports! {
    /// Ports of [`SumBuffer`].
    pub struct SumBufferPorts(p: &SumBuffer) {
        /// Drops all sums. Sums that are still in the array have to come while it is high. Also wherever int8_i
        /// changes.
        clear_i: In = bit(),
        /// Tiles are in INT8 mode, of half the columns; steady while sums are on their way.
        int8_i: In = bit(),
        /// Columns of the whole product, from 1 on; steady as int8_i.
        columns_i: In = uint(16),
        /// There is a place for one more tile.
        room_o: Out = bit(),
        /// It is taken: a last step is on its way.
        take_i: In = bit(),
        /// With take_i: a rescale ends this part of a tile.
        doubles_i: InOption = bit().when(p.parts),
        /// With take_i: it is the last part of its tile.
        ends_i: InOption = bit().when(p.parts),
        /// Row r shows a sum.
        result_valid_i: InArray = bit().array(p.rows),
        /// The sums.
        result_i: InArray = sint(p.width).array(p.rows),
        /// Whether they overflowed.
        overflow_i: InArray = bit().array(p.rows),
        /// The columns of the product in order, without columns after its end.
        column: OutStream<SumColumn> = p.clone(),
    }
}

impl Block for SumBuffer {
    type Ports = SumBufferPorts;
    const ABOUT: About = About {
        name: "sum_buffer",
        summary: "tiles of sums: they come as a wavefront, and leave column by column",
        contract: "A row shows the sums of a tile last column first, in any cycles; a tile is there when the last\n\
            row has shown its first column. Columns leave one a cycle. The tiles of columns_i columns are a panel;\n\
            of the last tile, only the remaining columns leave. A part is treated as a tile, but only the columns\n\
            of a tile's last part are counted.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &SumBufferPorts) {
        let place = index_width(self.columns.into());
        let place_ty = uint(place);
        let half = place_ty.lit(self.columns / 2 - 1);
        let end = m.wire("last_place", mux(io.int8_i, half, place_ty.lit(self.columns - 1)));
        let read = m.net("read", bit());
        let page_ty = uint(index_width(self.tiles.into()));
        let read_address = m.net("read_address", uint(place + page_ty.width));
        let sums = m.nets("sum", sint(self.width), self.rows);
        let overflow = m.nets("sum_overflow", bit(), self.rows);
        let ends = m.nets("row_ends", bit(), self.rows);
        m.for_each("row", self.rows, |m, r| {
            m.comment("Columns that came of this tile, and its page.");
            let came = m.reg_init("came_q", place_ty, 0);
            let page = m.reg_init("page_q", page_ty, 0);
            let valid = m.wire("valid", io.result_valid_i.at(r) & !io.clear_i);
            let whole = m.wire("whole", valid & came.q.eq(end));
            let zero = place_ty.lit(0);
            came.next(mux(io.clear_i | whole, zero, mux(valid, came.q.wrapping_add(1), came.q)));
            page.next(self.next_page(page.q, whole, io.clear_i));
            m.connect(ends.at(r), whole);
            let ram = m.instance("u_ram", Ram::words(self.tiles * self.columns, self.width + 1, self.storage));
            m.connect(ram.write_i, valid);
            m.connect(ram.write_address_i, cat(&[page.q, end ^ came.q]));
            m.connect(ram.data_i, cat(&[io.overflow_i.at(r), io.result_i.at(r).as_uint()]));
            m.connect(ram.read_i, read);
            m.connect(ram.read_address_i, read_address);
            m.connect(sums.at(r), ram.data_o.slice(0..self.width).as_sint());
            m.connect(overflow.at(r), ram.data_o.bit(self.width));
        });

        m.comment("Tiles that are whole, and tiles that have a place.");
        let comes = m.wire("comes", ends.at(self.rows - 1));
        let goes = m.net("goes", bit());
        let count = |m: &mut Module, name: &str, up: Signal| {
            let ty = uint(bits_for(self.tiles.into()));
            let count = m.reg_init(name, ty, 0);
            let moved = count.q.wrapping_add(up.extend(ty.width)).wrapping_sub(goes.extend(ty.width));
            count.next(mux(io.clear_i, ty.lit(0), moved));
            count.q
        };
        let whole = count(m, "whole_q", comes);
        let taken = count(m, "taken_q", io.take_i);
        m.connect(io.room_o, taken.lt(self.tiles));

        m.comment("Columns that leave.");
        let offered = m.reg_init("offered_q", bit(), 0);
        let column = m.reg_init("column_q", place_ty, 0);
        let page = m.reg_init("read_page_q", page_ty, 0);
        let sent = m.reg_init("sent_q", uint(16), 0);
        m.connect(read, whole.any() & (!offered.q | io.column.ready) & !io.clear_i);
        m.connect(read_address, cat(&[page.q, column.q]));
        let last = m.wire("last", sent.q.wrapping_add(1).eq(io.columns_i));
        m.connect(goes, read & (last | column.q.eq(end)));
        let step = |q: Signal, ends: Signal, start: Signal| {
            let zero = q.ty().lit(0);
            mux(io.clear_i, zero, mux(read, mux(ends, start, q.wrapping_add(1)), q))
        };
        column.next(step(column.q, goes, place_ty.lit(0)));
        let (mut restarts, mut restart) = (last, uint(16).lit(0));
        if let (Some(doubles), Some(ends)) = (io.doubles_i, io.ends_i) {
            m.comment("Marks of the tiles that have a place, and the first column of this one.");
            let part = self.parts(m, io, (goes, page.q), (doubles, ends));
            let base = m.reg_init("base_q", uint(16), 0);
            let ends = part.ends;
            let next = mux(last, restart, sent.q.wrapping_add(1));
            base.next(mux(io.clear_i, restart, mux(goes & ends, next, base.q)));
            restarts = goes & (last | !ends);
            restart = mux(ends, restart, base.q);
            part.offer(m, io, read, column.q);
        }
        sent.next(step(sent.q, restarts, restart));
        page.next(self.next_page(page.q, goes, io.clear_i));
        offered.next((read | (offered.q & !io.column.ready)) & !io.clear_i);
        m.connect(io.column.valid, offered.q);
        m.connect_each("column_sums", io.column.sums, sums);
        m.connect_each("column_overflow", io.column.overflow, overflow);
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }
}

/// The part whose columns leave.
struct PartNow {
    doubles: Signal,
    begins: Signal,
    ends: Signal,
}

impl SumBuffer {
    /// The page after this one, when it `moves`.
    fn next_page(&self, page: Signal, moves: Signal, clear: Signal) -> Signal {
        let (ty, next) = (page.ty(), page.wrapping_add(moves.extend(page.width())));
        let wraps = moves & page.eq(self.tiles - 1) | clear;
        if self.tiles.is_power_of_two() { next & (!clear).repeat(ty.width) } else { mux(wraps, ty.lit(0), next) }
    }

    fn parts(
        &self,
        m: &mut Module,
        io: &SumBufferPorts,
        (goes, page): (Signal, Signal),
        (doubles, ends): (Signal, Signal),
    ) -> PartNow {
        let taken = m.reg_init("take_page_q", page.ty(), 0);
        taken.next(self.next_page(taken.q, io.take_i, io.clear_i));
        let mut kept = |name: &str, said: Signal| {
            let kept = m.regs(name, bit(), self.tiles);
            m.for_each(name, self.tiles, |m, k| {
                kept.next_when(m, k, io.take_i & taken.q.eq(k.value(taken.q.width())), said);
            });
            m.wire(&format!("{name}_now"), kept.q.at(page))
        };
        let (doubles, ends) = (kept("doubles", doubles), kept("ends", ends));
        let begins = m.reg_init("begins_q", bit(), 1);
        begins.next(mux(goes, ends, begins.q) | io.clear_i);
        PartNow { doubles, begins: begins.q, ends }
    }
}

impl PartNow {
    /// With the column that is read.
    fn offer(&self, m: &mut Module, io: &SumBufferPorts, read: Signal, column: Signal) {
        let of = [
            ("column_doubles", io.column.doubles, self.doubles),
            ("column_begins", io.column.begins, self.begins),
            ("column_ends", io.column.ends, self.ends),
            ("column_place", io.column.place, column),
        ];
        for (name, port, value) in of {
            let held = m.reg(&format!("{name}_q"), value.ty());
            held.next_when(read, value);
            if let Some(port) = port {
                m.connect(port, held.q);
            }
        }
    }
}
