//! Zeros above the highest one.

/// Zeros above the highest one of `bits`, which begin with the lowest.
#[must_use]
pub fn leading_zeros(bits: &[bool]) -> usize {
    bits.iter().rev().take_while(|&&b| !b).count()
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts() {
        assert_eq!(super::leading_zeros(&[true, false, false]), 2);
        assert_eq!(super::leading_zeros(&[false, true]), 0);
        assert_eq!(super::leading_zeros(&[false; 4]), 4);
    }
}
