//! The software side of accelerators behind the shell: what a driver and the programs above it need.
//!
//! - [`Bus`]: the way to a device, of four methods; a co-simulation and a real device implement it.
//! - [`Device`]: identifies, starts, waits, resets.
//! - [`vector`]: jobs of `vector_top`, refused here as the hardware would refuse them, with the field's name.
//! - [`tender`]: jobs of `tender_top`, the same way: products of integer matrices and what belongs to them.
//! - [`kllm`]: jobs of `kllm_top`: products of tokens and weights that are indices, and rows that become tokens.
//! - [`kelle`]: jobs of `kelle_top`: rows times 8-bit weights, attention of heads that the accelerator keeps.
//! - [`titanus`]: jobs of `titanus_core`: weights and a compressed cache of keys and values that it keeps.
//! - [`Chain`]: descriptors one after the other, as an [`Image`] of memory.
//! - [`Window`], [`Allocator`], [`Rows`]: where things are, and tensors as bytes.
//!
//! No hardware description is needed to use it: registers are constants that the generator made ([`registers`]).
//!
//! Accelerators are not coherent with caches. A [`Bus`] therefore promises that what was written to memory is there when it
//! returns, and that what it reads is what the device wrote.

mod bus;
mod chain;
mod descriptor;
mod device;
mod error_code;
pub mod kelle;
pub mod kllm;
pub mod layout;
mod memory;
pub mod registers;
pub mod tender;
mod tensor;
pub mod titanus;
pub mod vector;

pub use bus::{Bus, Image};
pub use chain::{Chain, Link};
pub use descriptor::{Descriptor, Refusal};
pub use device::{BusCaps, Completion, Counters, Device, DeviceError, Identity, JobFailure, Settings};
pub use error_code::ErrorCode;
pub use memory::{Allocator, NoRoom, Window};
pub use tensor::{Format, Rows, TensorError};

/// What every address and stride is a multiple of, in bytes.
pub const ALIGNMENT: u64 = 64;
