//! Decompression of keys and values: [`parse`], [`restore`].

pub use super::cpq::Sequence;
pub use super::dequantization_unit::restore;
pub use super::kv_packer::packed;
pub use super::kv_unpacker::parse;
