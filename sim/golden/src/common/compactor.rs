//! Stable compaction by a mask.

/// The selected elements in order, then zeros up to the same length.
pub fn compact(mask: &[bool], data: &[u64]) -> Vec<u64> {
    let mut kept: Vec<u64> = mask.iter().zip(data).filter(|(m, _)| **m).map(|(_, &d)| d).collect();
    kept.resize(data.len(), 0);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mask = [false, true, true, false, true];
        assert_eq!(compact(&mask, &[9, 1, 2, 9, 3]), [1, 2, 3, 0, 0]);
        assert_eq!(compact(&[], &[]), [0u64; 0]);
    }
}
