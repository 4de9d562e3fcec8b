//! Banks of one byte of 16-bit elements, side by side: a row of all banks is that byte of a whole vector.
//!
//! A write keeps the byte (split). A read returns it in its place with zeros in the other place. So the OR of the banks
//! of the high and of the low bytes is the element (join).

use super::EdramBank;
use super::edram_bank::TIME_WIDTH;
use crate::blocks::common::RamImplementation;
use crate::lang::{
    About, Block, In, InArray, InOption, Index, Module, OutArray, Timing, Type, bit, cat, choices, connect_all,
    index_width, parameters, ports, uint,
};

choices! {
    /// Which byte of a 16-bit element.
    pub enum Byte {
        /// Bits 15 to 8.
        Msb,
        /// Bits 7 to 0.
        Lsb,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ByteBanks {
        /// Byte of the 16-bit elements that is stored.
        byte: Byte = Byte::Msb, tag "";
        /// Banks side by side.
        banks: u32 = 8, in 1..=64, tag "b";
        /// Bytes of a row of one bank.
        lanes: u32 = 8, in 1..=512, tag "l";
        /// Rows.
        rows: u32 = 128, in 2..=131_072, tag "r";
        /// Where the bits are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Bits decay in simulation.
        retention_model: bool = false, tag "retention";
    }
}

ports! {
    /// Ports of [`ByteBanks`].
    pub struct ByteBanksPorts(p: &ByteBanks) {
        /// Read row `row_i`.
        read_i: In = bit(),
        /// Write it; not together with a read or with a refresh.
        write_i: In = bit(),
        /// The row.
        row_i: In = p.row(),
        /// Elements to write.
        data_i: InArray = uint(16).array(p.banks * p.lanes),
        /// The row that was read last: this byte of each element, the other byte 0.
        data_o: OutArray = uint(16).array(p.banks * p.lanes),
        /// Read row `refresh_row_i` into the refresh buffer.
        refresh_read_i: In = bit(),
        /// Write the refresh buffer back to row `refresh_row_i`.
        refresh_write_i: In = bit(),
        /// The row of the refresh.
        refresh_row_i: In = p.row(),
        /// Retention model: set the time of a cell, of the bank `cell_bank_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Bank of the cell.
        cell_bank_i: InOption = uint(index_width(u64::from(p.banks))).when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(8 * p.lanes))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
    }
}

impl ByteBanks {
    /// One of the banks.
    #[must_use]
    pub fn bank(&self) -> EdramBank {
        EdramBank {
            rows: self.rows,
            width: 8 * self.lanes,
            implementation: self.implementation,
            retention_model: self.retention_model,
        }
    }

    /// Type of a row's number.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(u64::from(self.rows)))
    }

    /// Bank number `bank`: takes its bytes out of the elements, and puts them back in their places.
    fn bank_of(&self, m: &mut Module, io: &ByteBanksPorts, bank: Index) {
        let u = m.instance("u_bank", self.bank());
        connect_all!(m, u, io, [read_i, write_i, row_i, refresh_read_i, refresh_write_i, refresh_row_i]);
        let low = if self.byte == Byte::Msb { 8 } else { 0 };
        let bytes = m.nets("bytes", uint(8), self.lanes);
        m.for_each("lane", self.lanes, |m, lane| {
            let element = m.wire("element", io.data_i.at(bank * self.lanes + lane));
            m.connect(bytes.at(lane), element.slice(low..low + 8));
            let (byte, zeros) = (u.data_o.slice_at(lane * 8, 8), uint(8).lit(0));
            let parts = if self.byte == Byte::Msb { [byte, zeros] } else { [zeros, byte] };
            m.connect(io.data_o.at(bank * self.lanes + lane), cat(&parts));
        });
        m.connect(u.data_i, bytes.packed());
        if let (Some(to), Some(from), Some(at)) = (u.cell_write_i, io.cell_write_i, io.cell_bank_i) {
            m.connect(to, from & at.eq(bank.value(at.width())));
        }
        connect_all!(m, u, io, [cell_row_i, cell_bit_i, cell_time_i]);
    }
}

impl Block for ByteBanks {
    type Ports = ByteBanksPorts;
    const ABOUT: About = About {
        name: "byte_banks",
        summary: "eDRAM banks that keep one byte of the elements of a vector",
        contract: "As edram_bank, of all banks at once.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn build(&self, m: &mut Module, io: &ByteBanksPorts) {
        m.for_each("bank", self.banks, |m, bank| self.bank_of(m, io, bank));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
