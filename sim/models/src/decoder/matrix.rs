//! Matrices in f64, and their product with weights.
//!
//! f64 has two advantages. Integers of a quantized product stay exact up to 2^53, so a product of their matrices equals
//! the contents of an integer accumulator. And the sums of a whole model agree to 13 digits whatever the order of their
//! terms, which depends on the processor.

use std::ops::Range;

use anyhow::{Result, ensure};
use golden::common::parallel::shares;

use super::weight::Weight;

/// Rows of numbers, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Elements of a row.
    pub columns: usize,
    /// All elements, row by row.
    pub values: Vec<f64>,
}

impl Matrix {
    /// Rows of zeros.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    /// Rows of the same length.
    ///
    /// # Errors
    /// Rows of different lengths.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        ensure!(rows.iter().all(|row| row.len() == columns), "rows of a matrix must have the same length");
        Ok(Self { columns, values: rows.concat() })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// A row.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// All rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// All rows, to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [f64]> {
        self.values.chunks_exact_mut(self.columns.max(1))
    }

    /// Some of the rows.
    ///
    /// # Panics
    /// When there are no such rows.
    #[must_use]
    pub fn some_rows(&self, range: Range<usize>) -> Self {
        let values = self.values[range.start * self.columns..range.end * self.columns].to_vec();
        Self { columns: self.columns, values }
    }

    /// Some of the columns.
    ///
    /// # Panics
    /// When there are no such columns.
    #[must_use]
    pub fn some_columns(&self, range: Range<usize>) -> Self {
        let values = self.iter().flat_map(|row| &row[range.clone()]).copied().collect();
        Self { columns: range.len(), values }
    }

    /// Copies a matrix into the columns from `column` on.
    ///
    /// # Panics
    /// When it has another number of rows or does not fit.
    pub fn put_columns(&mut self, column: usize, from: &Self) {
        assert_eq!(self.rows(), from.rows(), "rows of the parts of a matrix");
        self.iter_mut().zip(from.iter()).for_each(|(to, from)| to[column..][..from.len()].copy_from_slice(from));
    }

    /// The product with another matrix.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn times(&self, right: &Self) -> Self {
        assert_eq!(self.columns, right.rows(), "the inner size of a product");
        let mut result = Self::zeros(self.rows(), right.columns);
        let place = Place { column: 0, columns: right.columns };
        dgemm(self, &right.values, (right.columns, 1), &mut result, place);
        result
    }

    /// Columns as rows.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let values = (0..self.columns).flat_map(|c| self.iter().map(move |row| row[c])).collect();
        Self { columns: self.rows(), values }
    }

    /// The product with another matrix, transposed: each row with each row.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn times_transposed(&self, right: &Self) -> Self {
        assert_eq!(self.columns, right.columns, "the inner size of a product");
        let mut result = Self::zeros(self.rows(), right.rows());
        let place = Place { column: 0, columns: right.rows() };
        dgemm(self, &right.values, (1, right.columns), &mut result, place);
        result
    }

    /// The product of its transpose with another matrix: each column with each column.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn transposed_times(&self, right: &Self) -> Self {
        assert_eq!(self.rows(), right.rows(), "the inner size of a product");
        let mut turned = Self::zeros(self.columns, self.rows());
        for (r, row) in self.iter().enumerate() {
            row.iter().enumerate().for_each(|(c, &x)| turned.values[c * self.rows() + r] = x);
        }
        turned.times(right)
    }

    /// The product with a weight, transposed: from numbers of its outputs to numbers of its inputs.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn back_through(&self, weight: &Weight) -> Self {
        /// Outputs at a time: weights in f64 take twice their room.
        const AT_A_TIME: usize = 2048;
        assert_eq!(self.columns, weight.outputs, "outputs of a weight");
        let (mut result, mut floats) = (Self::zeros(self.rows(), weight.inputs), Vec::new());
        for from in (0..weight.outputs).step_by(AT_A_TIME) {
            let to = (from + AT_A_TIME).min(weight.outputs);
            weight.read(from..to, &mut floats);
            let values = floats.iter().map(|&w| w.into()).collect();
            let part = self.some_columns(from..to).times(&Self { columns: weight.inputs, values });
            result.values.iter_mut().zip(&part.values).for_each(|(sum, x)| *sum += x);
        }
        result
    }

    /// The product with some outputs of a weight.
    fn through_some(&self, weight: &Weight, outputs: Range<usize>) -> Self {
        let (mut result, mut floats) = (Self::zeros(self.rows(), outputs.len()), Vec::new());
        if self.rows() < SINGLE_ROWS {
            for (place, output) in outputs.enumerate() {
                weight.read(output..output + 1, &mut floats);
                self.iter().zip(result.iter_mut()).for_each(|(x, y)| y[place] = dot(x, &floats));
            }
            return result;
        }
        let mut block = Vec::new();
        for from in outputs.clone().step_by(OUTPUTS) {
            let to = (from + OUTPUTS).min(outputs.end);
            weight.read(from..to, &mut floats);
            block.clear();
            block.extend(floats.iter().map(|&w| f64::from(w)));
            let place = Place { column: from - outputs.start, columns: to - from };
            dgemm(self, &block, (1, weight.inputs), &mut result, place);
        }
        result
    }

    /// The product with a weight, on all cores. Each element is the same sum in the same order for any number of cores.
    ///
    /// # Panics
    /// When the sizes do not fit.
    #[must_use]
    pub fn through(&self, weight: &Weight) -> Self {
        assert_eq!(self.columns, weight.inputs, "inputs of a weight");
        let steps = self.rows() * weight.outputs * weight.inputs;
        let mut parts = shares(weight.outputs, steps, |outputs| self.through_some(weight, outputs));
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let (mut result, mut from) = (Self::zeros(self.rows(), weight.outputs), 0);
        for part in parts {
            result.put_columns(from, &part);
            from += part.columns;
        }
        result
    }
}

