//! Marks of the outliers of a row, for two rows: one is filled while the row before is used.

use std::collections::VecDeque;

/// A row: for each word its bits, if the word was made blank.
type Row = Vec<Option<u64>>;

/// The rows, word by word. A word is unknown until it was made blank for its row.
#[derive(Clone, Debug)]
pub struct OutlierMask {
    filled: Row,
    full: VecDeque<Row>,
}

impl OutlierMask {
    /// Rows of `depth` words.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        Self { filled: vec![None; depth], full: VecDeque::new() }
    }

    /// Whether a row may be filled: fewer than two rows wait.
    #[must_use]
    pub fn fills(&self) -> bool {
        self.full.len() < 2
    }

    /// Whether there is a row to use.
    #[must_use]
    pub fn uses(&self) -> bool {
        !self.full.is_empty()
    }

    /// Marks no element of a word.
    pub fn blank(&mut self, word: usize) {
        self.filled[word] = Some(0);
    }

    /// Marks an element as an outlier. Returns whether it had no mark before, if that is known.
    pub fn mark(&mut self, word: usize, lane: u32) -> Option<bool> {
        let bits = self.filled[word]?;
        self.filled[word] = Some(bits | 1 << lane);
        Some(bits >> lane & 1 == 0)
    }

    /// Hands over the row that was filled. The next row begins with unknown words.
    pub fn fill_last(&mut self) {
        let blank = vec![None; self.filled.len()];
        self.full.push_back(std::mem::replace(&mut self.filled, blank));
    }

    /// A word of the row in use, if the word is known.
    ///
    /// # Panics
    /// There is no row in use.
    #[must_use]
    pub fn read(&self, word: usize) -> Option<u64> {
        self.full[0][word]
    }

    /// Ends the row in use.
    pub fn use_last(&mut self) {
        self.full.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_counts_once() {
        let mut mask = OutlierMask::new(2);
        assert_eq!(mask.mark(1, 3), None);
        mask.blank(1);
        assert_eq!([mask.mark(1, 3), mask.mark(1, 3), mask.mark(1, 0)], [Some(true), Some(false), Some(true)]);
        mask.fill_last();
        mask.blank(1);
        assert_eq!((mask.read(0), mask.read(1)), (None, Some(0b1001)));
        mask.use_last();
        assert!(mask.fills() && !mask.uses());
    }
}
