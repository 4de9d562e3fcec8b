//! One processing element, cycle by cycle: the sum, and the row that shifts sums out.

use super::accumulator::{Accumulator, Overflow};

/// How sums leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// From the accumulator itself.
    Single,
    /// From a register next to it.
    Double,
}

/// The work on the sum in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Adds a product (0: nothing).
    Add(i128),
    /// Doubles n times.
    Shift(u32),
    /// Multiplies, in the cycle in which the multiplication is complete.
    Scale(i128),
}

/// The inputs of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// Whether the sum starts again.
    pub first: bool,
    /// Whether this is the last step of the tile.
    pub last: bool,
    /// The work.
    pub work: Work,
    /// Whether the row starts to shift.
    pub drain: bool,
    /// The output of the left neighbour.
    pub neighbour: (i128, bool),
}

/// The state of a PE.
#[derive(Clone, Debug)]
pub struct Pe {
    drain: Drain,
    sum: Accumulator,
    /// The output; `None` before a sum is defined.
    shown: Option<(i128, bool)>,
    complete: bool,
    waits: bool,
    shifts: bool,
    /// Whether a tile has begun since the reset, and has reached the sum.
    known: bool,
    /// In a PE that keeps its product: the step that reaches the sum in the next cycle.
    kept: Option<(bool, bool, Work)>,
}

impl Pe {
    /// A PE after reset.
    ///
    /// # Errors
    /// [`Accumulator::new`] refuses the width.
    pub fn new(width: u32, policy: Overflow, drain: Drain) -> Result<Self, String> {
        let sum = Accumulator::new(width, policy)?;
        Ok(Self { drain, sum, shown: None, complete: false, waits: false, shifts: false, known: false, kept: None })
    }

    /// The same PE with a register after its multiplier. A step reaches the sum one cycle later. The neighbour's sum
    /// and the start of the drain are not delayed.
    #[must_use]
    pub fn pipelined(mut self) -> Self {
        self.kept = Some((false, false, Work::Add(0)));
        self
    }

    /// One cycle. Returns the PE's output after it.
    pub fn step(&mut self, inputs: &Inputs) -> Option<(i128, bool)> {
        let arriving = (inputs.first, inputs.last, inputs.work);
        let (first, last, work) = self.kept.as_mut().map_or(arriving, |kept| std::mem::replace(kept, arriving));
        let before = self.known.then(|| self.sum.get());
        if first {
            self.sum.clear();
            (self.shifts, self.known) = (false, true);
        }
        match self.drain {
            Drain::Single => {
                self.shifts |= inputs.drain && !first;
                if !self.shifts {
                    self.work(work);
                }
                self.shown = if self.shifts { Some(inputs.neighbour) } else { self.known.then(|| self.sum.get()) };
            }
            Drain::Double => {
                self.work(work);
                let moves = self.complete || inputs.drain || !self.waits;
                if moves {
                    self.shown = if self.complete { before } else { Some(inputs.neighbour) };
                }
                self.waits = self.complete || (self.waits && !inputs.drain);
                self.complete = last;
            }
        }
        self.shown
    }

    fn work(&mut self, work: Work) {
        match work {
            Work::Add(product) => self.sum.add(product),
            Work::Shift(places) => self.sum.shift(places),
            Work::Scale(factor) => self.sum.scale(factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps of a tile, by hand: 5, 5 + 6, doubled.
    #[test]
    fn a_kept_product_comes_a_cycle_later() {
        let inputs = |first, work| Inputs { first, last: false, work, drain: false, neighbour: (9, true) };
        let tile = [inputs(true, Work::Add(5)), inputs(false, Work::Add(6)), inputs(false, Work::Shift(1))];
        let idle = inputs(false, Work::Add(0));
        let sums = |mut pe: Pe| [0, 1, 2, 3].map(|i| pe.step(tile.get(i).unwrap_or(&idle)).map(|shown| shown.0));
        let pe = Pe::new(8, Overflow::Wrap, Drain::Single).unwrap();
        assert_eq!(sums(pe.clone()), [Some(5), Some(11), Some(22), Some(22)]);
        assert_eq!(sums(pe.pipelined()), [None, Some(5), Some(11), Some(22)]);
    }

    #[test]
    fn a_row_shifts_when_it_is_told() {
        let mut pe = Pe::new(8, Overflow::Wrap, Drain::Double).unwrap().pipelined();
        let mut step = |first, last, drain| {
            pe.step(&Inputs { first, last, work: Work::Add(3), drain, neighbour: (7, false) }).map(|shown| shown.0)
        };
        // The tile of one step is complete two cycles later, waits, and makes room for the neighbour's sum.
        let shown = [step(true, true, false), step(false, false, false), step(false, false, false)];
        assert_eq!(shown, [Some(7), Some(7), Some(3)]);
        assert_eq!([step(false, false, false), step(false, false, true)], [Some(3), Some(7)]);
    }
}
