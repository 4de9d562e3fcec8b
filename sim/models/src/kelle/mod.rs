//! Kelle: decoding with a small key-value cache, the number of its refreshes, and the loss if refreshes are rare.

pub mod accelerator;
pub mod calibration;
pub mod decode;
pub mod language_model;
pub mod refresh;
pub mod retention;
pub mod schemes;
