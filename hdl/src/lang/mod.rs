//! The construction language: parameterised modules, elaborated at run time, width- and sign-safe.
//!
//! A [`Block`] is a plain struct of parameters. [`elaborate`] runs its `build` and checks the result; operators on
//! [`Signal`] compute exact widths; all errors are collected, each with its place in the Rust source.

mod array;
mod block;
mod catalog;
mod checks;
mod context;
mod error;
mod fold;
pub(crate) mod index;
pub(crate) mod ir;
mod lower;
mod module;
mod names;
mod operand;
mod ports;
mod signal;
mod state;
mod stream;
mod types;

pub(crate) use checks::{in_formal, item_nodes};
pub(crate) use fold::{Folded, fold};
pub(crate) use names::{check as check_name, port_stem};

pub use crate::ports;
pub use array::{Array, Place};
pub use block::{About, Block, Design, ExternalInstance, ExternalModule, ExternalPort, elaborate};
pub use catalog::{CatalogBlock, Parameter, Proof};
pub use error::{Diagnostic, ElabError, ParamError, ensure_param, ensure_power_of_two};
pub use index::Index;
pub use ir::Direction;
pub use module::{Module, Reg, cat, mux, or_all, reduce, select};
pub use ports::{
    In, InArray, InArrayOption, InOption, InStream, Out, OutArray, OutOption, OutStream, PortBuilder, PortKind, Ports,
};
pub use signal::{Operand, Signal};
pub use state::{Fsm, Memory};
pub use stream::{Stream, StreamType, stream};
pub use types::{ArrayType, MAX_ELEMENTS, MAX_WIDTH, Type, bit, bits_for, index_width, sint, uint};
