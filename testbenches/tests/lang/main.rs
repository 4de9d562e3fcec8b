//! The language: its output is clean, and means the same as the Rust code.

#[path = "../../../hdl/tests/demo/mod.rs"]
mod demo;

mod constructs;
mod fault_expressions;
mod fault_netlists;
mod fuzz;
mod lint;
mod products;
mod random;
mod ripple;
