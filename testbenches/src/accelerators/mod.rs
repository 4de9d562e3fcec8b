//! Benches and programs of complete accelerators: a host on the registers, jobs in memory, a bus that does whatever AXI allows.

pub mod c_program;
pub mod clock;
mod costs;
pub mod decoding;
pub mod dense_sparse_product;
pub mod drawn_layer;
pub mod encoder;
pub mod execution_controller;
pub mod float_head;
pub mod kelle;
pub mod kllm;
pub mod outlier_mask;
pub mod outlier_share;
pub mod part_sums;
pub mod tender;
pub mod titanus;
pub mod titanus_chain;
pub mod token_appender;
pub mod token_packer;
pub mod vector;
