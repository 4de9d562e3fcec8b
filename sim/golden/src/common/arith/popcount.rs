//! Number of ones.

/// Number of ones among `bits`.
#[must_use]
pub fn popcount(bits: &[bool]) -> usize {
    bits.iter().filter(|&&b| b).count()
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts() {
        assert_eq!(super::popcount(&[true, false, true]), 2);
        assert_eq!(super::popcount(&[]), 0);
    }
}
