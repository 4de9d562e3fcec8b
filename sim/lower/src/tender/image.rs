//! The contents of memory before the first token: quantized weights as panels, tables, constants, gains, angles.

use anyhow::{Error, Result, ensure};
use golden::kllm::fp16;
use golden::tender::calibration::{Calibration, Weights};
use half::f16;
use host::tender::{Caps, Constants, Panels, Sign, Table};
use host::vector::{Integer, Operand};
use host::{Allocator, Format, Rows, Window};
use models::decoder::Weight;

use crate::whole::Executor;

/// Bytes of a page. No burst of AXI crosses its end.
const PAGE: u64 = 4096;
/// Bits of an operand.
const BITS: u32 = 8;
/// The same for the host.
pub(super) const INTEGER: Integer = Integer::Int8;

/// An index table: address and entries.
pub(super) type Place = (u64, u32);

/// The right matrix of a product, and the packing of its left matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection {
    pub panels: Operand,
    pub channels: u32,
    pub columns: u32,
    pub table: Place,
    pub constants: u64,
}

/// Gains of a norm in memory, or pairs of gain and bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    pub at: u64,
    pub layer_norm: bool,
}

/// An output of a projection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output<'a> {
    pub weight: &'a Weight,
    /// Its number in the weight.
    pub number: usize,
    pub bias: f32,
}

/// How rows become the left matrix of a product.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    pub constants: u64,
    pub table: Place,
    pub calibration: Calibration,
}

/// Puts data into a memory, one area after the other.
pub(super) struct Placer<'a> {
    pub caps: Caps,
    pub free: Allocator,
    pub memory: &'a mut dyn Executor,
}

impl<'a> Placer<'a> {
    pub fn new(caps: &Caps, window: &Window, memory: &'a mut dyn Executor) -> Self {
        Self { caps: *caps, free: Allocator::new(window), memory }
    }

