//! Layers of a network as one chain of descriptors. The golden model does each descriptor as soon as it is added. So
//! the next descriptors are calibrated on the numbers that they will meet, quantized as all operations before leave
//! them.
//!
//! The array must be square: a packing makes panels of as many lines as the array has rows, and queries are then rows of a
//! product, keys its columns.

mod operands;

use std::ops::{Deref, DerefMut};

use anyhow::{Context, ensure};
use golden::accelerators::tender::TenderTop;
use golden::tender::calibration::{Calibration, Scheme, Sign as GoldenSign, Weights as Quantized};
use golden::tender::granularity::product;
use host::Window;
use host::tender::{Caps, Constants, MatMulJob, Pack, PackJob, Panels, Product, Sign, Table};
use host::vector::{Integer, Operand};
use lower::chain::ChainBuilder;

pub use lower::chain::{Floats, Job, Measured, Results, Seen};
use operands::Integers;
pub use operands::{Activations, Keys, Weights};

/// Groups of channels, where nothing else is said.
pub const GROUPS: usize = 8;

/// Puts a chain together.
#[derive(Debug)]
pub struct Builder {
    caps: Caps,
    integer: Integer,
    groups: usize,
    base: ChainBuilder<TenderTop>,
}

impl Deref for Builder {
    type Target = ChainBuilder<TenderTop>;

    fn deref(&self) -> &Self::Target {
        &self.base
    }
}

impl DerefMut for Builder {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.base
    }
}

impl Builder {
    /// An empty chain whose products have operands of these bits.
    ///
    /// # Errors
    /// The array is not square; the window has no room.
    pub fn new(caps: &Caps, window: &Window, golden: TenderTop, integer: Integer) -> anyhow::Result<Self> {
        let (rows, columns) = (caps.rows, caps.columns);
        ensure!(rows == columns, "the array is {rows} x {columns}, must be square: packed rows become columns");
        let base = ChainBuilder::new(caps.vector, window, golden)?;
        Ok(Self { caps: *caps, integer, groups: GROUPS, base })
    }

    /// The same with channels in so many groups; [`GROUPS`] otherwise.
    #[must_use]
    pub fn in_groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    /// The job.
    ///
    /// # Errors
    /// There is no room for the descriptors, or there is none of them.
    pub fn finish(self) -> anyhow::Result<Job> {
        self.base.finish()
    }

    /// Weights, [channel, output], quantized with a scale for each output.
    ///
    /// # Errors
    /// Numbers that are not finite; no room.
    pub fn weights(&mut self, weights: &[Vec<f64>]) -> anyhow::Result<Weights> {
        let quantized = Quantized::quantize(weights, bits(self.integer)).map_err(anyhow::Error::msg)?;
        let (lines, inner) = (quantized.scales.len(), weights.len());
        let panels = Panels::columns(&self.caps, (self.integer, Sign::Signed), lines, inner)?;
        let values: Vec<i16> = quantized.values.iter().flatten().map(|&x| x as i16).collect();
        let address = self.store(panels.pack_transposed(&values)?)?;
        let at = Operand { address, stride: panels.stride().try_into()? };
        let integers = Integers { at, panels, sign: Sign::Signed, lines, inner };
        let known = Some(quantized.dequantize());
        Ok(Weights { integers, scales: quantized.scales, added: vec![0.0; lines], known })
    }

    /// The same with a bias for each output.
    ///
    /// # Errors
    /// As above; not as many biases as outputs.
    pub fn weights_with(&mut self, weights: &[Vec<f64>], biases: &[f64]) -> anyhow::Result<Weights> {
        let weights = self.weights(weights)?;
        let (found, wanted) = (biases.len(), weights.added.len());
        ensure!(found == wanted, "{found} biases, {wanted} outputs");
        Ok(Weights { added: biases.to_vec(), ..weights })
    }

