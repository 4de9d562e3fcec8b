//! Output-stationary MAC mesh: a matrix product with wrapping accumulators.

use std::error::Error;
use std::fmt;

/// The reason to refuse a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProductError {
    /// The accumulator is not 1 to 128 bits wide.
    Width(u32),
    /// The rows of a matrix differ in length, or the inner dimensions differ.
    Shape {
        /// The length that differs.
        what: &'static str,
        /// The length that was expected.
        expected: usize,
        /// The length that was found.
        found: usize,
    },
}

impl fmt::Display for ProductError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(width) => write!(f, "accumulator width is {width}, allowed: 1 to 128"),
            Self::Shape { what, expected, found } => write!(f, "{what}: expected {expected}, found {found}"),
        }
    }
}

impl Error for ProductError {}

/// `left` (R x K) times `right` (K x C): the R x C sums modulo 2^`width`, read as two's complement.
///
/// # Errors
/// Shapes that do not fit each other, or a width outside of 1 to 128 bits.
pub fn product(left: &[Vec<i64>], right: &[Vec<i64>], width: u32) -> Result<Vec<Vec<i128>>, ProductError> {
    if !(1..=128).contains(&width) {
        return Err(ProductError::Width(width));
    }
    let columns = right.first().map_or(0, Vec::len);
    same("columns of the right matrix", columns, right)?;
    same("columns of the left matrix (rows of the right one)", right.len(), left)?;
    let sum = |row: &[i64], column: usize| {
        // Modulo 2^128 first, then modulo 2^width. The result is the same, because 2^width divides 2^128.
        let sum = row.iter().zip(right).fold(0i128, |sum, (a, b)| {
            let b = b[column];
            sum.wrapping_add(i128::from(*a) * i128::from(b))
        });
        wrap(sum, width)
    };
    Ok(left.iter().map(|row| (0..columns).map(|column| sum(row, column)).collect()).collect())
}

/// The low `width` bits as two's complement.
fn wrap(value: i128, width: u32) -> i128 {
    let unused = 128 - width;
    value << unused >> unused
}

fn same(what: &'static str, expected: usize, rows: &[Vec<i64>]) -> Result<(), ProductError> {
    match rows.iter().map(Vec::len).find(|&found| found != expected) {
        None => Ok(()),
        Some(found) => Err(ProductError::Shape { what, expected, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_by_hand() {
        let left = [vec![1, -2, 3], vec![0, 5, -6]];
        let right = [vec![7, -1], vec![2, 0], vec![-3, 4]];
        assert_eq!(product(&left, &right, 32).unwrap(), [[-6, 11], [28, -24]]);
    }

    #[test]
    fn sums_wrap_like_a_register() {
        // Two products of -8 x -8 in 7 bits: 64 is the first value that does not fit.
        let sums = |terms, width| product(&[vec![-8; terms]], &vec![vec![-8]; terms], width).unwrap()[0][0];
        assert_eq!([sums(1, 7), sums(2, 7), sums(1, 8), sums(2, 8)], [-64, 0, 64, -128]);
        assert_eq!(product(&[vec![i64::MIN; 2]], &[vec![i64::MIN], vec![i64::MIN]], 128).unwrap()[0][0], i128::MIN);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let error = |left: &[Vec<i64>], right: &[Vec<i64>], width| product(left, right, width).unwrap_err().to_string();
        assert_eq!(error(&[vec![1]], &[vec![1]], 0), "accumulator width is 0, allowed: 1 to 128");
        assert_eq!(
            error(&[vec![1, 2]], &[vec![1]], 8),
            "columns of the left matrix (rows of the right one): expected 1, found 2"
        );
        assert_eq!(error(&[vec![1, 2]], &[vec![1, 2], vec![1]], 8), "columns of the right matrix: expected 2, found 1");
    }
}
