//! Golden models: the exact results of every block, to the bit.
//!
//! ```
//! use golden::format::Format;
//! use golden::kllm::orizuru::{NanPolicy, top_k};
//!
//! // The two largest values of a row and the smallest one, as Orizuru finds them: ties go to the lower index.
//! let row = [3, 250, 7, 250, 1];
//! let found = top_k(&row, 2, 1, Format::Uint { bits: 8 }, NanPolicy::TotalOrder)?;
//! assert_eq!(found.max.iter().map(|pop| pop.index).collect::<Vec<_>>(), [1, 3]);
//! assert_eq!(found.min[0].value, 1);
//! # Ok::<(), golden::kllm::orizuru::OrizuruError>(())
//! ```
//!
//! One module per paper, one file per block, in integers and soft floats only. This crate does not depend on `hdl` and
//! shares no code or shortcut with the hardware that it checks: a shared bug would be an invisible bug.

pub mod accelerators;
pub mod baselines;
pub mod common;
pub mod format;
pub mod kelle;
pub mod kllm;
pub mod tender;
pub mod titanus;