    /// Some lines of an operand, where the first one begins a panel.
    ///
    /// # Errors
    /// They are not there, or it does not.
    pub fn lines(&self, of: &Weights, first: usize, lines: usize) -> anyhow::Result<Weights> {
        let Integers { at, sign, inner, lines: all, .. } = of.integers;
        let end = first.checked_add(lines).filter(|&end| end <= all);
        ensure!(end.is_some(), "{lines} lines from {first} on: there are {all}");
        let in_panel = self.caps.panel_rows(self.integer);
        ensure!(first.is_multiple_of(in_panel), "line {first} is the first one, must be a multiple of {in_panel}");
        let address = at.address + (first / in_panel) as u64 * u64::from(at.stride);
        let panels = Panels::rows(&self.caps, (self.integer, sign), lines, inner)?;
        let rows = first..first + lines;
        let known = of.known.as_ref().map(|known| known.iter().map(|row| row[rows.clone()].to_vec()).collect());
        Ok(Weights {
            integers: Integers { at: Operand { address, ..at }, panels, sign, lines, inner },
            scales: of.scales[rows.clone()].to_vec(),
            added: of.added[rows].to_vec(),
            known,
        })
    }

    /// Packs rows: each channel around the middle of its range, in groups.
    ///
    /// # Errors
    /// Numbers that are not finite; more than a chunk of rows; no room.
    pub fn pack(&mut self, name: &'static str, rows: &Floats) -> anyhow::Result<Activations> {
        let scheme = self.scheme(self.groups, GoldenSign::Signed)?;
        let calibration = Calibration::of(&self.values(rows), scheme).map_err(anyhow::Error::msg)?;
        self.pack_with(name, rows, calibration, &vec![1.0; rows.columns])
    }

    /// Packs rows of keys, as columns of a product, each channel around the middle of its range and with its own scale.
    ///
    /// # Errors
    /// No room; numbers that are not finite.
    pub fn pack_keys(&mut self, name: &'static str, rows: &Floats) -> anyhow::Result<Keys> {
        let largest = self.scheme(1, GoldenSign::Signed)?.range().1 as f64;
        let (middles, channels) = centred(&self.values(rows), largest);
        let constant = |(middle, scale): (&f64, &f64)| Constants {
            scale: 1.0,
            bias: -middle as f32,
            quantizer: (1.0 / scale) as f32,
        };
        let constants: Vec<Constants> = middles.iter().zip(&channels).map(constant).collect();
        let integers = self.pack_as(name, rows, Sign::Signed, &constants)?;
        let (scales, added) = (vec![1.0; rows.rows], vec![0.0; rows.rows]);
        Ok(Keys { columns: Weights { integers, scales, added, known: None }, channels })
    }

    /// Packs rows of queries, each channel times the scale that the keys have there, in groups. They have no bias: none must
    /// come back with keys, which nobody knows before the job runs.
    ///
    /// # Errors
    /// As [`Self::pack`]; keys have other channels.
    pub fn pack_queries(&mut self, name: &'static str, rows: &Floats, keys: &Keys) -> anyhow::Result<Activations> {
        let (own, theirs) = (rows.columns, keys.channels.len());
        ensure!(own == theirs, "queries have {own} channels, keys {theirs}");
        let largest = largest(&self.values(rows), &vec![0.0; own]);
        let most: Vec<f64> = largest.iter().zip(&keys.channels).map(|(x, scale)| x * scale).collect();
        let least = most.iter().map(|x| -x).collect();
        let scheme = self.scheme(self.groups, GoldenSign::Signed)?;
        let calibration = Calibration::of(&[most, least], scheme).map_err(anyhow::Error::msg)?;
        self.pack_with(name, rows, calibration, &keys.channels)
    }

    /// Packs rows of probabilities: unsigned, the largest integer is 1.
    ///
    /// # Errors
    /// No room.
    pub fn pack_probabilities(&mut self, name: &'static str, rows: &Floats) -> anyhow::Result<Activations> {
        let scheme = self.scheme(1, GoldenSign::Unsigned)?;
        let calibration = Calibration::of(&[vec![1.0; rows.columns]], scheme).map_err(anyhow::Error::msg)?;
        self.pack_with(name, rows, calibration, &vec![1.0; rows.columns])
    }

