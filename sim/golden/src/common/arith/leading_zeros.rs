//! Zeros above the highest 1.

/// Zeros above the highest 1 of `bits`, whose first element is the lowest bit.
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
