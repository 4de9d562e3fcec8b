//! The victim: the token with the smallest score among all tokens that may go. Of equal tokens, the older one.

/// One token, in order of age: the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Importance.
    pub score: i64,
    /// Whether it must stay: a sink, a recent token, or no token at all.
    pub protected: bool,
}

/// Position of the victim; `None` if all tokens are protected.
#[must_use]
pub fn victim(candidates: &[Candidate]) -> Option<usize> {
    let free = candidates.iter().enumerate().filter(|(_, c)| !c.protected);
    // `min_by_key` returns the first of equal tokens.
    free.min_by_key(|(_, c)| c.score).map(|(position, _)| position)
}

/// `score` + `amount`, held within an unsigned score of `width` bits.
#[must_use]
pub fn updated(score: i64, amount: i64, width: u32) -> i64 {
    (score + amount).clamp(0, (1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_free_oldest() {
        let c = |score, protected| Candidate { score, protected };
        assert_eq!(victim(&[c(0, true), c(5, false), c(3, false), c(3, false), c(1, true)]), Some(2));
        assert_eq!(victim(&[c(0, true)]), None);
        assert_eq!(victim(&[]), None);
        assert_eq!((updated(14, 3, 4), updated(2, -3, 4), updated(2, 3, 4)), (15, 0, 5));
    }
}
