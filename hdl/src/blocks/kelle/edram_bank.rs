//! eDRAM bank: one row read or written a cycle, with a refresh port beside the access port.
//!
//! A refresh is two operations: `refresh_read_i` copies a row into the refresh buffer (one cycle later),
//! `refresh_write_i` writes the buffer back, in the next cycle or in any later one. One operation a cycle: the driver
//! of both ports sees to that (`refresh_controller`). The bits are in a [`Ram`], inferred or a black box.
//!
//! With `retention_model` the bank forgets: for simulation. A table gives each cell the number of cycles for which it
//! holds its bit (`cell_*_i`, written by the testbench). A bit that is read when its row is older than that is returned
//! flipped, and written back flipped by a refresh. A write or write-back makes the row young. The model is Verilog
//! under the same rules as everything else, so that any simulator runs it. Without the parameter the Verilog has no
//! part of it.
//! rules as everything else, so that any simulator runs it; without the parameter nothing of it is there.

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Module, Out, Proof, Signal, Timing, Type, bit, cat, index_width, mux,
    parameters, ports, uint,
};

/// Width of ages and retention times in the retention model, in bits.
pub const TIME_WIDTH: u32 = 32;

parameters! {
    /// Elaboration parameters.
    pub struct EdramBank {
        /// Rows.
        rows: u32 = 128, in 2..=131_072, tag "m";
        /// Bits of a row.
        width: u32 = 64, in 2..=4096, tag "w";
        /// Where the bits are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Bits decay in simulation.
        retention_model: bool = false, tag "retention";
    }
}

ports! {
    /// Ports of [`EdramBank`].
    pub struct EdramBankPorts(p: &EdramBank) {
        /// Read row `row_i`.
        read_i: In = bit(),
        /// Write row `row_i`.
        write_i: In = bit(),
        /// Row of the access. Beyond the last row a write is lost and a read unknown.
        row_i: In = p.row(),
        /// The word to write.
        data_i: In = uint(p.width),
        /// The word read last, by an access or a refresh: from the cycle after it to the next one.
        data_o: Out = uint(p.width),
        /// Read row `refresh_row_i` into the refresh buffer. Has priority over everything else.
        refresh_read_i: In = bit(),
        /// Write the refresh buffer to row `refresh_row_i`. Ignored together with `refresh_read_i`, and before the
        /// first one since reset. Has priority over an access.
        refresh_write_i: In = bit(),
        /// Row of the refresh, as `row_i`.
        refresh_row_i: In = p.row(),
        /// Retention model: set the time of a cell.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(p.width))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
    }
}

impl EdramBank {
    /// Type of a row's address.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(u64::from(self.rows)))
    }

    /// Any row holds the word that was last written to it, by an access or from the buffer, and reads show this word.
    fn properties(&self, m: &mut Module, io: &EdramBankPorts) {
        m.formal(|m| {
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(bit().lit(1));
            let row = m.reg("chosen_row_q", self.row());
            row.next_when(!chosen.q, io.row_i);
            m.assume("chosen_row_exists", chosen.q | io.row_i.lt(self.rows));
            // Known, and one of its bits; of the row, of the buffer, and of the word read last.
            let value = m.reg_init("row_value_q", uint(2), 0);
            let buffer = m.reg_init("buffer_value_q", uint(2), 0);
            let shown = m.reg_init("shown_value_q", uint(2), 0);
            let filled = m.reg_init("filled_q", bit(), 0);
            let refresh = m.wire("refreshes", io.refresh_read_i | io.refresh_write_i);
            let here = m.wire("access_here", chosen.q & io.row_i.eq(row.q));
            let refresh_here = m.wire("refresh_here", chosen.q & io.refresh_row_i.eq(row.q));
            let known_here = mux(here, value.q, uint(2).lit(0));
            let refresh_known = m.wire("refresh_known", mux(refresh_here, value.q, uint(2).lit(0)));
            let back = m.wire("writes_back", io.refresh_write_i & !io.refresh_read_i & filled.q & refresh_here);
            let written = m.wire("written", io.write_i & !refresh & here);
            let data = cat(&[bit().lit(1), io.data_i.bit(0)]);
            value.next(mux(back, buffer.q, mux(written, data, value.q)));
            filled.next(filled.q | io.refresh_read_i);
            buffer.next(mux(io.refresh_read_i, refresh_known, buffer.q));
            let read = mux(io.read_i & !refresh, known_here, shown.q);
            shown.next(mux(io.refresh_read_i, refresh_known, read));
            m.assert_always("shows_what_was_written", !shown.q.msb() | io.data_o.bit(0).eq(shown.q.bit(0)));
            m.cover("read_after_a_refresh", shown.q.all() & back & buffer.q.all());
            m.cover("write_against_a_refresh", io.write_i & here & back & value.q.msb() & !buffer.q.msb());
        });
    }

    /// The bits that have decayed in the row that was read in the cycle before.
    fn decayed(&self, m: &mut Module, io: &EdramBankPorts, op: &Operation) -> Option<Signal> {
        let (cell_write, cell_row) = (io.cell_write_i?, io.cell_row_i?);
        let (cell_bit, cell_time) = (io.cell_bit_i?, io.cell_time_i?);
        m.comment("Retention model: times of the cells, ages of the rows.");
        let time = uint(TIME_WIDTH);
        let now = m.reg_init("now_q", time, 0);
        now.next(now.q.wrapping_add(1));
        let restored = m.memory("restored", self.rows, TIME_WIDTH, TIME_WIDTH);
        restored.write(op.write, op.row, now.q);
        let since = restored.read("restored_q", op.read, op.row);
        let read_at = m.reg("read_at_q", time);
        read_at.next_when(op.read, now.q);
        let age = m.wire("row_age", read_at.q.wrapping_sub(since));
        // The times of a row are one word.
        let times = m.memory("times", self.rows, self.width * TIME_WIDTH, TIME_WIDTH);
        let enable = m.nets("cell_enable", bit(), self.width);
        let bit_width = cell_bit.width();
        m.for_each("cells", self.width, |m, i| m.connect(enable.at(i), cell_write & cell_bit.eq(i.value(bit_width))));
        let enables = m.wire("cell_enables", enable.packed());
        times.write(enables, cell_row, cell_time.repeat(self.width));
        let row_times = times.read("times_q", op.read, op.row);
        let flips = m.nets("flips", bit(), self.width);
        m.for_each("decay", self.width, |m, i| {
            m.connect(flips.at(i), age.gt(row_times.slice_at(i * TIME_WIDTH, TIME_WIDTH)));
        });
        Some(m.wire("decayed", flips.packed()))
    }
}

