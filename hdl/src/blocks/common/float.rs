//! Floating-point units: add, multiply, multiply-add, divide, roots, compare, conversions.
//!
//! All of them round to nearest, ties to even. Multiplication, and conversions to another format or to integers, can
//! round in other directions by parameter. Every NaN result is one canonical quiet NaN: sign 0, exponent all ones, only
//! the top bit of the fraction set.
//!
//! ```
//! use hdl::blocks::common::{FloatFormat, FloatMul};
//! use hdl::lang::elaborate;
//! let multiplier = FloatMul { format: FloatFormat::Bf16, stages: 2, flags: true, ..FloatMul::default() };
//! let verilog = &elaborate(&multiplier)?.verilog()[0].text;
//! assert!(verilog.contains("output wire [15:0] result_o"));
//! assert!(verilog.contains("output wire        underflow_o"));
//! # Ok::<(), hdl::lang::ElabError>(())
//! ```
//!
//! All have the same interface: operands enter with `valid_i`, the result leaves with `valid_o` exactly `stages` cycles
//! later, one operation a cycle, without back-pressure. With `stages` = 0 there is no clock, and `valid_o` is
//! `valid_i`. Operands and result belong to `valid` of the same cycle; their values in other cycles do not matter. Most
//! units have [`UnaryPorts`] or [`BinaryPorts`].
//!
//! `stages` counts ranks of registers *inside* of the unit. They cut it into `stages` + 1 parts of about equal depth.
//! The registers that hold the operands and take the result are the parent's.
//!
//! With `flags`, there are outputs for IEEE 754's exceptions of this operation ([`FloatFlags`]). Tininess is detected
//! before rounding (7.5 b): `underflow_o` is high when the result is inexact and the magnitude of the exact result is
//! below the smallest normal number. It is high even if the result is rounded up to that number. If a unit rounds
//! twice, an exception of either rounding is an exception of the operation.
//!
//! `unit.rs` is the skeleton of every unit. A unit's own file has its parameters and its arithmetic.

pub mod add;
pub mod compare;
pub mod convert;
mod digits;
pub mod divide;
mod exceptions;
pub mod exp;
pub mod fma;
pub mod format;
pub mod from_int;
mod lines;
pub mod mul;
mod parts;
mod place;
mod ranks;
mod reals;
pub mod reciprocal;
mod rom;
mod round;
pub mod rsqrt;
mod seen;
mod segments;
mod shape;
mod shift;
pub mod sigmoid;
pub mod sqrt;
pub mod table;
pub mod to_int;
mod unit;

pub use add::{FloatAdd, FloatAddPorts};
pub use compare::{FloatCompare, FloatComparePorts};
pub use convert::FloatConvert;
pub use divide::FloatDivide;
pub use exceptions::{Exception, Exceptions, FloatFlags};
pub use exp::FloatExp;
pub use fma::{FloatFma, FloatFmaPorts};
pub use format::{FloatFormat, RoundingDirection, Subnormals};
pub use from_int::FloatFromInt;
pub use mul::FloatMul;
pub use reciprocal::FloatReciprocal;
pub use rsqrt::FloatRsqrt;
pub use sigmoid::FloatSigmoid;
pub use sqrt::FloatSqrt;
pub use table::{FloatFunction, FloatTable};
pub use to_int::FloatToInt;
pub use unit::{BinaryPorts, UnaryPorts};
