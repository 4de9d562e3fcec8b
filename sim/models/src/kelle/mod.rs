//! Kelle: decoding with a small key-value cache, and how often it is refreshed meanwhile.

pub mod accelerator;
pub mod decode;
pub mod language_model;
pub mod refresh;
