//! Place of the lowest one.

/// Place of the lowest one of `bits`.
#[must_use]
pub fn lowest(bits: &[bool]) -> Option<usize> {
    bits.iter().position(|&b| b)
}

#[cfg(test)]
mod tests {
    #[test]
    fn finds() {
        assert_eq!(super::lowest(&[false, true, true]), Some(1));
        assert_eq!(super::lowest(&[false; 3]), None);
    }
}
