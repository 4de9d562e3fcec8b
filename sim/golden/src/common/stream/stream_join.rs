//! Join: all streams or none.

/// Whether the joined beat is offered, and whether it is taken.
#[must_use]
pub fn cycle(valid: &[bool], ready: bool) -> (bool, bool) {
    let all = valid.iter().all(|&v| v);
    (all, all && ready)
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_or_none() {
        assert_eq!(super::cycle(&[true, false], true), (false, false));
        assert_eq!(super::cycle(&[true, true], false), (true, false));
        assert_eq!(super::cycle(&[true, true], true), (true, true));
    }
}
