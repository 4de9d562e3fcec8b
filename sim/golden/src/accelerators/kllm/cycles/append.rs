//! A token that is appended to panels: from the first command to the last answer.

use super::super::append::LINE;
use super::super::{Append, Shape};
use super::timing::Timing;
use crate::accelerators::cycles::{Converter, Dmas, Flow, Packets, Times, Words, latest};

/// Cycles from a head to the constants of its channel.
const CONSTANTS: u64 = 6;
const LINE_BITS: u64 = 8 * LINE;

/// An append in flight.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    /// Head and indices, a line at a time.
    token: Words,
    /// Lines of the token with its head; lines of panels that share a line of indices; lines of all panels.
    words: i64,
    groups: i64,
    panels: i64,
    old: Words,
    new: Converter,
    beats: i64,
}

impl Appended {
    /// An append whose commands are offered in the cycle after `begin`.
    pub fn new((timing, shape): (&Timing, &Shape), operation: &Append, (begin, dmas): (u64, &mut Dmas)) -> Self {
        let bus_bytes = timing.shell.bus_bytes;
        dmas.readers[0].offer(&operation.token, begin + 1);
        for lines in [operation.lines, operation.scales] {
            dmas.readers[1].offer(&lines, begin + 1);
            dmas.writer.offer(&lines, begin + 1);
        }
        let lines = || Words::of_rows(Packets::new(8 * bus_bytes, LINE_BITS, [(LINE_BITS, 0)]));
        let panels = (operation.lines.rows * operation.lines.row_bytes / LINE) as i64;
        // A line of a position has the positions of a beat for several channels. A line of a channel has one such run
        // of its own.
        let inputs = i64::from(shape.inputs);
        let groups = if operation.position { inputs } else { 2 * LINE as i64 / inputs };
        Self {
            token: lines(),
            words: (operation.token.row_bytes / LINE) as i64,
            groups,
            panels,
            old: lines(),
            new: Converter::new(LINE_BITS, 8 * bus_bytes, LINE_BITS),
            beats: (panels + 1) * (LINE / bus_bytes) as i64,
        }
    }

    /// The head is taken when it comes. A line of indices is taken when the lines before it have been used.
    fn next_word(&self) -> Option<u64> {
        let n = self.token.left.known();
        if n == self.words {
            return None;
        }
        // The last line of panels that uses the indices before.
        let used = if n > 1 { (n - 1) * self.groups - 1 } else { -1 };
        latest([self.token.shown(n), self.old.left.behind(used, 1)])
    }

    /// A line changes when its indices are there, or the last indices of the token. The line of scales changes when the
    /// head's scale is multiplied.
    fn next_line(&self, dmas: &Dmas) -> Option<u64> {
        let n = self.old.left.known();
        if n > self.panels {
            return None;
        }
        let ready = if n == self.panels {
            self.token.left.behind(0, CONSTANTS)
        } else {
            self.token.left.behind((n / self.groups + 1).min(self.words - 1), 1)
        };
        latest([self.old.shown(n), ready, self.new.free(n, &dmas.writer.came)])
    }
}

impl Flow for Appended {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let [token, lines, ..] = &mut dmas.readers[..] else { return moved };
        moved |= self.token.take(token);
        moved |= self.old.take(lines);
        let push = |times: &mut Times, time: Option<u64>| time.map(|time| times.push(time)).is_some();
        let word = self.next_word();
        moved |= push(&mut self.token.left, word);
        let line = self.next_line(dmas);
        moved |= push(&mut self.old.left, line);
        let n = dmas.writer.came.known();
        if n < self.beats {
            let beat = latest([self.new.shown(n, &self.old.left), dmas.writer.free(n)]);
            moved |= push(&mut dmas.writer.came, beat);
        }
        moved
    }
}
