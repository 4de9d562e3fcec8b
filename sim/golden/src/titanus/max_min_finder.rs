//! Running extremes of each channel.

/// The largest and the smallest element of each channel so far; -128 and 127 without elements.
#[derive(Clone, Debug)]
pub struct MaxMinFinder(Vec<Vec<(i8, i8)>>);

impl MaxMinFinder {
    /// No elements so far, in so many tiles of so many lanes.
    #[must_use]
    pub fn new(tiles: usize, lanes: usize) -> Self {
        Self(vec![vec![(-128, 127); lanes]; tiles])
    }

    /// The extremes of a tile's channels.
    #[must_use]
    pub fn tile(&self, tile: usize) -> &[(i8, i8)] {
        &self.0[tile]
    }

    /// Takes the elements of a tile whose index is set.
    pub fn update(&mut self, tile: usize, x: &[i8], index: &[bool]) {
        for ((e, &x), _) in self.0[tile].iter_mut().zip(x).zip(index).filter(|(_, index)| **index) {
            *e = (e.0.max(x), e.1.min(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut finder = MaxMinFinder::new(2, 2);
        finder.update(1, &[5, -7], &[true, false]);
        finder.update(1, &[-2, 9], &[true, true]);
        assert_eq!(finder.tile(1), [(5, -2), (9, 9)]);
        assert_eq!(finder.tile(0), [(-128, 127); 2]);
    }
}
