//! A token: its rows, the products of its queries with all keys, the softmax, the products with all values.

use super::pages::Pages;
use super::steps::{Sizes, Steps};
use super::timing::Timing;
use crate::accelerators::cycles::{Frame, Reader, Times, Way, Writer, extend, latest};

/// Operands of attention: reader 0 has queries, 1 keys, 2 values.
pub(super) const QUERIES: usize = 0;
pub(super) const KEYS: usize = 1;
pub(super) const VALUES: usize = 2;

/// Rows in flight between the list and the array.
const INSIDE: i64 = 5;
/// Cycles of a row from the list to the array.
const READING: u64 = 3;

/// Vectors of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Query heads.
    pub queries: u64,
    /// Slices of a vector.
    pub slices: u64,
    /// Whether values are late.
    pub late: bool,
    /// Rows of keys and of values before the rows of the first token.
    pub ahead: i64,
}

/// Products with keys, or with values.
#[derive(Clone, Debug)]
struct Product {
    /// When each row was looked up.
    reads: Times,
    steps: Steps,
    pages: Pages,
}

impl Product {
    fn new(steps: Steps, pages: Pages) -> Self {
        Self { reads: Times::default(), steps, pages }
    }

    /// Products begin in the cycle `begin`, and have the array from `given` on. `gone` says when words of pages go.
    fn advance(&mut self, [begin, given]: [Option<u64>; 2], gone: impl Fn(i64) -> Option<u64>) -> bool {
        let first = begin.map(|time| time + 1);
        let mut moved = false;
        loop {
            let mut more = false;
            extend!(more, self.reads, {
                let n = self.reads.known();
                let room = self.steps.loads.behind(n - INSIDE, 1);
                if n < self.steps.rows() { latest([first, self.reads.behind(n - 1, 1), room]) } else { None }
            });
            let (reads, pages) = (&self.reads, &self.pages);
            more |= self.steps.advance(
                first,
                |n| latest([reads.behind(n, READING), given]),
                |_| Some(0),
                |n| pages.free(n),
            );
            if !more {
                return moved | self.pages.advance(&self.steps.left, gone);
            }
            moved = true;
        }
    }
}

/// The softmax, from scores to probabilities.
#[derive(Clone, Debug)]
struct Softmax {
    frame: Frame,
    integers: Way,
    /// Beats of a query's scores.
    row: i64,
    /// When each beat came, entered the lanes after the answer, left them, and was an integer.
    entered: Times,
    answered: Times,
    shared: Times,
    whole: Times,
}

impl Softmax {
    fn advance(&mut self, scores: &Pages) -> bool {
        let (kept, lanes) = (self.frame.kept(), self.frame.lanes());
        let mut all = false;
        loop {
            let mut moved = false;
            extend!(moved, self.entered, {
                let n = self.entered.known();
                latest([scores.shown(n), self.entered.behind(n - 1, 1), self.answered.behind(n - kept.places, 1)])
            });
            extend!(moved, self.answered, {
                let n = self.answered.known();
                let last = (n / self.row + 1) * self.row - 1;
                latest([
                    self.entered.behind(n, kept.cycles),
                    self.entered.behind(last, self.frame.answer()),
                    self.answered.behind(n - 1, 1),
                    self.shared.behind(n - lanes.places, 1),
                ])
            });
            extend!(moved, self.shared, {
                let n = self.shared.known();
                let room = self.whole.behind(n - self.integers.places, 1);
                latest([self.answered.behind(n, lanes.cycles), self.shared.behind(n - 1, 1), room])
            });
            extend!(moved, self.whole, {
                let n = self.whole.known();
                latest([self.shared.behind(n, self.integers.cycles), self.whole.behind(n - 1, 1)])
            });
            if !moved {
                return all;
            }
            all = true;
        }
    }
}

/// Takes row `number` of a reader, with `row` beats. Its first beat can be taken from cycle `from` on. Returns when the
/// whole row is converted to integers.
pub(super) fn load(
    (reader, number, row): (&mut Reader, i64, i64),
    from: Option<u64>,
    integer: u64,
    moved: &mut bool,
) -> Option<u64> {
    let end = (number + 1) * row;
    while reader.left.known() < end {
        let time = latest([from, reader.shown(reader.left.known())])?;
        reader.left.push(time);
        *moved = true;
    }
    reader.left.behind(end - 1, integer + 1)
}

/// A token in flight.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// From when on its rows are requested.
    begin: u64,
    /// When the token before has ended.
    ready: Option<u64>,
    /// Its place in the operation.
    number: i64,
    late: bool,
    ahead: i64,
    /// When its products with keys begin, and when its products with values begin.
    pub scores: Option<u64>,
    pub valued: Option<u64>,
    /// Beats of a key or a value.
    pub vector: i64,
    /// Cycles from a number to its integer.
    integer: u64,
    keys: Product,
    softmax: Softmax,
    values: Product,
}

