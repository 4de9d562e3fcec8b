//! Complete accelerators with their shell: how a job changes memory, and how registers report it.

pub mod columns;
pub mod cycles;
pub mod dense_sparse_product;
#[cfg(test)]
mod descriptor;
pub mod device;
pub mod events;
pub mod execution_controller;
mod flights;
pub mod job;
pub mod kelle;
pub mod kllm;
pub mod memory;
pub mod operand;
pub mod outlier_mask;
pub mod outlier_share;
pub mod pieces;
pub mod tender;
pub mod titanus;
pub mod titanus_chain;
pub mod token_appender;
pub mod token_packer;
pub mod vector;
