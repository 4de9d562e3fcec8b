//! A memory that reads or writes in a cycle; a write comes first.

use super::ram::Ram;

/// The memory and its read register. Words are lists of granules; an unknown granule is `None`.
#[derive(Clone, Debug)]
pub struct SinglePortRam<T>(Ram<T>);

impl<T: Clone> SinglePortRam<T> {
    /// Unknown words of `granules` granules each.
    #[must_use]
    pub fn new(depth: usize, granules: usize) -> Self {
        Self(Ram::new(depth, granules))
    }

    /// One cycle: writes the given granules. Without granules it reads, if `read` holds. Returns the read register.
    pub fn cycle(&mut self, address: usize, read: bool, granules: Vec<Option<T>>) -> &[Option<T>] {
        let writes = granules.iter().any(Option::is_some);
        self.0.cycle((read && !writes).then_some(address), writes.then_some((address, granules)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_the_port() {
        let mut ram = SinglePortRam::new(3, 2);
        assert_eq!(ram.cycle(1, true, vec![Some(7), Some(8)]), [None, None]);
        assert_eq!(ram.cycle(1, true, vec![None, None]), [Some(7), Some(8)]);
        assert_eq!(ram.cycle(1, true, vec![None, Some(9)]), [Some(7), Some(8)]);
        assert_eq!(ram.cycle(1, false, vec![None, None]), [Some(7), Some(8)]);
        assert_eq!(ram.cycle(1, true, vec![None, None]), [Some(7), Some(9)]);
    }
}
