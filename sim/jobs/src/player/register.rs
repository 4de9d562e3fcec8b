//! Registers that the bench uses, by the table of the shell.

use std::collections::BTreeMap;

/// The bytes SNBZ.
pub const ID: u64 = 0x00;
/// Of registers and descriptors, and the accelerator's number.
pub const VERSION: u64 = 0x04;
/// Start (bit 0) and soft reset (bit 1).
pub const CONTROL: u64 = 0x08;
/// Busy, done, error, refused.
pub const STATUS: u64 = 0x0c;
/// Their enable bits.
pub const IRQ_ENABLE: u64 = 0x10;
/// Cycles without an answer.
pub const TIMEOUT: u64 = 0x14;
/// Longest chain.
pub const MAX_DESCRIPTORS: u64 = 0x18;
/// Why the job ended.
pub const ERROR_CODE: u64 = 0x1c;
/// Where.
pub const ERROR_WHERE: u64 = 0x20;
/// The first descriptor.
pub const JOB: u64 = 0x28;
/// First byte of the window.
pub const WINDOW_BASE: u64 = 0x30;
/// Last byte of the window.
pub const WINDOW_LIMIT: u64 = 0x38;
/// The last tag.
pub const TAG: u64 = 0x40;
/// Completed descriptors.
pub const DESCRIPTORS: u64 = 0x44;
/// Attributes of requests: 4 bits of reads, 4 of writes, 3 of both.
pub const BUS: u64 = 0x48;
/// Bits of an address, ports, bits of a beat.
pub const CAPS_BUS: u64 = 0x4c;
/// Cycles of the job.
pub const CYCLES: u64 = 0x80;
/// Cycles in which the lanes or the array took work.
pub const COMPUTE_CYCLES: u64 = 0x88;
/// Beats that were read.
pub const READ_BEATS: u64 = 0x90;
/// Beats that were written.
pub const WRITE_BEATS: u64 = 0x98;
/// Cycles without a beat that was wanted.
pub const READ_WAITS: u64 = 0xa0;
/// Cycles in which some port offered a beat that was not taken.
pub const WRITE_WAITS: u64 = 0xa8;

/// Bits of STATUS that the host clears.
pub(super) const STICKY: u64 = 0xe;

/// Registers that the host can write, word by word, with the bits that exist.
pub(super) const WRITABLE: [(u64, u64); 10] = [
    (IRQ_ENABLE, STICKY),
    (TIMEOUT, u32::MAX as u64),
    (MAX_DESCRIPTORS, u32::MAX as u64),
    (JOB, u32::MAX as u64),
    (JOB + 4, u32::MAX as u64),
    (WINDOW_BASE, u32::MAX as u64),
    (WINDOW_BASE + 4, u32::MAX as u64),
    (WINDOW_LIMIT, u32::MAX as u64),
    (WINDOW_LIMIT + 4, u32::MAX as u64),
    (BUS, 0x7ff),
];

/// Values of [`WRITABLE`] after a reset.
pub(super) fn after_reset() -> BTreeMap<u64, u64> {
    let value = |at: u64, bits: u64| match at {
        MAX_DESCRIPTORS => 65536,
        BUS => 0x33,
        _ if at & !4 == WINDOW_LIMIT => bits,
        _ => 0,
    };
    WRITABLE.into_iter().map(|(at, bits)| (at, value(at, bits))).collect()
}
