//! Eviction controller: the tokens in the slots of one head's cache.

/// How a token is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// Key and value vectors.
    Kv,
    /// The layer's input, from which key and value are computed again.
    X,
}

/// A cached token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the banks.
    pub slot: usize,
    /// Fixed until it is evicted.
    pub stored_as: StoredAs,
}

/// The reason to refuse a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The cache is full, and all of its tokens are protected.
    AllProtected,
    /// The given victim is protected, or not there.
    NoSuchVictim,
}

/// The tokens of a head in order of age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    slots: usize,
    sink: usize,
    window: usize,
    entries: Vec<Entry>,
}

impl Map {
    /// An empty cache of `slots` tokens that keeps the first `sink` and the last `window`.
    #[must_use]
    pub fn new(slots: usize, sink: usize, window: usize) -> Self {
        Self { slots, sink, window, entries: Vec::new() }
    }

    /// From now on the first `sink` and the last `window` tokens of the list must stay.
    pub fn protect(&mut self, sink: usize, window: usize) {
        (self.sink, self.window) = (sink, window);
    }

    /// How many first tokens, and how many last tokens, must stay.
    #[must_use]
    pub fn protection(&self) -> (usize, usize) {
        (self.sink, self.window)
    }

    /// Forgets all tokens.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The cached tokens, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether the token at this position must stay.
    #[must_use]
    pub fn is_protected(&self, position: usize) -> bool {
        // The first tokens of the sequence are never evicted, so they come first here.
        position < self.sink || position + self.window >= self.entries.len()
    }

    /// Whether the cache has no free slot.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.slots
    }

    /// A new token enters. While there is room, it gets the next slot. Then it gets the slot of the token at position
    /// `victim`, which is evicted. Returns the slot.
    ///
    /// # Errors
    /// There is no room, and no victim that may go.
    pub fn insert(&mut self, victim: Option<usize>, stored_as: StoredAs) -> Result<usize, Refusal> {
        let slot = if self.is_full() {
            let position = victim.ok_or(Refusal::AllProtected)?;
            if position >= self.entries.len() || self.is_protected(position) {
                return Err(Refusal::NoSuchVictim);
            }
            self.entries.remove(position).slot
        } else {
            self.entries.len()
        };
        self.entries.push(Entry { slot, stored_as });
        Ok(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_token_takes_the_slot() {
        let mut m = Map::new(4, 1, 2);
        for slot in 0..4 {
            assert_eq!(m.insert(None, StoredAs::Kv), Ok(slot));
        }
        assert_eq!((0..4).map(|p| m.is_protected(p)).collect::<Vec<_>>(), [true, false, true, true]);
        assert_eq!(m.insert(None, StoredAs::Kv), Err(Refusal::AllProtected));
        assert_eq!(m.insert(Some(0), StoredAs::Kv), Err(Refusal::NoSuchVictim));
        assert_eq!(m.insert(Some(4), StoredAs::Kv), Err(Refusal::NoSuchVictim));
        assert_eq!(m.insert(Some(1), StoredAs::X), Ok(1));
        let slots: Vec<_> = m.entries().iter().map(|e| e.slot).collect();
        assert_eq!(slots, [0, 2, 3, 1]);
        assert_eq!(m.entries()[3].stored_as, StoredAs::X);
        assert_eq!(m.insert(Some(1), StoredAs::Kv), Ok(2));
        m.protect(2, 2);
        assert_eq!(m.insert(Some(1), StoredAs::Kv), Err(Refusal::NoSuchVictim));
        m.clear();
        assert!(m.entries().is_empty());
        assert_eq!(m.insert(None, StoredAs::Kv), Ok(0));
    }
}
