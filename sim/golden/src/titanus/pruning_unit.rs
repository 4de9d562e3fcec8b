//! Pruning by magnitude.

/// Values below the threshold become 0. The magnitude of -128 is 128.
pub fn prune(x: i8, threshold: u32) -> i8 {
    if u32::from(x.unsigned_abs()) < threshold { 0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::prune;

    #[test]
    fn pruning_by_hand() {
        let values = [-128i8, -5, -4, 0, 4, 5, 127];
        assert_eq!(values.map(|x| prune(x, 5)), [-128, -5, 0, 0, 0, 5, 127]);
        assert_eq!(values.map(|x| prune(x, 0)), values);
        assert_eq!(prune(-128, 128), -128);
        assert_eq!(prune(127, 128), 0);
        assert_eq!(prune(-128, 129), 0);
    }
}
