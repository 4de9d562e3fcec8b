//! Dot products, and the number of their multiplications by zero.

/// The dot product of two vectors, and the number of places with a zero on either side.
///
/// # Panics
/// The vectors have different lengths.
#[must_use]
pub fn dot(a: &[i64], b: &[i64]) -> (i64, u64) {
    let skipped = skipped(a, b);
    (a.iter().zip(b).map(|(a, b)| a * b).sum(), skipped)
}

/// The number of places with a zero on either side.
///
/// # Panics
/// The vectors have different lengths.
#[must_use]
pub fn skipped<A: Copy + Into<i64>, B: Copy + Into<i64>>(a: &[A], b: &[B]) -> u64 {
    assert_eq!(a.len(), b.len(), "elements of both sides");
    a.iter().zip(b).filter(|&(&a, &b)| a.into() == 0 || b.into() == 0).count() as u64
}

/// Beats of a vector on an engine for so many elements at once; an empty vector takes one.
#[must_use]
pub fn beats(elements: usize, capability: usize) -> usize {
    elements.div_ceil(capability).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(dot(&[], &[]), (0, 0));
        assert_eq!(dot(&[1, 0, -3, 0], &[5, 6, 0, 0]), (5, 3));
        assert_eq!(skipped(&[1i16, 0, -3, 0], &[5i8, 6, 0, 0]), 3);
        assert_eq!(dot(&[255, -128], &[-128, -128]), (-128 * 127, 0));
        // The paper's three cases: shorter than the engine, a multiple of it, and something between.
        assert_eq!([0, 1, 255, 256, 512, 600].map(|n| beats(n, 256)), [1, 1, 1, 1, 2, 3]);
    }
}