    /// Whole pages: bursts of operands that are alike end alike in all layers, so layers take the same time. The golden
    /// model then computes the time of one.
    fn take(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.free.take((bytes as u64).next_multiple_of(PAGE))?)
    }

    pub fn store(&mut self, bytes: &[u8]) -> Result<u64> {
        let address = self.take(bytes.len())?;
        self.memory.write(address, bytes)?;
        Ok(address)
    }

    /// Zeros.
    pub fn room(&mut self, bytes: usize) -> Result<u64> {
        self.store(&vec![0; bytes])
    }

    /// Rows of numbers of fp16, and zeros in them.
    pub fn rows(&mut self, rows: usize, columns: usize) -> Result<Operand> {
        let layout = Rows::dense(Format::Fp16, rows, columns)?;
        Ok(Operand { address: self.room(layout.bytes())?, stride: layout.stride().try_into()? })
    }

    /// Rows of numbers, rounded to fp16.
    pub fn floats(&mut self, rows: &[Vec<f64>]) -> Result<Operand> {
        let layout = Rows::dense(Format::Fp16, rows.len(), rows.first().map_or(0, Vec::len))?;
        let halves: Vec<f16> = rows.iter().flatten().map(|&x| half(x)).collect();
        Ok(Operand { address: self.store(&layout.pack_floats(&halves)?)?, stride: layout.stride().try_into()? })
    }

    /// A left matrix of so many rows at most.
    pub fn left(&mut self, lines: usize, channels: usize) -> Result<Operand> {
        let panels = Panels::rows(&self.caps, (INTEGER, Sign::Signed), lines, channels)?;
        Ok(Operand { address: self.room(panels.bytes())?, stride: panels.stride().try_into()? })
    }

    /// A right matrix of zeros.
    pub fn right(&mut self, lines: usize, channels: usize) -> Result<Operand> {
        let panels = Panels::columns(&self.caps, (INTEGER, Sign::Signed), lines, channels)?;
        Ok(Operand { address: self.room(panels.bytes())?, stride: panels.stride().try_into()? })
    }

    pub fn constants(&mut self, constants: &[Constants]) -> Result<u64> {
        self.store(&Constants::bytes(constants))
    }

    /// A packing of channels in groups; each channel is multiplied by its factor first.
    pub fn packing(&mut self, calibration: Calibration, factors: &[f64]) -> Result<Packing> {
        let Calibration { bias, group, scales, .. } = &calibration;
        let constant = |((factor, bias), &group): ((&f64, &f64), &usize)| Constants {
            scale: *factor as f32,
            bias: -bias as f32,
            quantizer: (1.0 / scales[group]) as f32,
        };
        let constants: Vec<Constants> = factors.iter().zip(bias).zip(group).map(constant).collect();
        let table = Table::of_groups(group, scales.len())?;
        let table = (self.store(&table.bytes())?, table.steps());
        Ok(Packing { constants: self.constants(&constants)?, table, calibration })
    }

    /// Outputs that share an input, side by side, with a scale for each output. The constants add what the packing
    /// subtracts from its channels. Accelerators side by side each have an equal share of each group of outputs, at the
    /// same place.
    pub fn projection(&mut self, groups: &[Vec<Output<'_>>], packing: &Packing) -> Result<Projection> {
        let parts = self.memory.parts();
        let columns = share_of(groups, 0, parts)?.len();
        let channels = packing.calibration.bias.len();
        let whole = Panels::columns(&self.caps, (INTEGER, Sign::Signed), columns, channels)?;
        let panels = self.take(whole.bytes())?;
        let constants = self.constants(&vec![Constants::default(); columns])?;
        for part in 0..parts {
            let outputs = share_of(groups, part, parts)?;
            let records = self.quantized(&outputs, packing, (part, panels, &whole))?;
            self.memory.write_part(part, constants, &Constants::bytes(&records))?;
        }
        let panels = Operand { address: panels, stride: whole.stride().try_into()? };
        let (channels, columns) = (channels.try_into()?, columns.try_into()?);
        Ok(Projection { panels, channels, columns, table: packing.table, constants })
    }

    /// Writes the panels of such outputs into the memory of an accelerator, from an address on. Returns their constants.
    fn quantized(
        &mut self,
        outputs: &[Output<'_>],
        packing: &Packing,
        (part, address, whole): (usize, u64, &Panels),
    ) -> Result<Vec<Constants>> {
        let channels = packing.calibration.bias.len();
        let lines = self.caps.panel_columns(INTEGER);
        let (mut at, mut constants) = (address, Vec::with_capacity(outputs.len()));
        let Calibration { bias, scales, .. } = &packing.calibration;
        let last = scales[scales.len() - 1];
        // Panel by panel: whole matrices in f64 would be gigabytes.
        for outputs in outputs.chunks(lines) {
            let decoded: Vec<Vec<f32>> = outputs.iter().map(|output| output.weight.output(output.number)).collect();
            let rows: Vec<Vec<f64>> =
                (0..channels).map(|c| decoded.iter().map(|output| output[c].into()).collect()).collect();
            let quantized = Weights::quantize(&rows, BITS).map_err(Error::msg)?;
            let panel = Panels::columns(&self.caps, (INTEGER, Sign::Signed), outputs.len(), channels)?;
            let values: Vec<i16> = quantized.values.iter().flatten().map(|&code| code as i16).collect();
            let mut bytes = panel.pack_transposed(&values)?;
            // Zeros up to the next panel; the last one has none after it.
            let left = address + whole.bytes() as u64 - at;
            bytes.resize(whole.stride().min(left) as usize, 0);
            self.memory.write_part(part, at, &bytes)?;
            at += bytes.len() as u64;
            for (o, scale) in quantized.scales.iter().enumerate() {
                let offset = quantized.values.iter().zip(bias).map(|(row, bias)| row[o] as f64 * scale * bias);
                let own = f64::from(outputs[o].bias);
                constants.push(Constants {
                    scale: (last * scale) as f32,
                    bias: (offset.sum::<f64>() + own) as f32,
                    quantizer: 1.0,
                });
            }
        }
        Ok(constants)
    }
}

/// An equal share of each group of outputs.
fn share_of<'a>(groups: &[Vec<Output<'a>>], part: usize, parts: usize) -> Result<Vec<Output<'a>>> {
    let mut share = Vec::new();
    for group in groups {
        let outputs = group.len();
        ensure!(outputs.is_multiple_of(parts), "{outputs} outputs have no {parts} equal shares");
        share.extend(&group[part * outputs / parts..][..outputs / parts]);
    }
    Ok(share)
}

/// The nearest number of fp16.
pub(super) fn half(x: f64) -> f16 {
    f16::from_bits(fp16::from_f64(x) as u16)
}
