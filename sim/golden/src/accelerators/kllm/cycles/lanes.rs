//! The lanes: words of weights in their banks, beats, sums that leave one lane after the other.

use super::super::{MatMul, Shape};
use super::tokens::Tokens;
use crate::accelerators::cycles::{Packets, Reader, Times, Words, latest};

/// How long the parts of a lane take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Cycles of the products of an entry of a codebook.
    pub multiplication: u64,
    /// From the last beat of a token to its first sums.
    pub latency: u64,
}

/// A lane.
#[derive(Clone, Debug, Default)]
struct Events {
    /// When each bank was full, and free again.
    filled: Times,
    freed: Times,
    /// When each beat was taken, and when the last beat of each token was.
    taken: Times,
    last: Times,
    /// When the sums of each token were complete, and when they were copied to leave. Between these two times the lane
    /// stalls.
    done: Times,
    copied: Times,
}

impl Events {
    /// The first cycle from `time` on in which the lane moves.
    fn moves(&self, time: u64) -> Option<u64> {
        let mut time = time;
        for token in 0..self.done.known() {
            if self.done.behind(token, 0)? > time {
                break;
            }
            time = time.max(self.copied.behind(token, 0)?);
        }
        Some(time)
    }

    /// When the sums of the next token are complete. After its last beat the lane must move for so many cycles.
    fn next_done(&self, latency: u64) -> Option<u64> {
        let last = self.last.behind(self.done.known(), 0)?;
        let mut added = last + latency - 2;
        for token in 0..self.done.known() {
            let done = self.done.behind(token, 0)?;
            if done > added {
                break;
            }
            if done > last {
                added += self.copied.behind(token, 0)? - done;
            }
        }
        Some(added + 1)
    }
}

/// All lanes.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lane: Lane,
    lanes: Vec<Events>,
    /// Words of weights of each group.
    words: Vec<Words>,
    /// Beats of a token, words of a bank.
    beats: i64,
    buffer: i64,
    /// Whether a bank holds all beats. Then it is kept for all tokens of a panel.
    fits: bool,
    tokens: i64,
    panels: i64,
    /// Beats of the sums of a lane.
    drain: i64,
    /// When all lanes had each beat of sums taken. The unit of the results adds the times.
    pub summed: Times,
}

impl Lanes {
    pub fn new((lane, outputs): (Lane, u64), bus_bytes: u64, shape: &Shape, operation: &MatMul) -> Self {
        let word = 4 * u64::from(shape.columns) * u64::from(shape.inputs);
        let row = 8 * operation.panels.row_bytes;
        let beats = operation.inner.div_ceil(shape.inputs.into()) as i64;
        Self {
            lane,
            lanes: vec![Events::default(); shape.lanes as usize],
            words: vec![Words::of_rows(Packets::new(8 * bus_bytes, word, [(row, 0)])); shape.groups as usize],
            beats,
            buffer: shape.buffer.into(),
            fits: beats <= shape.buffer.into(),
            tokens: operation.tokens.rows as i64,
            panels: operation.passes as i64,
            drain: (u64::from(shape.columns) / outputs) as i64,
            summed: Times::default(),
        }
    }

    /// Whether weights of a panel come once for all tokens.
    pub fn fits(&self) -> bool {
        self.fits
    }

    /// Beats of sums of a token.
    pub fn of_token(&self) -> i64 {
        self.lanes.len() as i64 * self.drain
    }

    /// The number of the bank that a beat of a token uses, or that a word of a row of weights is written to.
    fn bank(&self, row: i64, place: i64) -> i64 {
        row * ((self.beats - 1) / self.buffer + 1) + place / self.buffer
    }

    fn ends_bank(&self, place: i64) -> bool {
        (place + 1) % self.buffer == 0 || place == self.beats - 1
    }

