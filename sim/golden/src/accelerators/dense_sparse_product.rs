//! A matrix product in channel groups whose outliers are multiplied separately, and how long the hardware takes for it.
//!
//! Values are integers in units of the finest group. A value that is no outlier is rounded to the unit of its group. An
//! outlier is exact.

use crate::kllm::orizuru::Timing;

/// A tile of weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// For each channel: the unit of its group is 2^shift units of the finest group.
    pub shifts: Vec<u32>,
    /// Weights by channel and column.
    pub weights: Vec<Vec<i64>>,
}

/// Rows, and the tiles of weights to multiply them by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Values of a row by channel.
    pub rows: Vec<Vec<i64>>,
    /// How many outliers each row has: the largest and the smallest values.
    pub outliers: Vec<(usize, usize)>,
    /// Tiles, one after the other.
    pub tiles: Vec<Tile>,
}

/// The places of the `largest` largest and the `smallest` smallest of `values`, in ascending order. Of equal values the
/// lower places go first. If there are fewer values, all places.
#[must_use]
pub fn outliers(values: &[i64], (largest, smallest): (usize, usize)) -> Vec<bool> {
    // A value is one of the first if few enough of the others go before it.
    let rank = |k: usize, before: &dyn Fn(i64, i64) -> bool| {
        let first = |&(i, &other): &(usize, &i64)| before(other, values[k]) || (other == values[k] && i < k);
        values.iter().enumerate().filter(first).count()
    };
    let is_one = |k| rank(k, &|a, b| a > b) < largest || rank(k, &|a, b| a < b) < smallest;
    (0..values.len()).map(is_one).collect()
}

/// `value` in units of 2^`shift`, rounded to nearest, ties to even, and saturated to `width` bits.
#[must_use]
pub fn quantized(value: i64, shift: u32, width: u32) -> i64 {
    let unit = 1i64 << shift;
    let (below, over) = (value.div_euclid(unit), 2 * value.rem_euclid(unit));
    let up = over > unit || (over == unit && below % 2 != 0);
    let limit = 1i64 << (width - 1);
    (below + i64::from(up)).clamp(-limit, limit - 1)
}

impl Tile {
    /// The shifts that the hardware uses: no shift is larger than the shift before it.
    #[must_use]
    pub fn scales(&self) -> Vec<u32> {
        let least = |least: &mut u32, &shift: &u32| {
            *least = shift.min(*least);
            Some(*least)
        };
        self.shifts.iter().scan(u32::MAX, least).collect()
    }

    /// Whether a shift is larger than the shift that the channel before it uses.
    #[must_use]
    pub fn is_out_of_order(&self) -> bool {
        self.scales() != self.shifts
    }

    /// Sums by row and column, in units of the finest group. Integers of groups have `width` bits.
    #[must_use]
    pub fn product(&self, rows: &[Vec<i64>], apart: &[Vec<bool>], width: u32) -> Vec<Vec<i64>> {
        let scales = self.scales();
        let columns = self.weights.first().map_or(0, Vec::len);
        let value = |r: usize, k: usize| match apart[r][k] {
            true => rows[r][k],
            false => quantized(rows[r][k], scales[k], width) << scales[k],
        };
        let sum = |r, c| (0..scales.len()).map(|k| value(r, k) * self.weights[k][c]).sum();
        (0..rows.len()).map(|r| (0..columns).map(|c| sum(r, c)).collect()).collect()
    }
}

impl Block {
    /// Which values of each row are outliers.
    #[must_use]
    pub fn apart(&self) -> Vec<Vec<bool>> {
        self.rows.iter().zip(&self.outliers).map(|(row, &wanted)| outliers(row, wanted)).collect()
    }

    /// Sums of all tiles.
    #[must_use]
    pub fn products(&self, width: u32) -> Vec<Vec<Vec<i64>>> {
        let apart = self.apart();
        self.tiles.iter().map(|tile| tile.product(&self.rows, &apart, width)).collect()
    }
}

/// How long the block takes while nothing stalls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// The finder of outliers.
    pub finder: Timing,
    /// Rows of a tile.
    pub rows: u64,
    /// Columns of a tile.
    pub columns: u64,
}

impl Cycles {
    /// From the first beat of a row to the first beat of the next row.
    #[must_use]
    pub fn row(&self, (largest, smallest): (usize, usize)) -> u64 {
        let pops = |wanted: usize| (wanted as u64).min(self.finder.n) * self.finder.next_pop();
        // One outlier is taken at a time, and maxima go first, so all minima are a cycle late.
        let late = u64::from(largest > 0 && smallest > 0);
        self.finder.vector(0) + pops(largest).max(pops(smallest) + late) + 2
    }

    /// Steps of a tile: until its last channel is taken, and until the last step.
    #[must_use]
    pub fn steps(&self, tile: &Tile, apart: &[Vec<bool>]) -> [u64; 2] {
        let scales = tile.scales();
        let channel = |k: usize| {
            let doublings = if k == 0 { 0 } else { scales[k - 1] - scales[k] };
            let beside = apart.iter().filter(|row| row[k]).count() as u64;
            (u64::from(doublings) + 1).max(beside)
        };
        let channels = (0..scales.len()).map(channel).sum();
        [channels, channels + scales.last().map_or(0, |&left| u64::from(left))]
    }

