//! Results that come group by group and leave row by row. They wait in pages, two at once.

use crate::accelerators::cycles::{Times, extend, latest};

/// The pages of a product.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// Beats that come in, and words that go out, up to the end of each page.
    ends: Vec<(i64, i64)>,
    /// When each word was read.
    fetched: Times,
}

impl Pages {
    /// Pages of so many incoming beats and outgoing words each.
    pub fn new(sizes: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut end = (0, 0);
        let next = |(beats, words): (i64, i64)| {
            end = (end.0 + beats, end.1 + words);
            end
        };
        Self { ends: sizes.into_iter().map(next).collect(), fetched: Times::default() }
    }

    /// Words of all pages.
    pub fn words(&self) -> i64 {
        self.ends.last().map_or(0, |end| end.1)
    }

    /// When beat `n` can come: the page two before has left.
    pub fn free(&self, n: i64) -> Option<u64> {
        let page = self.ends.partition_point(|end| end.0 <= n);
        let gone = page.checked_sub(2).map_or(0, |page| self.ends[page].1);
        self.fetched.behind(gone - 1, 1)
    }

    /// When word `n` is there.
    pub fn shown(&self, n: i64) -> Option<u64> {
        self.fetched.behind(n, 1)
    }

    /// A word is read when its page is whole, and in the cycle in which the word before it goes. `came` has the times
    /// of the beats, `gone` the times of the words.
    pub fn advance(&mut self, came: &Times, gone: impl Fn(i64) -> Option<u64>) -> bool {
        let mut moved = false;
        extend!(moved, self.fetched, {
            let n = self.fetched.known();
            let page = self.ends.partition_point(|end| end.1 <= n);
            let whole = self.ends.get(page).and_then(|end| came.behind(end.0 - 1, 1));
            latest([whole, gone(n - 1)])
        });
        moved
    }
}