    /// Each channel times its factor, calibrated with it.
    fn pack_with(
        &mut self,
        name: &'static str,
        rows: &Floats,
        calibration: Calibration,
        factors: &[f64],
    ) -> anyhow::Result<Activations> {
        let Calibration { bias, group, scales, .. } = &calibration;
        let constant = |((&factor, bias), &group): ((&f64, &f64), &usize)| Constants {
            scale: factor as f32,
            bias: -bias as f32,
            quantizer: (1.0 / scales[group]) as f32,
        };
        let constants: Vec<Constants> = factors.iter().zip(bias).zip(group).map(constant).collect();
        let table = Table::of_groups(group, scales.len())?;
        let table = (self.store(table.bytes())?, table.steps());
        let sign = if calibration.scheme().range().0 < 0 { Sign::Signed } else { Sign::Unsigned };
        let integers = self.pack_as(name, rows, sign, &constants)?;
        Ok(Activations { integers, calibration, table })
    }

    fn pack_as(
        &mut self,
        name: &'static str,
        rows: &Floats,
        sign: Sign,
        constants: &[Constants],
    ) -> anyhow::Result<Integers> {
        let panels = Panels::rows(&self.caps, (self.integer, sign), rows.rows, rows.columns)?;
        let constants = self.store(Constants::bytes(constants))?;
        let at = Operand { address: self.room(name, panels.bytes())?, stride: panels.stride().try_into()? };
        let pack = Pack {
            rows: rows.rows as u32,
            columns: rows.columns as u32,
            integer: self.integer,
            sign,
            x: rows.at,
            constants,
            out: at,
        };
        let descriptor = PackJob::new(pack).exact().build(&self.caps, &self.window)?;
        self.then(descriptor)?;
        Ok(Integers { at, panels, sign, lines: rows.rows, inner: rows.columns })
    }

    /// Activations times weights times a factor, as rows.
    ///
    /// # Errors
    /// The sizes do not fit; channels have a bias, and the job computes the weights itself.
    pub fn multiply(&mut self, x: &Activations, w: &Weights, factor: f64, out: &Floats) -> anyhow::Result<()> {
        let (tokens, outputs) = (x.integers.lines, w.integers.lines);
        let sizes = (out.rows, out.columns);
        ensure!(sizes == (tokens, outputs), "results are {sizes:?}, must be {tokens} x {outputs}");
        let last = x.calibration.scales[x.calibration.scales.len() - 1];
        let constant = |((scale, bias), added): ((&f64, f64), f64)| Constants {
            scale: (last * scale * factor) as f32,
            bias: ((bias + added) * factor) as f32,
            quantizer: 1.0,
        };
        let offset = w.offset(&x.calibration)?;
        let constants: Vec<Constants> =
            w.scales.iter().zip(offset).zip(w.added.iter().copied()).map(constant).collect();
        let product = self.product(&x.integers, &w.integers, x.table, &constants)?;
        let job = MatMulJob::new(product, out.at).exact();
        let descriptor = job.build(&self.caps, &self.window)?;
        self.then(descriptor)
    }

