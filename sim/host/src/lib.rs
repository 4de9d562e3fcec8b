//! The software side of the accelerators: a driver, and builders of jobs for the programs above it.
//!
//! ```
//! use half::f16;
//! use host::vector::{Caps, Integer, Operand, Units, VectorJob};
//! use host::{Allocator, Chain, Format, Link, Rows, Window};
//!
//! // Three rows of five numbers are doubled and become int8.
//! let units = Units { softmax: true, layer_norm: false, rotary: false };
//! let caps = Caps { opcode: 1, lanes: 4, max_beats: 8, function: 2, units };
//! let window = Window { base: 0x1000, limit: 0xffff, address_width: 32 };
//! let (rows, results) = (Rows::dense(Format::Fp16, 3, 5)?, Rows::dense(Format::Int8, 3, 5)?);
//! let mut memory = Allocator::new(&window);
//! let (x, out) = (memory.take(rows.bytes() as u64)?, memory.take(results.bytes() as u64)?);
//! let operand = |address, rows: &Rows| Operand { address, stride: rows.stride() as u32 };
//! let job = VectorJob::new(3, 5, operand(x, &rows), operand(out, &results))
//!     .scale(f16::from_f32(2.0))
//!     .quantize(Integer::Int8, f16::ONE);
//! // What the device reads; `Device::run` starts it and waits.
//! let chain = Chain::new().then(Link::from(job.build(&caps, &window)?).tag(42));
//! let image = chain.place(memory.take(chain.bytes())?, &window, 4)?;
//! # let _ = image;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Bus`]: four methods that access a device. A co-simulation and a real device implement them.
//! - [`Device`]: identifies, starts, waits, resets.
//! - [`vector`]: jobs of `vector_top`. The crate refuses a job if the hardware would, and names the field.
//! - [`tender`]: jobs of `tender_top`: products of integer matrices, and rows that become integers.
//! - [`kllm`]: jobs of `kllm_top`: products of tokens and weights that are indices, and rows that become tokens.
//! - [`kelle`]: jobs of `kelle_top`: rows times 8-bit weights, and attention of heads that the accelerator keeps.
//! - [`titanus`]: jobs of `titanus_core`: weights, and a compressed cache of keys and values that the core keeps.
//! - [`Chain`]: descriptors one after the other, as an [`Image`] of memory.
//! - [`Window`], [`Allocator`], [`Rows`]: where things are, and tensors as bytes.
//!
//! No hardware description is needed to use it: registers are constants that the generator made ([`registers`]).
//!
//! Accelerators are not coherent with caches. A [`Bus`] therefore promises two things. A write to memory is visible to
//! the device when the method returns, and a read returns the data that the device wrote.

// Generated files name the crate as its users do.
extern crate self as senbazuru_host;

mod bus;
mod chain;
mod descriptor;
mod device;
mod error_code;
pub mod kelle;
pub mod kllm;
pub mod layout;
mod memory;
mod refusal;
pub mod registers;
pub mod tender;
mod tensor;
pub mod titanus;
mod used;
pub mod vector;

pub use bus::{Bus, Image};
pub use chain::{Chain, Link};
pub use descriptor::{Descriptor, Extent};
pub use device::{BusCaps, Completion, Counters, Device, DeviceError, Identity, JobFailure, Settings};
pub use error_code::ErrorCode;
pub use memory::{Allocator, NoRoom, Window};
pub use refusal::Refusal;
pub use tensor::{Format, Rows, TensorError};

/// Every address and stride is a multiple of so many bytes.
pub const ALIGNMENT: u64 = 64;
