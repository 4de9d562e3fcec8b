//! A whole language model with Tender's products, and with integers under other scales (Tables I and II, Figure 9).
//!
//! A product is computed in the accelerator's integers: codes of activations, shifted by their group, times codes of
//! weights. Their sums are exact in f64, so they equal the contents of the accumulators. They are scaled as in the
//! golden model (`golden::tender::matmul`). All between two products, and the last product, is in floats.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result, ensure};
use golden::tender::calibration as tender;
use golden::tender::calibration::{CHUNK_ROWS, Sign};
use golden::tender::granularity::{Granularity, round_trip};

use super::groups::Groups;
use crate::decoder::arithmetic::Projection;
use crate::decoder::calibration::{Calibration, Input, extremes, outliers};
use crate::decoder::{Arithmetic, Matrix, Model, Weight};

/// The weights of a layer's projections as integers, one scale an output.
#[derive(Clone, Debug)]
pub struct IntegerWeights(BTreeMap<(usize, Projection), Codes>);

#[derive(Clone, Debug)]
struct Codes {
    codes: Weight,
    scales: Vec<f64>,
}

impl IntegerWeights {
    /// Quantizes all projections of the layers to `bits`.
    ///
    /// # Errors
    /// Bits that the golden model refuses.
    pub fn new(model: &Model, bits: u32) -> Result<Self> {
        let mut all = BTreeMap::new();
        for layer in 0..model.config().layers {
            for &projection in model.config().projections() {
                let weight = model.weight(layer, projection)?;
                all.insert((layer, projection), Codes::new(weight, bits)?);
            }
        }
        Ok(Self(all))
    }

    fn get(&self, layer: usize, projection: Projection) -> Result<&Codes> {
        self.0.get(&(layer, projection)).with_context(|| format!("no weights of {projection:?} in layer {layer}"))
    }
}

impl Codes {
    fn new(weight: &Weight, bits: u32) -> Result<Self> {
        let values = weight.values();
        let columns = |input: usize| values.iter().skip(input).step_by(weight.inputs).map(|&x| x.into()).collect();
        let rows: Vec<Vec<f64>> = (0..weight.inputs).map(columns).collect();
        let quantized = tender::Weights::quantize(&rows, bits).map_err(Error::msg)?;
        let of_output = |o: usize| quantized.values.iter().map(move |row| row[o] as f32);
        let codes: Vec<f32> = (0..weight.outputs).flat_map(of_output).collect();
        Ok(Self { codes: Weight::new([weight.outputs, weight.inputs], &codes), scales: quantized.scales })
    }

    /// Rows of numbers times the numbers that the codes stand for.
    fn times(&self, x: &Matrix) -> Matrix {
        let mut y = x.through(&self.codes);
        y.iter_mut().for_each(|row| row.iter_mut().zip(&self.scales).for_each(|(y, scale)| *y *= scale));
        y
    }

    /// The product of a row with the numbers that the codes stand for, added channel by channel as in the golden model.
    fn offset(&self, bias: &[f64]) -> Vec<f64> {
        let output = |(codes, scale): (Vec<f32>, &f64)| {
            codes.into_iter().zip(bias).fold(0.0, |sum, (code, bias)| sum + bias * (f64::from(code) * scale))
        };
        self.codes.iter().zip(&self.scales).map(output).collect()
    }
}

/// How activations are quantized.
#[derive(Clone, Copy, Debug)]
pub enum Activations<'a> {
    /// By groups of channels, from calibration on another text.
    Tender {
        /// Groups.
        groups: usize,
        /// Calibration on the other text.
        learnt: &'a Calibration,
    },
    /// By groups of channels that are known.
    Given(&'a Groups),
    /// By groups of channels, from the text itself.
    TenderOnItself {
        /// Groups.
        groups: usize,
    },
    /// Symmetric integers, scales from the text itself.
    Plain(Granularity),
    /// Not at all: only weights are integers.
    Exact,
}

/// A model whose layers multiply integers.
#[derive(Clone, Debug)]
pub struct IntegerModel<'a> {
    weights: &'a IntegerWeights,
    bits: u32,
    activations: Activations<'a>,
    /// Share of outliers of a row, in ten-thousandths. They are not quantized, and are multiplied apart.
    apart: u32,
    /// Largest magnitude that an accumulator held.
    pub largest_sum: f64,
    /// Groups that had channels, and the number of chunks of rows.
    pub groups: (usize, usize),
}

impl<'a> IntegerModel<'a> {
    /// Activations of `bits` bits, times these weights.
    #[must_use]
    pub fn new(weights: &'a IntegerWeights, bits: u32, activations: Activations<'a>) -> Self {
        Self { weights, bits, activations, apart: 0, largest_sum: 0.0, groups: (0, 0) }
    }

