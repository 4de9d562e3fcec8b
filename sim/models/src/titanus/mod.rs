//! Titanus: pruning and quantization of keys and values on the fly.

pub mod calibration;
pub mod compression;
pub mod key_values;
pub mod language_model;
pub mod scheme;
