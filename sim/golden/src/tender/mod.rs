//! Tender: channel groups with scales a power of two apart, and matrix products whose accumulators are rescaled between
//! groups (Lee et al., ISCA '24, sections III and IV).

pub mod accumulator;
pub mod array;
pub mod calibration;
pub mod cycles;
pub mod granularity;
pub mod matmul;
pub mod pe;
pub mod schedule;
pub mod weight_stationary;

#[cfg(test)]
mod tests;
