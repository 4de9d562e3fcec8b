//! Schemes that the papers compare with: each from its own paper's text, for whole models.
//!
//! | scheme | source |
//! | --- | --- |
//! | [`rtn`] | round to nearest |
//! | [`smooth`] | SmoothQuant, Xiao et al. 2023 |
//! | [`gptq`] | GPTQ, Frantar et al. 2023 |
//! | [`quarot`], [`rotated_cache`] | QuaRot, Ashkboos et al. 2024 |
//! | [`atom`] | Atom, Zhao et al. 2024 |
//! | [`ant`] | ANT, Guo et al. 2022 |
//! | [`olive`] | OliVe, Guo et al. 2023 |
//! | [`blocks`] | OCP Microscaling Formats v1.0; shared microexponents, Rouhani et al. 2023; MSFP, Rouhani et al. 2020 |
//! | [`kivi`] | KIVI, Liu et al. 2024 |
//! | [`tokens`] | H2O, Zhang et al. 2023; `StreamingLLM`, Xiao et al. 2024 |
//!
//! A product is computed with the numbers that codes stand for, in floats. The last product, norms, softmax and the
//! residual stream stay floats, as in the schemes of the accelerators.

pub mod ant;
pub mod atom;
pub mod blocks;
mod factor;
pub mod gptq;
mod grid;
pub mod hadamard;
pub mod integers;
pub mod kivi;
pub mod olive;
mod options;
pub mod products;
pub mod quarot;
pub mod rotated_cache;
pub mod rtn;
pub mod smooth;
pub mod tokens;
