//! Testbenches: how each block is driven and compared with its golden model.
//!
//! ```
//! use hdl::blocks::common::StreamFifo;
//! use sim::kit::{options, run};
//! use testbenches::common::stream::stream_fifo::bench;
//!
//! let report = run(&StreamFifo::default(), bench, &options(200))?;
//! assert!(report.compared >= 200);
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! One file per block, `<paper>/<block>.rs`, with a function `bench` that the catalogue names too. A bench knows the
//! block's parameters and ports and the golden model. [`sim::kit`] makes and runs benches; how models are built, traced and
//! reported is the business of [`sim`].

pub mod accelerators;
pub mod baselines;
pub mod common;
pub mod kelle;
pub mod kllm;
pub mod tender;
pub mod titanus;
