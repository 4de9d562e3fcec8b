//! Adds the sums of a tile's parts: the accumulators after the array that explicit requantization needs.

use super::sum_buffer::{SumBuffer, SumColumn};
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InStream, Module, OutStream, Timing, bit, cat, mux, parameters, ports, power_of_two,
};

parameters! {
    /// Elaboration parameters.
    pub struct PartSums {
        /// Rows of the array.
        rows: u32 = 16, in power_of_two(2..=256), tag "r";
        /// Columns of the array.
        columns: u32 = 16, in power_of_two(4..=256), tag "c";
        /// Bits of a sum.
        width: u32 = 41, in 2..=64, tag "w";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
}

impl PartSums {
    fn sums(&self, parts: bool) -> SumBuffer {
        let Self { rows, columns, width, storage } = *self;
        SumBuffer { rows, columns, width, storage, parts, ..SumBuffer::default() }
    }
}

ports! {
    /// Ports of [`PartSums`].
    pub struct PartSumsPorts(p: &PartSums) {
        /// Drops all sums; the next part is the first one of a tile.
        clear_i: In = bit(),
        /// Columns of parts of tiles: the same columns in the same order for each part of a tile.
        part: InStream<SumColumn> = p.sums(true),
        /// Columns of tiles.
        column: OutStream<SumColumn> = p.sums(false),
    }
}

impl Block for PartSums {
    type Ports = PartSumsPorts;
    const ABOUT: About = About {
        name: "part_sums",
        summary: "adds the columns of sums that the parts of a tile have",
        contract: "A column of a first part begins a sum. A column of another part is added to the sum, which is\n\
            doubled first if that part doubles. With the column of the last part the sum leaves, a cycle after it\n\
            came. A sum that leaves its range wraps and says that it overflowed; so does a sum with a part that\n\
            overflowed.",
        reference: "Tender, section VI-E, figure 13",
    };

    fn build(&self, m: &mut Module, io: &PartSumsPorts) {
        let part = &io.part;
        let fields = (part.doubles, part.begins, part.ends, part.place);
        let (Some(doubles), Some(begins), Some(ends), Some(place)) = fields else { return };

        m.comment("The column that came, and its sums so far.");
        let kept = m.reg_init("kept_q", bit(), 0);
        let takes = m.net("takes", bit());
        let hold = |m: &mut Module, name: &str, value: crate::lang::Signal| {
            let held = m.reg(name, value.ty());
            held.next_when(takes, value);
            held.q
        };
        let doubles = hold(m, "doubles_q", doubles);
        let begins = hold(m, "begins_q", begins);
        let ends = hold(m, "ends_q", ends);
        let here = hold(m, "place_q", place);
        let moves = m.wire("moves", kept.q & (!ends | io.column.ready));
        m.comment("A column that is not written yet cannot be read.");
        let waits = m.wire("waits", kept.q & !ends & here.eq(place));
        m.connect(part.ready, (!kept.q | moves) & !waits & !io.clear_i);
        m.connect(takes, part.fire());
        kept.next((takes | (kept.q & !moves)) & !io.clear_i);
        m.connect(io.column.valid, kept.q & ends);

        let wide = self.width + 2;
        m.for_each("row", self.rows, |m, r| {
            let sum = m.reg("sum_q", part.sums.at(r).ty());
            sum.next_when(takes, part.sums.at(r));
            let flag = m.reg("flag_q", bit());
            flag.next_when(takes, part.overflow.at(r));
            let ram = m.instance("u_ram", Ram::words(self.columns, self.width + 1, self.storage));
            let before = m.wire("known", ram.data_o.slice(0..self.width).as_sint());
            let none = before.ty().lit(0);
            let wide_before = mux(begins, none, before).extend(wide);
            let twice = m.wire("twice", mux(doubles, wide_before.shl(1).slice(0..wide).as_sint(), wide_before));
            let total = m.wire("total", twice.wrapping_add(sum.q.extend(wide)));
            let fits = total.slice(self.width - 1..wide);
            let leaves = m.wire("leaves", fits.any() & !fits.all());
            let overflow = m.wire("overflow", leaves | flag.q | (!begins & ram.data_o.bit(self.width)));
            let low = m.wire("low", total.slice(0..self.width));
            m.connect(ram.write_i, moves & !ends);
            m.connect(ram.write_address_i, here);
            m.connect(ram.data_i, cat(&[overflow, low]));
            m.connect(ram.read_i, takes);
            m.connect(ram.read_address_i, place);
            m.connect(io.column.sums.at(r), low.as_sint());
            m.connect(io.column.overflow.at(r), overflow);
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
