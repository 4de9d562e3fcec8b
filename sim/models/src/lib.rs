//! Studies and models of systems: what the papers' algorithms do to real tensors, in errors, bytes and counts.
//!
//! A study computes with golden models and data; it builds no hardware and runs none. Where a table sets figures of the
//! hardware beside those of a study, the bench is in `testbenches`, and its example or test calls both.

pub mod cycles;
pub mod explore;
mod fetched;
pub mod gguf;
pub mod headlines;
pub mod kelle;
pub mod kllm;
pub mod minilm;
pub mod smollm2;
pub mod tender;
pub mod titanus;
