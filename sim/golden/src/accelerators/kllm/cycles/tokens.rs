//! Codebook and tokens, up to the beats that are offered to the lanes.

use super::super::MatMul;
use super::super::layout::{CODEBOOK_BYTES, ENTRIES, HEAD_BYTES, OUTLIER_BYTES};
use super::super::multiply::positions;
use crate::accelerators::cycles::{Reader, Times, Words, latest};
use crate::accelerators::memory::Memory;

/// Bits of a head that have a meaning.
const HEAD: u64 = 64;
/// Numbers of a codebook up to the last centroid of weights.
const NUMBERS: i64 = 64;
/// Tokens whose scales wait for their results, at most.
const SCALES: i64 = 8;

/// The codebook on its way to the lanes: the centroids of weights as they come, then one centroid of activations a
/// cycle.
#[derive(Clone, Debug)]
pub(super) struct Codebook {
    numbers: Words,
    beats: i64,
}

impl Codebook {
    pub fn new(bus_bytes: u64) -> Self {
        let numbers = Words::of_starts(bus_bytes, (16, 16 * NUMBERS as u64), CODEBOOK_BYTES, 0);
        Self { numbers, beats: CODEBOOK_BYTES.div_ceil(bus_bytes) as i64 }
    }

    pub fn advance(&mut self, reader: &mut Reader) -> bool {
        let mut moved = false;
        loop {
            let mut all = reader.left.known() < self.beats && self.numbers.take(reader);
            while self.numbers.left.known() < NUMBERS
                && let Some(time) = self.numbers.shown(self.numbers.left.known())
            {
                self.numbers.left.push(time);
                all = true;
            }
            if !all {
                return moved;
            }
            moved = true;
        }
    }

    /// When the last entry left.
    pub fn last(&self) -> Option<u64> {
        self.numbers.left.behind(NUMBERS - 1, ENTRIES as u64)
    }
}

/// A beat and its dependencies.
#[derive(Clone, Copy, Debug)]
struct Beat {
    /// Its token, counted over all tokens of a panel.
    token: i64,
    /// The word of its indices within the token.
    word: i64,
    /// The first outlier of its token that no earlier beat brings.
    outlier: i64,
    /// Whether the beat brings this outlier.
    here: bool,
    /// Whether the beat comes again.
    again: bool,
}

/// A beat as the lanes see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    /// Its token, counted over all panels.
    pub token: i64,
    /// Its place among the beats of the token.
    pub word: i64,
    pub again: bool,
    pub last: bool,
}

/// Tokens, once for each panel.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    /// Beats of all tokens of a panel, and the number of outliers of each token.
    beats: Vec<Beat>,
    counts: Vec<i64>,
    panels: i64,
    /// Whether tokens are rows of integers: for each word a beat of high nibbles and a beat of low ones.
    integers: bool,
    /// Words of indices, or of integers, of a token.
    indexed: i64,
    /// Beats of a token without repeated beats, and outliers that have room.
    words: i64,
    room: i64,
    heads: Words,
    indices: Words,
    outliers: Words,
    /// When each token began.
    opened: Times,
    /// When the last lane took each beat. The lanes add the times.
    pub taken: Times,
}

impl Tokens {
    pub fn new(bus_bytes: u64, inputs: u64, operation: &MatMul, memory: &mut dyn Memory) -> Self {
        let inner = operation.inner;
        let words = inner.div_ceil(inputs) as i64;
        let (mut beats, mut counts) = (Vec::new(), Vec::new());
        for token in 0..operation.tokens.rows as i64 {
            let positions = positions(operation, token as u64, memory);
            let mut outlier = 0;
            for word in 0..words {
                let here = |outlier: usize| {
                    positions.get(outlier).is_some_and(|&position| (position as u64 / inputs) as i64 == word)
                };
                if operation.integers {
                    let beat = Beat { token, word, outlier: 0, here: false, again: true };
                    beats.extend([beat, Beat { again: false, ..beat }]);
                    continue;
                }
                loop {
                    let (here, again) = (here(outlier), here(outlier) && here(outlier + 1));
                    beats.push(Beat { token, word, outlier: outlier as i64, here, again });
                    outlier += usize::from(here);
                    if !again {
                        break;
                    }
                }
            }
            counts.push(positions.len() as i64);
        }
        let room = operation.outliers;
        let codebook = CODEBOOK_BYTES.div_ceil(bus_bytes) as i64;
        let records = OUTLIER_BYTES * room;
        // A word of bytes has half the positions of a beat.
        let (bits, indexed) = match operation.integers {
            false => (8 * inner.div_ceil(2), words),
            true => (8 * inner, (2 * inner).div_ceil(inputs) as i64),
        };
        Self {
            beats,
            counts,
            panels: operation.passes as i64,
            integers: operation.integers,
            indexed,
            words,
            room: room as i64,
            heads: Words::of_starts(bus_bytes, (HEAD, HEAD), HEAD_BYTES, codebook),
            indices: Words::of_starts(bus_bytes, (4 * inputs, bits), operation.nibble_bytes(), 0),
            outliers: Words::of_starts(
                bus_bytes,
                (8 * OUTLIER_BYTES, 8 * records.max(OUTLIER_BYTES)),
                records.next_multiple_of(64),
                0,
            ),
            opened: Times::default(),
            taken: Times::default(),
        }
    }

    /// Tokens of a panel.
    fn in_panel(&self) -> i64 {
        self.counts.len() as i64
    }

