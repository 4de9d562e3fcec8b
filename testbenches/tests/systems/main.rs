//! Complete accelerators against their golden models, and the programs that drive them.

mod c_program;
mod execution_controller;
mod kllm_top;
mod part_sums;
mod ports;
mod quantizer;
mod soc;
mod tender_decoder;
mod tender_top;
mod vector_errors;
mod vector_top;
