//! Testbenches of the Tender blocks.

pub mod controller;
pub mod granularity;
pub mod multi_scale_array;
pub mod real;
pub mod requantization;
pub mod tender_pe;
pub mod weight_stationary_array;
