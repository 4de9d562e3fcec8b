//! Which elements of a row are outliers, in two rows: one is filled while the one before is used.

use std::collections::VecDeque;

/// A row: of each word the bits, if it was made blank.
type Row = Vec<Option<u64>>;

/// The rows, word by word; what was not made blank since its row began is not known.
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

    /// A row may be filled: no two of them wait.
    #[must_use]
    pub fn fills(&self) -> bool {
        self.full.len() < 2
    }

    /// There is a row to be used.
    #[must_use]
    pub fn uses(&self) -> bool {
        !self.full.is_empty()
    }

    /// No element of a word is an outlier.
    pub fn blank(&mut self, word: usize) {
        self.filled[word] = Some(0);
    }

    /// An element is an outlier; returns whether it was none before, if that is known.
    pub fn mark(&mut self, word: usize, lane: u32) -> Option<bool> {
        let bits = self.filled[word]?;
        self.filled[word] = Some(bits | 1 << lane);
        Some(bits >> lane & 1 == 0)
    }

    /// The row that was filled is to be used. The next one begins where nothing is known.
    pub fn fill_last(&mut self) {
        let blank = vec![None; self.filled.len()];
        self.full.push_back(std::mem::replace(&mut self.filled, blank));
    }

    /// A word of the row in use, if it is known.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn read(&self, word: usize) -> Option<u64> {
        self.full[0][word]
    }

    /// The row in use is over.
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
