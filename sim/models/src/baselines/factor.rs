//! Second moments of inputs, and the factor of their inverse that GPTQ works with.

use anyhow::{Result, ensure};

use crate::decoder::Matrix;

/// Sums of products of each two channels of some rows: the Hessian of the squared error of a product, without a factor.
#[derive(Clone, Debug)]
pub(super) struct Moments(Matrix);

impl Moments {
    pub(super) fn new(width: usize) -> Self {
        Self(Matrix::zeros(width, width))
    }

    pub(super) fn add(&mut self, rows: &Matrix) {
        let more = rows.transposed_times(rows);
        self.0.values.iter_mut().zip(more.values).for_each(|(sum, x)| *sum += x);
    }

    /// The sum of squares of each channel.
    pub(super) fn squares(&self) -> Vec<f64> {
        (0..self.0.columns).map(|i| self.0.row(i)[i]).collect()
    }

    /// The upper triangular U with U^T U = (H + d I)^-1, channels in this order. d is `damping` of the mean square. A
    /// channel that is always 0 counts as if it had that mean.
    ///
    /// # Errors
    /// The matrix has no such factor: there are fewer rows than channels, and no damping.
    pub(super) fn factor(&self, order: &[usize], damping: f64) -> Result<Matrix> {
        let width = order.len();
        let squares = self.squares();
        let mean = squares.iter().sum::<f64>() / width as f64;
        let mean = if mean > 0.0 { mean } else { 1.0 };
        let at = |i: usize, j: usize| {
            let (a, b) = (order[i], order[j]);
            let diagonal = if squares[a] == 0.0 { mean } else { squares[a] + damping * mean };
            if i == j { diagonal } else { self.0.row(a)[b] }
        };
        // In reverse order the Cholesky factor L is, reversed again, an upper R with H = R R^T. Then U = R^-1.
        let back = |i: usize| width - 1 - i;
        let mut lower = Matrix::zeros(width, width);
        for i in 0..width {
            for j in 0..=i {
                let (a, b) = (lower.row(i), lower.row(j));
                let sum = at(back(i), back(j)) - dot(&a[..j], &b[..j]);
                let pivot = b[j];
                lower.values[i * width + j] = if i > j {
                    sum / pivot
                } else {
                    let told =
                        "the inputs of a product depend on each other: learn from more tokens, or with more `damping`";
                    ensure!(sum > 0.0, "{told}");
                    sum.sqrt()
                };
            }
        }
        // The inverse of L, by rows.
        let mut inverse = Matrix::zeros(width, width);
        for i in 0..width {
            let mut row = vec![0.0; width];
            for k in 0..i {
                let factor = lower.row(i)[k];
                row[..=k].iter_mut().zip(&inverse.row(k)[..=k]).for_each(|(x, y)| *x -= factor * y);
            }
            let pivot = lower.row(i)[i];
            row[..i].iter_mut().for_each(|x| *x /= pivot);
            row[i] = 1.0 / pivot;
            inverse.values[i * width..(i + 1) * width].copy_from_slice(&row);
        }
        inverse.values.reverse();
        Ok(inverse)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    const PARTS: usize = 8;
    let (left, left_rest) = a.as_chunks::<PARTS>();
    let (right, right_rest) = b.as_chunks::<PARTS>();
    let mut parts = [0.0; PARTS];
    for (a, b) in left.iter().zip(right) {
        parts.iter_mut().zip(a.iter().zip(b)).for_each(|(part, (a, b))| *part += a * b);
    }
    parts.iter().sum::<f64>() + left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H = [[5, 2], [2, 1]] has the inverse [[1, -2], [-2, 5]] = U^T U with U = [[1, -2], [0, 1]].
    #[test]
    fn a_factor_by_hand() {
        let mut moments = Moments::new(2);
        moments.add(&Matrix::from_rows(&[vec![2.0, 1.0], vec![1.0, 0.0]]).unwrap());
        assert_eq!(moments.squares(), [5.0, 1.0]);
        let found = moments.factor(&[0, 1], 0.0).unwrap();
        let wanted = [1.0, -2.0, 0.0, 1.0];
        assert!(found.values.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn factors_of_larger_matrices() {
        let row = |r: usize| (0..20).map(|c| ((r * 31 + c * 17 + r * c) % 23) as f64 - 11.0).collect::<Vec<_>>();
        let rows = Matrix::from_rows(&(0..40).map(row).collect::<Vec<_>>()).unwrap();
        let mut moments = Moments::new(20);
        moments.add(&rows);
        let order: Vec<usize> = (0..20).rev().collect();
        let u = moments.factor(&order, 0.01).unwrap();
        // U^T U (H + d I) = I.
        let mean = moments.squares().iter().sum::<f64>() / 20.0;
        let mut h = rows.transposed_times(&rows);
        (0..20).for_each(|i| h.values[i * 21] += 0.01 * mean);
        h.values.reverse();
        let one = u.transposed_times(&u).times(&h);
        for i in 0..20 {
            for j in 0..20 {
                assert!((one.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-9, "{i} {j}");
                assert!(j >= i || u.row(i)[j] == 0.0);
            }
        }
        // As many rows as needed, or damping.
        let mut few = Moments::new(20);
        few.add(&rows.some_rows(0..3));
        assert!(few.factor(&order, 0.0).unwrap_err().to_string().contains("damping"));
        assert!(few.factor(&order, 0.01).is_ok());
        assert!(Moments::new(3).factor(&[0, 1, 2], 0.0).is_ok());
    }
}
