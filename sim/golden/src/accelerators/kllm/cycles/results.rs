//! From sums to rows of results: factors, the arithmetic, addends.

use super::super::{CONSTANT_BYTES, MatMul, Shape};
use super::lanes::Lanes;
use super::timing::Timing;
use crate::accelerators::cycles::{Packets, Reader, Times, Way, Words, Writer, extend, latest};

/// Bits of a number of fp16, and of the factors of a channel.
const VALUE: u64 = 16;
const FACTORS: u64 = 8 * CONSTANT_BYTES;
/// Cycles that a word is in a FIFO in a memory.
const MEMORY: u64 = 2;

/// The panel and the token of a beat of results.
#[derive(Clone, Copy, Debug)]
struct At {
    panel: i64,
    token: i64,
}

/// Beats of results, panel by panel and token by token. Only channels that exist have results.
#[derive(Clone, Copy, Debug)]
struct Walk {
    panels: i64,
    tokens: i64,
    /// Beats of a whole panel, and of the last panel.
    whole: i64,
    last: i64,
}

impl Walk {
    fn of_panel(&self, panel: i64) -> i64 {
        if panel + 1 == self.panels { self.last } else { self.whole }
    }

    fn count(&self) -> i64 {
        self.first(self.panels - 1) + self.tokens * self.last
    }

    /// The first beat of a panel.
    fn first(&self, panel: i64) -> i64 {
        panel * self.tokens * self.whole
    }

    fn at(&self, n: i64) -> At {
        let panel = (n / (self.tokens * self.whole)).min(self.panels - 1);
        let (n, beats) = (n - self.first(panel), self.of_panel(panel));
        At { panel, token: n / beats }
    }

    /// The last beat of a token, counted over all tokens.
    fn last_of(&self, token: i64) -> i64 {
        let (panel, token) = (token / self.tokens, token % self.tokens);
        self.first(panel) + (token + 1) * self.of_panel(panel) - 1
    }
}

/// Results in flight.
#[derive(Clone, Debug)]
pub(super) struct Results {
    walk: Walk,
    scaling: Way,
    adding: Way,
    add: bool,
    /// The factors for a beat of results each, and when each went into the ring.
    factors: Words,
    pushed: Times,
    addends: Words,
    rows: Packets,
    written: i64,
    /// When each beat entered the scaling, entered the addition, and left for its row.
    begun: Times,
    added: Times,
    left: Times,
}

impl Results {
    pub fn new(timing: &Timing, shape: &Shape, operation: &MatMul) -> Self {
        let (bus, outputs) = (8 * timing.shell.bus_bytes, timing.outputs);
        let (panels, tokens) = (operation.passes, operation.tokens.rows);
        let last = operation.channels - (panels - 1) * shape.channels();
        let walk = Walk {
            panels: panels as i64,
            tokens: tokens as i64,
            whole: (shape.channels() / outputs) as i64,
            last: last.div_ceil(outputs) as i64,
        };
        let rows = [(VALUE * shape.channels(), (panels - 1) * tokens), (VALUE * last, tokens)];
        let rows = rows.map(|(bits, rows)| (bits, rows as i64));
        let beats = |bits: u64| bits.div_ceil(bus) as i64;
        Self {
            walk,
            scaling: Way::section(timing.scaling),
            adding: Way::section(timing.adding),
            add: operation.addends.is_some(),
            factors: Words::of_rows(Packets::new(bus, FACTORS * outputs, [(FACTORS * operation.channels, 1)])),
            pushed: Times::default(),
            addends: Words::of_rows(Packets::new(bus, VALUE * outputs, rows)),
            rows: Packets::new(VALUE * outputs, bus, rows),
            written: rows.iter().map(|&(bits, rows)| rows * beats(bits)).sum(),
            begun: Times::default(),
            added: Times::default(),
            left: Times::default(),
        }
    }

    /// When the last sums of a token entered the scaling. Tokens are counted over all panels.
    pub fn scaled(&self, token: i64) -> Option<u64> {
        self.begun.behind(self.walk.last_of(token), 0)
    }

    /// Factors of a panel come once and go round in a ring: factors that leave the ring enter it again, except for the
    /// last token. The next panel's factors come during the last token of this panel, if the ring has room.
    fn push(&mut self) -> bool {
        let walk = self.walk;
        let n = self.pushed.known();
        if n == walk.count() {
            return false;
        }
        let At { panel, token } = walk.at(n);
        let time = if token > 0 {
            self.begun.behind(n - walk.of_panel(panel), 0)
        } else {
            let others =
                if walk.tokens > 1 { self.begun.behind(walk.first(panel) - walk.whole - 1, 1) } else { Some(0) };
            latest([self.factors.shown(self.factors.left.known()), others, self.begun.behind(n - walk.whole, 1)])
        };
        let Some(time) = time else { return false };
        self.pushed.push(time);
        if token == 0 {
            self.factors.left.push(time);
        }
        true
    }

    /// When the factors for beat `n` of the results are there. If more tokens come, all factors of the panel must be
    /// there.
    fn factors(&self, n: i64) -> Option<u64> {
        let At { panel, token } = self.walk.at(n);
        let all = if token + 1 < self.walk.tokens {
            self.pushed.behind(self.walk.first(panel) + self.walk.of_panel(panel) - 1, 1)
        } else {
            Some(0)
        };
        latest([self.pushed.behind(n, MEMORY), self.begun.behind(n - 1, 1), all])
    }

    /// Sums enter the scaling. Sums of channels that do not exist are dropped.
    fn sum(&mut self, lanes: &mut Lanes) -> bool {
        let n = lanes.summed.known();
        let (token, place) = (n / lanes.of_token(), n % lanes.of_token());
        let panel = token / self.walk.tokens;
        if panel == self.walk.panels {
            return false;
        }
        let keeps = place < self.walk.of_panel(panel);
        let begun = self.begun.known();
        let time = if keeps {
            let room = self.added.behind(begun - self.scaling.places, 1);
            latest([lanes.shown(n), self.factors(begun), room])
        } else {
            lanes.shown(n)
        };
        let Some(time) = time else { return false };
        lanes.summed.push(time);
        if keeps {
            self.begun.push(time);
        }
        true
    }

    fn next_added(&self) -> Option<u64> {
        let n = self.added.known();
        if n == self.walk.count() {
            return None;
        }
        latest([
            self.begun.behind(n, self.scaling.cycles),
            self.added.behind(n - 1, 1),
            if self.add { self.addends.shown(n) } else { Some(0) },
            self.left.behind(n - self.adding.places, 1),
        ])
    }

    pub fn advance(&mut self, [constants, addends]: [&mut Reader; 2], lanes: &mut Lanes, writer: &mut Writer) -> bool {
        let mut all = false;
        loop {
            let mut moved = self.factors.take(constants);
            moved |= self.add && self.addends.take(addends);
            moved |= self.push();
            moved |= self.sum(lanes);
            if let Some(time) = self.next_added() {
                self.added.push(time);
                if self.add {
                    self.addends.left.push(time);
                }
                moved = true;
            }
            extend!(moved, self.left, {
                let n = self.left.known();
                let there = self.added.behind(n, self.adding.cycles);
                latest([there, self.left.behind(n - 1, 1), self.rows.free(n, &writer.came)])
            });
            while writer.came.known() < self.written
                && let Some(time) =
                    latest([self.rows.shown(writer.came.known(), &self.left), writer.free(writer.came.known())])
            {
                writer.came.push(time);
                moved = true;
            }
            if !moved {
                return all;
            }
            all = true;
        }
    }
}
