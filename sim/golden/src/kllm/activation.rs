//! Functions of one number by a replaced codebook, and element-wise products by concatenated indices (sections III-B1
//! and III-C1). No element is touched: indices stay, or are concatenated.
//!
//! A token has a scale, and f(scale * value) is not scale * f(value) for most functions. The paper computes the
//! replaced codebook offline, which is only right without a scale (and for functions such as ReLU that commute with a
//! positive factor). So [`Quantized::map`] applies the function to the 2^bits scaled values of the token. It needs an
//! evaluation for each centroid, not for each element.

use serde::{Deserialize, Serialize};

use super::codebook::concat;
use super::error::{KllmError, check_length};
use super::fp16;
use super::orizuru::Pop;
use super::quantize::Quantized;

/// An activation function, fp16 to fp16, correctly rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// x / (1 + e^-x).
    Silu,
    /// max(x, 0).
    Relu,
    /// x times the normal distribution function of x.
    Gelu,
}

impl Function {
    /// The function's value at an fp16 number, rounded to fp16. A NaN gives the canonical NaN.
    ///
    /// The value is computed in f64 and rounded to fp16 once. This is the correctly rounded result: a test checks all
    /// finite arguments. It finds no value so close to the middle of two fp16 numbers that f64's errors could matter.
    pub fn apply(self, x: u64) -> u64 {
        fp16::from_f64(self.value(fp16::value(x)))
    }

    fn value(self, x: f64) -> f64 {
        match self {
            Self::Relu => x.max(0.0) + if x.is_nan() { x } else { 0.0 },
            // Both functions vanish towards minus infinity.
            Self::Silu | Self::Gelu if x == f64::NEG_INFINITY => -0.0,
            Self::Silu => x / (1.0 + (-x).exp()),
            Self::Gelu => x * 0.5 * erfc(-x / std::f64::consts::SQRT_2),
        }
    }
}

