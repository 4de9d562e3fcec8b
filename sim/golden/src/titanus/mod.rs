//! Golden models of Titanus: key-value caches pruned and quantized on the fly.
//!
//! - [`level`]: one quantization level of one channel, the exact rational rules;
//! - [`cpq`]: cascade pruning-quantization of a whole sequence with hierarchical quantization extension, and its decoding;
//! - [`mod@format`]: the bytes that move off chip; [`parse`] and [`restore`]: what comes back of them, damaged or not;
//! - [`baseline`]: what HQE avoids, and what other groupings cost: re-quantization per channel, group-wise quantization;
//! - [`traffic`]: bits moved, element by element.

pub mod baseline;
pub mod cpq;
pub mod format;
pub mod level;
pub mod parse;
pub mod restore;
pub mod traffic;
