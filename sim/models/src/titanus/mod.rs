//! Titanus: what pruning and quantization on the fly do to keys and values.

pub mod compression;
pub mod exploration;
pub mod key_values;
pub mod language_model;
