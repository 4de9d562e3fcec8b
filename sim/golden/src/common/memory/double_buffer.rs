//! Two banks that are filled and used in turn.

use super::ram::Ram;

/// The requests of one cycle.
#[derive(Clone, Debug)]
pub struct Request<T> {
    /// Both banks are given back.
    pub clear: bool,
    /// Address, and the granules to write. Without granules there is no write.
    pub write: Option<(usize, Vec<Option<T>>)>,
    /// The bank is full now.
    pub fill_last: bool,
    /// Address of the read.
    pub read: Option<usize>,
    /// The bank is free now.
    pub use_last: bool,
}

/// The buffer: turns are counted, and the bank of turn t is t modulo 2.
#[derive(Clone, Debug)]
pub struct DoubleBuffer<T> {
    banks: [Ram<T>; 2],
    filled: usize,
    used: usize,
    /// The bank that was read last.
    shown: usize,
}

impl<T: Clone> DoubleBuffer<T> {
    /// Unknown words of `granules` granules each.
    #[must_use]
    pub fn new(depth: usize, granules: usize) -> Self {
        let bank = Ram::new(depth, granules);
        Self { banks: [bank.clone(), bank], filled: 0, used: 0, shown: 0 }
    }

    /// Whether a bank is free to be filled.
    #[must_use]
    pub fn fill_ready(&self) -> bool {
        self.filled - self.used < 2
    }

    /// Whether a bank is full.
    #[must_use]
    pub fn use_valid(&self) -> bool {
        self.used < self.filled
    }

    /// One cycle. Returns whether a request was refused, and the word that was read last.
    pub fn cycle(&mut self, ask: Request<T>) -> (bool, Vec<Option<T>>) {
        let (fills, uses) = (self.fill_ready() && !ask.clear, self.use_valid() && !ask.clear);
        let refused =
            (!fills && (ask.write.is_some() || ask.fill_last)) || (!uses && (ask.read.is_some() || ask.use_last));
        let (to, from) = (self.filled % 2, self.used % 2);
        if uses && ask.read.is_some() {
            self.shown = from;
        }
        let mut words = [vec![], vec![]];
        for (k, bank) in self.banks.iter_mut().enumerate() {
            let read = ask.read.filter(|_| uses && k == from);
            let write = ask.write.clone().filter(|_| fills && k == to);
            words[k] = bank.cycle(read, write).to_vec();
        }
        if ask.clear {
            (self.filled, self.used) = (0, 0);
        }
        self.filled += usize::from(fills && ask.fill_last);
        self.used += usize::from(uses && ask.use_last);
        (refused, words[self.shown].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns() {
        let none = Request { clear: false, write: None, fill_last: false, read: None, use_last: false };
        let mut buffer = DoubleBuffer::new(2, 1);
        let write = |value| Request { write: Some((1, vec![Some(value)])), fill_last: true, ..none.clone() };
        let read = Request { read: Some(1), use_last: true, ..none.clone() };
        assert_eq!(buffer.cycle(read.clone()), (true, vec![None]));
        assert_eq!(buffer.cycle(write(7)), (false, vec![None]));
        assert_eq!(buffer.cycle(write(8)), (false, vec![None]));
        assert!(!buffer.fill_ready());
        assert_eq!(buffer.cycle(write(9)), (true, vec![None]));
        assert_eq!(buffer.cycle(read.clone()), (false, vec![Some(7)]));
        // The bank of word 7 is filled again while the bank of word 8 is read.
        let both = Request { read: Some(1), use_last: true, ..write(10) };
        assert_eq!(buffer.cycle(both), (false, vec![Some(8)]));
        assert_eq!(buffer.cycle(read), (false, vec![Some(10)]));
        assert_eq!(buffer.cycle(Request { clear: true, ..write(11) }), (true, vec![Some(10)]));
        assert!(buffer.fill_ready() && !buffer.use_valid());
    }
}