/// The complementary error function, to a relative 1e-13 or better.
fn erfc(z: f64) -> f64 {
    if z < 0.0 {
        return 2.0 - erfc(-z);
    }
    let gauss = (-z * z).exp() / std::f64::consts::PI.sqrt();
    if z < 1.5 {
        // erf(z) = 2 z e^(-z^2) / sqrt(pi) * sum of (2 z^2)^n / (1 * 3 * ... * (2n + 1)): no cancellation.
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..100 {
            term *= 2.0 * z * z / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - 2.0 * z * gauss * sum;
    }
    // The continued fraction, from the inside: z + (n/2) / (z + ...).
    let tail = (1..=100).rev().fold(z, |tail, n| z + f64::from(n) / 2.0 / tail);
    gauss / tail
}

impl Quantized {
    /// Applies f to every element by a replaced codebook. Value i becomes f(fp16(scale * value i)), the scale becomes
    /// 1, and the indices stay. f is applied to each outlier.
    ///
    /// # Errors
    /// A value of f is not finite.
    pub fn map(&self, f: impl Fn(u64) -> u64) -> Result<Self, KllmError> {
        let codebook = self.codebook.map(|v| f(fp16::mul(self.scale, v)))?;
        let outliers = self.outliers.iter().map(|o| Pop { index: o.index, value: f(o.value) }).collect();
        Ok(Self { codebook, scale: fp16::ONE, indices: self.indices.clone(), outliers })
    }

    /// The paper's replacement: the codebook becomes f(codebook) without the scale, which stays. Up to rounding this
    /// equals [`Self::map`] exactly if f(s x) = s f(x) for s > 0.
    ///
    /// # Errors
    /// A value of f is not finite.
    pub fn map_offline(&self, f: impl Fn(u64) -> u64) -> Result<Self, KllmError> {
        let outliers = self.outliers.iter().map(|o| Pop { index: o.index, value: f(o.value) }).collect();
        Ok(Self { codebook: self.codebook.map(&f)?, outliers, ..self.clone() })
    }

    /// The element-wise product: indices are concatenated, products looked up, scales multiplied; nothing is counted.
    /// If either operand has an outlier, the product of the two fp16 elements is an outlier of the result. Outliers are
    /// listed by index.
    ///
    /// # Errors
    /// Lengths differ, or a product or the scale overflows.
    pub fn times(&self, other: &Self) -> Result<Self, KllmError> {
        check_length("second factor", other.indices.len(), self.indices.len())?;
        let codebook = self.codebook.product(&other.codebook)?;
        let scale = fp16::mul(self.scale, other.scale);
        fp16::all_units(&[scale], "scale of the product")?;
        let (mask, other_mask) = (self.outlier_mask(), other.outlier_mask());
        let (x, y) = (self.dequantized_fp16(), other.dequantized_fp16());
        let (mut indices, mut outliers) = (Vec::new(), Vec::new());
        for i in 0..self.indices.len() {
            if mask[i] || other_mask[i] {
                outliers.push(Pop { index: i, value: fp16::mul(x[i], y[i]) });
                indices.push(0);
            } else {
                indices.push(concat(self.indices[i], other.indices[i], other.codebook.bits()));
            }
        }
        let values: Vec<u64> = outliers.iter().map(|o| o.value).collect();
        fp16::all_units(&values, "outliers of the product")?;
        Ok(Self { codebook, scale, indices, outliers })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::codebook::Codebook;
    use super::super::outliers::OutlierRule;
    use super::*;

    const ALL: [Function; 3] = [Function::Silu, Function::Relu, Function::Gelu];

    fn fp16s(values: &[f64]) -> Vec<u64> {
        values.iter().map(|&v| fp16::from_f64(v)).collect()
    }

    #[test]
    fn error_function() {
        // Abramowitz and Stegun, table 7.1, and erfc(3), erfc(5) to 16 digits.
        for (z, expected) in [
            (0.0, 1.0),
            (0.5, 1.0 - 0.520_499_877_8),
            (1.0, 0.157_299_207_050_285_13),
            (-1.0, 1.842_700_792_949_715),
            (2.0, 0.004_677_734_981_047_266),
            (3.0, 2.209_049_699_858_544e-5),
            (5.0, 1.537_459_794_428_034_8e-12),
        ] {
            let tolerance = if z == 0.5 { 1e-10 } else { 1e-13 };
            assert!((erfc(z) / expected - 1.0).abs() < tolerance, "erfc({z}) = {}", erfc(z));
        }
        let (below, above) = (erfc(1.5f64.next_down()), erfc(1.5));
        assert!((below / above - 1.0).abs() < 1e-13, "{below} {above}: series and fraction meet");
    }

    /// The proof that [`Function::apply`] rounds correctly: no value is within a relative 2^-39 of the middle of two
    /// neighbouring fp16 numbers, and values computed in f64 err by less than 2^-43. (The closest: SiLU(-2^-11) =
    /// -2^-12 (1 - 2^-12) except for a term of relative size 2^-37.6.)
    #[test]
    fn no_value_is_near_a_rounding_boundary() {
        for function in ALL {
            for x in (0..0x10000).filter(|&x| fp16::is_finite(x)) {
                let exact = function.value(fp16::value(x));
                let rounded = function.apply(x);
                assert!(fp16::is_finite(rounded));
                if exact == fp16::value(rounded) {
                    // Exact, or so far below 2^-25 that f64 underflows too.
                    continue;
                }
                let magnitude = rounded & 0x7fff;
                let middles = [magnitude.checked_sub(1), Some(magnitude), Some(magnitude + 1)];
                for pair in middles.windows(2) {
                    if let [Some(low), Some(high)] = pair {
                        let middle = f64::midpoint(fp16::value(*low), fp16::value(*high));
                        let distance = (exact.abs() - middle).abs();
                        assert!(distance > 2f64.powi(-39) * middle, "{function:?} at {:e}: {exact:e}", fp16::value(x));
                    }
                }
            }
        }
    }

    #[test]
    fn known_values() {
        let at = |f: Function, x: f64| fp16::value(f.apply(fp16::from_f64(x)));
        assert_eq!([-2.0, 0.0, 3.0].map(|x| at(Function::Relu, x)), [0.0, 0.0, 3.0]);
        assert!((at(Function::Silu, 1.0) - 0.731_058_578).abs() < 2f64.powi(-12));
        assert!((at(Function::Gelu, -1.0) + 0.158_655_254).abs() < 2f64.powi(-14));
        assert_eq!((at(Function::Silu, -65504.0), at(Function::Gelu, 65504.0)), (0.0, 65504.0));
        for f in ALL {
            assert_eq!((f.apply(0x7e01), f.apply(0x7c00)), (0x7e00, 0x7c00));
            assert_eq!(f.apply(0xfc00) & 0x7fff, 0);
        }
    }

    fn token() -> impl Strategy<Value = Quantized> {
        let book = Codebook::new(3, fp16s(&[-1.0, -0.7, -0.3, -0.1, 0.05, 0.3, 0.6, 1.0])).unwrap();
        (prop::collection::vec(-20.0f64..20.0, 1..30), 0usize..3).prop_map(move |(values, per_side)| {
            Quantized::new(&fp16s(&values), &book, OutlierRule::TopK { per_side }).unwrap()
        })
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn replacing_the_codebook_is_applying_the_function(token in token()) {
            for function in ALL {
                let mapped = token.map(|x| function.apply(x)).unwrap();
                let expected: Vec<u64> = token.dequantized_fp16().iter().map(|&x| function.apply(x)).collect();
                prop_assert_eq!(mapped.dequantized_fp16(), expected);
                prop_assert_eq!(&mapped.indices, &token.indices);
            }
            // ReLU commutes with the scale: the offline codebook does.
            let offline = token.map_offline(|x| Function::Relu.apply(x)).unwrap();
            let online = token.map(|x| Function::Relu.apply(x)).unwrap();
            let values = |q: &Quantized| q.dequantized_fp16().iter().map(|&x| fp16::value(x)).collect::<Vec<_>>();
            prop_assert_eq!(values(&offline), values(&online));
        }

        #[test]
        fn products_are_looked_up(a in token(), b in token()) {
            let n = a.indices.len().min(b.indices.len());
            let cut = |q: &Quantized| Quantized {
                indices: q.indices[..n].to_vec(),
                outliers: q.outliers.iter().copied().filter(|o| o.index < n).collect(),
                ..q.clone()
            };
            let (a, b) = (cut(&a), cut(&b));
            let product = a.times(&b).unwrap();
            let (x, y, z) = (a.dequantized_fp16(), b.dequantized_fp16(), product.dequantized_fp16());
            let outlier = product.outlier_mask();
            for i in 0..n {
                prop_assert_eq!(outlier[i], a.outlier_mask()[i] || b.outlier_mask()[i]);
                let scales = fp16::value(a.scale) * fp16::value(b.scale);
                let exact = if outlier[i] {
                    prop_assert_eq!(z[i], fp16::mul(x[i], y[i]));
                    continue
                } else {
                    scales * fp16::value(a.codebook.value(a.indices[i])) * fp16::value(b.codebook.value(b.indices[i]))
                };
                // Three roundings: the product of the values, the product of the scales, and the product of both.
                let error = (fp16::value(z[i]) - exact).abs();
                prop_assert!(error <= 3.01 * 2f64.powi(-11) * exact.abs() + 2f64.powi(-24) * (1.0 + scales));
            }
        }
    }

    #[test]
    fn a_scale_must_not_be_ignored() {
        let book = Codebook::new(1, fp16s(&[-1.0, 1.0])).unwrap();
        let token = Quantized::new(&fp16s(&[4.0, -4.0]), &book, OutlierRule::None).unwrap();
        let silu = |x| Function::Silu.apply(x);
        let (online, offline) = (token.map(silu).unwrap(), token.map_offline(silu).unwrap());
        let value = |q: &Quantized| fp16::value(q.dequantized_fp16()[0]);
        // SiLU(4) = 3.93, but 4 * SiLU(1) = 2.92.
        assert!((value(&online) - 3.93).abs() < 0.01 && (value(&offline) - 2.92).abs() < 0.01);
    }
}
