//! Kelle: decoding with a small key-value cache, how often it is refreshed meanwhile, and what is lost if seldom.

pub mod accelerator;
pub mod decode;
pub mod language_model;
pub mod refresh;
pub mod retention;
