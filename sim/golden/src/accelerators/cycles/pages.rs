//! Rows of fp16 numbers in the turn buffer: the rows are cut into strips, and each of its two pages takes a strip.

use super::bus::{Reader, Writer};
use super::times::{Times, extend, latest};
use crate::common::bus::Command;

/// A page of the turn buffer.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Columns, or groups of them, and beats of rows of all pages up to the end of this one.
    columns: i64,
    beats: i64,
}

/// A DMA that takes commands.
pub trait Commands {
    /// Offers a command from this cycle on.
    fn offer(&mut self, command: &Command, time: u64);
    /// How many commands there were.
    fn offered(&self) -> i64;
    /// When a command was taken.
    fn taken(&self, command: i64) -> Option<u64>;
}

macro_rules! commands {
    ($dma:ty) => {
        impl Commands for $dma {
            fn offer(&mut self, command: &Command, time: u64) {
                <$dma>::offer(self, command, time);
            }

            fn offered(&self) -> i64 {
                <$dma>::offered(self)
            }

            fn taken(&self, command: i64) -> Option<u64> {
                <$dma>::taken(self, command)
            }
        }
    };
}
commands!(Reader);
commands!(Writer);

/// The pages of an operation.
#[derive(Clone, Debug)]
pub struct Pages {
    pages: Vec<Page>,
    /// The command of a DMA for each page.
    commands: Vec<Command>,
    per_panel: i64,
    /// Groups of columns of a page, and of a panel.
    strip: i64,
    columns: i64,
    /// When each page was opened; and when it was opened and its command was taken.
    opened: Times,
    walked: Times,
}

impl Pages {
    /// The rows of `whole`: `panel` rows at a time, `strip` columns at a time, on a bus of so many bytes. `group` columns
    /// move in a cycle, and count as one.
    #[must_use]
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
    fn of_column(&self, column: i64) -> i64 {
        column / self.columns * self.per_panel + column % self.columns / self.strip
    }

    /// The page of a beat.
    fn of_beat(&self, beat: i64) -> i64 {
        self.pages.partition_point(|page| page.beats <= beat) as i64
    }

    /// The last column and the last beat of a page; -1 for a page before the first.
    fn last(&self, page: i64) -> (i64, i64) {
        if page < 0 {
            return (-1, -1);
        }
        let Page { columns, beats } = self.pages[page as usize];
        (columns - 1, beats - 1)
    }

    /// The last beat of the page that has column `n`.
    pub fn last_beat(&self, n: i64) -> i64 {
        self.last(self.of_column(n)).1
    }

    /// When the page of column `n` can be filled.
    pub fn free(&self, n: i64) -> Option<u64> {
        self.opened.behind(self.of_column(n), 1)
    }

    /// When the page of beat `n` can be filled.
    pub fn free_for_beat(&self, n: i64) -> Option<u64> {
        self.opened.behind(self.of_beat(n), 1)
    }

    /// Opens pages and asks for them in turn, from the cycle after `begin` on. One page is open at a time, while another
    /// is in use. `free` gets the last column and the last beat of the page before, which must have come, and of the
    /// page before that, which must have gone.
    pub fn walk<D: Commands>(
        &mut self,
        dma: &mut D,
        begin: u64,
        free: impl Fn(&D, [(i64, i64); 2]) -> Option<u64>,
    ) -> bool {
        let (mut moved, count) = (false, self.commands.len() as i64);
        loop {
            let (page, asked) = (self.opened.known(), self.walked.known());
            let offered = if asked == 0 { Some(begin + 1) } else { self.walked.behind(asked - 1, 1) };
            if page == asked && page < count {
                let free = free(dma, [self.last(page - 1), self.last(page - 2)]);
                if let Some(opened) = latest([offered, free]) {
                    self.opened.push(opened);
                    moved = true;
                }
            }
            // The page and its command do not wait for each other.
            if let (Some(offered), true) = (offered, dma.offered() == asked && asked < count) {
                dma.offer(&self.commands[asked as usize], offered);
                moved = true;
            }
            match latest([self.opened.behind(asked, 0), dma.taken(asked)]) {
                Some(walked) => self.walked.push(walked),
                None => return moved,
            }
            moved = true;
        }
    }

    /// All pages have been asked for.
    pub fn all_walked(&self) -> bool {
        self.walked.known() == self.commands.len() as i64
    }

    /// Beats of full pages are read and written. `filled` are the times of columns, `turned` becomes the times of reads.
    pub fn turn(&self, filled: &Times, turned: &mut Times, writer: &mut Writer) -> bool {
        let (mut all, last) = (false, self.last(self.pages.len() as i64 - 1).1);
        loop {
            let mut moved = false;
            extend!(moved, turned, {
                let n = turned.known();
                let full = if n > last { None } else { filled.behind(self.last(self.of_beat(n)).0, 1) };
                latest([full, turned.behind(n - 1, 1), writer.came.behind(n - 1, 0)])
            });
            extend!(moved, writer.came, {
                let n = writer.came.known();
                latest([turned.behind(n, 1), writer.free(n)])
            });
            if !moved {
                return all;
            }
            all = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bus::Dma;
    use super::*;

    /// A DMA that is held takes no command. The page asks once all the same, and the next page waits.
    #[test]
    fn a_held_command_is_offered_once() {
        let mut reader = Reader::new(Dma { burst_beats: 4, outstanding: 2, commands: 2, beats: 8 }, 8);
        reader.hold();
        let rows = Command { address: 0, row_bytes: 64, rows: 2, stride: 64 };
        let mut pages = Pages::new(&rows, 2, (16, 1), 8);
        assert!(pages.walk(&mut reader, 5, |_, _| Some(0)));
        assert!(!pages.walk(&mut reader, 5, |_, _| Some(0)));
        assert_eq!((reader.offered(), pages.all_walked()), (1, false));
    }
}
