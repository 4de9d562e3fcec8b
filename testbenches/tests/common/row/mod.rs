//! Units that work on rows: all configurations, broken ones, and real rows against exact arithmetic.

mod layer_norm;
mod parts;
mod rms_norm;
mod rotary_embedding;
mod row_frame;
mod softmax;
mod vector_unit;

use golden::common::row::{Distance, distance};
use half::f16;
use num_bigint::BigInt;
use sim::stimulus::{Tensor, data_folder, real_rows};

pub fn rows(name: &str) -> Vec<Vec<u16>> {
    let rows = real_rows(name).unwrap_or_else(|e| panic!("{e}"));
    rows.iter().map(|row| row.iter().map(|&x| x as u16).collect()).collect()
}

pub fn gains(name: &str) -> Vec<u16> {
    let path = data_folder().join(format!("{name}.npy"));
    let tensor: Tensor<f32> = Tensor::read(&path).unwrap_or_else(|e| panic!("{e}"));
    tensor.data.iter().map(|&x| f16::from_f32(x).to_bits()).collect()
}

pub fn largest(got: &[u16], exact: &[BigInt]) -> Distance {
    got.iter().zip(exact).map(|(&got, exact)| distance(got, exact)).fold(Distance::default(), Distance::or)
}

/// 10^-5 in units of 2^-48.
pub const EPSILON: u64 = 2_814_749_767;
