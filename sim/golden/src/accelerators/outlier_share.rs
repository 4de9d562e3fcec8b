//! How the outliers of a row are shared among the segments that search for them.

/// How many of `k` outliers segment `segment` of `segments` looks for.
#[must_use]
pub fn share(k: u64, segment: u64, segments: u64) -> u64 {
    k * (segment + 1) / segments - k * segment / segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for k in 0..20 {
            for segments in 1..7 {
                let shares: Vec<u64> = (0..segments).map(|s| share(k, s, segments)).collect();
                assert_eq!(shares.iter().sum::<u64>(), k);
                assert!(shares.iter().all(|share| share.abs_diff(k / segments) <= 1), "{shares:?}");
            }
        }
    }
}
