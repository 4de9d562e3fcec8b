//! Hardware construction: a run-time elaborated language, its Verilog printer, and the blocks.
//!
//! ```
//! use hdl::lang::*;
//!
//! parameters! {
//!     /// Elaboration parameters.
//!     pub struct Doubler {
//!         /// Width of the input in bits.
//!         width: u32 = 8, in 1..=32, tag "w";
//!     }
//! }
//!
//! ports! {
//!     /// Ports of [`Doubler`].
//!     pub struct DoublerPorts(p: &Doubler) {
//!         /// A number.
//!         data_i: In = uint(p.width),
//!         /// Twice the number.
//!         double_o: Out = uint(p.width + 1),
//!     }
//! }
//!
//! impl Block for Doubler {
//!     type Ports = DoublerPorts;
//!     const ABOUT: About =
//!         About { name: "doubler", summary: "twice a number", contract: "double_o = 2 data_i.", reference: "" };
//!
//!     fn build(&self, m: &mut Module, io: &DoublerPorts) {
//!         m.connect(io.double_o, io.data_i + io.data_i);
//!     }
//! }
//!
//! let design = elaborate(&Doubler { width: 4 })?;
//! assert_eq!(design.top_name(), "doubler_w4");
//! assert!(design.verilog()[0].text.contains("assign double_o = data_i + data_i;"));
//! # Ok::<(), ElabError>(())
//! ```
//!
//! This crate does no I/O, starts no processes and no threads.

// The macros name this crate as its users do.
extern crate self as hdl;

pub mod accelerators;
pub mod blocks;
pub mod emit;
pub mod lang;
pub mod mutate;
