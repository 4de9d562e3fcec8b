//! The steps of the tiles of a product.

/// The entry of an index table that doubles all sums.
pub const RESCALE: u16 = 0x8000;

/// A step of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The first step of its tile, or of a part of it.
    pub first: bool,
    /// The last step of its tile, or of a part of it: its sums leave.
    pub last: bool,
    /// The last step of its tile.
    pub ends: bool,
    /// The channel of a product; a rescale has none.
    pub channel: Option<u16>,
    /// The panel of A that the step uses, counted from 0.
    pub row_tile: u32,
    /// The panel of B that the step uses, counted over all tiles. Each tile has its own panel.
    pub tile: u32,
}

/// The tiles of a product.
#[derive(Clone, Debug)]
pub struct Tiles {
    /// Panels of A.
    pub row_tiles: u32,
    /// Panels of B.
    pub column_tiles: u32,
    /// Channels of a panel.
    pub channels: u32,
    /// Entries of the index table.
    pub table: Vec<u16>,
    /// Each rescale ends a part of its tile.
    pub explicit: bool,
}

impl Tiles {
    /// All steps in order, and whether an entry that is neither a channel nor a rescale ends them.
    #[must_use]
    pub fn steps(&self) -> (Vec<Step>, bool) {
        let mut steps = Vec::new();
        for row_tile in 0..self.row_tiles {
            for column_tile in 0..self.column_tiles {
                let mut first = true;
                for (k, &entry) in self.table.iter().enumerate() {
                    if entry != RESCALE && u32::from(entry) >= self.channels {
                        return (steps, true);
                    }
                    let ends = k + 1 == self.table.len();
                    let last = ends || (self.explicit && entry == RESCALE);
                    steps.push(Step {
                        first,
                        last,
                        ends,
                        channel: (entry != RESCALE).then_some(entry),
                        row_tile,
                        tile: row_tile * self.column_tiles + column_tile,
                    });
                    first = last;
                }
            }
        }
        (steps, false)
    }

    /// Cycles from the beginning to the last step, when nothing stalls.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        u64::from(self.row_tiles) * u64::from(self.column_tiles) * self.table.len() as u64 + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tiles_of_two_groups() {
        let tiles = Tiles { row_tiles: 1, column_tiles: 2, channels: 3, table: vec![2, RESCALE, 0], explicit: false };
        let (steps, wrong) = tiles.steps();
        assert!(!wrong);
        let shown: Vec<_> = steps.iter().map(|s| (s.first, s.last, s.channel, s.tile)).collect();
        let tile = |t| [(true, false, Some(2), t), (false, false, None, t), (false, true, Some(0), t)];
        assert_eq!(shown, [tile(0), tile(1)].concat());
        assert_eq!(tiles.cycles(), 8);
        let (steps, _) = Tiles { column_tiles: 1, explicit: true, ..tiles }.steps();
        let shown: Vec<_> = steps.iter().map(|s| (s.first, s.last, s.ends, s.channel)).collect();
        assert_eq!(shown, [(true, false, false, Some(2)), (false, true, false, None), (true, true, true, Some(0))]);
    }

    #[test]
    fn a_wrong_entry_ends_it() {
        for wrong in [3, 0x7fff, 0x8001, 0xffff] {
            let tiles = Tiles { row_tiles: 2, column_tiles: 1, channels: 3, table: vec![1, wrong, 0], explicit: false };
            let (steps, ends) = tiles.steps();
            assert!(ends && steps.len() == 1, "{wrong:#x}");
        }
    }
}
