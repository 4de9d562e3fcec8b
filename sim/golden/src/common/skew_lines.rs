//! Lanes delayed by 0, 1, 2, ... cycles.

/// Which lane has the longest delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The last one.
    Skew,
    /// The first one: skewed lanes are in line again.
    Deskew,
}

/// The lanes in a cycle. `history` has the inputs: a list of lanes for each cycle, the current cycle last. A lane is
/// unknown until its delay has passed.
#[must_use]
pub fn lanes<T: Clone>(direction: Direction, history: &[Vec<T>]) -> Vec<Option<T>> {
    let Some(now) = history.last() else { return vec![] };
    let delay = |lane: usize| match direction {
        Direction::Skew => lane,
        Direction::Deskew => now.len() - 1 - lane,
    };
    let then = |lane| history.len().checked_sub(1 + delay(lane));
    (0..now.len()).map(|lane| Some(history[then(lane)?][lane].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let entered: Vec<Vec<u8>> = (0..4).map(|t| vec![t, 10 + t, 20 + t]).collect();
        assert_eq!(lanes(Direction::Skew, &entered[..2]), [Some(1), Some(10), None]);
        assert_eq!(lanes(Direction::Deskew, &entered), [Some(1), Some(12), Some(23)]);
        assert_eq!(lanes::<u8>(Direction::Skew, &[]), []);
    }
}
