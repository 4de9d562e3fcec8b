//! The contents of memory before the first token: quantized weights as panels, tables, constants, gains, angles.

use anyhow::{Error, Result};
use golden::tender::calibration::{Calibration, Weights};
use host::tender::{Caps, Constants, Panels, Sign, Table};
use host::vector::{Integer, Operand};

use crate::whole::{self, Output, Outputs};

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

/// How rows become the left matrix of a product.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    pub constants: u64,
    pub table: Place,
    pub calibration: Calibration,
}

/// Puts operands of the accelerator into a memory.
pub(super) struct Placer<'a, 'b> {
    pub caps: Caps,
    pub base: &'a mut whole::Placer<'b>,
}

impl Placer<'_, '_> {
    /// A left matrix of so many rows at most.
    pub fn left(&mut self, lines: usize, channels: usize) -> Result<Operand> {
        let panels = Panels::rows(&self.caps, (INTEGER, Sign::Signed), lines, channels)?;
        Ok(Operand { address: self.base.room(panels.bytes())?, stride: panels.stride().try_into()? })
    }

    /// A right matrix of zeros.
    pub fn right(&mut self, lines: usize, channels: usize) -> Result<Operand> {
        let panels = Panels::columns(&self.caps, (INTEGER, Sign::Signed), lines, channels)?;
        Ok(Operand { address: self.base.room(panels.bytes())?, stride: panels.stride().try_into()? })
    }

    pub fn constants(&mut self, constants: &[Constants]) -> Result<u64> {
        self.base.store(&Constants::bytes(constants))
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
        let table = (self.base.store(&table.bytes())?, table.steps());
        Ok(Packing { constants: self.constants(&constants)?, table, calibration })
    }

    /// Outputs that share an input, side by side, with a scale for each output. The constants add what the packing
    /// subtracts from its channels. Accelerators side by side have their shares at the same place.
    pub fn projection(&mut self, of: &Outputs<'_>, packing: &Packing) -> Result<Projection> {
        let parts = self.base.memory.parts();
        let columns = of.share(0, parts)?.len();
        let channels = packing.calibration.bias.len();
        let whole = Panels::columns(&self.caps, (INTEGER, Sign::Signed), columns, channels)?;
        let panels = self.base.take(whole.bytes())?;
        let constants = self.constants(&vec![Constants::default(); columns])?;
        for part in 0..parts {
            let records = self.quantized(&of.share(part, parts)?, packing, (part, panels, &whole))?;
            self.base.memory.write_part(part, constants, &Constants::bytes(&records))?;
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
            self.base.memory.write_part(part, at, &bytes)?;
            at += bytes.len() as u64;
            for (o, scale) in quantized.scales.iter().enumerate() {
                let offset = quantized.values.iter().zip(bias).map(|(row, bias)| row[o] as f64 * scale * bias);
                let own = f64::from(outputs[o].bias as f32);
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
