//! [`Bits`]: a value of a fixed width, from one bit to many thousands.
//!
//! Values are unsigned bit patterns; signed readings are conversions (`to_i64`, `to_bigint`). Storage is 32-bit words,
//! least significant first, the order of Verilator's wide signals, so that a wide port is one copy. Up to 64 bits live
//! in place without allocation.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};
use rand::Rng;

const INLINE_WORDS: usize = 2;

#[derive(Clone)]
enum Words {
    Inline([u32; INLINE_WORDS]),
    Heap(Box<[u32]>),
}

/// An unsigned bit pattern of fixed width. Bits above the width are always zero.
#[derive(Clone)]
pub struct Bits {
    width: u32,
    words: Words,
}

/// A value needs more bits than its destination has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} does not fit {width} bits")]
pub struct DoesNotFit {
    /// The value, in decimal.
    pub value: String,
    /// Bits available.
    pub width: u32,
}

impl Bits {
    /// All zero.
    pub fn zero(width: u32) -> Self {
        let count = words_of(width);
        let words =
            if count <= INLINE_WORDS { Words::Inline([0; INLINE_WORDS]) } else { Words::Heap(vec![0; count].into()) };
        Self { width, words }
    }

    /// All one.
    pub fn ones(width: u32) -> Self {
        let mut bits = Self::zero(width);
        bits.words_mut().fill(u32::MAX);
        bits.clear_above();
        bits
    }

    /// An unsigned value.
    pub fn from_u64(width: u32, value: u64) -> Result<Self, DoesNotFit> {
        if width < 64 && value >> width != 0 {
            return Err(DoesNotFit { value: value.to_string(), width });
        }
        Ok(Self::truncated(width, value))
    }

    /// A two's-complement value, sign-extended to the width.
    pub fn from_i64(width: u32, value: i64) -> Result<Self, DoesNotFit> {
        if width == 0 && value != 0 || (1..64).contains(&width) && !matches!(value >> (width - 1), 0 | -1) {
            return Err(DoesNotFit { value: value.to_string(), width });
        }
        Ok(Self::sign_extended(width, value))
    }

    /// The low `width` bits of `value`. Higher bits are dropped.
    pub fn truncated(width: u32, value: u64) -> Self {
        let mut bits = Self::zero(width);
        let halves = [value as u32, (value >> 32) as u32];
        for (word, half) in bits.words_mut().iter_mut().zip(halves) {
            *word = half;
        }
        bits.clear_above();
        bits
    }

    /// An unsigned value of any size.
    pub fn from_biguint(width: u32, value: &BigUint) -> Result<Self, DoesNotFit> {
        if value.bits() > u64::from(width) {
            return Err(DoesNotFit { value: value.to_string(), width });
        }
        let mut bits = Self::zero(width);
        for (word, digit) in bits.words_mut().iter_mut().zip(value.iter_u32_digits()) {
            *word = digit;
        }
        Ok(bits)
    }

    /// A two's-complement value of any size.
    pub fn from_bigint(width: u32, value: &BigInt) -> Result<Self, DoesNotFit> {
        let misfit = || DoesNotFit { value: value.to_string(), width };
        // The most negative value has one more magnitude than the most positive one.
        let magnitude = if value.sign() == Sign::Minus { value + 1 } else { value.clone() };
        if magnitude.bits() >= u64::from(width).max(1) {
            return Err(misfit());
        }
        let modulus = BigInt::from(1) << width;
        let wrapped = if value.sign() == Sign::Minus { value + modulus } else { value.clone() };
        Self::from_biguint(width, &wrapped.to_biguint().ok_or_else(misfit)?)
    }

    /// The low `width` bits of `words`, least significant word first; missing words are zero.
    pub fn from_words(width: u32, words: &[u32]) -> Self {
        let mut bits = Self::zero(width);
        for (word, &source) in bits.words_mut().iter_mut().zip(words) {
            *word = source;
        }
        bits.clear_above();
        bits
    }

    /// Uniformly random.
    pub fn random(width: u32, rng: &mut impl Rng) -> Self {
        let mut bits = Self::zero(width);
        for word in bits.words_mut() {
            *word = rng.next_u32();
        }
        bits.clear_above();
        bits
    }

    /// Packs equal elements: element `i` sits at bits `[i * width +: width]`. Elements are truncated to `width`.
    pub fn pack(width: u32, elements: impl IntoIterator<Item = u64>) -> Self {
        let elements: Vec<u64> = elements.into_iter().collect();
        let mut bits = Self::zero(width * elements.len() as u32);
        for (i, value) in elements.into_iter().enumerate() {
            bits.set_field(i as u32 * width, width, value);
        }
        bits
    }

