//! Results in the turn buffer: columns of results are cut into strips, each of which fills one of two pages.

use senbazuru::accelerator::golden::accelerators::cycles::{Dmas, Times, latest};
use senbazuru::accelerator::golden::common::bus::Command;

/// The pages of a product, and when they are opened, filled and used.
pub(super) struct Pages {
    begin: u64,
    strip: i64,
    columns: i64,
    /// The command of each page, and the beats up to its end.
    pages: Vec<(Command, i64)>,
    /// When each page was opened; and when it was opened and its command was taken.
    opened: Times,
    walked: Times,
    /// When each column came, and when each beat was read.
    pub(super) filled: Times,
    turned: Times,
}

impl Pages {
    /// Pages of the rows `out`, from the cycle after `begin` on.
    pub(super) fn new(out: &Command, strip: u64, bus_bytes: u64, begin: u64) -> Self {
        let (columns, mut beats) = (out.row_bytes / 2, 0);
        let pages = (0..columns).step_by(strip as usize).map(|first| {
            let row_bytes = 2 * strip.min(columns - first);
            beats += (out.rows * row_bytes.div_ceil(bus_bytes)) as i64;
            (Command { address: out.address + 2 * first, row_bytes, ..*out }, beats)
        });
        let pages = pages.collect();
        let (opened, walked, filled, turned) = Default::default();
        Self { begin, strip: strip as i64, columns: columns as i64, pages, opened, walked, filled, turned }
    }

    /// The last column and the last beat of a page; -1 for a page before the first.
    fn last(&self, page: i64) -> (i64, i64) {
        if page < 0 {
            return (-1, -1);
        }
        (((page + 1) * self.strip).min(self.columns) - 1, self.pages[page as usize].1 - 1)
    }

    /// Opens pages and asks for them in turn. One page is open at a time, while another is in use.
    pub(super) fn walk(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let count = self.pages.len() as i64;
        loop {
            let (page, asked) = (self.opened.known(), self.walked.known());
            let offered = if asked == 0 { Some(self.begin + 1) } else { self.walked.behind(asked - 1, 1) };
            if page == asked && page < count {
                let filled = self.filled.behind(self.last(page - 1).0, 1);
                let used = self.turned.behind(self.last(page - 2).1, 1);
                if let Some(opened) = latest([offered, filled, used]) {
                    self.opened.push(opened);
                    moved = true;
                }
            }
            // The page and its command do not wait for each other.
            if let (Some(offered), true) = (offered, dmas.writer.offered() == asked && asked < count) {
                dmas.writer.offer(&self.pages[asked as usize].0, offered);
                moved = true;
            }
            match latest([self.opened.behind(asked, 0), dmas.writer.taken(asked)]) {
                Some(walked) => self.walked.push(walked),
                None => return moved,
            }
            moved = true;
        }
    }

    /// All pages have been asked for.
    pub(super) fn all_walked(&self) -> bool {
        self.walked.known() == self.pages.len() as i64
    }

    /// When column `n` can come, besides others.
    pub(super) fn free(&self, n: i64) -> Option<u64> {
        self.opened.behind(n / self.strip, 1)
    }

    /// Reads beats, and writes them.
    pub(super) fn turn(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        loop {
            let n = self.turned.known();
            let page = self.pages.partition_point(|page| page.1 <= n) as i64;
            let more = (page as usize) < self.pages.len();
            let there = if more { self.filled.behind(self.last(page).0, 1) } else { None };
            let read = latest([there, self.turned.behind(n - 1, 1), dmas.writer.came.behind(n - 1, 0)]);
            read.into_iter().for_each(|time| self.turned.push(time));
            let n = dmas.writer.came.known();
            let written = latest([self.turned.behind(n, 1), dmas.writer.free(n)]);
            written.into_iter().for_each(|time| dmas.writer.came.push(time));
            if read.is_none() && written.is_none() {
                return moved;
            }
            moved = true;
        }
    }
}
