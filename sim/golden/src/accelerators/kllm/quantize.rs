//! Rows of fp16 numbers that become tokens: outliers, the scale of the inliers, and the index of each inlier.

use std::ops::Range;

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::outlier_share::share;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::float::single;
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::format::Format;
use crate::kllm::fp16;
use crate::kllm::orizuru::{NanPolicy, top_k};
use crate::kllm::quantize::scale;

use super::layout::{HEAD_BYTES, OUTLIER_BYTES, half, index_bytes, midpoints};
use super::{Beats, Executed, KllmTop, Operation, Quantize, Work};

/// The thresholds between the centroids of a token, fp16: midpoints times its scale, rounded down twice.
#[must_use]
pub fn thresholds(midpoints: &[u32], scale: u16) -> Vec<u64> {
    let wide = single::from_fp16(scale);
    midpoints.iter().map(|&midpoint| single::to_fp16_down(single::mul_down(wide, midpoint)).into()).collect()
}

/// The index of a value: a binary search for the number of thresholds below it. If thresholds do not ascend or are no
/// numbers, the result is the one that this search gives. The number of thresholds is a power of two, less one.
fn index(thresholds: &[f64], value: u16) -> u8 {
    let mut index = 0;
    let mut step = thresholds.len().div_ceil(2);
    let value = fp16::value(value.into());
    while step > 0 {
        // A NaN is below nothing, and nothing is below a NaN.
        if thresholds[index + step - 1] < value {
            index += step;
        }
        step /= 2;
    }
    index as u8
}

/// A row after quantization.
struct Token {
    bytes: Vec<u8>,
    overflows: u64,
}

impl Quantize {
    /// Marks the outliers of a row.
    fn outliers(&self, values: &[u64], segment: usize) -> Vec<bool> {
        let segments = values.len().div_ceil(segment);
        let part = |(s, values): (usize, &[u64])| {
            let k = |k| share(k, s as u64, segments as u64) as usize;
            let selected = top_k(values, k(self.largest), k(self.smallest), Format::FP16, NanPolicy::TotalOrder);
            // `top_k` fails on no value here: there is at least one, and each is of the format.
            selected.map_or_else(|_| vec![false; values.len()], |selected| selected.mask)
        };
        values.chunks(segment).enumerate().flat_map(part).collect()
    }

    /// Marks the outliers of each row.
    pub(super) fn marked(&self, memory: &mut dyn Memory, segment: usize) -> Vec<Vec<bool>> {
        let mut row = |row| {
            let loaded = Loaded::row(&self.x, row, memory, &mut Codes::default());
            let bytes = loaded.whole().map_or_else(|| vec![0; self.x.row_bytes as usize], <[u8]>::to_vec);
            let values: Vec<u64> = bytes.chunks(2).map(|pair| half(pair, 0).into()).collect();
            self.outliers(&values, segment)
        };
        (0..self.x.rows).map(&mut row).collect()
    }

    fn token(&self, row: &[u8], midpoints: &[u32], segment: usize) -> Token {
        let values: Vec<u64> = row.chunks(2).map(|pair| half(pair, 0).into()).collect();
        let outlier = self.outliers(&values, segment);
        let scale = scale(&values, &outlier) as u16;
        let thresholds: Vec<f64> = thresholds(midpoints, scale).into_iter().map(fp16::value).collect();
        let mut bytes = vec![0; self.out.row_bytes as usize];
        let count = outlier.iter().filter(|&&outlier| outlier).count() as u16;
        put(&mut bytes, 0..2, scale);
        put(&mut bytes, 2..4, count);
        bytes[4] = if self.three_bits { 3 } else { 4 };
        let mut record = (HEAD_BYTES + index_bytes(self.columns)) as usize;
        let mut overflows = 0;
        for (k, (&value, outlier)) in values.iter().zip(outlier).enumerate() {
            let value = value as u16;
            if outlier {
                put(&mut bytes, record..record + 2, k as u16);
                put(&mut bytes, record + 2..record + 4, value);
                record += OUTLIER_BYTES as usize;
            } else {
                bytes[HEAD_BYTES as usize + k / 2] |= index(&thresholds, value) << (4 * (k % 2));
                overflows += u64::from(is_special(value));
            }
        }
        Token { bytes, overflows }
    }
}

