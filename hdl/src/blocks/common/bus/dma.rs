//! The common part of both DMAs: commands, their ends, and how many are in flight.

use super::axi::{AxiSpec, BOUNDARY};
use crate::lang::{Field, Rules, bit, bits_for, bundle, index_width, parameters, power_of_two, uint};

/// How a command ended, `completion_error`; 2 and 3 are `xRESP` as the bus gave them.
pub mod dma_error {
    /// All is well.
    pub const NONE: u32 = 0;
    /// A subordinate reported an error.
    pub const SLVERR: u32 = super::super::axi::RESP_SLVERR;
    /// Nothing answers at the address.
    pub const DECERR: u32 = super::super::axi::RESP_DECERR;
    /// Refused: the address is no multiple of 64.
    pub const ADDRESS: u32 = 4;
    /// Refused: no rows, or rows of no bytes.
    pub const EMPTY: u32 = 5;
    /// Refused: the stride is no multiple of 64.
    pub const STRIDE: u32 = 6;
    /// Refused: the last byte lies past the last address.
    pub const OVERFLOW: u32 = 7;
}

/// Addresses and strides are multiples of so many bytes, whatever the bus.
pub const UNIT: u32 = 64;

parameters! {
    /// Limits of commands to a DMA, and of what is in flight at once.
    pub struct DmaSpec {
        /// Most beats of a burst; bursts end at multiples of as many beats, so none crosses 4 KiB.
        burst_beats: u32 = 16, in power_of_two(1..=256), note "at most 4096 bytes", tag "b";
        /// Most bursts whose answers are owed.
        outstanding: u32 = 8, in 1..=256, tag "o";
        /// Most commands that were accepted and are not completed.
        commands: u32 = 4, in 2..=16, tag "c";
        /// Bits of row_bytes.
        row_width: u32 = 24, in 1..=32, tag "rb", named "when set";
        /// Bits of rows.
        rows_width: u32 = 16, in 1..=32, tag "rn", named "when set";
        /// Bits of stride.
        stride_width: u32 = 32, in 7..=64, tag "rs", named "when set";
        /// Bits of rows that the check of a command multiplies in a cycle.
        check_bits: u32 = 1, in power_of_two(1..=32), tag "rc", named "when set";
    }
}

impl DmaSpec {
    /// The rule that a row has so many bytes at most, and a command can say so.
    pub fn demand_row(&self, rules: &mut Rules, bytes: u64) {
        let least = bits_for(bytes);
        rules.demand(self.row_width >= least, "dma.row_width", self.row_width, format!("at least {least}"));
    }
}

/// Rules that concern the bus as well.
pub(super) fn demand_bursts(axi: &AxiSpec, dma: &DmaSpec, rules: &mut Rules) {
    let most = BOUNDARY / axi.bytes().max(1);
    let allowed = format!("at most {most} beats of {} bytes: a burst stays within {BOUNDARY} bytes", axi.bytes());
    rules.demand(dma.burst_beats <= most, "dma.burst_beats", dma.burst_beats, allowed);
}

bundle! {
    /// A block of memory: rows of equal length at equal distances.
    pub struct DmaCommand(p: (AxiSpec, DmaSpec)) {
        /// Address of the first row, a multiple of 64.
        address: Field = uint(p.0.address_width),
        /// Bytes of a row, from 1 on.
        row_bytes: Field = uint(p.1.row_width),
        /// Rows, from 1 on.
        rows: Field = uint(p.1.rows_width),
        /// Bytes from the start of a row to the start of the next one, a multiple of 64; 0 is the same row again.
        stride: Field = uint(p.1.stride_width),
    }
}

bundle! {
    /// The end of a command; commands end in order.
    pub struct DmaCompletion(axi: AxiSpec) {
        /// 0: none. From the first beat that failed: 2 SLVERR, 3 DECERR. Refused without use of the bus: 4 address, 5
        /// empty, 6 stride, 7 overflow.
        error: Field = uint(3),
        /// After SLVERR (2) and DECERR (3) the address of the burst that failed, else the address of the command.
        address: Field = uint(axi.address_width),
    }
}

bundle! {
    /// A command that was checked.
    pub struct Checked(p: (AxiSpec, DmaSpec)) {
        /// 0, or why it is refused.
        refusal: Field = uint(3),
        /// Its address.
        address: Field = uint(p.0.address_width),
        /// Its rows.
        rows: Field = uint(rows_bits(&p.1)),
    }
}

/// Bits of [`Rows`].
pub(super) fn rows_bits(dma: &DmaSpec) -> u32 {
    dma.row_width + dma.rows_width + 2
}

bundle! {
    /// The rows of a command, as a counter of their bytes sees them.
    pub struct Rows(dma: DmaSpec) {
        /// Bytes of a row.
        row_bytes: Field = uint(dma.row_width),
        /// Rows.
        rows: Field = uint(dma.rows_width),
        /// The first row begins in an odd unit of 64 bytes.
        odd: Field = bit(),
        /// Every second row begins like the first one, the others do not.
        alternates: Field = bit(),
    }
}

bundle! {
    /// A burst.
    pub struct Burst(p: (AxiSpec, DmaSpec)) {
        /// Its address.
        address: Field = uint(p.0.address_width),
        /// Its beats, less one.
        len: Field = uint(p.1.len_width()),
        /// It is the first one of its command.
        first: Field = bit(),
        /// It is the last one of its command.
        last: Field = bit(),
    }
}

bundle! {
    /// The record of a burst, kept until its last answer.
    pub struct Record(p: (AxiSpec, DmaSpec)) {
        /// Its address.
        address: Field = uint(p.0.address_width),
        /// Its beats, less one.
        len: Field = uint(p.1.len_width()),
        /// It is the first one of its command.
        first: Field = bit(),
        /// It is the last one of its command.
        last: Field = bit(),
        /// Place of its command.
        slot: Field = uint(index_width(p.1.commands.into())),
    }
}

impl DmaSpec {
    /// Bits of the number of beats of a burst.
    #[must_use]
    pub fn beats_width(&self) -> u32 {
        bits_for(self.burst_beats.into())
    }

    /// Bits of the number of beats of a burst, less one.
    #[must_use]
    pub fn len_width(&self) -> u32 {
        index_width(self.burst_beats.into())
    }
}
