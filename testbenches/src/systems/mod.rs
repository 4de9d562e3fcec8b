//! Benches and programs of complete accelerators.

pub mod c_program;
pub mod software;
