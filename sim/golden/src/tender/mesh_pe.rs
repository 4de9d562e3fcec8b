//! What a processing element of the array does with its sum in a step, whatever its circuit and its operands are.

use std::fmt::Debug;

use super::accumulator::Accumulator;

/// An operand of a PE, as a number.
pub trait Operand: Copy + Debug {
    /// The signed high part and the unsigned low part, of `bits` bits, for a PE with half of the width. `None`: operands
    /// of this kind have no halves.
    fn halves(self, bits: u32) -> Option<[Self; 2]>;
}

impl Operand for i64 {
    fn halves(self, bits: u32) -> Option<[Self; 2]> {
        Some([self.div_euclid(1 << bits), self.rem_euclid(1 << bits)])
    }
}

/// Integer and exponent of two.
impl Operand for (i64, u32) {
    fn halves(self, _: u32) -> Option<[Self; 2]> {
        None
    }
}

/// The sum of a PE: the contract of one step, without cycles. A tile starts with a clone of a sum that is 0.
pub trait PeSum: Clone + Debug {
    /// An operand.
    type Operand: Operand;

    /// A step with a product. Operands of 0 leave the sum as it is.
    fn multiply(&mut self, act: Self::Operand, weight: Self::Operand);

    /// A rescale. PEs without rescales are never asked for one.
    fn rescale(&mut self, amount: u32);

    /// The sum, and whether some step did not fit.
    fn get(&self) -> (i128, bool);

    /// Bits of a sum whose steps are exact products and doublings of any number of places. It has the exact value as long
    /// as all values on the way fit, so a model may compute it by a shorter way. `None`: the steps are other ones.
    fn exact_bits(&self) -> Option<u32> {
        None
    }
}

/// The PE of Tender.
impl PeSum for Accumulator {
    type Operand = i64;

    fn multiply(&mut self, act: i64, weight: i64) {
        self.add(i128::from(act) * i128::from(weight));
    }

    fn rescale(&mut self, places: u32) {
        self.shift(places);
    }

    fn get(&self) -> (i128, bool) {
        Self::get(self)
    }

    fn exact_bits(&self) -> Option<u32> {
        Some(self.width())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tender::accumulator::Overflow;

    #[test]
    fn halves_by_hand() {
        // -77 = -5 x 16 + 3.
        assert_eq!((-77i64).halves(4), Some([-5, 3]));
        assert_eq!(200i64.halves(4), Some([12, 8]));
        assert_eq!((5i64, 3u32).halves(4), None);
    }

    #[test]
    fn steps_of_tenders_pe() {
        let mut sum = Accumulator::new(8, Overflow::Saturate).unwrap();
        PeSum::multiply(&mut sum, -5, 7);
        sum.rescale(1);
        assert_eq!((PeSum::get(&sum), sum.exact_bits()), ((-70, false), Some(8)));
        sum.rescale(1);
        assert_eq!(PeSum::get(&sum), (-128, true));
    }
}