    /// Splits into elements of `width` bits (at most 64), the inverse of [`Bits::pack`].
    ///
    /// # Panics
    /// When `width` does not divide the width of `self`.
    pub fn unpack(&self, width: u32) -> Vec<u64> {
        assert!(
            width > 0 && self.width.is_multiple_of(width),
            "{width}-bit elements do not divide {} bits",
            self.width
        );
        (0..self.width / width).map(|i| self.field(i * width, width)).collect()
    }

    /// Width in bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The words, least significant first; `ceil(width / 32)` of them.
    pub fn words(&self) -> &[u32] {
        let count = words_of(self.width);
        match &self.words {
            Words::Inline(words) => &words[..count],
            Words::Heap(words) => words,
        }
    }

    /// The value, if it needs at most 64 bits.
    pub fn to_u64(&self) -> Option<u64> {
        let words = self.words();
        if words.iter().skip(2).any(|&w| w != 0) {
            return None;
        }
        Some(word_at(words, 0) | word_at(words, 1) << 32)
    }

    /// The value read as two's complement, if it needs at most 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if self.width <= 64 {
            let shift = 64 - self.width.max(1);
            return self.to_u64().map(|v| ((v << shift) as i64) >> shift);
        }
        i64::try_from(self.to_bigint()).ok()
    }

    /// The unsigned value.
    pub fn to_biguint(&self) -> BigUint {
        BigUint::new(self.words().to_vec())
    }

    /// The value read as two's complement.
    pub fn to_bigint(&self) -> BigInt {
        let value = BigInt::from(self.to_biguint());
        if self.width > 0 && self.bit(self.width - 1) { value - (BigInt::from(1) << self.width) } else { value }
    }

    /// Bit `index`.
    ///
    /// # Panics
    /// When `index` is not below the width.
    pub fn bit(&self, index: u32) -> bool {
        assert!(index < self.width, "bit {index} of {} bits", self.width);
        self.words()[index as usize / 32] >> (index % 32) & 1 == 1
    }

    /// Sets bit `index`.
    ///
    /// # Panics
    /// When `index` is not below the width.
    pub fn set_bit(&mut self, index: u32, value: bool) {
        self.set_field(index, 1, u64::from(value));
    }

    /// Bits `[low +: width]` as a number; `width` is at most 64.
    ///
    /// # Panics
    /// When the range leaves the value or is wider than 64 bits.
    pub fn field(&self, low: u32, width: u32) -> u64 {
        self.check_range(low, width);
        assert!(width <= 64, "a field of {width} bits: use `slice` above 64");
        let words = self.words();
        let (first, shift) = (low as usize / 32, low % 32);
        let mut value = word_at(words, first) | word_at(words, first + 1) << 32;
        if shift != 0 {
            value = value >> shift | word_at(words, first + 2) << 32 << (32 - shift);
        }
        value & mask(width)
    }

    /// Writes the low `width` bits of `value` to bits `[low +: width]`; `width` is at most 64.
    ///
    /// # Panics
    /// When the range leaves the value or is wider than 64 bits.
    pub fn set_field(&mut self, low: u32, width: u32, value: u64) {
        self.check_range(low, width);
        assert!(width <= 64, "a field of {width} bits: use `set_slice` above 64");
        let (first, shift) = (low as usize / 32, low % 32);
        let keep = !(u128::from(mask(width)) << shift);
        let data = u128::from(value & mask(width)) << shift;
        for (i, word) in self.words_mut().iter_mut().skip(first).take(3).enumerate() {
            *word = *word & (keep >> (32 * i)) as u32 | (data >> (32 * i)) as u32;
        }
    }

    /// Bits `[low +: width]`.
    ///
    /// # Panics
    /// When the range leaves the value.
    pub fn slice(&self, low: u32, width: u32) -> Self {
        self.check_range(low, width);
        let mut out = Self::zero(width);
        for (i, word) in out.words_mut().iter_mut().enumerate() {
            let done = 32 * i as u32;
            *word = self.field(low + done, (width - done).min(32)) as u32;
        }
        out
    }

    /// Writes `value` to bits `[low +: value.width()]`.
    ///
    /// # Panics
    /// When the range leaves `self`.
    pub fn set_slice(&mut self, low: u32, value: &Self) {
        self.check_range(low, value.width);
        for (i, &word) in value.words().iter().enumerate() {
            let done = 32 * i as u32;
            self.set_field(low + done, (value.width - done).min(32), u64::from(word));
        }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        let count = words_of(self.width);
        match &mut self.words {
            Words::Inline(words) => &mut words[..count],
            Words::Heap(words) => words,
        }
    }

    /// Two's complement of `value`, sign-extended or cut to the width.
    pub(crate) fn sign_extended(width: u32, value: i64) -> Self {
        let mut bits = if value < 0 { Self::ones(width) } else { Self::zero(width) };
        for (word, half) in bits.words_mut().iter_mut().zip([value as u32, (value >> 32) as u32]) {
            *word = half;
        }
        bits.clear_above();
        bits
    }

    fn clear_above(&mut self) {
        let used = self.width % 32;
        if used != 0
            && let Some(top) = self.words_mut().last_mut()
        {
            *top &= (1 << used) - 1;
        }
    }

    fn check_range(&self, low: u32, width: u32) {
        let inside = low.checked_add(width).is_some_and(|end| end <= self.width);
        assert!(inside, "bits [{low} +: {width}] of {} bits", self.width);
    }
}

