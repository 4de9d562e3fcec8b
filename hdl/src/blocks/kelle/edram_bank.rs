//! eDRAM bank: one row read or written a cycle, with a refresh port beside the access port.
//!
//! A refresh is two operations: `refresh_read_i` copies a row into the refresh buffer (one cycle later), `refresh_write_i`
//! writes the buffer back, in the next cycle or in any later one. One operation a cycle: who drives both ports sees to that
//! (`refresh_controller`). The bits are in a [`Ram`], inferred or a black box.
//!
//! With `retention_model` the bank forgets: for simulation. A table gives each cell the number of cycles for which it holds
//! its bit (`cell_*_i`, written by the testbench); a bit that is read when its row is older than that is returned flipped,
//! and written back flipped by a refresh. A write or write-back makes the row young. The model is in the Verilog under the same
//! rules as everything else, so that any simulator runs it; without the parameter nothing of it is there.

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Module, Out, Proof, Signal, Timing, Type, bit, index_width, mux,
    parameters, ports, uint,
};

/// Width of ages and retention times in the retention model, in bits.
pub const TIME_WIDTH: u32 = 32;

parameters! {
    /// Elaboration parameters.
    pub struct EdramBank {
        /// Rows.
        rows: u32 = 128, in 2..=4096, tag "m";
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
        /// Row of the access.
        row_i: In = p.row(),
        /// What is written.
        data_i: In = uint(p.width),
        /// What was read, in the cycle after `read_i`.
        data_o: Out = uint(p.width),
        /// Read row `refresh_row_i` into the refresh buffer.
        refresh_read_i: In = bit(),
        /// Write the refresh buffer to row `refresh_row_i`.
        refresh_write_i: In = bit(),
        /// Row of the refresh.
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
        contract: "at most one of read_i, write_i, refresh_read_i, refresh_write_i in a cycle. data_o is valid in the cycle after read_i.\n\
            refresh_write_i writes what the last refresh_read_i, at least one cycle earlier, has read.\n\
            retention_model: a read returns each bit flipped whose time is less than its row's age, the cycles since the\n\
            row's last write or write-back. Times are unknown until set.",
        reference: "Kelle, sections 2.3, 3.2 and 5.1, figures 4 and 10",
    };

    fn build(&self, m: &mut Module, io: &EdramBankPorts) {
        let refresh = m.wire("refresh", io.refresh_read_i | io.refresh_write_i);
        let op = Operation {
            read: m.wire("read", io.read_i | io.refresh_read_i),
            write: m.wire("write", io.write_i | io.refresh_write_i),
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
        m.formal(|m| {
            // A refresh leaves the row as it was: of any row and bit.
            let operations = [io.read_i, io.write_i, io.refresh_read_i, io.refresh_write_i];
            let two = |i: usize, j: usize| operations[i] & operations[j];
            let several = two(0, 1) | two(0, 2) | two(0, 3) | two(1, 2) | two(1, 3) | two(2, 3);
            m.assume("one_operation_a_cycle", !several);
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(bit().lit(1));
            let row = m.reg("chosen_row_q", self.row());
            row.next_when(!chosen.q, io.row_i);
            m.assume("chosen_row_exists", chosen.q | io.row_i.lt(self.rows));
            let written = m.wire("chosen_written", io.write_i & io.row_i.eq(row.q) & chosen.q);
            let known = m.reg_init("known_q", bit(), 0);
            known.next(known.q | written);
            let value = m.reg("value_q", bit());
            value.next_when(written, io.data_i.bit(0));
            // The buffer holds the row, since nothing wrote it after it was read.
            let held = m.reg_init("held_q", bit(), 0);
            let fetch = m.wire("fetch_chosen", io.refresh_read_i & io.refresh_row_i.eq(row.q));
            held.next(mux(io.refresh_read_i, fetch, held.q & !written));
            let back = m.wire("back_chosen", io.refresh_write_i & io.refresh_row_i.eq(row.q));
            m.assume("only_what_was_read_is_written_back", !back | held.q);
            let asked = m.reg_init("asked_q", bit(), 0);
            asked.next(io.read_i & io.row_i.eq(row.q) & known.q);
            m.assert_always("reads_what_was_written", !asked.q | io.data_o.bit(0).eq(value.q));
            m.assert_always("buffer_is_the_row", !(held.q & known.q) | refreshed.bit(0).eq(value.q));
            m.cover("read_after_a_refresh", asked.q & held.q & value.q & back);
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1u32).beat(1u32)
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
