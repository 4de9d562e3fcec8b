//! Score register file: small saturating scores with ageing.
//!
//! Rules: a sum below 0 becomes 0. A sum above the top becomes the top, and this is remembered. At the end of a step
//! with such a sum, all scores are halved (rounded down), so that their order stays meaningful. Scores do not age
//! within a step, because the evictor holds copies of them.

use std::ops::Range;

/// The file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreFile {
    top: i64,
    scores: Vec<Option<i64>>,
    /// Rows whose tokens were dropped.
    dropped: Vec<bool>,
    saturated: bool,
}

impl ScoreFile {
    /// `rows` invalid entries of `width` bits.
    ///
    /// # Errors
    /// The width is outside of 1 to 48 bits.
    pub fn new(rows: usize, width: u32) -> Result<Self, String> {
        if !(1..=48).contains(&width) {
            return Err(format!("score width is {width}, allowed: 1 to 48"));
        }
        Ok(Self { top: (1 << width) - 1, scores: vec![None; rows], dropped: vec![false; rows], saturated: false })
    }

    /// The score of a valid row.
    #[must_use]
    pub fn score(&self, row: usize) -> Option<i64> {
        self.scores[row]
    }

    /// Whether a score has gone beyond the top since the last step ended.
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.saturated
    }

    /// Whether a row has to be refreshed: it holds a token that was not dropped.
    #[must_use]
    pub fn is_refreshed(&self, row: usize) -> bool {
        self.scores[row].is_some() && !self.dropped[row]
    }

    /// Whether the score of a row that has to be refreshed is high.
    #[must_use]
    pub fn is_high(&self, row: usize, threshold: i64) -> bool {
        self.is_refreshed(row) && self.scores[row].is_some_and(|s| s >= threshold)
    }

    /// A new token: valid, score 0.
    pub fn set(&mut self, row: usize) {
        self.set_to(row, 0);
    }

    /// A new token that brings its score.
    pub fn set_to(&mut self, row: usize, score: i64) {
        self.scores[row] = Some(score);
        self.dropped[row] = false;
    }

    /// Drops the token of a row: it keeps its score, but the row needs no refresh. A row without a token does not
    /// change.
    pub fn drop(&mut self, row: usize) {
        self.dropped[row] |= self.scores[row].is_some();
    }

    /// Removes the token of a row.
    pub fn clear(&mut self, row: usize) {
        self.scores[row] = None;
        self.dropped[row] = false;
    }

    /// Adds to the score of a row. A row that is not valid does not change.
    pub fn add(&mut self, row: usize, amount: i64) {
        if let Some(score) = &mut self.scores[row] {
            let sum = *score + amount;
            self.saturated |= sum > self.top;
            *score = sum.clamp(0, self.top);
        }
    }

    /// Ends a step.
    pub fn step(&mut self) {
        self.step_of(0..self.scores.len());
    }

    /// Ends a step of the head that has these rows.
    pub fn step_of(&mut self, rows: Range<usize>) {
        if self.saturated {
            self.scores[rows].iter_mut().flatten().for_each(|s| *s /= 2);
            self.saturated = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_when_one_saturates() {
        let mut f = ScoreFile::new(3, 4).unwrap();
        f.set(0);
        f.set(1);
        f.add(0, 12);
        f.add(1, 5);
        f.add(2, 7);
        f.step();
        assert_eq!((f.score(0), f.score(1), f.score(2)), (Some(12), Some(5), None));
        f.add(0, 4);
        assert!(f.saturated());
        f.add(1, -9);
        f.add(1, 3);
        assert_eq!((f.score(0), f.score(1)), (Some(15), Some(3)));
        f.step();
        assert_eq!((f.score(0), f.score(1), f.saturated()), (Some(7), Some(1), false));
        assert!(f.is_high(0, 7) && !f.is_high(0, 8) && !f.is_high(2, 0));
        f.add(1, 20);
        f.step_of(1..3);
        assert_eq!((f.score(0), f.score(1), f.saturated()), (Some(7), Some(7), false));
        f.drop(0);
        f.drop(2);
        assert_eq!((f.score(0), f.is_refreshed(0), f.is_high(0, 0)), (Some(7), false, false));
        f.add(0, 2);
        assert_eq!((f.score(0), f.is_refreshed(1)), (Some(9), true));
        f.set(0);
        assert!(f.is_refreshed(0) && !f.is_refreshed(2));
        f.set_to(1, 13);
        f.add(1, 3);
        f.step();
        assert_eq!((f.score(1), f.is_high(1, 7)), (Some(7), true), "a score that came ages with the others");
        f.clear(0);
        assert_eq!(f.score(0), None);
        assert!(ScoreFile::new(1, 0).is_err());
    }
}