/// Number of 32-bit words for `width` bits.
pub(crate) fn words_of(width: u32) -> usize {
    width.div_ceil(32) as usize
}

/// Ones in the low `width` bits, `width` up to 64.
pub(crate) fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

fn word_at(words: &[u32], index: usize) -> u64 {
    words.get(index).copied().map_or(0, u64::from)
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.width == other.width && self.words() == other.words()
    }
}

impl Eq for Bits {}

/// Verilog notation, for example `12'h0ff`.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'h", self.width)?;
        let digits = self.width.div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            let low = 4 * digit;
            let value = if low < self.width { self.field(low, (self.width - low).min(4)) } else { 0 };
            write!(f, "{value:x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;

    fn bits_and_big() -> impl Strategy<Value = (Bits, BigUint)> {
        (1_u32..300, any::<u64>()).prop_map(|(width, seed)| {
            let bits = Bits::random(width, &mut rand_chacha::ChaCha8Rng::seed_from_u64(seed));
            let big = bits.to_biguint();
            (bits, big)
        })
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn big_integers_round_trip((bits, big) in bits_and_big()) {
            prop_assert_eq!(&Bits::from_biguint(bits.width(), &big).unwrap(), &bits);
            let signed = bits.to_bigint();
            prop_assert_eq!(&Bits::from_bigint(bits.width(), &signed).unwrap(), &bits);
            prop_assert_eq!(i64::try_from(&signed).ok(), bits.to_i64());
            prop_assert_eq!(u64::try_from(&big).ok(), bits.to_u64());
        }

        #[test]
        fn slices_agree_with_shifts((bits, big) in bits_and_big(), a: u32, b: u32) {
            let low = a % bits.width();
            let width = 1 + b % (bits.width() - low);
            let expected = (&big >> low) % (BigUint::from(1_u8) << width);
            prop_assert_eq!(bits.slice(low, width).to_biguint(), expected.clone());
            let narrow = width.min(64);
            prop_assert_eq!(BigUint::from(bits.field(low, narrow)), (&big >> low) % (BigUint::from(1_u8) << narrow));

            let mut written = Bits::ones(bits.width());
            written.set_slice(low, &bits.slice(low, width));
            prop_assert_eq!(written.slice(low, width).to_biguint(), expected);
            prop_assert_eq!(written.slice(0, low), Bits::ones(low));
            let above = low + width;
            prop_assert_eq!(written.slice(above, bits.width() - above), Bits::ones(bits.width() - above));
        }

        #[test]
        fn packing_round_trips(width in 1_u32..=64, values in prop::collection::vec(any::<u64>(), 1..20)) {
            let values: Vec<u64> = values.into_iter().map(|v| v & mask(width)).collect();
            prop_assert_eq!(Bits::pack(width, values.clone()).unpack(width), values);
        }
    }

    #[test]
    fn ranges_are_enforced_at_the_edges() {
        assert_eq!(Bits::from_i64(8, -128).unwrap().to_u64(), Some(0x80));
        assert_eq!(Bits::from_i64(8, 128), Err(DoesNotFit { value: "128".into(), width: 8 }));
        assert!(Bits::from_i64(8, -129).is_err());
        assert!(Bits::from_u64(8, 256).is_err());
        assert_eq!(Bits::from_u64(64, u64::MAX).unwrap(), Bits::ones(64));
        assert!(Bits::from_bigint(8, &BigInt::from(128)).is_err());
        assert_eq!(Bits::from_bigint(8, &BigInt::from(-128)).unwrap().to_i64(), Some(-128));
        assert!(Bits::from_bigint(8, &BigInt::from(-129)).is_err());
        assert_eq!(Bits::from_i64(100, -1).unwrap(), Bits::ones(100));
        assert_eq!(Bits::ones(1).to_i64(), Some(-1));
    }

    #[test]
    fn prints_as_verilog() {
        assert_eq!(Bits::from_u64(9, 0x1ff).unwrap().to_string(), "9'h1ff");
        assert_eq!(Bits::truncated(70, 0xabcd).to_string(), "70'h00000000000000abcd");
    }
}
