//! The product of quantized matrices with channel groups, in exact integers.
//!
//! Both equations of section II-D give sums in the unit scale_last x scale_weight. The last group is the last *used*
//! one of the calibration.

use super::calibration::{Calibration, Weights};
use super::granularity::product;

/// The product of each group on its own: element [g][r][c].
#[must_use]
pub fn group_products(rows: &[Vec<i64>], weights: &[Vec<i64>], group: &[usize], groups: usize) -> Vec<Vec<Vec<i128>>> {
    let columns = weights.first().map_or(0, Vec::len);
    let mut products = vec![vec![vec![0i128; columns]; rows.len()]; groups];
    for (r, row) in rows.iter().enumerate() {
        for (channel, &x) in row.iter().enumerate() {
            for (c, &w) in weights[channel].iter().enumerate() {
                products[group[channel]][r][c] += i128::from(x) * i128::from(w);
            }
        }
    }
    products
}

/// Equation 1: every group's product times its own scale, all added.
#[must_use]
pub fn explicit_sum(products: &[Vec<Vec<i128>>]) -> Vec<Vec<i128>> {
    combine(products, |products| {
        let last = products.len() - 1;
        products.iter().enumerate().map(|(g, p)| p << (last - g)).sum()
    })
}

/// Equation 2: one accumulator, doubled before each next group.
#[must_use]
pub fn requantized_sum(products: &[Vec<Vec<i128>>]) -> Vec<Vec<i128>> {
    combine(products, |products| products.iter().fold(0, |sum, p| sum * 2 + p))
}

fn combine(products: &[Vec<Vec<i128>>], sum: impl Fn(&[i128]) -> i128) -> Vec<Vec<i128>> {
    let Some(first) = products.first() else { return Vec::new() };
    let cell = |r: usize, c: usize| sum(&products.iter().map(|p| p[r][c]).collect::<Vec<_>>());
    first.iter().enumerate().map(|(r, row)| (0..row.len()).map(|c| cell(r, c)).collect()).collect()
}

/// Integer sums as numbers: acc x scale_last x scale_weight + bias x W. W is the dequantized weights. A bias that was
/// subtracted before the product must be added with the same weights, or it does not cancel.
#[must_use]
pub fn dequantize(sums: &[Vec<i128>], calibration: &Calibration, weights: &Weights) -> Vec<Vec<f64>> {
    let scale = calibration.scales[calibration.scales.len() - 1];
    let offset = &product(std::slice::from_ref(&calibration.bias), &weights.dequantize())[0];
    let value = |(c, &sum): (usize, &i128)| sum as f64 * scale * weights.scales[c] + offset[c];
    sums.iter().map(|row| row.iter().enumerate().map(value).collect()).collect()
}

/// A whole product: chunks of `chunk` rows, calibrated and quantized, times quantized weights, as numbers.
///
/// # Errors
/// As [`super::calibration::calibrate`].
pub fn tender_product(
    rows: &[Vec<f64>],
    chunk: usize,
    scheme: super::calibration::Scheme,
    weights: &Weights,
) -> Result<Vec<Vec<f64>>, String> {
    let calibrations = super::calibration::calibrate(rows, chunk, scheme)?;
    let mut result = Vec::new();
    for (calibration, rows) in calibrations.iter().zip(rows.chunks(chunk)) {
        let quantized: Vec<_> = rows.iter().map(|row| calibration.quantize(row)).collect();
        let products = group_products(&quantized, &weights.values, &calibration.group, calibration.scales.len());
        result.extend(dequantize(&requantized_sum(&products), calibration, weights));
    }
    Ok(result)
}