    /// The same with outliers: Orizuru finds this share of each row, the largest and the smallest values. They are not
    /// among the integers, but multiplied with the weights on their own and added. 100 is 1 %.
    #[must_use]
    pub fn outliers_apart(mut self, share: u32) -> Self {
        self.apart = share;
        self
    }

    /// A chunk of rows through a projection with groups of channels. Outliers at the given places of each row are
    /// multiplied apart: the difference to the bias of their channels.
    fn grouped(
        &mut self,
        (x, apart): (&Matrix, &[Vec<usize>]),
        codes: &Codes,
        calibration: &tender::Calibration,
    ) -> Matrix {
        self.groups = (self.groups.0 + calibration.scales.len(), self.groups.1 + 1);
        let last = calibration.scales.len() - 1;
        let shifts: Vec<f64> = calibration.group.iter().map(|&group| (1_u64 << (last - group)) as f64).collect();
        let mut quantized = Matrix::zeros(0, x.columns);
        for (row, apart) in x.iter().zip(apart) {
            let mut values = calibration.quantize(row);
            apart.iter().for_each(|&place| values[place] = 0);
            quantized.values.extend(values.iter().zip(&shifts).map(|(&code, shift)| code as f64 * shift));
        }
        let mut sums = quantized.through(&codes.codes);
        let (scale, offset) = (calibration.scales[last], codes.offset(&calibration.bias));
        for row in sums.iter_mut() {
            for ((sum, weight_scale), offset) in row.iter_mut().zip(&codes.scales).zip(&offset) {
                self.largest_sum = self.largest_sum.max(sum.abs());
                *sum = *sum * scale * weight_scale + offset;
            }
        }
        for ((sums, row), apart) in sums.iter_mut().zip(x.iter()).zip(apart) {
            for &place in apart {
                let beyond = row[place] - calibration.bias[place];
                for ((sum, code), scale) in sums.iter_mut().zip(codes.codes.iter()).zip(&codes.scales) {
                    *sum += beyond * (f64::from(code[place]) * scale);
                }
            }
        }
        sums
    }
}