fn put(bytes: &mut [u8], at: Range<usize>, value: u16) {
    bytes[at].copy_from_slice(&value.to_le_bytes());
}

impl KllmTop {
    /// Quantizes rows into tokens. It goes on after an error, to find all errors.
    pub(super) fn quantize(&self, operation: Quantize, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let codebook = Loaded::row(&operation.codebook, 0, memory, &mut codes);
        let midpoints = codebook.whole().map(|bytes| midpoints(bytes, operation.three_bits));
        let mut overflows = 0;
        for row in 0..operation.x.rows {
            let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
            let (Some(values), Some(midpoints)) = (loaded.whole(), &midpoints) else { continue };
            let token = operation.token(values, midpoints, self.shape.orizuru as usize);
            overflows += token.overflows;
            if token.overflows > 0 && operation.exact {
                codes.note(code::OVERFLOW);
            }
            pieces::store(&operation.out, row, &token.bytes, memory, &mut codes);
        }
        let rules = (operation.is_defined(), operation.exact);
        let operation = Work { operation: Operation::Quantize(operation), beats: Beats::default() };
        Executed::new(operation, codes.all(), rules, overflows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kllm::codebook::Codebook;

    /// Thresholds and indices equal the algorithm's, as long as midpoints fit in fp32.
    #[test]
    fn thresholds_are_those_of_the_algorithm() {
        let centroids = [-1.0, -0.71, -0.4, -0.11, 0.07, 0.31, 0.66, 0.99];
        let codebook = Codebook::from_centroids(3, &centroids).unwrap();
        let of = |pair: &[u64]| f64::midpoint(fp16::value(pair[0]), fp16::value(pair[1]));
        let midpoints: Vec<f64> = codebook.values().windows(2).map(of).collect();
        let singles: Vec<u32> = midpoints.iter().map(|&m| (m as f32).to_bits()).collect();
        assert!(midpoints.iter().all(|&m| f64::from(m as f32) == m));
        for scale in (0..0x7c00u16).step_by(7) {
            let expected = codebook.thresholds(scale.into()).unwrap();
            let found = thresholds(&singles, scale);
            assert!(found.iter().zip(&expected).all(|(a, b)| fp16::value(*a) == fp16::value(*b)), "{scale:#x}");
            let values: Vec<f64> = found.iter().map(|&threshold| fp16::value(threshold)).collect();
            for x in (0..0xffffu16).step_by(977).filter(|&x| !is_special(x)) {
                assert_eq!(u16::from(index(&values, x)), crate::kllm::codebook::cluster(&expected, x.into()));
            }
        }
    }

    /// Just below 1, where rounding to nearest would make a threshold of 1.
    #[test]
    fn thresholds_are_rounded_down_twice() {
        let mut nearest = 0;
        for scale in 0x3c00..0x4000u16 {
            let s = fp16::value(scale.into());
            let below = |m: f32| s * f64::from(m) < 1.0;
            let mut midpoint = (1.0 / s) as f32;
            while !below(midpoint) {
                midpoint = midpoint.next_down();
            }
            let threshold = thresholds(&[midpoint.to_bits()], scale)[0];
            assert_eq!(threshold, 0x3bff, "{scale:#x}");
            nearest += u32::from(((s * f64::from(midpoint)) as f32).to_bits() == 1f32.to_bits());
        }
        assert!(nearest > 100, "{nearest}");
    }

    #[test]
    fn searches_that_have_an_end() {
        let table = [-1.0, 0.0, f64::NAN];
        let values = [-2.0, -1.0, -0.5, -0.0, 1.0, f64::INFINITY, f64::NAN];
        assert_eq!(values.map(|v| index(&table, fp16::from_f64(v) as u16)), [0, 0, 1, 1, 2, 2, 0]);
        // Not ascending: the search compares with 0 first.
        let table = [5.0, 0.0, -5.0];
        assert_eq!([-9.0, -1.0, 1.0, 9.0].map(|v| index(&table, fp16::from_f64(v) as u16)), [0, 0, 3, 3]);
    }
}
