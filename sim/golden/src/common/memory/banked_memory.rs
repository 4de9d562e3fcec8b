//! A memory of several banks: which ports are served in a cycle, and the words that readers see.

use super::super::stream::stream_arbiter::{Rules, StreamArbiter};

/// A write: address, and the granules that are written.
pub type Write<T> = (usize, Vec<Option<T>>);

/// The results of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served<T> {
    /// For each reader: the word before the writes, if the read was taken.
    pub reads: Vec<Option<Vec<Option<T>>>>,
    /// For each writer: whether the write was taken.
    pub writes: Vec<bool>,
}

/// The memory. Words beyond the depth of a bank are lost and unknown.
#[derive(Clone, Debug)]
pub struct BankedMemory<T> {
    /// Words by address, as if there were no banks.
    words: Vec<Vec<Option<T>>>,
    banks: usize,
    readers: Vec<StreamArbiter>,
    writers: Vec<StreamArbiter>,
}

impl<T: Clone> BankedMemory<T> {
    /// `banks` banks of `depth` words of `granules` granules, for so many readers and writers.
    #[must_use]
    pub fn new(
        (banks, depth, granules): (usize, usize, usize),
        (readers, writers): (usize, usize),
        fair: bool,
    ) -> Self {
        let arbiter = |inputs| StreamArbiter::new(inputs, Rules { round_robin: fair, packets: false });
        Self {
            words: vec![vec![None; granules]; banks * depth],
            banks,
            readers: vec![arbiter(readers); banks],
            writers: vec![arbiter(writers); banks],
        }
    }

    /// One cycle.
    pub fn cycle(&mut self, reads: &[Option<usize>], writes: &[Option<Write<T>>]) -> Served<T> {
        let banks = self.banks;
        let mut served = Served { reads: vec![None; reads.len()], writes: vec![false; writes.len()] };
        let granules = self.words[0].len();
        for bank in 0..banks {
            let wants: Vec<_> = reads.iter().map(|a| a.filter(|a| a % banks == bank).map(|_| true)).collect();
            if let Some(reader) = self.readers[bank].cycle(false, &wants, true) {
                let word = reads[reader].and_then(|a| self.words.get(a)).cloned();
                served.reads[reader] = Some(word.unwrap_or(vec![None; granules]));
            }
        }
        for bank in 0..banks {
            let wants: Vec<_> =
                writes.iter().map(|w| w.as_ref().filter(|w| w.0 % banks == bank).map(|_| true)).collect();
            let Some(writer) = self.writers[bank].cycle(false, &wants, true) else { continue };
            served.writes[writer] = true;
            if let Some((address, new)) = &writes[writer]
                && let Some(word) = self.words.get_mut(*address)
            {
                for (old, new) in word.iter_mut().zip(new).filter(|(_, new)| new.is_some()) {
                    old.clone_from(new);
                }
            }
        }
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_and_old_words() {
        let mut memory = BankedMemory::new((2, 2, 1), (2, 1), true);
        let write = |address, value| [Some((address, vec![Some(value)]))];
        assert_eq!(memory.cycle(&[None, None], &write(1, 5)).writes, [true]);
        // Both readers want bank 1: in turn. The word is read before it is written.
        let first = memory.cycle(&[Some(1), Some(3)], &write(1, 6));
        assert_eq!(first.reads, [Some(vec![Some(5)]), None]);
        let second = memory.cycle(&[Some(1), Some(3)], &[None]);
        assert_eq!(second.reads, [None, Some(vec![None])]);
        assert_eq!(memory.cycle(&[Some(1), Some(0)], &[None]).reads, [Some(vec![Some(6)]), Some(vec![None])]);
    }
}
