//! Jobs of accelerators: drawn at random, played on hardware, compared with a golden model, timed.
//!
//! An accelerator is a block after the shell. A host writes a chain of descriptors into memory, and starts it through
//! registers. Whoever makes an accelerator gives its golden model and says how a descriptor is drawn; its bench is here.
//!
//! ```
//! use hdl::accelerators::vector::VectorTop;
//! use jobs::draft::Operations;
//! use jobs::draw::numbers;
//! use jobs::program::Program;
//! use sim::stimulus::rng;
//!
//! // A row of 8 numbers in an arena of 32 bits of address, and the descriptor that says where it is.
//! let operations = Operations::of(&VectorTop::default());
//! let program = Program::draw(&mut rng(1), 32, 1, &(), |rng, program, ()| {
//!     let (x, row) = (program.take(rng, 16), numbers(rng, 8));
//!     program.put(x, &row.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
//!     operations.draft("vector").set("rows", 1u32).operand("x", (x, 0)).bytes()
//! });
//! assert!(program.image.len() >= 16 && program.limits.base == program.base);
//! ```
//!
//! - [`player::bench`] plays random jobs under stalls, errors, silence and soft resets, and compares the cycles of chains.
//! - [`timing::bench`] compares cycles only, of as many chains as wanted.
//! - [`program`], [`draft`] and [`draw`] make jobs.
//! - [`hardware`] and [`software`] are devices for drivers: the simulated design, and its golden model.

pub mod draft;
pub mod draw;
pub mod hardware;
pub mod player;
pub mod program;
pub mod software;
pub mod timing;
