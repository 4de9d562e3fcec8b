//! The registers of all accelerators, as their table lists them.

use crate::common::bus::axi_lite_registers::{Field, Kind};

/// The ports to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Bits of an address.
    pub address_width: u32,
    /// Bits of a beat.
    pub data_width: u32,
    /// Number of ports.
    pub ports: u32,
}

impl Bus {
    /// The value of CAPS_BUS.
    #[must_use]
    pub fn register(&self) -> u64 {
        u64::from(self.address_width | self.ports << 8 | self.data_width << 16)
    }
}

/// Name, register, lowest bit, width and kind of each field.
#[must_use]
pub fn fields(accelerator: u64, max_descriptors: u64, bus: Bus) -> Vec<(&'static str, Field)> {
    use Kind::{Command, Constant, Pulse, ReadOnly, ReadWrite, Sticky};
    let rows: [(&str, u32, u32, u32, Kind); 33] = [
        ("id", 0x00, 0, 32, Constant(u64::from(u32::from_le_bytes(*b"SNBZ")))),
        ("version", 0x04, 0, 16, Constant(1)),
        ("accelerator", 0x04, 16, 16, Constant(accelerator)),
        ("start", 0x08, 0, 1, Pulse),
        ("soft_reset", 0x08, 1, 1, Command),
        ("busy", 0x0c, 0, 1, ReadOnly),
        ("done", 0x0c, 1, 1, Sticky),
        ("error", 0x0c, 2, 1, Sticky),
        ("refused", 0x0c, 3, 1, Sticky),
        ("irq_done", 0x10, 1, 1, ReadWrite(0)),
        ("irq_error", 0x10, 2, 1, ReadWrite(0)),
        ("irq_refused", 0x10, 3, 1, ReadWrite(0)),
        ("timeout", 0x14, 0, 32, ReadWrite(0)),
        ("max_descriptors", 0x18, 0, 32, ReadWrite(max_descriptors)),
        ("error_code", 0x1c, 0, 8, ReadOnly),
        ("error_where", 0x20, 0, 64, ReadOnly),
        ("job", 0x28, 0, 64, ReadWrite(0)),
        ("window_base", 0x30, 0, 64, ReadWrite(0)),
        ("window_limit", 0x38, 0, 64, ReadWrite(u64::MAX)),
        ("tag", 0x40, 0, 32, ReadOnly),
        ("descriptors", 0x44, 0, 32, ReadOnly),
        ("read_cache", 0x48, 0, 4, ReadWrite(3)),
        ("write_cache", 0x48, 4, 4, ReadWrite(3)),
        ("prot", 0x48, 8, 3, ReadWrite(0)),
        ("address_width", 0x4c, 0, 8, Constant(bus.address_width.into())),
        ("ports", 0x4c, 8, 8, Constant(bus.ports.into())),
        ("data_width", 0x4c, 16, 16, Constant(bus.data_width.into())),
        ("cycles", 0x80, 0, 64, ReadOnly),
        ("compute_cycles", 0x88, 0, 64, ReadOnly),
        ("read_beats", 0x90, 0, 64, ReadOnly),
        ("write_beats", 0x98, 0, 64, ReadOnly),
        ("read_waits", 0xa0, 0, 64, ReadOnly),
        ("write_waits", 0xa8, 0, 64, ReadOnly),
    ];
    let row = |&(name, offset, low, width, kind): &(&'static str, u32, u32, u32, Kind)| {
        (name, Field { offset, low, width, kind })
    };
    rows.iter().map(row).collect()
}
