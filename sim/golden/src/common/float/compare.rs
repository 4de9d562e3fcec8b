//! Comparison, and the total order.

use std::cmp::Ordering;

use super::Float;
use super::semantics::with_semantics;

impl Float {
    /// IEEE comparison: `None` when a or b is a NaN; the zeros are equal.
    pub fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        with_semantics!(self.format, S => self.operand::<S>(a).partial_cmp(&self.operand::<S>(b)))
    }

    /// IEEE 754's totalOrder (section 5.10), strict: whether a comes before b. Nothing is flushed.
    pub fn total_less(self, a: u64, b: u64) -> bool {
        let negative = |bits: u64| bits & self.format.zero(true) != 0;
        let payload = |bits: u64| bits & (self.format.zero(true) - 1);
        match (self.format.is_nan(a), self.format.is_nan(b)) {
            // Negative NaNs before all numbers, positive ones after.
            (true, false) => negative(a),
            (false, true) => !negative(b),
            // By sign, then signalling before quiet, then by payload: the quiet bit is on top of the payload. For
            // negative NaNs, signalling and payload have the opposite order.
            (true, true) => match (negative(a), negative(b)) {
                (false, false) => payload(a) < payload(b),
                (true, true) => payload(b) < payload(a),
                (a_negative, _) => a_negative,
            },
            (false, false) => match Self::ieee(self.format).compare(a, b) {
                Some(Ordering::Less) => true,
                // Only zeros are equal with different bits.
                Some(Ordering::Equal) => negative(a) && !negative(b),
                _ => false,
            },
        }
    }
}
