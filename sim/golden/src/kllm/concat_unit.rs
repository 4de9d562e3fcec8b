//! Concat unit: the index of a product is the pair of its factors' indices, the activation's in the high bits.
//!
//! KLLM sections III-B and IV-A. An outlier's position is not part of the dense sum, so its pair counts as absent.

/// Index of the product of activation centroid `a` and weight centroid `w`, the latter of `b_bits` bits.
///
/// # Panics
/// In debug builds, when `w` has more than `b_bits` bits.
pub fn product_index(a: u64, w: u64, b_bits: u32) -> u64 {
    debug_assert!(w >> b_bits == 0, "weight index {w} has more than {b_bits} bits");
    a * (1 << b_bits) + w
}

/// The unit's register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcatUnit {
    b_bits: u32,
    /// Index in the register; `None` before the first load.
    pub index: Option<u64>,
    /// Whether the index takes part in the sum.
    pub present: bool,
}

impl ConcatUnit {
    /// A unit after reset, for weight indices of `b_bits` bits.
    pub fn new(b_bits: u32) -> Self {
        Self { b_bits, ..Self::default() }
    }

    /// One clock cycle. Without `enable` nothing changes.
    pub fn step(&mut self, enable: bool, valid: bool, outlier: bool, a: u64, w: u64) {
        if enable {
            self.index = Some(product_index(a, w, self.b_bits));
            self.present = valid && !outlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activation_in_the_high_bits() {
        assert_eq!(product_index(0b1010, 0b0011, 4), 0b1010_0011);
        // The paper's example: one bit of activation, two of weight.
        assert_eq!(product_index(1, 0b10, 2), 0b110);
    }

    #[test]
    fn outliers_and_invalid_pairs_are_absent() {
        let mut unit = ConcatUnit::new(4);
        unit.step(false, true, false, 1, 1);
        assert_eq!((unit.index, unit.present), (None, false));
        unit.step(true, true, false, 1, 1);
        assert_eq!((unit.index, unit.present), (Some(17), true));
        unit.step(true, true, true, 2, 1);
        assert_eq!((unit.index, unit.present), (Some(33), false));
        unit.step(true, false, false, 3, 1);
        assert!(!unit.present);
    }
}
