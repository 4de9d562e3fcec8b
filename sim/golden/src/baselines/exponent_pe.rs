//! The processing element of ANT and OliVe: exact products of whole operands. Sums and the row that shifts them out
//! work as in Tender's PE.

use crate::tender::accumulator::{Accumulator, Overflow};
use crate::tender::mesh_pe::PeSum;
use crate::tender::tender_pe::{Drain, Inputs, Pe, Work};

/// The inputs of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// Whether the sum starts again.
    pub first: bool,
    /// Whether this is the last step of the tile.
    pub last: bool,
    /// Activation: integer and exponent.
    pub act: (i64, u32),
    /// Weight: integer and exponent.
    pub weight: (i64, u32),
    /// Whether the row starts to shift.
    pub drain: bool,
    /// The output of the left neighbour.
    pub neighbour: (i64, bool),
}

/// The value of a pair of integer and exponent.
#[must_use]
pub fn value((integer, exponent): (i64, u32)) -> i128 {
    i128::from(integer) * (1 << exponent)
}

/// The sum of a PE in an array.
#[derive(Clone, Debug)]
pub struct ExponentSum {
    sum: Accumulator,
}

impl ExponentSum {
    /// A sum of `width` bits that is 0.
    ///
    /// # Errors
    /// The width is not within 2 to 64.
    pub fn new(width: u32) -> Result<Self, String> {
        Ok(Self { sum: Accumulator::new(width, Overflow::Wrap)? })
    }
}

impl PeSum for ExponentSum {
    type Operand = (i64, u32);

    fn multiply(&mut self, act: (i64, u32), weight: (i64, u32)) {
        self.sum.add(value(act) * value(weight));
    }

    fn rescale(&mut self, _: u32) {
        unreachable!("the PE has no rescales");
    }

    fn get(&self) -> (i128, bool) {
        self.sum.get()
    }
}

/// The state of a PE.
#[derive(Clone, Debug)]
pub struct ExponentPe {
    row: Pe,
    limit: i128,
}

impl ExponentPe {
    /// A PE after reset. Its sums have `width` bits and leave as in `drain`.
    ///
    /// # Errors
    /// The width is odd, or not within 2 to 64.
    pub fn new(width: u32, drain: Drain) -> Result<Self, String> {
        if !width.is_multiple_of(2) {
            return Err(format!("accumulator width is {width}, allowed: even numbers, 2 to 64"));
        }
        let row = Pe::new(width, Overflow::Wrap, drain)?;
        Ok(Self { row, limit: 1 << (width / 2 - 1) })
    }

    /// Largest magnitude of an operand: a product of two is a quarter of the sums' range.
    #[must_use]
    pub fn limit(&self) -> i128 {
        self.limit
    }

    /// One cycle. Returns the PE's output after it.
    ///
    /// # Errors
    /// An operand is beyond the limit.
    pub fn step(&mut self, cycle: &Cycle) -> Result<Option<(i64, bool)>, String> {
        let (act, weight) = (value(cycle.act), value(cycle.weight));
        if let Some(large) = [act, weight].into_iter().find(|operand| operand.abs() > self.limit) {
            return Err(format!("operand is {large}, allowed: -{0} to {0}", self.limit));
        }
        let neighbour = (cycle.neighbour.0.into(), cycle.neighbour.1);
        let Cycle { first, last, drain, .. } = *cycle;
        let shown = self.row.step(&Inputs { first, last, work: Work::Add(act * weight), drain, neighbour });
        Ok(shown.map(|(sum, flag)| (sum as i64, flag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(first: bool, act: (i64, u32), weight: (i64, u32)) -> Cycle {
        Cycle { first, last: true, act, weight, drain: false, neighbour: (5, false) }
    }

    /// 3 x 2^5 = 96 times -7, then 96 x 96: outliers of OliVe.
    #[test]
    fn products_by_hand() {
        let mut pe = ExponentPe::new(32, Drain::Double).unwrap();
        let idle = cycle(false, (0, 0), (0, 0));
        pe.step(&cycle(true, (3, 5), (-7, 0))).unwrap();
        assert_eq!(pe.step(&cycle(false, (3, 5), (3, 5))).unwrap(), Some((-672, false)));
        assert_eq!(pe.step(&idle).unwrap(), Some((8544, false)));
    }

    #[test]
    fn the_largest_operands() {
        let mut pe = ExponentPe::new(32, Drain::Double).unwrap();
        assert_eq!(pe.limit(), 32768);
        let most = cycle(false, (-8, 12), (-8, 12));
        pe.step(&Cycle { first: true, ..most }).unwrap();
        assert_eq!(pe.step(&most).unwrap(), Some((1 << 30, false)));
        assert_eq!(pe.step(&most).unwrap(), Some((i64::from(i32::MIN), true)));
        assert!(pe.step(&cycle(true, (9, 12), (0, 0))).unwrap_err().contains("operand is 36864"));
        assert!(ExponentPe::new(7, Drain::Double).is_err() && ExponentPe::new(66, Drain::Single).is_err());
    }
}
