//! Testbenches of the Tender blocks.

pub mod controller;
pub mod multi_scale_array;
pub mod real;
pub mod tender_pe;
