//! Rows of fp16 numbers in the turn buffer: the rows are cut into strips, and each of its two pages takes a strip.

use crate::common::bus::Command;

use crate::accelerators::cycles::Times;

/// A page of the turn buffer.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Columns, or groups of them, and beats of rows of all pages up to the end of this one.
    columns: i64,
    beats: i64,
}

/// The pages of an operation.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    /// The command of a DMA for each page.
    pub commands: Vec<Command>,
    per_panel: i64,
    /// Groups of columns of a page, and of a panel.
    strip: i64,
    columns: i64,
    /// When each page was opened; and when it was opened and its command was taken.
    pub opened: Times,
    pub walked: Times,
}

impl Pages {
    /// The rows of `whole`: `panel` rows at a time, `strip` columns at a time, on a bus of so many bytes. `group` columns
    /// move in a cycle, and count as one.
    pub fn new(whole: &Command, panel: u64, (strip, group): (u64, u64), bus_bytes: u64) -> Self {
        let columns = whole.row_bytes / 2;
        let (mut pages, mut commands) = (Vec::new(), Vec::new());
        let mut last = Page { columns: 0, beats: 0 };
        for first in (0..whole.rows).step_by(panel as usize) {
            for left in (0..columns).step_by(strip as usize) {
                let (rows, width) = (panel.min(whole.rows - first), strip.min(columns - left));
                let address = whole.address + first * whole.stride + 2 * left;
                commands.push(Command { address, row_bytes: 2 * width, rows, stride: whole.stride });
                last.columns += width.div_ceil(group) as i64;
                last.beats += (rows * (2 * width).div_ceil(bus_bytes)) as i64;
                pages.push(last);
            }
        }
        let (opened, walked) = Default::default();
        let per_panel = columns.div_ceil(strip) as i64;
        let (strip, columns) = ((strip / group) as i64, columns.div_ceil(group) as i64);
        Self { pages, commands, per_panel, strip, columns, opened, walked }
    }

    /// The page of a column, counted over all panels.
    pub fn of_column(&self, column: i64) -> i64 {
        column / self.columns * self.per_panel + column % self.columns / self.strip
    }

    /// The page of a beat.
    pub fn of_beat(&self, beat: i64) -> i64 {
        self.pages.partition_point(|page| page.beats <= beat) as i64
    }

    fn before(&self, page: i64) -> Page {
        if page <= 0 { Page { columns: 0, beats: 0 } } else { self.pages[page as usize - 1] }
    }

    /// The first column, and the first beat, of a page.
    pub fn first(&self, page: i64) -> (i64, i64) {
        let before = self.before(page);
        (before.columns, before.beats)
    }

    /// The last column and the last beat of a page; -1 for a page before the first.
    pub fn last(&self, page: i64) -> (i64, i64) {
        let (columns, beats) = self.first(page + 1);
        (columns - 1, beats - 1)
    }
}
