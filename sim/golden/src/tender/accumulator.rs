//! An accumulator of few bits that detects its own overflows.

/// How a value is handled that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The low bits stay.
    Wrap,
    /// The nearest value is taken.
    Saturate,
}

/// A sum in `width` bits. The flag rises with the first step whose exact result does not fit. It stays set if later
/// steps bring the sum back into its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accumulator {
    width: u32,
    policy: Overflow,
    value: i128,
    overflowed: bool,
}

impl Accumulator {
    /// An accumulator that holds 0.
    ///
    /// # Errors
    /// The width is outside of 2 to 64 bits.
    pub fn new(width: u32, policy: Overflow) -> Result<Self, String> {
        if !(2..=64).contains(&width) {
            return Err(format!("accumulator width is {width}, allowed: 2 to 64"));
        }
        Ok(Self { width, policy, value: 0, overflowed: false })
    }

    /// Its width in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Back to 0.
    pub fn clear(&mut self) {
        (self.value, self.overflowed) = (0, false);
    }

    /// Adds an exact value.
    pub fn add(&mut self, value: i128) {
        self.take(self.value + value);
    }

    /// Doubles `places` times (up to 60).
    pub fn shift(&mut self, places: u32) {
        self.take(self.value << places);
    }

    /// Multiplies by a factor.
    pub fn scale(&mut self, factor: i128) {
        self.take(self.value * factor);
    }

    /// Notes that an added value was not exact.
    pub fn flag(&mut self) {
        self.overflowed = true;
    }

    /// The sum, and whether some step did not fit.
    #[must_use]
    pub fn get(&self) -> (i128, bool) {
        (self.value, self.overflowed)
    }

    fn take(&mut self, exact: i128) {
        let half = 1i128 << (self.width - 1);
        if (-half..half).contains(&exact) {
            self.value = exact;
            return;
        }
        self.overflowed = true;
        self.value = match self.policy {
            Overflow::Wrap => (exact + half).rem_euclid(2 * half) - half,
            Overflow::Saturate => exact.clamp(-half, half - 1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_and_comes_back_with_the_flag_up() {
        let mut wrap = Accumulator::new(4, Overflow::Wrap).unwrap();
        let mut saturate = Accumulator::new(4, Overflow::Saturate).unwrap();
        let mut trace = Vec::new();
        for value in [5, 3, -3] {
            wrap.add(value);
            saturate.add(value);
            trace.push((wrap.get(), saturate.get()));
        }
        assert_eq!(trace, [((5, false), (5, false)), ((-8, true), (7, true)), ((5, true), (4, true))]);
        wrap.clear();
        assert_eq!(wrap.get(), (0, false));
    }

    #[test]
    fn shifts_and_factors() {
        let mut a = Accumulator::new(8, Overflow::Wrap).unwrap();
        a.add(-9);
        a.shift(3);
        assert_eq!(a.get(), (-72, false));
        a.scale(3);
        assert_eq!(a.get(), (-216 + 256, true));
        assert!(Accumulator::new(1, Overflow::Wrap).is_err() && Accumulator::new(65, Overflow::Wrap).is_err());
    }
}
