//! Parts of tiles, with explicit requantization. Without it a tile is one part.

use crate::accelerators::execution_controller::RESCALE;
use crate::accelerators::memory::Memory;
use crate::accelerators::tender::MatMul;

/// The order in which columns of sums leave the output buffer: panel by panel, tile by tile, part by part.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// Steps of each part of a tile.
    steps: Vec<u64>,
    /// Columns of the product, and of a tile.
    columns: i64,
    width: i64,
}

/// A column that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    /// The part of a tile, counted over all tiles.
    pub part: i64,
    /// The column of results.
    pub column: i64,
    /// The number of the column in its tile.
    pub place: i64,
    /// Whether it belongs to the last part.
    pub ends: bool,
}

impl Parts {
    /// The parts of a product whose table is in memory.
    pub fn of(operation: &MatMul, memory: &mut dyn Memory) -> Self {
        let (columns, width) = (operation.finish.columns as i64, operation.finish.layout.columns as i64);
        let mut table = vec![0; operation.table.row_bytes as usize];
        let steps = if operation.explicit && memory.read(operation.table.address, &mut table).is_ok() {
            let entries: Vec<_> = table.chunks(2).collect();
            entries.split_inclusive(|entry| **entry == RESCALE.to_le_bytes()).map(|part| part.len() as u64).collect()
        } else {
            vec![operation.steps]
        };
        Self { steps, columns, width }
    }

    /// The columns of a packing, which has no sums: one part with all columns.
    pub fn none(columns: i64) -> Self {
        Self { steps: vec![1], columns, width: columns }
    }

    /// Number of parts of a tile.
    pub fn of_tile(&self) -> i64 {
        self.steps.len() as i64
    }

    /// Steps of a part.
    pub fn steps(&self, part: i64) -> u64 {
        self.steps[(part % self.of_tile()) as usize]
    }

    /// Number of tiles next to each other.
    pub fn across(&self) -> i64 {
        (self.columns + self.width - 1) / self.width
    }

    /// Number of columns that leave for each panel.
    pub fn of_panel(&self) -> i64 {
        self.columns * self.of_tile()
    }

    /// First column of a tile in its panel, and the number of its columns.
    fn tile(&self, across: i64) -> (i64, i64) {
        let first = across * self.width;
        (first, self.width.min(self.columns - first))
    }

    /// Leaving column `n`.
    pub fn leaving(&self, n: i64) -> Leaving {
        let (panel, within) = (n / self.of_panel(), n % self.of_panel());
        let across = within / (self.width * self.of_tile());
        let (first, columns) = self.tile(across);
        let within = within - first * self.of_tile();
        let (part, place) = (within / columns, within % columns);
        Leaving {
            part: (panel * self.across() + across) * self.of_tile() + part,
            column: panel * self.columns + first + place,
            place,
            ends: part + 1 == self.of_tile(),
        }
    }

    /// The number of the leaving column that is the last one of a part; -1 for the part before the first.
    pub fn last(&self, part: i64) -> i64 {
        if part < 0 {
            return -1;
        }
        let (tile, part) = (part / self.of_tile(), part % self.of_tile());
        let (first, columns) = self.tile(tile % self.across());
        tile / self.across() * self.of_panel() + first * self.of_tile() + (part + 1) * columns - 1
    }

    /// The number of the leaving column that ends a column of results.
    pub fn end_of(&self, column: i64) -> i64 {
        let (panel, within) = (column / self.columns, column % self.columns);
        let (first, columns) = self.tile(within / self.width);
        panel * self.of_panel() + first * self.of_tile() + (self.of_tile() - 1) * columns + within - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two panels of 5 columns, tiles of 2, three parts: each column leaves once in each part, and all numbers agree.
    #[test]
    fn columns_and_parts() {
        let parts = Parts { steps: vec![3, 1, 2], columns: 5, width: 2 };
        let all: Vec<_> = (0..2 * parts.of_panel()).map(|n| parts.leaving(n)).collect();
        let places: Vec<_> = all[..15].iter().map(|l| (l.part, l.column)).collect();
        let tile = |part: i64| [(part, part / 3 * 2), (part, part / 3 * 2 + 1)];
        let full: Vec<_> = (0..6).flat_map(tile).collect();
        assert_eq!(places, [full, vec![(6, 4), (7, 4), (8, 4)]].concat());
        for (n, leaving) in (0..).zip(&all) {
            assert_eq!(leaving.ends, parts.end_of(leaving.column) == n);
            assert_eq!(
                parts.last(leaving.part) == n,
                all.get(n as usize + 1).is_none_or(|next| next.part > leaving.part)
            );
        }
        assert_eq!((parts.last(-1), parts.steps(4)), (-1, 1));
    }
}
