//! From a language model to what an accelerator runs: memory images, and chains of descriptors.
//!
//! A layer comes from a model of [`models::decoder`] ([`layer::Layer::of_model`]), the accelerator's sizes from its
//! capabilities, scales and codebooks from texts that the float model has read. Nothing here knows a hardware
//! description or a testbench. Golden models do each descriptor as soon as it is built, because later descriptors may
//! depend on earlier results.
//!
//! | module | accelerator | what it has at a time |
//! | --- | --- | --- |
//! | [`kllm`] | `kllm_top` | a layer |
//! | [`kelle`] | `kelle_top` | a layer |
//! | [`titanus`] | `titanus_core` | a layer |
//! | [`tender`] | `tender_top` | the whole model |
//!
//! [`whole`] has what any accelerator of the last kind is asked for, and [`pass`] the same for a layer at a time.
//! [`needs`] says which parameter of an accelerator must grow for a model, and what no parameter gives.

pub mod chain;
pub mod exact;
pub mod files;
pub mod fresh;
pub mod kelle;
pub mod kllm;
pub mod layer;
pub mod learn;
mod learnt;
pub mod needs;
pub mod order;
pub mod pass;
pub mod tender;
pub mod titanus;
pub mod whole;
