//! The fields of descriptors. The fields of an operation are a table that the generator wrote; see
//! [`vector::operations`](crate::vector::operations).

use crate::{ErrorCode, Refusal};

/// A field of a descriptor, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, in messages and in C.
    pub name: &'static str,
    /// Bytes from the descriptor's begin to the member that it is in.
    pub byte: u32,
    /// Its lowest bit in the member.
    pub low: u32,
    /// Its bits, up to 64.
    pub width: u32,
    /// When it means something; otherwise it is 0.
    pub when: Condition,
}

/// A condition on the other fields of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It holds always.
    Always,
    /// The device has a part, by name.
    Built(&'static str),
    /// The field is not 0.
    Set(&'static str),
    /// The field has this value.
    Is(&'static str, u64),
    /// The operation has this number.
    Opcode(u8),
    /// The condition does not hold.
    Not(&'static Condition),
    /// Both hold.
    And(&'static Condition, &'static Condition),
    /// One of them holds.
    Or(&'static Condition, &'static Condition),
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Built(part) => write!(f, "{part} is built"),
            Self::Set(name) => f.write_str(name),
            Self::Is(name, value) => write!(f, "{name} = {value}"),
            Self::Opcode(number) => write!(f, "opcode = {number}"),
            Self::Not(inner) => match inner {
                Self::And(..) | Self::Or(..) => write!(f, "not ({inner})"),
                _ => write!(f, "not {inner}"),
            },
            Self::And(a, b) => {
                let part = |part: &Self| match part {
                    Self::Or(..) => format!("({part})"),
                    _ => part.to_string(),
                };
                write!(f, "{} and {}", part(a), part(b))
            }
            Self::Or(a, b) => write!(f, "{a} or {b}"),
        }
    }
}

impl Condition {
    /// Whether it holds for a descriptor with these fields. `built` says which parts the device has.
    #[must_use]
    pub fn holds(&self, descriptor: &[u8], fields: &[Field], built: &dyn Fn(&str) -> bool) -> bool {
        let value =
            |name: &str| fields.iter().find(|field| field.name == name).map_or(0, |field| field.get(descriptor));
        let holds = |condition: &Self| condition.holds(descriptor, fields, built);
        match self {
            Self::Always => true,
            Self::Built(part) => built(part),
            Self::Set(name) => value(name) != 0,
            Self::Is(name, wanted) => value(name) == *wanted,
            Self::Opcode(number) => header::OPCODE.get(descriptor) == u64::from(*number),
            Self::Not(inner) => !holds(inner),
            Self::And(a, b) => holds(a) && holds(b),
            Self::Or(a, b) => holds(a) || holds(b),
        }
    }
}

impl Field {
    /// A field by name, the byte of its member, its lowest bit in there, its bits, and when it means something.
    #[must_use]
    pub const fn new(name: &'static str, byte: u32, low: u32, width: u32, when: Condition) -> Self {
        Self { name, byte, low, width, when }
    }

    /// The largest value that fits.
    #[must_use]
    pub const fn most(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    fn bits(&self) -> std::ops::Range<u32> {
        let first = 8 * self.byte + self.low;
        first..first + self.width
    }

    /// Reads the field from a descriptor.
    ///
    /// # Panics
    /// There are too few bytes.
    #[must_use]
    pub fn get(&self, descriptor: &[u8]) -> u64 {
        let bit = |at: u32| u64::from(descriptor[at as usize / 8] >> (at % 8) & 1);
        self.bits().rev().fold(0, |value, at| value << 1 | bit(at))
    }

    /// Puts a value into a descriptor.
    ///
    /// # Panics
    /// There are too few bytes, or the value does not fit.
    pub fn put(&self, descriptor: &mut [u8], value: u64) {
        assert!(value <= self.most(), "{} holds {} bits, {value:#x} does not fit", self.name, self.width);
        for (k, at) in self.bits().enumerate() {
            let (byte, mask) = (at as usize / 8, 1 << (at % 8));
            descriptor[byte] = descriptor[byte] & !mask | if value >> k & 1 == 1 { mask } else { 0 };
        }
    }
}

/// Checks that everything is 0 that must be: fields whose condition does not hold, and bits after the header that no
/// field has. `built` says which parts the device has.
///
/// # Errors
/// The first one that is not.
pub fn check_reserved(descriptor: &[u8], fields: &[Field], built: &dyn Fn(&str) -> bool) -> Result<(), Refusal> {
    let strange = |field: &&Field| field.get(descriptor) != 0 && !field.when.holds(descriptor, fields, built);
    if let Some(field) = fields.iter().find(strange) {
        let expected = format!("0, or with {}", field.when);
        return Err(Refusal::new(ErrorCode::Reserved, field.name, format!("{:#x}", field.get(descriptor)), expected));
    }
    for (at, byte) in descriptor.iter().enumerate().skip(header::BYTES) {
        let has = |bit: u32| fields.iter().any(|field| field.bits().contains(&bit));
        if let Some(bit) = (0..8).find(|bit| byte >> bit & 1 == 1 && !has(8 * at as u32 + bit)) {
            let (name, value) = (format!("bit {bit} of byte {at}"), "1".into());
            return Err(Refusal { code: ErrorCode::Reserved, field: name.into(), value, expected: "0".into() });
        }
    }
    Ok(())
}

/// Fields of whole bytes as constants, and all of them as a list.
macro_rules! fields {
    ($(#[$all_meta:meta])* $all:ident: $($(#[doc = $meaning:literal])+ $name:ident, $text:literal, $bytes:literal at $byte:literal;)*) => {
        $($(#[doc = $meaning])+ pub const $name: $crate::layout::Field = $crate::layout::Field {
            name: $text, byte: $byte, low: 0, width: 8 * $bytes, when: $crate::layout::Condition::Always,
        };)*
        $(#[$all_meta])* pub const $all: &[$crate::layout::Field] = &[$($name),*];
    };
}

/// The header of every descriptor.
pub mod header {
    fields! {
        /// All fields of the header, in order.
        FIELDS:
        /// The bytes SNBZ.
        MAGIC, "magic", 4 at 0;
        /// Version of descriptors, 1.
        VERSION, "version", 1 at 4;
        /// The operation.
        OPCODE, "opcode", 1 at 5;
        /// Bits SNBZ_FLAG_...; others 0.
        FLAGS, "flags", 2 at 6;
        /// Address of the next descriptor, 0 for none.
        NEXT, "next", 8 at 8;
        /// The value of TAG when the operation is done.
        TAG, "tag", 4 at 16;
        /// 0.
        RESERVED, "reserved", 4 at 20;
        /// Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64.
        TAG_ADDRESS, "tag_address", 8 at 24;
    }

    /// Bytes of the header.
    pub const BYTES: usize = 32;
    /// The first 4 bytes of every descriptor.
    pub const MAGIC_VALUE: u32 = u32::from_le_bytes(*b"SNBZ");
    /// The version that this crate knows.
    pub const VERSION_VALUE: u8 = 1;
    /// Flag: the tag is written to memory.
    pub const FLAG_TAG: u16 = 1;
    /// Flag, times 0 to 7: of so many operations right before it the operation is independent.
    pub const FLAG_INDEPENDENT: u16 = 2;
    /// Flag, times 0 to 7: so many operations right before it write nothing that the operation reads early.
    pub const FLAG_EARLY: u16 = 16;
}
