//! Inner products of narrow integers. The processor multiplies several of them at once, and adds pairs of products.

/// How many products of integers up to these magnitudes have a sum of 32 bits, whatever their signs.
#[must_use]
pub fn terms(a: u32, b: u32) -> usize {
    let most = i64::from(a) * i64::from(b);
    // Whole vectors, if there are as many.
    match (i64::from(i32::MAX) / most.max(1)) as usize {
        few @ ..64 => few,
        many => many & !63,
    }
}

/// The inner product. So many `terms` have a sum of 32 bits.
///
/// # Panics
/// There is not even a term, or `b` is shorter than `a`.
#[must_use]
pub fn inner_product<B: Copy + Into<i16>>(a: &[i16], b: &[B], terms: usize) -> i64 {
    let part =
        |(a, b): (&[i16], &[B])| -> i32 { a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b.into())).sum() };
    a.chunks(terms).zip(b[..a.len()].chunks(terms)).map(|both| i64::from(part(both))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(inner_product(&[3, -5, 7], &[2i8, 4, -1], 3), 6 - 20 - 7);
        assert_eq!(inner_product::<i16>(&[], &[], 1), 0);
        // A longer right side counts as far as the left one.
        assert_eq!(inner_product(&[3], &[2i16, 4], 1), 6);
    }

    /// The largest sums, whose parts just fit.
    #[test]
    fn largest_sums() {
        for (a, b, count) in [(-128, -128, 70_000), (i16::MIN, -128, 3000), (i16::MIN, i16::MIN, 5)] {
            let terms = terms(u32::from(a.unsigned_abs()), u32::from(b.unsigned_abs()));
            let product = i64::from(a) * i64::from(b);
            assert!(terms as i64 * product <= i64::from(i32::MAX), "{a} {b}");
            assert_eq!(inner_product(&vec![a; count], &vec![b; count], terms), product * count as i64);
        }
        assert_eq!((terms(1 << 15, 1 << 15), terms(1 << 15, 1 << 7), terms(0, 0)), (1, 448, i32::MAX as usize & !63));
    }
}
