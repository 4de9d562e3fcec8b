//! Arbiter of several managers: the rule of turns.

/// The first place where `turns` break the rule, if all of `managers` managers want a turn. The rule: each manager has
/// a turn among any `managers` consecutive turns.
#[must_use]
pub fn out_of_turn(turns: &[usize], managers: usize) -> Option<usize> {
    turns.windows(managers).position(|window| (0..managers).any(|k| !window.contains(&k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns() {
        assert_eq!(out_of_turn(&[2, 0, 1, 2, 0], 3), None);
        assert_eq!(out_of_turn(&[2, 0, 1, 0, 2], 3), Some(1));
    }
}