/// The one operation of a cycle.
struct Operation {
    read: Signal,
    write: Signal,
    row: Signal,
}

impl Block for EdramBank {
    type Ports = EdramBankPorts;
    const ABOUT: About = About {
        name: "edram_bank",
        summary: "eDRAM bank with a refresh port; in simulation its bits can decay",
        contract: "One operation a cycle. Of several, a refresh read has priority, then a write-back, and the\n\
            others are ignored. But read_i and write_i together read the old word and write the new one. data_o\n\
            shows the word read last. refresh_write_i writes the word of the last refresh_read_i, whatever happened\n\
            since. A reset forgets the refresh buffer (write-backs are ignored until the next refresh read); rows\n\
            are unknown after it.\n\
            retention_model: a read returns each bit flipped whose time is less than its row's age. The age is the\n\
            cycles since the row's last write or write-back. Times are unknown until set.",
        reference: "Kelle, sections 2.3, 3.2 and 5.1, figures 4 and 10",
    };

    fn build(&self, m: &mut Module, io: &EdramBankPorts) {
        let refresh = m.wire("refresh", io.refresh_read_i | io.refresh_write_i);
        let loaded = m.reg_init("loaded_q", bit(), 0);
        loaded.next(loaded.q | io.refresh_read_i);
        let back = m.wire("back", io.refresh_write_i & loaded.q & !io.refresh_read_i);
        let op = Operation {
            read: m.wire("read", mux(refresh, io.refresh_read_i, io.read_i)),
            write: m.wire("write", mux(refresh, back, io.write_i)),
            row: m.wire("row", mux(refresh, io.refresh_row_i, io.row_i)),
        };
        let ram = m.instance("u_ram", Ram::words(self.rows, self.width, self.implementation));
        let word = match self.decayed(m, io, &op) {
            Some(flips) => m.wire("word", ram.data_o ^ flips),
            None => ram.data_o,
        };
        m.comment("The refresh buffer: the word as it comes, then kept.");
        let fetched = m.reg_init("fetched_q", bit(), 0);
        fetched.next(io.refresh_read_i);
        let buffer = m.reg("buffer_q", uint(self.width));
        buffer.next_when(fetched.q, word);
        let refreshed = m.wire("refreshed", mux(fetched.q, word, buffer.q));
        m.connect(ram.read_i, op.read);
        m.connect(ram.read_address_i, op.row);
        m.connect(ram.write_i, op.write);
        m.connect(ram.write_address_i, op.row);
        m.connect(ram.data_i, mux(io.refresh_write_i, refreshed, io.data_i));
        m.connect(io.data_o, word);
        if !self.retention_model {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for EdramBank {
    fn configurations() -> Vec<Self> {
        let set = |rows, width, implementation, retention_model| Self { rows, width, implementation, retention_model };
        use RamImplementation::{BlackBox, Inferred};
        vec![set(2, 2, Inferred, false), set(13, 24, BlackBox, false), set(9, 16, Inferred, true)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { rows: 3, width: 2, implementation: RamImplementation::Inferred, retention_model: false };
        vec![Proof { block, depth: 8, cover_depth: 8, induction: true }]
    }
}
