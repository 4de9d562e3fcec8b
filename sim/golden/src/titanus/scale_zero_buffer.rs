//! A word for each level of each channel.

use std::collections::BTreeMap;

/// The words that were written, by lane, tile and level.
#[derive(Clone, Debug, Default)]
pub struct ScaleZeroBuffer(BTreeMap<(usize, u32, u32), u64>);

impl ScaleZeroBuffer {
    /// Writes a word.
    pub fn write(&mut self, (lane, tile, level): (usize, u32, u32), word: u64) {
        self.0.insert((lane, tile, level), word);
    }

    /// The word; `None` if it was never written.
    #[must_use]
    pub fn read(&self, (lane, tile, level): (usize, u32, u32)) -> Option<u64> {
        self.0.get(&(lane, tile, level)).copied()
    }
}
