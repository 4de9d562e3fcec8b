//! Golden models: what every block must compute, to the bit.
//!
//! One module per paper, one file per block, in integers and soft floats only. This crate does not
//! depend on `hdl` and shares no code or shortcut with the hardware it judges: a shared bug would be
//! an invisible bug.

pub mod baselines;
pub mod common;
pub mod format;
pub mod kelle;
pub mod kllm;
pub mod systems;
pub mod tender;
pub mod titanus;
