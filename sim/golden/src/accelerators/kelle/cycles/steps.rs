//! The array: rows of weights that go into it, steps of vectors, and results.

use crate::accelerators::cycles::{Times, Way, extend, latest};

/// The array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Rows of PEs.
    pub rows: u64,
    /// Columns of PEs.
    pub columns: u64,
    /// Results that have a place to wait.
    pub results: i64,
}

impl Array {
    /// From a last step to the first beat of its result.
    fn result(&self) -> u64 {
        2 * self.rows.max(self.columns) + 2
    }
}

/// The sizes of a product: groups of sums, and some tiles of weights for each group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Vectors that each tile multiplies.
    pub vectors: i64,
    /// Tiles of a group. Weights of two bytes have two tiles each.
    pub per_group: i64,
    /// Beats of a result.
    pub beats: i64,
    /// The least cycles from the last step of a result to the last step of the next one.
    pub apart: u64,
}

/// A product in flight, up to its sums as fp16 numbers.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    array: Array,
    sizes: Sizes,
    /// Rows of weights up to the end of each tile.
    rows: Vec<i64>,
    lanes: Way,
    /// When each row of weights was taken. Rows after the last tile are dropped.
    pub loads: Times,
    /// When each tile was swapped in: with the high bytes of its first vector.
    swaps: Times,
    /// When each vector made its second step with a tile.
    stepped: Times,
    /// When each beat of results entered the lanes, and left them.
    pub taken: Times,
    pub left: Times,
}

impl Steps {
    /// A product whose tiles have so many rows of weights each. A sum is in the lanes for `sum` cycles.
    pub fn new(array: Array, sizes: Sizes, tiles: impl IntoIterator<Item = i64>, sum: u64) -> Self {
        let mut end = 0;
        let next = |rows: i64| {
            end += rows;
            end
        };
        let rows = tiles.into_iter().map(next).collect();
        let (loads, swaps, stepped, taken, left) = Default::default();
        Self { array, sizes, rows, lanes: Way::section(sum), loads, swaps, stepped, taken, left }
    }

    /// Rows of weights of all tiles.
    pub fn rows(&self) -> i64 {
        self.rows.last().copied().unwrap_or(0)
    }

    /// `weights`: when rows of weights come. `first`: from when on the first vector can be read. `wanted`: when a beat
    /// of results may be taken. `free`: when it may leave the lanes.
    pub fn advance(
        &mut self,
        first: Option<u64>,
        weights: impl Fn(i64) -> Option<u64>,
        wanted: impl Fn(i64) -> Option<u64>,
        free: impl Fn(i64) -> Option<u64>,
    ) -> bool {
        let mut all = false;
        loop {
            let mut moved = false;
            extend!(moved, self.loads, self.next_load(&weights));
            extend!(moved, self.swaps, self.next_swap(first));
            extend!(moved, self.stepped, self.next_step());
            extend!(moved, self.taken, {
                let n = self.taken.known();
                let room = self.left.behind(n - self.lanes.places, 1);
                latest([self.shown(n), wanted(n), room])
            });
            extend!(moved, self.left, {
                let n = self.left.known();
                latest([self.taken.behind(n, self.lanes.cycles), self.left.behind(n - 1, 1), free(n)])
            });
            if !moved {
                return all;
            }
            all = true;
        }
    }

    /// Row r of a tile follows the swap of the tile before through the array.
    fn next_load(&self, weights: impl Fn(i64) -> Option<u64>) -> Option<u64> {
        let n = self.loads.known();
        let tile = self.rows.partition_point(|&end| end <= n);
        let swap = if tile == self.rows.len() {
            Some(0)
        } else {
            let before = if tile == 0 { 0 } else { self.rows[tile - 1] };
            self.swaps.behind(tile as i64 - 1, (n - before) as u64)
        };
        latest([weights(n), self.loads.behind(n - 1, 1), swap])
    }

    /// A tile is swapped in when all of its rows are there.
    fn next_swap(&self, first: Option<u64>) -> Option<u64> {
        let tile = self.swaps.known();
        let &rows = self.rows.get(tile as usize)?;
        let before = if tile == 0 { first } else { self.stepped.behind(tile * self.sizes.vectors - 1, 0) };
        latest([before.map(|time| time + 1), self.loads.behind(rows - 1, 1)])
    }

    /// Each vector has two steps. In the last tile of a group, the second step waits for a place for the result.
    fn next_step(&self) -> Option<u64> {
        let Sizes { vectors, per_group, beats, apart } = self.sizes;
        let n = self.stepped.known();
        let (tile, vector) = (n / vectors, n % vectors);
        let high = if vector == 0 { self.swaps.behind(tile, 0) } else { self.stepped.behind(n - 1, 1) };
        let (mut room, mut gap) = (Some(0), Some(0));
        if (tile + 1) % per_group == 0 {
            let result = tile / per_group * vectors + vector;
            room = self.taken.behind((result - self.array.results + 1) * beats - 1, 1);
            gap = self.stepped.behind(self.last_step(result - 1), apart);
        }
        latest([high.map(|time| time + 1), room, gap])
    }

    /// The number of the step that ends a result; -1 for a result before the first.
    fn last_step(&self, result: i64) -> i64 {
        let Sizes { vectors, per_group, .. } = self.sizes;
        if result < 0 { -1 } else { ((result / vectors + 1) * per_group - 1) * vectors + result % vectors }
    }

    /// When beat `n` of results is there.
    fn shown(&self, n: i64) -> Option<u64> {
        let (result, beat) = (n / self.sizes.beats, n % self.sizes.beats);
        let there = if beat == 0 { self.stepped.behind(self.last_step(result), self.array.result()) } else { Some(0) };
        latest([there, self.taken.behind(n - 1, 1)])
    }
}
