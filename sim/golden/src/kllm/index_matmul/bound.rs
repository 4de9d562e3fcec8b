//! A bound on the distance that rounding puts between an output and the exact one.

use super::{Accumulator, Arithmetic, Sum, counts};
use crate::kllm::codebook::concat;
use crate::kllm::error::KllmError;
use crate::kllm::fp16::{self, FP16};
use crate::kllm::quantize::{Quantized, QuantizedWeights};

/// A running sum, and a bound on its distance from the exact sum.
struct Bounded {
    sum: Sum,
    error: f64,
}

impl Bounded {
    fn new(accumulator: Accumulator) -> Self {
        Self { sum: Sum::new(accumulator), error: 0.0 }
    }

    /// Adds a * b, which stands for the product `exact`.
    fn add(&mut self, a: u64, b: u64, exact: f64) {
        // Of two fp16 numbers, so exact in f64.
        let operands = (fp16::value(a) * fp16::value(b) - exact).abs();
        self.sum.add(a, b);
        self.error += operands
            + match self.sum.accumulator {
                Accumulator::Fp16Fused => half_ulp(self.sum.bits),
                Accumulator::Fp16 => half_ulp(fp16::mul(a, b)) + half_ulp(self.sum.bits),
                Accumulator::Fp32 => {
                    f64::from(f32::from_bits(self.sum.bits as u32)).abs() * 2f64.powi(-24) + 2f64.powi(-150)
                }
            };
    }

    fn end(self) -> (u64, f64) {
        let last = self.sum.accumulator == Accumulator::Fp32;
        let bits = self.sum.end();
        (bits, self.error + if last { half_ulp(bits) } else { 0.0 })
    }
}

impl Arithmetic {
    /// An upper bound of |y - exact y| for output channel `n`. Every step adds half a unit in the last place of its
    /// result, and the error of an operand is multiplied by the other operand. The bound is infinite if a step
    /// overflows.
    ///
    /// # Errors
    /// As [`Arithmetic::output`].
    pub fn rounding_bound(&self, a: &Quantized, w: &QuantizedWeights, n: usize) -> Result<f64, KllmError> {
        let output = self.output(a, w, n)?;
        let scale = fp16::mul(a.scale, w.scales[n]);
        let w_bits = w.codebook.bits();

        let mut dense = Bounded::new(self.accumulator);
        for (bin, count) in counts(a, &w.columns[n], w_bits)?.into_iter().enumerate() {
            let (i, j) = ((bin >> w_bits) as u16, (bin % (1 << w_bits)) as u16);
            let exact = count as f64 * fp16::value(a.codebook.value(i)) * fp16::value(w.codebook.value(j));
            dense.add(FP16.from_int(i128::from(count)).bits, self.products.value(concat(i, j, w_bits)), exact);
        }
        let (dense_sum, error) = dense.end();
        let exact_scale = fp16::value(a.scale) * fp16::value(w.scales[n]);
        let dense = error * exact_scale + half_ulp(scale) * fp16::value(dense_sum).abs() + half_ulp(output.dense);

        let mut sparse = Bounded::new(self.accumulator);
        for outlier in &a.outliers {
            let weight = fp16::value(w.scales[n]) * fp16::value(w.codebook.value(w.columns[n][outlier.index]));
            let exact = fp16::value(outlier.value) * weight;
            sparse.add(outlier.value, w.dequantized_fp16(n, outlier.index), exact);
        }
        let (_, sparse) = sparse.end();

        let steps = [scale, output.dense_sum, output.dense, output.sparse, output.y];
        if !steps.into_iter().all(fp16::is_finite) {
            return Ok(f64::INFINITY);
        }
        // The last factor covers the f64 additions here.
        Ok((dense + sparse + half_ulp(output.y)) * (1.0 + 1e-9))
    }
}

/// Half a unit in the last place of an fp16 number.
fn half_ulp(bits: u64) -> f64 {
    2f64.powi(((bits >> 10 & 31) as i32).max(1) - 26)
}