    /// When beat `n` of the sums is there.
    pub fn shown(&self, n: i64) -> Option<u64> {
        let (token, place) = (n / self.of_token(), n % self.of_token());
        let lane = &self.lanes[(place / self.drain) as usize];
        latest([lane.copied.behind(token, 1), self.summed.behind(n - 1, 1)])
    }

    /// Words go to the lanes of a group in turn. A lane takes its word when the bank two before is free.
    fn fill(&mut self, group: usize) -> bool {
        let n = self.words[group].left.known();
        let rows = self.panels * if self.fits { 1 } else { self.tokens };
        let lanes = (self.lanes.len() / self.words.len()) as i64;
        if n == rows * self.beats * lanes {
            return false;
        }
        let (of_lane, lane) = (n / lanes, group * lanes as usize + (n % lanes) as usize);
        let (row, place) = (of_lane / self.beats, of_lane % self.beats);
        let freed = self.lanes[lane].freed.behind(self.bank(row, place) - 2, 1);
        let Some(time) = latest([self.words[group].shown(n), freed]) else { return false };
        self.words[group].left.push(time);
        if self.ends_bank(place) {
            self.lanes[lane].filled.push(time);
        }
        true
    }

    /// A lane takes a beat when three things hold: its weights are there, all entries of the codebook are multiplied,
    /// and the lane moves.
    fn take(&mut self, tokens: &mut Tokens, codebook: Option<u64>) -> bool {
        let n = tokens.taken.known();
        if n == tokens.count() {
            return false;
        }
        let (Some(shown), Some(codebook)) = (tokens.shown(n), codebook) else { return false };
        let offered = tokens.offered(n);
        let row = if self.fits { offered.token / self.tokens } else { offered.token };
        let bank = self.bank(row, offered.word);
        let times: Option<Vec<u64>> = self
            .lanes
            .iter()
            .map(|lane| {
                let ready = codebook + self.lane.multiplication + 1;
                lane.moves(shown.max(ready).max(lane.filled.behind(bank, 1)?))
            })
            .collect();
        let Some(times) = times else { return false };
        let keeps = self.fits && offered.token % self.tokens != self.tokens - 1;
        let frees = self.ends_bank(offered.word) && !offered.again && !keeps;
        for (lane, &time) in self.lanes.iter_mut().zip(&times) {
            lane.taken.push(time);
            if frees {
                lane.freed.push(time);
            }
            if offered.last {
                lane.last.push(time);
            }
        }
        // The next beat is offered when all lanes have this one.
        let all = times.into_iter().max().unwrap_or(shown);
        tokens.took(n, all);
        true
    }

    /// Sums are complete. They are copied when the sums of the token before have left.
    fn sum(&mut self) -> bool {
        let (latency, drain, of_token) = (self.lane.latency, self.drain, self.of_token());
        let mut moved = false;
        for (k, lane) in (0..).zip(&mut self.lanes) {
            if let Some(time) = lane.next_done(latency) {
                lane.done.push(time);
                moved = true;
            }
            let n = lane.copied.known();
            let left = if n == 0 { Some(0) } else { self.summed.behind((n - 1) * of_token + (k + 1) * drain - 1, 0) };
            if let Some(time) = latest([lane.done.behind(n, 0), left]) {
                lane.copied.push(time);
                moved = true;
            }
        }
        moved
    }

    /// `codebook`: when its last entry left.
    pub fn advance(
        &mut self,
        (first, further): (&mut Reader, &mut [Reader]),
        tokens: &mut Tokens,
        codebook: Option<u64>,
    ) -> bool {
        let mut all = false;
        loop {
            let mut moved = false;
            for (group, reader) in [&mut *first].into_iter().chain(&mut *further).enumerate() {
                moved |= self.words[group].take(reader);
                moved |= self.fill(group);
            }
            moved |= self.take(tokens, codebook);
            moved |= self.sum();
            if !moved {
                return all;
            }
            all = true;
        }
    }
}