/// Rows that are multiplied one by one. A matrix product makes up more rows than these, and so it would take longer.
const SINGLE_ROWS: usize = 4;

/// Outputs of a weight whose elements are f64 at a time: they stay in the processor's cache.
const OUTPUTS: usize = 64;

/// The sum of products, in eight parts that the processor adds side by side.
fn dot(x: &[f64], weights: &[f32]) -> f64 {
    const PARTS: usize = 8;
    let (x, x_rest) = x.as_chunks::<PARTS>();
    let (weights, rest) = weights.as_chunks::<PARTS>();
    let mut parts = [0.0; PARTS];
    for (x, weights) in x.iter().zip(weights) {
        for ((part, x), &weight) in parts.iter_mut().zip(x).zip(weights) {
            *part += x * f64::from(weight);
        }
    }
    let rest: f64 = x_rest.iter().zip(rest).map(|(x, &weight)| x * f64::from(weight)).sum();
    parts.iter().sum::<f64>() + rest
}

/// Columns of a matrix.
#[derive(Clone, Copy)]
struct Place {
    column: usize,
    columns: usize,
}

/// Sets some columns of `result` to `left * right`, where `right` has these distances between its rows and its columns.
fn dgemm(left: &Matrix, right: &[f64], strides: (usize, usize), result: &mut Matrix, place: Place) {
    let (m, k, n) = (left.rows(), left.columns, place.columns);
    if m == 0 || n == 0 {
        return;
    }
    // The last elements that are read and written. The last element of `left` follows from its type.
    assert!(k == 0 || (k - 1) * strides.0 + (n - 1) * strides.1 < right.len(), "elements of the right matrix");
    assert!(result.rows() == m && place.column + n <= result.columns, "columns of the result");
    let distance = |size: usize| size as isize;
    let (row, column, columns) = (distance(strides.0), distance(strides.1), distance(result.columns));
    let to = &mut result.values[place.column..];
    // SAFETY: m x k elements from `left`, k x n from `right` by its strides, and m x n in `result` from a column on,
    // both checked above; the last is borrowed mutably and therefore none of the others.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            1.0,
            left.values.as_ptr(),
            distance(left.columns),
            1,
            right.as_ptr(),
            row,
            column,
            0.0,
            to.as_mut_ptr(),
            columns,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Matrix {
        Matrix::from_rows(&rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn products_by_hand() {
        let x = matrix(&[&[1.0, 2.0, 3.0], &[0.0, -1.0, 0.5]]);
        let w = matrix(&[&[1.0, 0.0, 2.0], &[4.0, 1.0, 0.0], &[0.0, 0.0, 1.0], &[1.0, 1.0, 1.0]]);
        let expected = matrix(&[&[7.0, 6.0, 3.0, 6.0], &[1.0, -1.0, 0.5, -0.5]]);
        assert_eq!(x.times_transposed(&w), expected);
        assert_eq!(x.times(&w.transposed()), expected);
        let weight = Weight::new([4, 3], &w.values.iter().map(|&w| w as f32).collect::<Vec<_>>());
        assert_eq!(x.through(&weight), expected);
        assert_eq!(weight.iter().nth(3), Some(vec![1.0; 3]));
        assert_eq!(x.some_columns(1..3).times(&matrix(&[&[2.0], &[10.0]])), matrix(&[&[34.0], &[3.0]]));
        assert_eq!(x.some_rows(1..2).rows(), 1);
        assert_eq!(Matrix::zeros(0, 3).times_transposed(&w).rows(), 0);
        assert!(Matrix::from_rows(&[vec![1.0], vec![]]).is_err());
    }

    #[test]
    fn products_of_transposes_by_hand() {
        let x = matrix(&[&[1.0, 2.0], &[0.0, -1.0], &[3.0, 0.5]]);
        let y = matrix(&[&[1.0], &[2.0], &[-2.0]]);
        assert_eq!(x.transposed_times(&y), matrix(&[&[-5.0], &[-1.0]]));
        // More outputs than are taken at a time.
        let weight = Weight::new([5000, 2], &(0..10_000).map(|i| (i % 7) as f32).collect::<Vec<_>>());
        let dy = Matrix { columns: 5000, values: (0..5000).map(|i| f64::from(i % 3)).collect() };
        let sum = |c: usize| (0..5000).map(|o| f64::from(o as u32 % 3) * f64::from(weight.output(o)[c])).sum::<f64>();
        assert_eq!(dy.back_through(&weight), matrix(&[&[sum(0), sum(1)]]));
    }

    /// Sums of integers are exact, whatever their order: the largest product of a quantized layer.
    #[test]
    fn integers_are_exact() {
        let x = Matrix {
            columns: 1536,
            values: (0..3 * 1536).map(|i| f64::from((i * 37) % 255 - 127) * 16384.0).collect(),
        };
        let w: Vec<f32> = (0..5 * 1536).map(|i| ((i * 91) % 255 - 127) as f32).collect();
        let w = Weight::new([5, 1536], &w);
        let sum =
            |r: usize, c: usize| -> i64 { x.row(r).iter().zip(w.output(c)).map(|(&x, w)| x as i64 * w as i64).sum() };
        let y = x.through(&w);
        for (at, &y) in y.values.iter().enumerate() {
            assert_eq!(y, sum(at / 5, at % 5) as f64);
        }
    }
}
