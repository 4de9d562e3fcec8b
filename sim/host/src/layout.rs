//! The fields of descriptors: one table, from which bytes, C header and checks are made.

mod c_header;

pub use c_header::c_header;

/// A field of a descriptor, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, in messages and in C.
    pub name: &'static str,
    /// Bytes from the descriptor's begin.
    pub offset: usize,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// Its meaning.
    pub meaning: &'static str,
}

impl Field {
    /// The largest value that fits.
    #[must_use]
    pub fn most(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes)
    }

    /// Reads the field from a descriptor.
    ///
    /// # Panics
    /// There are too few bytes.
    #[must_use]
    pub fn get(&self, descriptor: &[u8]) -> u64 {
        let bytes = &descriptor[self.offset..self.offset + self.bytes];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// Puts a value into a descriptor.
    ///
    /// # Panics
    /// There are too few bytes, or the value does not fit.
    pub fn put(&self, descriptor: &mut [u8], value: u64) {
        assert!(value <= self.most(), "{} holds {} bytes, {value:#x} does not fit", self.name, self.bytes);
        descriptor[self.offset..self.offset + self.bytes].copy_from_slice(&value.to_le_bytes()[..self.bytes]);
    }
}

/// What an accelerator does with a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name in C.
    pub name: &'static str,
    /// Its opcode.
    pub opcode: u8,
    /// Its meaning.
    pub meaning: &'static str,
    /// The fields that follow the header, in order.
    pub fields: &'static [Field],
}

/// Fields as constants, and all of them as a list.
macro_rules! fields {
    ($(#[$all_meta:meta])* $all:ident: $($(#[doc = $meaning:literal])+ $name:ident, $text:literal, $bytes:literal at $offset:literal;)*) => {
        $($(#[doc = $meaning])+ pub const $name: $crate::layout::Field = $crate::layout::Field {
            name: $text, offset: $offset, bytes: $bytes, meaning: concat!($($meaning),+).trim_ascii(),
        };)*
        $(#[$all_meta])* pub const $all: &[$crate::layout::Field] = &[$($name),*];
    };
}
pub(crate) use fields;

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
    /// Flag: the operation reads nothing that the operation before it writes.
    pub const FLAG_INDEPENDENT: u16 = 2;
}
