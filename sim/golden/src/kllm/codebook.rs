//! Codebooks: the fp16 values that indices stand for, and the nearest of them.

use serde::{Deserialize, Serialize};

use super::error::{KllmError, check_length};
use super::fp16;

/// The 2^bits values of an index of `bits` bits, as fp16 bit patterns, all finite.
///
/// Trained codebooks ascend. A codebook that an activation function replaced need not ascend, and codebooks of products
/// do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codebook {
    bits: u32,
    values: Vec<u64>,
}

impl Codebook {
    /// Widest index: a product of two 8-bit codebooks.
    pub const MAX_BITS: u32 = 16;

    /// A codebook of the given values.
    ///
    /// # Errors
    /// `bits` is outside of 1 to [`Self::MAX_BITS`], there are not 2^bits values, or a value is not finite.
    pub fn new(bits: u32, values: Vec<u64>) -> Result<Self, KllmError> {
        if !(1..=Self::MAX_BITS).contains(&bits) {
            let allowed = format!("1 to {}", Self::MAX_BITS);
            return Err(KllmError::Parameter { name: "codebook bits", value: bits.to_string(), allowed });
        }
        check_length("codebook", values.len(), 1 << bits)?;
        fp16::all_units(&values, "codebook")?;
        Ok(Self { bits, values })
    }

    /// Trained centroids, rounded to fp16. A zero becomes +0.
    ///
    /// # Errors
    /// As [`Self::new`]; or centroids do not ascend.
    pub fn from_centroids(bits: u32, centroids: &[f64]) -> Result<Self, KllmError> {
        if !centroids.is_sorted() {
            let allowed = "ascending".into();
            return Err(KllmError::Parameter { name: "centroids", value: format!("{centroids:?}"), allowed });
        }
        // Rounding is monotonic, so the rounded values ascend too.
        Self::new(bits, centroids.iter().map(|&c| positive_zero(fp16::from_f64(c))).collect())
    }

    /// Bits of an index.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// All values, fp16 bits, in the order of their indices.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// The value of an index; an index that is too wide panics.
    pub fn value(&self, index: u16) -> u64 {
        self.values[usize::from(index)]
    }

    /// Whether the values ascend, as clustering requires; equal neighbours are allowed.
    pub fn is_ascending(&self) -> bool {
        self.values.iter().map(|&v| fp16::value(v)).is_sorted()
    }

    /// The index whose value times `scale` is nearest to `x`, in rational arithmetic; a tie goes to the lower index.
    ///
    /// This is the definition, by trying all values; [`Self::thresholds`] give the same in 2^bits - 1 comparisons.
    ///
    /// # Errors
    /// `x` or `scale` is not finite.
    pub fn nearest(&self, x: u64, scale: u64) -> Result<u16, KllmError> {
        let [x, scale] = [("x", x), ("scale", scale)]
            .map(|(what, bits)| fp16::units(bits).ok_or(KllmError::NotFinite { what, index: 0 }));
        let (x, scale) = (x? << 24, scale?);
        let distance = |i: &usize| (x - scale * fp16::units(self.values[*i]).unwrap_or_default()).abs();
        // `min_by_key` returns the first of equal minima.
        Ok((0..self.values.len()).min_by_key(distance).unwrap_or_default() as u16)
    }

    /// The 2^bits - 1 fp16 thresholds of a clustering unit: the index of `x` is the number of thresholds below `x`.
    ///
    /// Threshold i is scale * (value i + value i+1) / 2, *rounded toward minus infinity*. An fp16 `x` is above a real
    /// number exactly if it is above that number rounded down. So a comparison with these thresholds is a comparison
    /// with the exact middle: the division by the scale is folded into the thresholds without any loss. The index is
    /// the same as from [`Self::nearest`], except that among equal values a higher index may be found.
    ///
    /// # Errors
    /// The codebook does not ascend; `scale` is negative or not finite.
    pub fn thresholds(&self, scale: u64) -> Result<Vec<u64>, KllmError> {
        if !self.is_ascending() {
            let allowed = "ascending".into();
            return Err(KllmError::Parameter { name: "codebook for clustering", value: "unsorted".into(), allowed });
        }
        if !fp16::is_finite(scale) || fp16::value(scale) < 0.0 {
            let (value, allowed) = (fp16::value(scale).to_string(), "finite, 0 or more".into());
            return Err(KllmError::Parameter { name: "scale", value, allowed });
        }
        let s = fp16::value(scale);
        // Exact in f64: the sum has at most 42 significant bits (2^-24 to 2^17), the scale 11, together at most 53.
        let middle = |pair: &[u64]| (fp16::value(pair[0]) + fp16::value(pair[1])) * s / 2.0;
        Ok(self.values.windows(2).map(|pair| positive_zero(fp16::from_f64_down(middle(pair)))).collect())
    }

    /// The codebook of element-wise products: value {a, w} = fp16(value a * value w), offline (section III-B).
    ///
    /// The index of a product is the concatenation of the two indices, with the index of `self` in the high bits: see
    /// [`concat()`].
    ///
    /// # Errors
    /// Together the indices have more than [`Self::MAX_BITS`] bits, or a product overflows.
    pub fn product(&self, low: &Self) -> Result<Self, KllmError> {
        let products = self.values.iter().flat_map(|&a| low.values.iter().map(move |&w| fp16::mul(a, w)));
        Self::new(self.bits + low.bits, products.collect())
    }

    /// The same indices with other values: how KLLM applies any function of one number (section III-C).
    ///
    /// `f` takes and returns fp16 bits.
    ///
    /// # Errors
    /// A value of `f` is not finite.
    pub fn map(&self, f: impl Fn(u64) -> u64) -> Result<Self, KllmError> {
        Self::new(self.bits, self.values.iter().map(|&v| f(v)).collect())
    }
}

/// The index of a product: `high` above `low`, which has `low_bits` bits.
pub fn concat(high: u16, low: u16, low_bits: u32) -> u16 {
    high << low_bits | low
}

/// The function of a clustering unit: the number of `thresholds` below `x`, by binary search.
pub fn cluster(thresholds: &[u64], x: u64) -> u16 {
    thresholds.partition_point(|&t| fp16::value(t) < fp16::value(x)) as u16
}

fn positive_zero(bits: u64) -> u64 {
    if bits == 0x8000 { 0 } else { bits }
}

#[cfg(test)]
mod tests;
