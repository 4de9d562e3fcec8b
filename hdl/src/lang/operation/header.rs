//! The header of every descriptor, which the shell reads.

/// Bytes of a descriptor's header.
pub const HEADER_BYTES: u32 = 32;
/// The first 4 bytes of every descriptor: SNBZ.
pub const MAGIC: u32 = u32::from_le_bytes(*b"SNBZ");
/// Version of descriptors.
pub const VERSION: u32 = 1;

/// Flags of the header: name, bit, meaning.
pub const FLAGS: &[(&str, u32, &str)] = &[
    ("TAG", 0, "The tag is written to memory."),
    ("INDEPENDENT", 1, "Times 0 to 7: of so many operations right before it the operation is independent."),
    ("EARLY", 4, "Times 0 to 7: so many operations right before it write nothing that it reads early."),
];

/// A member of the header: name, first byte, bytes, meaning.
pub type HeaderMember = (&'static str, u32, u32, &'static str);

/// The members of the header, in order.
pub const HEADER: &[HeaderMember] = &[
    ("magic", 0, 4, "The bytes SNBZ."),
    ("version", 4, 1, "Version of descriptors, 1."),
    ("opcode", 5, 1, "The operation."),
    ("flags", 6, 2, "Bits SNBZ_FLAG_...; others 0."),
    ("next", 8, 8, "Address of the next descriptor, 0 for none."),
    ("tag", 16, 4, "The value of TAG when the operation is done."),
    ("reserved", 20, 4, "0."),
    ("tag_address", 24, 8, "Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64."),
];
