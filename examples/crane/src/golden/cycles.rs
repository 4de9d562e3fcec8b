//! Cycles of a job before a memory that never pauses, as [`golden::accelerators::cycles`] explains.

use senbazuru::accelerator::golden::accelerators::cycles::{
    Converter, Course, Dmas, Flow, Pages, Recurrence, Shell, Times, Turns, Unit, extend, latest,
};
use senbazuru::accelerator::golden::accelerators::memory::Memory;
use senbazuru::accelerator::golden::accelerators::vector;

use super::{Golden, Operation};

/// Operands of a product: rows, weights, exponents, results.
const OPERANDS: u64 = 4;
const X: usize = 0;
const WEIGHTS: usize = 1;
const EXPONENTS: usize = 2;

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The vector unit.
    pub unit: Unit,
    /// Cycles from the last word of a column to its results.
    pub latency: u64,
    /// Columns of a page of results.
    pub strip: u64,
}

impl Recurrence<Golden> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        golden: &Golden,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let product = match operation {
            Operation::Rows(rows) => {
                let of_rows = vector::cycles::Timing { shell: self.shell, unit: self.unit };
                return of_rows.course(&golden.vector, rows, now, (memory, turns));
            }
            Operation::Product(product) => product,
        };
        let shape = golden.shape();
        // Weights are read before the rows are there.
        let late = u32::from(self.shell.overlaps());
        let mut dmas = self.shell.dmas(turns).holding(late);
        // One cycle more: places of commands are computed.
        let begin = now + self.shell.checks(OPERANDS, OPERANDS) + 1;
        for (k, command) in [(X, &product.x), (WEIGHTS, &product.weights), (EXPONENTS, &product.exponents)] {
            dmas.readers[k].offer(command, begin + 1);
        }
        let word = 8 * shape.exponent_bytes();
        let columns = Columns {
            words: shape.words(product.channels) as i64,
            latency: self.latency,
            exponents: Converter::new(8 * self.shell.bus_bytes, word, 8 * product.exponents.row_bytes),
            pages: Pages::new(&product.out, product.out.rows, (self.strip, 1), self.shell.bus_bytes),
            begin,
            filled: Times::default(),
            turned: Times::default(),
        };
        Ok(Course::new(begin, dmas, columns).late(late).making(product.events(shape)))
    }
}

/// A product in flight.
struct Columns {
    /// Words of a column.
    words: i64,
    latency: u64,
    exponents: Converter,
    /// Results in the turn buffer, from this cycle on: when each column came, and when each beat was read.
    pages: Pages,
    begin: u64,
    filled: Times,
    turned: Times,
}

impl Columns {
    /// A word of weights waits for its exponents, for all rows, and for room for the result of its column.
    fn next_word(&self, dmas: &Dmas) -> Option<u64> {
        let [x, weights, exponents] = [X, WEIGHTS, EXPONENTS].map(|k| &dmas.readers[k]);
        let (n, places) = (weights.left.known(), self.latency as i64 + 2);
        let ends = n % self.words == self.words - 1;
        let room = if ends { self.filled.behind(n / self.words - places, 1) } else { Some(0) };
        latest([weights.shown(n), self.exponents.shown(n, &exponents.left), x.left.behind(x.beats() - 1, 2), room])
    }
}

impl Flow for Columns {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let (filled, turned) = (&self.filled, &self.turned);
        let mut moved = self.pages.walk(&mut dmas.writer, self.begin, |_, [before, earlier]| {
            latest([filled.behind(before.0, 1), turned.behind(earlier.1, 1)])
        });
        extend!(moved, dmas.readers[X].left, dmas.readers[X].shown(dmas.readers[X].left.known()));
        loop {
            let n = dmas.readers[EXPONENTS].left.known();
            let beat = latest([dmas.readers[EXPONENTS].shown(n), self.exponents.free(n, &dmas.readers[WEIGHTS].left)]);
            beat.into_iter().for_each(|time| dmas.readers[EXPONENTS].left.push(time));
            let word = self.next_word(dmas);
            word.into_iter().for_each(|time| dmas.readers[WEIGHTS].left.push(time));
            let n = self.filled.known();
            let column = latest([
                dmas.readers[WEIGHTS].left.behind((n + 1) * self.words - 1, self.latency + 1),
                self.filled.behind(n - 1, 1),
                self.pages.free(n),
            ]);
            column.into_iter().for_each(|time| self.filled.push(time));
            if beat.is_none() && word.is_none() && column.is_none() {
                break;
            }
            moved = true;
        }
        moved | self.pages.turn(&self.filled, &mut self.turned, &mut dmas.writer)
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        if self.pages.all_walked() { dmas.end() } else { None }
    }
}
