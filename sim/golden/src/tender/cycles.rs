//! When the arrays take steps and show sums: the formulas of docs/blocks/tender.md.

use super::tender_pe::Drain;

/// An output-stationary array: the parameters that affect cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayCycles {
    /// Rows of PEs.
    pub rows: u64,
    /// Columns of PEs.
    pub columns: u64,
    /// Whether four PEs can work as one PE of twice the width.
    pub int8: bool,
    /// How sums leave.
    pub drain: Drain,
    /// Registers between operands and sum in a PE. With such registers operands pass one more at the edge, and the parts
    /// of sums of bytes two.
    pub ranks: u64,
}

impl ArrayCycles {
    /// Cycles from the drain of the last column to the port.
    fn behind(&self) -> u64 {
        match (self.int8, self.ranks) {
            (false, _) => 0,
            (true, 0) => 1,
            // Registers hold the addends, the sum of a column, and the sum of two columns.
            (true, _) => 3,
        }
    }

    /// Cycles by which registers delay the drain.
    fn before(&self) -> u64 {
        if self.ranks > 0 { 1 + self.ranks } else { 0 }
    }

    /// The row in which sum (i, j) of a tile is shown, and the cycle. The tile's last step is taken in cycle `last`.
    /// With `bytes` the tile has twice the width, and (i, j) counts operands of that width.
    #[must_use]
    pub fn sum(&self, last: u64, (i, j): (u64, u64), bytes: bool) -> (u64, u64) {
        // The last PE of row 0 takes the step `columns - 1` cycles late and has its sum in the next cycle. The row
        // starts to move in the cycle after that.
        let first = last + self.columns + 1 + self.before();
        if bytes {
            // The later row of a pair has all four parts when the later column of a pair has left.
            let (row, turn) = (2 * i + 1, self.columns / 2 - 1 - j);
            (row, first + row + 2 * turn + 1 + self.behind())
        } else {
            (i, first + i + (self.columns - 1 - j) + self.behind())
        }
    }

    /// Cycles from the last step of a tile (not counted) to its last sum.
    #[must_use]
    pub fn drain(&self) -> u64 {
        (self.rows - 1) + (self.columns - 1) + self.columns + 1 + self.before() + self.behind()
    }

    /// Cycles of the last steps of tiles that follow each other without a pause. `steps` has the number of steps of
    /// each tile. The first step of the first tile is taken in cycle 0.
    ///
    /// With `Double`, a tile may not end before the sums of the tile before have left the registers. With `Single`, a
    /// tile may not begin before these sums have left the accumulators.
    #[must_use]
    pub fn lasts(&self, steps: &[u64]) -> Vec<u64> {
        let mut lasts: Vec<u64> = Vec::new();
        for &steps in steps {
            lasts.push(match (lasts.last(), self.drain) {
                (None, _) => steps - 1,
                (Some(before), Drain::Double) => before + steps.max(self.columns),
                (Some(before), Drain::Single) => before + steps + self.columns + 1,
            });
        }
        lasts
    }

    /// Cycles from the first step of these tiles to the last sum, both counted.
    #[must_use]
    pub fn tiles(&self, steps: &[u64]) -> u64 {
        self.lasts(steps).last().map_or(0, |last| last + 1 + self.drain())
    }
}

/// A weight-stationary array: the parameters that affect cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationaryCycles {
    /// Rows of PEs.
    pub rows: u64,
    /// Columns of PEs.
    pub columns: u64,
}

impl StationaryCycles {
    /// Cycle in which column `c` shows the sum of a vector that is taken in cycle `step`.
    #[must_use]
    pub fn sum(&self, step: u64, c: u64) -> u64 {
        step + self.rows + c + 1
    }

    /// Cycles from the first weight of a fold to the first weight of the next fold. The last of the `vectors` must have
    /// passed the last row before its weights move.
    #[must_use]
    pub fn fold(&self, vectors: u64) -> u64 {
        self.rows + vectors + (self.rows - 1)
    }

    /// Cycles from the first weight to the last sum of a product, both counted, without pauses.
    #[must_use]
    pub fn product(&self, folds: u64, vectors: u64) -> u64 {
        folds * self.fold(vectors) + self.columns + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 x 3 PEs, drawn by hand: the last step reaches PE (0, 2) in cycle 2, row 0 moves from cycle 4 on.
    #[test]
    fn sums_by_hand() {
        let array = ArrayCycles { rows: 2, columns: 3, int8: false, drain: Drain::Double, ranks: 0 };
        let row = |i| [2, 1, 0].map(|j| array.sum(0, (i, j), false));
        assert_eq!((row(0), row(1)), ([(0, 4), (0, 5), (0, 6)], [(1, 5), (1, 6), (1, 7)]));
        assert_eq!(array.drain(), 7);
    }

    #[test]
    fn sums_of_bytes_by_hand() {
        let array = ArrayCycles { rows: 4, columns: 4, int8: true, drain: Drain::Double, ranks: 0 };
        // Row 0 moves from cycle 5 on, row 1 from cycle 6 on. The first pair of columns is complete after its second
        // sum, a register late.
        let at = |i, j| array.sum(0, (i, j), true);
        assert_eq!([at(0, 1), at(0, 0), at(1, 1), at(1, 0)], [(1, 8), (1, 10), (3, 10), (3, 12)]);
        assert_eq!((array.sum(0, (0, 3), false), array.drain()), ((0, 6), 12));
        // Registers: at the edge, after the multiplier, before and between the two additions of nibbles.
        let pipelined = ArrayCycles { ranks: 1, ..array };
        assert_eq!((pipelined.sum(0, (0, 1), true), pipelined.sum(0, (0, 3), false)), ((1, 12), (0, 10)));
        assert_eq!((pipelined.drain(), pipelined.lasts(&[2, 9])), (16, array.lasts(&[2, 9])));
        let deeper = ArrayCycles { ranks: 3, ..array };
        assert_eq!((deeper.sum(0, (0, 1), true), deeper.drain()), ((1, 14), 18));
    }

    #[test]
    fn short_tiles_wait_for_the_registers() {
        let double = ArrayCycles { rows: 1, columns: 4, int8: false, drain: Drain::Double, ranks: 0 };
        assert_eq!(double.lasts(&[2, 1, 6, 3]), [1, 5, 11, 15]);
        let single = ArrayCycles { drain: Drain::Single, ..double };
        assert_eq!(single.lasts(&[2, 1, 6, 3]), [1, 7, 18, 26]);
        assert_eq!((double.tiles(&[2]), double.tiles(&[])), (2 + 3 + 4 + 1, 0));
    }

    #[test]
    fn folds() {
        // One row, one column: load, step, sum two cycles later.
        let one = StationaryCycles { rows: 1, columns: 1 };
        assert_eq!((one.fold(1), one.product(1, 1), one.sum(1, 0)), (2, 4, 3));
        assert_eq!(StationaryCycles { rows: 3, columns: 2 }.fold(5), 10);
    }
}
