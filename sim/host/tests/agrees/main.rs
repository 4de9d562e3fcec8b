//! What the host accepts, the golden model of the hardware accepts, and the other way round: with the same code.

mod cases;
mod kelle;
mod kelle_chains;
mod kllm;
mod kllm_append;
mod steps;
#[path = "../support/mod.rs"]
mod support;
mod tender;
mod titanus;
mod titanus_chains;
mod vector;
