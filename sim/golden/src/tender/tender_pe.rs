//! One processing element, cycle by cycle: the sum, and the row that shifts sums out.

use super::accumulator::{Accumulator, Overflow};

/// How sums leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// From the accumulator itself.
    Single,
    /// From a register beside it.
    Double,
}

/// What happens to the sum in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Adds a product (0: nothing).
    Add(i128),
    /// Doubles n times.
    Shift(u32),
    /// Multiplies; in the cycle in which the multiplication is complete.
    Scale(i128),
}

/// The inputs of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// The sum starts again.
    pub first: bool,
    /// This is the last step of the tile.
    pub last: bool,
    /// What is done.
    pub work: Work,
    /// The row starts to shift.
    pub drain: bool,
    /// What the left neighbour shows.
    pub neighbour: (i128, bool),
}

/// The state of a PE.
#[derive(Clone, Debug)]
pub struct Pe {
    drain: Drain,
    sum: Accumulator,
    /// Shown sum; `None` before any is defined.
    shown: Option<(i128, bool)>,
    complete: bool,
    waits: bool,
    shifts: bool,
}

impl Pe {
    /// A PE after reset.
    ///
    /// # Errors
    /// A width that [`Accumulator::new`] refuses.
    pub fn new(width: u32, policy: Overflow, drain: Drain) -> Result<Self, String> {
        let sum = Accumulator::new(width, policy)?;
        Ok(Self { drain, sum, shown: None, complete: false, waits: false, shifts: false })
    }

    /// One cycle; returns what the PE shows after it.
    pub fn step(&mut self, inputs: &Inputs) -> Option<(i128, bool)> {
        let before = self.sum.get();
        if inputs.first {
            self.sum.clear();
            self.shifts = false;
        }
        match self.drain {
            Drain::Single => {
                self.shifts |= inputs.drain && !inputs.first;
                if !self.shifts {
                    self.work(inputs.work);
                }
                self.shown = if self.shifts { Some(inputs.neighbour) } else { Some(self.sum.get()) };
            }
            Drain::Double => {
                self.work(inputs.work);
                let moves = self.complete || inputs.drain || !self.waits;
                if moves {
                    self.shown = Some(if self.complete { before } else { inputs.neighbour });
                }
                self.waits = self.complete || (self.waits && !inputs.drain);
                self.complete = inputs.last;
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
