//! A memory with a registered read port: read first, unknown until written.

/// The memory and its read register. Words are lists of granules; an unknown granule is `None`.
#[derive(Clone, Debug)]
pub struct Ram<T> {
    words: Vec<Vec<Option<T>>>,
    read: Vec<Option<T>>,
}

impl<T: Clone> Ram<T> {
    /// Unknown words of `granules` granules each.
    #[must_use]
    pub fn new(depth: usize, granules: usize) -> Self {
        Self { words: vec![vec![None; granules]; depth], read: vec![None; granules] }
    }

    /// One cycle. A read gives the word before the write. A write outside of the memory is lost, and a read outside is
    /// unknown. Returns the read register.
    pub fn cycle(&mut self, read: Option<usize>, write: Option<(usize, Vec<Option<T>>)>) -> &[Option<T>] {
        if let Some(address) = read {
            let unknown = vec![None; self.read.len()];
            self.read = self.words.get(address).cloned().unwrap_or(unknown);
        }
        if let Some((address, granules)) = write
            && let Some(word) = self.words.get_mut(address)
        {
            for (old, new) in word.iter_mut().zip(granules) {
                if new.is_some() {
                    *old = new;
                }
            }
        }
        &self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_first_and_keeps() {
        let mut ram = Ram::new(3, 2);
        assert_eq!(ram.cycle(Some(1), Some((1, vec![Some(7), None]))), [None, None]);
        assert_eq!(ram.cycle(Some(1), Some((1, vec![Some(8), Some(9)]))), [Some(7), None]);
        assert_eq!(ram.cycle(None, Some((3, vec![Some(1), Some(1)]))), [Some(7), None]);
        assert_eq!(ram.cycle(Some(1), None), [Some(8), Some(9)]);
        assert_eq!(ram.cycle(Some(3), None), [None, None]);
    }
}