    /// Beats of all panels.
    pub fn count(&self) -> i64 {
        self.panels * self.beats.len() as i64
    }

    /// Beats of all panels, and outliers that they bring.
    pub fn totals(&self) -> [u64; 2] {
        [self.count() as u64, (self.panels * self.counts.iter().sum::<i64>()) as u64]
    }

    fn beat(&self, n: i64) -> (i64, &Beat) {
        let each = self.beats.len() as i64;
        (n / each, &self.beats[(n % each) as usize])
    }

    /// Beat `n`.
    pub fn offered(&self, n: i64) -> Offered {
        let (panel, beat) = self.beat(n);
        Offered {
            token: panel * self.in_panel() + beat.token,
            word: beat.word,
            again: beat.again,
            last: beat.word == self.words - 1 && !beat.again,
        }
    }

    /// Beats up to the end of a token, counted over all panels.
    fn through(&self, token: i64) -> i64 {
        if token < 0 {
            return 0;
        }
        let (panel, token) = (token / self.in_panel(), token % self.in_panel());
        panel * self.beats.len() as i64 + self.beats.partition_point(|beat| beat.token <= token) as i64
    }

    /// When beat `n` is offered to the lanes. Its token must have begun and its indices must be there. It must be known
    /// whether an outlier is in the beat, and if so, whether the next outlier is in it too.
    pub fn shown(&self, n: i64) -> Option<u64> {
        let (panel, beat) = self.beat(n);
        let token = panel * self.in_panel() + beat.token;
        let count = self.counts[beat.token as usize];
        let record = token * self.room + beat.outlier;
        let known = if beat.outlier < count { self.outliers.left.behind(record, 1) } else { Some(0) };
        let sure = if beat.here && beat.outlier + 1 < count { self.outliers.shown(record + 1) } else { Some(0) };
        let last = if self.integers { (2 * beat.word + 1).min(self.indexed - 1) } else { beat.word };
        let indices = self.indices.shown(token * self.indexed + last);
        latest([self.opened.behind(token, 1), indices, known, sure, self.taken.behind(n - 1, 1)])
    }

    /// Beat `n` was taken.
    pub fn took(&mut self, n: i64, time: u64) {
        self.taken.push(time);
        if !self.offered(n).again {
            self.indices.left.push(time);
        }
    }

    /// When the next token begins: the token before has ended, all of its records have been read, and the new scale has
    /// a place.
    fn next_opened(&self, codebook: &Codebook, scaled: impl Fn(i64) -> Option<u64>) -> Option<u64> {
        let n = self.opened.known();
        if n == self.panels * self.in_panel() {
            return None;
        }
        let begins = codebook.last()? + 1;
        latest([
            Some(begins),
            if self.integers { self.indices.shown(n * self.indexed) } else { self.heads.shown(n) },
            self.opened.behind(n - 1, 1),
            self.taken.behind(self.through(n - 1) - 1, 1),
            self.outliers.left.behind(n * self.room - 1, 1),
            if n < SCALES { Some(0) } else { scaled(n - SCALES).map(|time| time + 1) },
        ])
    }

    /// When the next record is taken. Its token must have begun. If the record is an outlier of the token, the outlier
    /// before it must have been used.
    fn next_outlier(&self) -> Option<u64> {
        let n = self.outliers.left.known();
        if n == self.panels * self.in_panel() * self.room {
            return None;
        }
        let (token, outlier) = (n / self.room, n % self.room);
        let (panel, of_panel) = (token / self.in_panel(), token % self.in_panel());
        let used = if outlier > 0 && outlier < self.counts[of_panel as usize] {
            // The beat that brings the outlier before.
            let in_panel = self.beats.partition_point(|beat| (beat.token, beat.outlier) < (of_panel, outlier));
            self.taken.behind(panel * self.beats.len() as i64 + in_panel as i64 - 1, 0)
        } else {
            Some(0)
        };
        latest([self.outliers.shown(n), self.opened.behind(token, 1), used])
    }

    /// When the first of two words of a beat of integers is kept: after the beat before.
    fn next_kept(&self) -> Option<u64> {
        let n = self.indices.left.known();
        let (token, word) = (n / self.indexed, n % self.indexed);
        if !self.integers || token == self.panels * self.in_panel() || word % 2 == 1 || word + 1 == self.indexed {
            return None;
        }
        let beat = 2 * token * self.words + word;
        latest([self.indices.shown(n), self.opened.behind(token, 1), self.taken.behind(beat - 1, 1)])
    }

    /// `scaled(token)`: when the last sums of a token entered the scaling.
    pub fn advance(
        &mut self,
        [heads, indices, outliers]: [&mut Reader; 3],
        codebook: &Codebook,
        scaled: impl Fn(i64) -> Option<u64>,
    ) -> bool {
        let mut all = false;
        loop {
            let mut moved = heads.left.known() >= codebook.beats && self.heads.take(heads);
            moved |= self.indices.take(indices);
            moved |= self.room > 0 && self.outliers.take(outliers);
            if let Some(time) = self.next_opened(codebook, &scaled) {
                self.opened.push(time);
                if !self.integers {
                    self.heads.left.push(time);
                }
                moved = true;
            }
            if let Some(time) = self.next_kept() {
                self.indices.left.push(time);
                moved = true;
            }
            if self.room > 0
                && let Some(time) = self.next_outlier()
            {
                self.outliers.left.push(time);
                moved = true;
            }
            if !moved {
                return all;
            }
            all = true;
        }
    }
}
