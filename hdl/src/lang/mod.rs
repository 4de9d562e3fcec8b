//! The construction language: parameterised modules, elaborated at run time, width- and sign-safe.
//!
//! A [`Block`] is a plain struct of parameters. [`elaborate`] runs its `build` and checks the result; operators on
//! [`Signal`] compute exact widths; all errors are collected, each with its place in the Rust source.

mod array;
mod block;
mod bundle;
mod catalog;
mod checks;
mod context;
mod error;
mod fold;
mod formal;
mod handle;
pub(crate) mod index;
pub(crate) mod ir;
mod lower;
mod module;
mod names;
mod operand;
pub mod operation;
mod parameters;
mod ports;
mod register_map;
pub mod registers;
mod rename;
mod signal;
mod state;
mod stream;
mod stream_array;
mod timing;
mod types;
mod unreset;

pub(crate) use checks::{Elements, Read, in_formal, item_nodes, visit_once, within_cycle};
pub(crate) use error::Loc;
pub(crate) use names::port_stem;

pub use crate::{bundle, choices, connect_all, operation, parameters, ports, registers};
pub use array::{Array, Place, Regs, ToCoordinate};
pub use block::{About, Block, Design, ExternalInstance, ExternalModule, ExternalPort, elaborate};
pub use bundle::{
    Bundle, Field, FieldArray, FieldArrayOption, FieldInfo, FieldKind, FieldOption, FieldType, FieldValue, InBundle,
    OutBundle, Record, Signals, View,
};
pub use catalog::{CatalogBlock, Proof};
pub use error::{Diagnostic, ElabError, ParamError, ParamErrors, ensure_param, ensure_power_of_two};
pub use index::Index;
pub use ir::Direction;
pub use module::{Connect, Module, Reg, or_all, reduce, select};
pub use names::check as check_name;
pub use parameters::{
    Allowed, Parameter, ParameterField, ParameterValue, Parameters, Rules, flatten, multiple_of, nest, power_of_two,
};
pub use ports::{Group, In, InArray, InArrayOption, InOption, Out, OutArray, OutOption, PortBuilder, PortKind, Ports};
pub use registers::{RegisterMap, RegisterPorts};
pub use signal::{Operand, Signal, cat, mux};
pub use state::{Fsm, Memory};
pub use stream::{InStream, OutStream, Stream};
pub use stream_array::{InStreams, OutStreams, StreamArray};
pub use timing::{Cycles, Phase, Timing};
pub use types::{ArrayType, MAX_ELEMENTS, MAX_WIDTH, Type, bit, bits_for, index_width, sint, uint};
pub use unreset::UnresetRegister;

/// Names that the macros of this module use.
#[doc(hidden)]
pub mod private {
    pub use super::parameters::read::{Fields, names, object, position, snake_case};
    pub use serde_json::Value;
}
