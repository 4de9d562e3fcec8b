//! Testbenches of the Tender blocks.

pub mod controller;
pub mod mesh_pe;
pub mod multi_scale_array;
pub mod product;
pub mod tender_pe;
pub mod weight_stationary_array;
