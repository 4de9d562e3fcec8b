//! Compression of keys and values: [`prune`], [`Sequence::encode`], [`packed`].

pub use super::cpq::{Config, Sequence};
pub use super::kv_packer::packed;
pub use super::pruning_unit::prune;