    /// Cycles of a tile: its steps, one cycle before them, then its sums leave the array and the block.
    #[must_use]
    pub fn tile(&self, tile: &Tile, apart: &[Vec<bool>]) -> u64 {
        self.steps(tile, apart)[1] + 2 * (self.rows + self.columns) + 1
    }

    /// For each tile, the cycles from taking the first beat of the first row to taking the last row of its results.
    #[must_use]
    pub fn ends(&self, blocks: &[Block]) -> Vec<u64> {
        let (mut ends, mut begins) = (Vec::new(), 0);
        // When each bank is free again, the older bank first; and when the last tile ends.
        let (mut free, mut over) = ([0, 0], 0);
        for block in blocks {
            let apart = block.apart();
            let loaded = free[0].max(begins) + block.outliers.iter().map(|&wanted| self.row(wanted)).sum::<u64>();
            (begins, over) = (loaded, loaded.max(over));
            free[0] = free[1];
            for tile in &block.tiles {
                free[1] = over + self.steps(tile, &apart)[0] + 1;
                over += self.tile(tile, &apart);
                ends.push(over - 1);
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_by_hand() {
        let marked = |values: &[i64], wanted| {
            let marked = outliers(values, wanted).into_iter().enumerate().filter(|m| m.1);
            marked.map(|m| m.0).collect::<Vec<_>>()
        };
        assert_eq!(marked(&[3, -7, 100, 4, -9], (1, 1)), [2, 4]);
        assert_eq!(marked(&[3, -7, 100, 4, -9], (2, 0)), [2, 3]);
        // Of equal values the first count. Both sides may have the same values.
        assert_eq!(marked(&[5, 5, 5], (1, 2)), [0, 1]);
        assert_eq!(marked(&[1, 2], (0, 0)), [] as [usize; 0]);
        assert_eq!(marked(&[1, 2], (9, 0)), [0, 1]);
    }

    #[test]
    fn quantized_by_hand() {
        // 6 / 4 = 1.5, 10 / 4 = 2.5: both go to 2. 40 / 4 = 10 does not fit.
        assert_eq!([6, 10, 11, -6, -10, 40, -40].map(|x| quantized(x, 2, 4)), [2, 2, 3, -2, -2, 7, -8]);
        assert_eq!([7, -8, 9].map(|x| quantized(x, 0, 4)), [7, -8, 7]);
    }

    fn tile(shifts: [u32; 3]) -> Tile {
        Tile { shifts: shifts.into(), weights: vec![vec![1, 2], vec![3, -1], vec![-2, 5]] }
    }

    #[test]
    fn a_product_by_hand() {
        let block = Block { rows: vec![vec![21, 100, -3]], outliers: vec![(1, 0)], tiles: vec![tile([2, 1, 0])] };
        // 21 / 4 = 5.25 becomes 5 units of 4; 100 is an outlier; -3 is exact: 20 + 300 + 6, 40 - 100 - 15.
        assert_eq!(block.products(4), [[[326, -75]]]);
        // Without outliers 100 / 2 saturates at 7: 20 + 42 + 6, 40 - 14 - 15.
        let block = Block { outliers: vec![(0, 0)], ..block };
        assert_eq!(block.products(4), [[[68, 11]]]);
    }

    #[test]
    fn scales_do_not_rise() {
        assert_eq!(tile([2, 1, 3]).scales(), [2, 1, 1]);
        assert!(tile([2, 1, 3]).is_out_of_order() && !tile([2, 2, 0]).is_out_of_order());
    }

    #[test]
    fn cycles_by_hand() {
        let finder = Timing { n: 3, lanes: 2, radix: 16, levels_per_cycle: 4, shared: false };
        let cycles = Cycles { finder, rows: 2, columns: 2 };
        // Two beats, a unit of 4: three cycles to the first pop, two more to the next. With both sides it takes a cycle
        // more.
        assert_eq!((finder.load(), finder.first_pop(), finder.next_pop()), (2, 3, 2));
        assert_eq!([(0, 0), (1, 0), (1, 1), (9, 0)].map(|wanted| cycles.row(wanted)), [6, 8, 9, 12]);
        // The last channel is an outlier of both rows, in the cycle of its doubling; one doubling remains.
        let apart = vec![vec![false, false, true]; 2];
        assert_eq!(cycles.steps(&tile([3, 2, 1]), &apart), [1 + 2 + 2, 6]);
        assert_eq!(cycles.tile(&tile([3, 2, 1]), &apart), 6 + 8 + 1);
        let rows = vec![vec![1, 2, 9], vec![0, 0, 9]];
        let block = Block { rows, outliers: vec![(1, 0); 2], tiles: vec![tile([3, 2, 1]); 2] };
        // 16 cycles of loading, 15 of each tile; the next rows are there when the second tile ends.
        assert_eq!(cycles.ends(&[block.clone(), block]), [30, 45, 60, 75]);
    }
}