impl Token {
    /// Token `number` of its operation, with `old` tokens before it in its head. Its rows are requested from `begin`
    /// on. Its products begin from `ready` on.
    pub fn new(timing: &Timing, counts: Counts, (old, number): (u64, i64), (begin, ready): (u64, Option<u64>)) -> Self {
        let (array, lanes) = (timing.array, timing.shell.bus_bytes / 2);
        let Counts { queries, slices, late, ahead } = counts;
        let (tokens, panels) = (old + 1, old / array.rows + 1);
        let in_panel = |panel: u64| (tokens - panel * array.rows).min(array.rows) as i64;
        let sizes = |tiles: u64, width: u64, apart: u64| Sizes {
            vectors: queries as i64,
            per_group: 2 * tiles as i64,
            beats: (width / lanes) as i64,
            apart,
        };
        let results = |groups: u64, sizes: Sizes| groups as i64 * sizes.vectors * sizes.beats;

        let of_keys = sizes(slices, array.rows, array.rows);
        let tiles = (0..panels * 2 * slices).map(|tile| in_panel(tile / (2 * slices)));
        let row = tokens.div_ceil(lanes) as i64;
        let pages = Pages::new([(results(panels, of_keys), row * queries as i64)]);
        let keys = Product::new(Steps::new(array, of_keys, tiles, timing.sum), pages);

        let of_values = sizes(panels, array.columns, 0);
        let tiles = (0..slices * 2 * panels).map(|tile| in_panel(tile / 2 % panels));
        let beats = results(slices, of_values);
        let values = Product::new(Steps::new(array, of_values, tiles, timing.sum), Pages::new([(beats, beats)]));

        let (entered, answered, shared, whole) = Default::default();
        let integers = Way::section(timing.integer);
        let softmax = Softmax { frame: timing.softmax, integers, row, entered, answered, shared, whole };
        let vector = beats / queries as i64;
        let (integer, scores, valued) = (timing.integer, None, None);
        Self { begin, ready, number, late, ahead, scores, valued, vector, integer, keys, softmax, values }
    }

    /// The same token, once the token before has ended at `time`.
    pub fn ready(self, time: u64) -> Self {
        Self { ready: Some(time), ..self }
    }

    /// Takes a row of the token, with `row` beats. Its first beat can be taken from cycle `from` on. Returns when the
    /// whole row is converted to integers.
    fn load(
        &self,
        readers: &mut [Reader],
        (kind, row): (usize, i64),
        from: Option<u64>,
        moved: &mut bool,
    ) -> Option<u64> {
        let number = if kind == QUERIES { self.number } else { self.ahead + self.number };
        load((&mut readers[kind], number, row), from, self.integer, moved)
    }

    /// Loads key, value and queries, each after the one before, and then makes the products. A late value comes when
    /// the scores have begun. The array is its own from `given` on.
    pub fn advance(&mut self, given: Option<u64>, readers: &mut [Reader], writer: &mut Writer) -> bool {
        let mut moved = false;
        let mut from = Some(self.begin + 1);
        // Results have as many beats as queries.
        let queries = self.values.pages.words();
        let order = [(KEYS, self.vector), (VALUES, self.vector), (QUERIES, queries)];
        for (kind, row) in order.into_iter().filter(|&(kind, _)| kind != VALUES || !self.late) {
            from = self.load(readers, (kind, row), from, &mut moved).map(|last| last + 1);
        }
        // The row of the token is looked up and written.
        self.scores = latest([from, self.ready]).map(|time| time + 3);
        let mut value = Some(0);
        if self.late {
            let from = self.scores.map(|time| time + 1);
            value = self.load(readers, (VALUES, self.vector), from, &mut moved).map(|last| last + 2);
        }
        let entered = &self.softmax.entered;
        moved |= self.keys.advance([self.scores, given], |n| entered.behind(n, 0));
        moved |= self.softmax.advance(&self.keys.pages);
        self.valued = latest([self.softmax.whole.behind(self.keys.pages.words() - 1, 2), value]);
        let first = self.number * self.values.pages.words();
        let came = &writer.came;
        moved |= self.values.advance([self.valued, given], |n| came.behind(first + n, 0));
        while (first..first + self.values.pages.words()).contains(&writer.came.known()) {
            let n = writer.came.known();
            let Some(time) = latest([self.values.pages.shown(n - first), writer.free(n)]) else { break };
            writer.came.push(time);
            moved = true;
        }
        moved
    }

    /// When its results have left.
    pub fn end(&self, writer: &Writer) -> Option<u64> {
        writer.came.behind((self.number + 1) * self.values.pages.words() - 1, 0)
    }
}
