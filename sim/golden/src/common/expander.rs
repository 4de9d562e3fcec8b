//! The inverse of compaction: elements back to the lanes of a mask.

/// The elements of `data` in the places of the mask, in order; zeros elsewhere.
pub fn expand(mask: &[bool], data: &[u64]) -> Vec<u64> {
    let mut next = data.iter().copied();
    mask.iter().map(|&m| if m { next.next().unwrap_or(0) } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::compactor::compact;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let mask = [false, true, true, false, true];
        assert_eq!(expand(&mask, &[1, 2, 3, 7, 7]), [0, 1, 2, 0, 3]);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn the_way_back(lanes in prop::collection::vec((any::<bool>(), any::<u64>()), 0..40)) {
            let (mask, data): (Vec<bool>, Vec<u64>) = lanes.iter().copied().unzip();
            let masked: Vec<u64> = lanes.iter().map(|&(m, d)| if m { d } else { 0 }).collect();
            prop_assert_eq!(expand(&mask, &compact(&mask, &data)), masked);
        }
    }
}