    /// The transpose of activations times weights, as integers with a scale for each output, around the middle of its
    /// range. The product has its operands exchanged, so its panels are the right operand of the next product. Values
    /// are needed in this form. Probabilities sum to 1, so the middle comes back unchanged.
    ///
    /// # Errors
    /// The sizes do not fit; the weights are not known.
    pub fn multiply_transposed(&mut self, name: &'static str, w: &Weights, x: &Activations) -> anyhow::Result<Weights> {
        let (lines, inner) = (w.integers.lines, x.integers.lines);
        let offset = w.offset(&x.calibration)?;
        let known = w.known.as_ref().context("the scale of a result cannot be found without the weights")?;
        let tokens: Vec<Vec<f64>> =
            self.integers(&x.integers)?.iter().map(|row| x.calibration.dequantize(row)).collect();
        let mut about = product(&tokens, known);
        about.iter_mut().for_each(|row| row.iter_mut().zip(&w.added).for_each(|(x, bias)| *x += bias));
        let largest = self.scheme(1, GoldenSign::Signed)?.range().1 as f64;
        let (added, scales) = centred(&about, largest);
        let last = x.calibration.scales[x.calibration.scales.len() - 1];
        let offset = offset.iter().zip(&w.added).map(|(offset, bias)| offset + bias);
        let constant = |(((scale, bias), middle), own): (((&f64, f64), &f64), &f64)| Constants {
            scale: (last * scale) as f32,
            bias: (bias - middle) as f32,
            quantizer: (1.0 / own) as f32,
        };
        let constants: Vec<Constants> = w.scales.iter().zip(offset).zip(&added).zip(&scales).map(constant).collect();
        let panels = Panels::rows(&self.caps, (self.integer, Sign::Signed), lines, inner)?;
        let at = Operand { address: self.room(name, panels.bytes())?, stride: panels.stride().try_into()? };
        let product = self.product(&w.integers, &x.integers, x.table, &constants)?;
        let job = MatMulJob::new(product, at).constants_per_row().quantize(Sign::Signed).exact();
        let descriptor = job.build(&self.caps, &self.window)?;
        self.then(descriptor)?;
        let integers = Integers { at, panels, sign: Sign::Signed, lines, inner };
        Ok(Weights { integers, scales, added, known: None })
    }

    fn product(
        &mut self,
        a: &Integers,
        b: &Integers,
        table: (u64, u32),
        constants: &[Constants],
    ) -> anyhow::Result<Product> {
        ensure!(a.inner == b.inner, "the left matrix has {} channels, the right one {}", a.inner, b.inner);
        Ok(Product {
            rows: a.lines as u32,
            columns: b.lines as u32,
            channels: a.inner as u32,
            integer: self.integer,
            a: (a.at, a.sign),
            b: (b.at, b.sign),
            table,
            constants: self.store(Constants::bytes(constants))?,
        })
    }

    fn scheme(&self, groups: usize, sign: GoldenSign) -> anyhow::Result<Scheme> {
        Scheme::new(bits(self.integer), groups, sign).map_err(anyhow::Error::msg)
    }

    /// Integers line by line.
    fn integers(&self, of: &Integers) -> anyhow::Result<Vec<Vec<i64>>> {
        let values = of.panels.unpack(&self.memory.bytes(of.at.address, of.panels.bytes()))?;
        Ok(values.chunks(of.inner).map(|line| line.iter().map(|&x| x.into()).collect()).collect())
    }
}

/// Middle of each column's range, and the scale of integers around it, where the largest one is `most`.
fn centred(rows: &[Vec<f64>], most: f64) -> (Vec<f64>, Vec<f64>) {
    let columns = rows.first().map_or(0, Vec::len);
    let ends =
        |c: usize| rows.iter().fold((f64::MAX, f64::MIN), |(low, high), row| (low.min(row[c]), high.max(row[c])));
    let middles: Vec<f64> = (0..columns).map(ends).map(|(low, high)| (low + high) / 2.0).collect();
    let scale = |end: f64| if end == 0.0 { 1.0 } else { end / most };
    let scales = largest(rows, &middles).into_iter().map(scale).collect();
    (middles, scales)
}

/// Largest distance from the middle in each column.
fn largest(rows: &[Vec<f64>], middles: &[f64]) -> Vec<f64> {
    let of = |(c, middle): (usize, &f64)| rows.iter().map(|row| (row[c] - middle).abs()).fold(0.0, f64::max);
    middles.iter().enumerate().map(of).collect()
}

pub(super) fn bits(integer: Integer) -> u32 {
    match integer {
        Integer::Int8 => 8,
        Integer::Int4 => 4,
    }
}

#[cfg(test)]
pub(super) mod testing;

#[cfg(test)]
mod tests;
