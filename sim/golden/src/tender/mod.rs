//! Tender: channel groups with scales a power of two apart, and matrix products whose accumulators are rescaled between
//! groups (Lee et al., ISCA '24, sections III and IV).

pub mod accumulator;
pub mod calibration;
pub mod cycles;
pub mod granularity;
pub mod matmul;
pub mod mesh_pe;
pub mod multi_scale_array;
pub mod schedule;
pub mod tender_pe;
pub mod weight_stationary_array;

#[cfg(test)]
mod tests;
