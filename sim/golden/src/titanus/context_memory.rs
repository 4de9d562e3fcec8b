//! Keys and values of tokens. Keys are read by token, values by channel. A value that was never written is unknown.

/// The memory.
#[derive(Clone, Debug)]
pub struct ContextMemory {
    lanes: usize,
    channels: usize,
    /// Keys, then values, each by token and channel.
    sides: [Vec<Option<i8>>; 2],
}

impl ContextMemory {
    /// An empty memory for `tokens` tokens.
    pub fn new(lanes: usize, tiles: usize, tokens: usize) -> Self {
        let side = vec![None; tokens * tiles * lanes];
        Self { lanes, channels: tiles * lanes, sides: [side.clone(), side] }
    }

    /// Stores a tile of keys (0) or values (1).
    pub fn write(&mut self, side: usize, token: usize, tile: usize, x: &[i8]) {
        let at = token * self.channels + tile * self.lanes;
        for (place, &x) in self.sides[side][at..].iter_mut().zip(x) {
            *place = Some(x);
        }
    }

    /// A tile of a token's keys.
    pub fn keys(&self, token: usize, tile: usize) -> Vec<Option<i8>> {
        let at = token * self.channels + tile * self.lanes;
        self.sides[0][at..at + self.lanes].to_vec()
    }

    /// A channel of the values of a group of tokens. Tokens after the last one are `None`.
    pub fn values(&self, group: usize, channel: usize) -> Vec<Option<i8>> {
        let at = |k: usize| (group * self.lanes + k) * self.channels + channel;
        (0..self.lanes).map(|k| self.sides[1].get(at(k)).copied().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns() {
        let mut memory = ContextMemory::new(2, 2, 3);
        for token in 0..3usize {
            for tile in 0..2usize {
                let x = [(10 * token + 2 * tile) as i8, (10 * token + 2 * tile + 1) as i8];
                memory.write(1, token, tile, &x);
            }
        }
        assert_eq!(memory.values(0, 3), [Some(3), Some(13)]);
        // The last group is not full.
        assert_eq!(memory.values(1, 2), [Some(22), None]);
        memory.write(0, 2, 1, &[-1, -2]);
        assert_eq!((memory.keys(2, 1), memory.keys(2, 0)), (vec![Some(-1), Some(-2)], vec![None, None]));
    }
}
