//! Many inner products with the same left side, a pair of products at a time. The processor multiplies a pair and adds
//! both products at once.

/// Sums side by side.
pub const LANES: usize = 16;

/// The right sides of a pair of products, by lane.
pub type Lanes = [[i16; 2]; LANES];

/// Adds all pairs of products to the sums. A sum beyond 32 bits wraps.
///
/// `right` has the pairs of `left` in their order. What is longer counts as far as the other one.
pub fn add_pairs(sums: &mut [i32; LANES], left: &[[i16; 2]], right: &[Lanes]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has SSE2.
    unsafe {
        sse2::add_pairs(sums, left, right);
    }
    #[cfg(not(target_arch = "x86_64"))]
    one_by_one(sums, left, right);
}

/// The same on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn one_by_one(sums: &mut [i32; LANES], left: &[[i16; 2]], right: &[Lanes]) {
    for (a, row) in left.iter().zip(right) {
        for (sum, b) in sums.iter_mut().zip(row) {
            for (&a, &b) in a.iter().zip(b) {
                *sum = sum.wrapping_add(i32::from(a) * i32::from(b));
            }
        }
    }
}

/// The compiler does not find `pmaddwd` by itself here, which is three times as fast.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{__m128i, _mm_add_epi32, _mm_madd_epi16, _mm_set1_epi32, _mm_setzero_si128};

    use super::{LANES, Lanes};

    /// Lanes of a register.
    const OF_REGISTER: usize = 4;

    #[target_feature(enable = "sse2")]
    pub fn add_pairs(sums: &mut [i32; LANES], left: &[[i16; 2]], right: &[Lanes]) {
        let mut all = [_mm_setzero_si128(); LANES / OF_REGISTER];
        for (&[first, second], row) in left.iter().zip(right) {
            let both = _mm_set1_epi32(i32::from(second) << 16 | i32::from(first as u16));
            // SAFETY: integers of as many bytes, where all bits are values on both sides.
            let row: [__m128i; LANES / OF_REGISTER] = unsafe { std::mem::transmute(*row) };
            for (sum, row) in all.iter_mut().zip(row) {
                *sum = _mm_add_epi32(*sum, _mm_madd_epi16(both, row));
            }
        }
        // SAFETY: as above.
        let all: [i32; LANES] = unsafe { std::mem::transmute(all) };
        sums.iter_mut().zip(all).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        let mut sums = [1; LANES];
        let right: [Lanes; 2] = [std::array::from_fn(|lane| [lane as i16, -1]), [[100, 1000]; LANES]];
        add_pairs(&mut sums, &[[3, -5], [7, 2]], &right);
        assert_eq!(sums, std::array::from_fn(|lane| 1 + 3 * lane as i32 + 5 + 700 + 2000));
        // A longer side counts as far as the other one.
        add_pairs(&mut sums, &[[1, 0]], &right);
        assert_eq!(sums[4], 1 + 12 + 5 + 2700 + 4);
        add_pairs(&mut sums, &[[1, 0]; 3], &[]);
        assert_eq!(sums[4], 1 + 12 + 5 + 2700 + 4);
    }

    fn number() -> impl Strategy<Value = i16> {
        prop_oneof![4 => any::<i16>(), 1 => Just(i16::MIN), 1 => Just(i16::MAX), 1 => Just(0)]
    }

    proptest! {
        #![proptest_config(seeds::proptest(500))]

        /// Sums that wrap, too.
        #[test]
        fn any_processor_has_the_same_sums(
            pairs in prop::collection::vec((prop::array::uniform2(number()), prop::array::uniform16(prop::array::uniform2(number()))), 0..40),
            from: [i32; LANES],
        ) {
            let (left, right): (Vec<[i16; 2]>, Vec<Lanes>) = pairs.into_iter().unzip();
            let (mut sums, mut expected) = (from, from);
            add_pairs(&mut sums, &left, &right);
            one_by_one(&mut expected, &left, &right);
            prop_assert_eq!(sums, expected);
        }
    }
}
