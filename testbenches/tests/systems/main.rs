//! Complete accelerators against their golden models, and the programs that drive them.

mod c_program;
mod cycle_models;
mod dense_sparse_product;
mod encoder;
mod execution_controller;
mod kelle_decode;
mod kelle_layer;
mod kelle_top;
mod kllm_chains;
mod kllm_layer;
mod kllm_outliers;
mod kllm_top;
mod layer_14;
mod outlier_mask;
mod outlier_share;
mod part_sums;
mod ports;
mod soc;
mod tender_decoder;
mod tender_top;
mod titanus_core;
mod titanus_layer;
mod token_appender;
mod token_packer;
mod vector_errors;
mod vector_top;
