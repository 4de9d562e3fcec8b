//! Tokens of a head, one after the other: from the first command to the last answer.

use super::super::Attention;
use super::timing::Timing;
use super::token::{Counts, KEYS, QUERIES, Token, VALUES, load};
use crate::accelerators::cycles::{Dmas, Flow, Reader};
use crate::common::bus::Command;

/// Attention in flight.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    timing: Timing,
    counts: Counts,
    /// For each token, the distances of the tokens that it evicts.
    evicted: Vec<Vec<u64>>,
    /// For each recomputed slot, whether it has a token. How many slots have come, and when the next may come.
    again: Vec<bool>,
    came: usize,
    begin: u64,
    /// Tokens of the head before the current token.
    old: u64,
    number: i64,
    token: Token,
    /// The next token, if it is loaded already.
    next: Option<Token>,
    /// Late values that are not requested yet.
    late: Option<Command>,
    /// When the last token ended.
    pub ended: Option<u64>,
    /// From when on it has the array, if it is known.
    given: Option<u64>,
}

impl Tokens {
    /// Attention of a head that has `old` tokens. Commands are offered in the cycle after `begin`.
    pub fn new(
        (timing, operation): (&Timing, &Attention),
        (old, evicted, again): (u64, Vec<Vec<u64>>, Vec<bool>),
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        for (kind, command) in [(QUERIES, &operation.queries), (KEYS, &operation.keys), (VALUES, &operation.values)] {
            if kind != VALUES || !operation.late {
                dmas.readers[kind].offer(command, begin + 1);
            }
        }
        dmas.writer.offer(&operation.out, begin + 1);
        let slices = operation.elements / timing.array.columns;
        let ahead = again.len() as i64;
        let counts = Counts { queries: operation.group, slices, late: operation.late, ahead };
        let token = Token::new(timing, counts, (old, 0), (begin + 1, Some(begin + 1)));
        let (late, next) = (operation.late.then_some(operation.values), None);
        let (begin, number, ended, came) = (begin + 1, 0, None, 0);
        let (timing, given) = (*timing, timing.given());
        Self { timing, counts, evicted, again, came, begin, old, number, token, next, late, ended, given }
    }

    /// Recomputed keys and values come slot by slot, and are written if the slot has a token. Then the first token
    /// comes.
    fn come_again(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        while let Some(&held) = self.again.get(self.came) {
            let vector = self.token.vector;
            let mut from = Some(self.begin + 1);
            for kind in [KEYS, VALUES] {
                let row = (&mut dmas.readers[kind], self.came as i64, vector);
                from = load(row, from, self.timing.integer, &mut moved).map(|last| last + 1);
            }
            let Some(loaded) = from else { return moved };
            self.begin = loaded + if held { 3 } else { 2 };
            self.came += 1;
            moved = true;
        }
        if moved {
            let begin = self.begin;
            self.token = Token::new(&self.timing, self.counts, (self.old, 0), (begin, Some(begin)));
        }
        moved
    }

    /// If values are late, key and queries of the next token come once the products with values have begun.
    fn load_ahead(&mut self, dmas: &mut Dmas) -> bool {
        let following = (self.number + 1) as usize;
        if let Some(next) = &mut self.next {
            return next.advance(self.given, &mut dmas.readers, &mut dmas.writer);
        }
        match self.token.valued {
            Some(valued) if self.counts.late && following < self.evicted.len() => {
                let old = self.old + 1 - self.evicted[self.number as usize].len() as u64;
                let place = (old, self.number + 1);
                self.next = Some(Token::new(&self.timing, self.counts, place, (valued + 1, None)));
                true
            }
            _ => false,
        }
    }

    /// When a token ends, after its results have left. The tokens that it evicts go one after the other, and others
    /// move up. The next victim is searched panel by panel.
    fn close(&mut self, left: u64) -> u64 {
        let array = self.timing.array;
        let evicted = &self.evicted[self.number as usize];
        let mut judged = left + 2;
        for (number, distance) in (1..).zip(evicted) {
            self.old -= 1;
            judged += distance + 4;
            if number < evicted.len() {
                judged += (self.old / array.rows + 1) * array.rows + 4;
            }
        }
        self.old += 1;
        if evicted.is_empty() { judged + 1 } else { judged }
    }
}

impl Flow for Tokens {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        if self.ended.is_some() {
            return moved;
        }
        moved |= self.come_again(dmas);
        if self.came < self.again.len() {
            return moved;
        }
        moved |= self.token.advance(self.given, &mut dmas.readers, &mut dmas.writer);
        if let (Some(values), Some(scores)) = (self.late, self.token.scores) {
            dmas.readers[VALUES].offer(&values, scores + 1);
            self.late = None;
            moved = true;
        }
        moved |= self.load_ahead(dmas);
        if let Some(left) = self.token.end(&dmas.writer) {
            let ended = self.close(left);
            self.number += 1;
            if self.number as usize == self.evicted.len() {
                self.ended = Some(ended);
            } else {
                let begin = ended + 1;
                let loaded = self.next.take().map(|next| next.ready(begin));
                let place = (self.old, self.number);
                self.token =
                    loaded.unwrap_or_else(|| Token::new(&self.timing, self.counts, place, (begin, Some(begin))));
            }
            moved = true;
        }
        moved
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        let readers = dmas.readers.iter().map(Reader::end);
        readers.chain([dmas.writer.end(), self.ended]).try_fold(0, |end, time| Some(end.max(time?)))
    }

    fn given(&mut self, time: u64) {
        self.given = Some(time);
    }
}
