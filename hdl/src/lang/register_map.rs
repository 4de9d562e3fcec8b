//! Register maps as data: what a host reaches at which address.

use serde::{Deserialize, Serialize};

/// Bytes that a map may span: addresses of 12 bits.
pub const MAP_BYTES: u32 = 4096;

/// What the bus and the hardware may do with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads as this value.
    Constant(u64),
    /// The bus reads and writes it, and the hardware sees its value. After reset it has this value.
    ReadWrite(u64),
    /// The bus reads what the hardware shows.
    ReadOnly,
    /// Each bit: the hardware sets it, the bus clears it by writing 1; when both happen at once it is set.
    Sticky,
    /// Each bit: writing 1 is a pulse of one cycle to the hardware; reads as 0.
    Pulse,
    /// One bit: writing 1 is a pulse; reads as 1 while the hardware says that it is busy with it.
    Command,
}

impl Access {
    /// Writing it does something.
    #[must_use]
    pub fn is_writable(self) -> bool {
        !matches!(self, Self::Constant(_) | Self::ReadOnly)
    }
}

/// A field of a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterField {
    /// Snake-case name, unique in the map; the ports of the field are called after it.
    pub name: String,
    /// Lowest bit within the register.
    pub low: u32,
    /// Bits.
    pub width: u32,
    /// Access to it.
    pub access: Access,
    /// Its meaning, in one sentence.
    pub meaning: String,
}

/// A register: one word of 32 bits, or two, the low one first, when it has a field of more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// Upper-case name, unique in the map.
    pub name: String,
    /// Bytes from the start of the map, a multiple of 4.
    pub offset: u32,
    /// What it is for.
    pub meaning: String,
    /// Its fields, lowest first; other bits read as 0.
    pub fields: Vec<RegisterField>,
}

impl Register {
    /// Words of 32 bits.
    #[must_use]
    pub fn words(&self) -> u32 {
        self.fields.iter().map(|f| f.low + f.width).max().unwrap_or(1).div_ceil(32)
    }
}

/// The registers that a host reaches over a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterMap {
    /// All registers, in any order.
    pub registers: Vec<Register>,
}

impl RegisterMap {
    /// The mistakes of the map, in sentences; none for a good map.
    #[must_use]
    pub fn mistakes(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut taken: Vec<(u32, u32, &str)> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for r in &self.registers {
            let end = r.offset.saturating_add(4 * r.words());
            if r.offset % 4 != 0 || end > MAP_BYTES {
                wrong.push(format!(
                    "register {} lies at {:#x}, allowed: multiples of 4 below {MAP_BYTES:#x}",
                    r.name, r.offset
                ));
            }
            if let Some((_, _, other)) = taken.iter().find(|(low, high, _)| r.offset < *high && *low < end) {
                wrong.push(format!("registers {other} and {} overlap at {:#x}", r.name, r.offset));
            }
            taken.push((r.offset, end, &r.name));
            names.push(&r.name);
            let mut free = 0;
            for f in &r.fields {
                names.push(&f.name);
                let most = match f.access {
                    Access::Command => 1,
                    Access::Sticky | Access::Pulse => 32,
                    _ => 64,
                };
                if f.width == 0 || f.width > most || f.low < free || f.low + f.width > 64 {
                    let place = format!("bits {} to {}", f.low, (f.low + f.width).wrapping_sub(1));
                    wrong.push(format!("field {} of {} has {place}: it overlaps, or is too wide", f.name, r.name));
                }
                // A field of two words is alone, so that all others lie in one word.
                if f.low + f.width > 32 && (f.low != 0 || r.fields.len() != 1) {
                    wrong.push(format!(
                        "field {} of {} reaches into a second word: give it a register alone",
                        f.name, r.name
                    ));
                }
                let value = match f.access {
                    Access::Constant(value) | Access::ReadWrite(value) => value,
                    _ => 0,
                };
                if f.width < 64 && value >> f.width != 0 {
                    wrong.push(format!("the value {value:#x} of field {} does not fit its {} bits", f.name, f.width));
                }
                free = f.low + f.width;
            }
        }
        names.sort_unstable();
        for twice in names.windows(2).filter(|w| w[0] == w[1]) {
            wrong.push(format!("the name {} is given twice", twice[0]));
        }
        wrong
    }

    /// This map and `other` on one bus.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.registers.extend(other.registers);
        self
    }
}
