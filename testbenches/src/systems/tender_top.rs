//! Jobs of `tender_top`: random chains, right and wrong ones, and the real model's products.

pub mod program;
pub mod real;