impl Arithmetic for IntegerModel<'_> {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        let Some(input) = Input::of(projection) else { return Ok(x.through(weight)) };
        let codes = self.weights.get(layer, projection)?;
        let mut y = Matrix::zeros(0, weight.outputs);
        for (chunk, from) in (0..x.rows()).step_by(CHUNK_ROWS).enumerate() {
            let rows = x.some_rows(from..(from + CHUNK_ROWS).min(x.rows()));
            let apart = outliers(&rows, self.apart)?;
            let scheme = |groups| tender::Scheme::new(self.bits, groups, Sign::Signed).map_err(Error::msg);
            let part = match self.activations {
                Activations::Tender { groups, learnt } => {
                    let found = learnt.extremes(layer, input, chunk);
                    let extremes = found.with_context(|| format!("{input:?} of layer {layer} is not calibrated"))?;
                    // Bias and group of a channel follow from its extremes alone.
                    let calibration = tender::Calibration::of(extremes, scheme(groups)?).map_err(Error::msg)?;
                    self.grouped((&rows, &apart), codes, &calibration)
                }
                Activations::Given(groups) => self.grouped((&rows, &apart), codes, groups.input(layer, input, chunk)?),
                Activations::TenderOnItself { groups } => {
                    let calibration =
                        tender::Calibration::of(&extremes(&rows, &apart), scheme(groups)?).map_err(Error::msg)?;
                    self.grouped((&rows, &apart), codes, &calibration)
                }
                Activations::Plain(granularity) => {
                    let mut rest: Vec<Vec<f64>> = rows.iter().map(<[f64]>::to_vec).collect();
                    let places =
                        || apart.iter().enumerate().flat_map(|(r, places)| places.iter().map(move |&c| (r, c)));
                    places().for_each(|(r, c)| rest[r][c] = 0.0);
                    let mut rest = round_trip(&rest, self.bits, granularity);
                    places().for_each(|(r, c)| rest[r][c] = rows.row(r)[c]);
                    codes.times(&Matrix::from_rows(&rest)?)
                }
                Activations::Exact => codes.times(&rows),
            };
            y.values.extend(part.values);
        }
        ensure!(self.largest_sum < 2f64.powi(53), "a sum of {:e} in layer {layer} is not exact", self.largest_sum);
        Ok(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use golden::tender::granularity::product;
    use golden::tender::matmul::tender_product;

    /// 300 rows: two chunks. Channels of magnitudes that need several groups.
    fn rows() -> Vec<Vec<f64>> {
        let value =
            |r: usize, c: usize| ((r * 37 + c * 101) % 211) as f64 / 8.0 * [1.0, 0.25, 16.0, 3.0][c % 4] - c as f64;
        (0..300).map(|r| (0..24).map(|c| value(r, c)).collect()).collect()
    }

    fn weight() -> Weight {
        Weight::new([10, 24], &(0..240).map(|i| ((i * 53) % 97) as f32 / 64.0 - 0.7).collect::<Vec<_>>())
    }

    fn columns() -> Vec<Vec<f64>> {
        let weight = weight();
        (0..24).map(|i| weight.iter().map(|output| output[i].into()).collect()).collect()
    }

    /// The same bits as the golden model of the product.
    #[test]
    fn products_are_those_of_the_golden_model() {
        let x = Matrix::from_rows(&rows()).unwrap();
        for (bits, groups) in [(4, 1), (4, 8), (8, 4), (8, 14)] {
            let weights = IntegerWeights(BTreeMap::from([((0, Projection::Q), Codes::new(&weight(), bits).unwrap())]));
            let mut model = IntegerModel::new(&weights, bits, Activations::TenderOnItself { groups });
            let y = model.linear(0, Projection::Q, &x, &weight()).unwrap();
            let scheme = tender::Scheme::new(bits, groups, Sign::Signed).unwrap();
            let quantized = tender::Weights::quantize(&columns(), bits).unwrap();
            let golden = tender_product(&rows(), CHUNK_ROWS, scheme, &quantized).unwrap();
            assert_eq!(y, Matrix::from_rows(&golden).unwrap(), "{bits} bits, {groups} groups");
            assert!(model.largest_sum > 100.0);
            // Learnt from the same text: the same again.
            let mut calibration = Calibration::new(1);
            calibration.linear(0, Projection::Q, &x, &weight()).unwrap();
            let mut model = IntegerModel::new(&weights, bits, Activations::Tender { groups, learnt: &calibration });
            assert_eq!(model.linear(0, Projection::Q, &x, &weight()).unwrap(), y);
        }
    }

    /// With all outliers apart only a few values in the middle are quantized, and the result is the sum of both parts.
    #[test]
    fn outliers_apart_are_exact() {
        let x = Matrix::from_rows(&rows()).unwrap();
        let weights = IntegerWeights(BTreeMap::from([((0, Projection::Q), Codes::new(&weight(), 8).unwrap())]));
        let exact = product(&rows(), &tender::Weights::quantize(&columns(), 8).unwrap().dequantize());
        let error = |share: u32, activations| {
            let mut model = IntegerModel::new(&weights, 4, activations).outliers_apart(share);
            let y = model.linear(0, Projection::Q, &x, &weight()).unwrap();
            let pairs = || y.values.iter().zip(exact.iter().flatten());
            pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / pairs().map(|(_, b)| b * b).sum::<f64>()
        };
        for activations in [Activations::TenderOnItself { groups: 4 }, Activations::Plain(Granularity::Row)] {
            let errors = [0, 1000, 5000, 10_000].map(|share| error(share, activations));
            assert!(errors[1] < errors[0] && errors[2] < errors[1], "{errors:?}");
            assert!(errors[3] < 1e-20, "{errors:?}");
        }
    }

    #[test]
    fn plain_integers_and_what_is_not_quantized() {
        let x = Matrix::from_rows(&rows()).unwrap();
        let weights = IntegerWeights(BTreeMap::from([((0, Projection::Q), Codes::new(&weight(), 8).unwrap())]));
        let mut model = IntegerModel::new(&weights, 8, Activations::Plain(Granularity::Row));
        let y = model.linear(0, Projection::Q, &x, &weight()).unwrap();
        let quantized = tender::Weights::quantize(&columns(), 8).unwrap().dequantize();
        let expected = product(&round_trip(&rows(), 8, Granularity::Row), &quantized);
        for (a, b) in y.values.iter().zip(expected.concat()) {
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
        }
        let mut exact = IntegerModel::new(&weights, 8, Activations::Exact);
        let expected = product(&rows(), &quantized);
        for (a, b) in exact.linear(0, Projection::Q, &x, &weight()).unwrap().values.iter().zip(expected.concat()) {
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
        }
        let plain = model.linear(1, Projection::Logits, &x, &weight()).unwrap();
        assert_eq!(plain, x.through(&weight()));
        assert!(
            model
                .linear(0, Projection::K, &x, &weight())
                .unwrap_err()
                .to_string()
                .contains("no weights of K in layer 0")
        );
    }
}
