//! Verilator models: compile (cached by content), load, poke, tick, trace, coverage.
//!
//! [`Model::build`] turns a [`Design`] into a loaded model; [`Model::instance`] makes a [`Sim`] of it. Models and
//! instances may be used from any thread, many at once.

mod access;
mod build;
mod cache;
mod cleaning;
mod coverage;
mod design;
mod instance;
mod loaded;
mod model;
mod native;
mod native_build;
mod options;
mod ports;
mod slot;
mod source_file;
mod toolchain;
mod wave;

pub use access::{In, Out};
pub use cache::Cache;
pub use cleaning::LIMIT as CACHE_LIMIT;
pub use coverage::{Coverage, Ratio};
pub use design::{Design, Dir, Port};
pub use instance::Sim;
pub use loaded::Initial;
pub use model::Model;
pub use native::Native;
pub use options::{BuildOptions, Engine, Opt, Trace};
pub use source_file::SourceFile;
