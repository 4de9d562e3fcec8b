//! The language: what it prints is clean, and means what it says.

#[path = "../../../hdl/tests/demo/mod.rs"]
mod demo;

mod adding_a_block;
mod constructs;
mod fuzz;
mod lint;
mod products;
mod random;
mod ripple;
