//! The contents of memory before the first token: rows, gains of norms, angles, and room for results.

use anyhow::Result;
use golden::kllm::fp16;
use half::f16;
use host::vector::Operand;
use host::{Allocator, Format, Rows, Window};
use models::decoder::arithmetic::Norm;
use models::decoder::{Family, Model};

use super::executor::Executor;
use crate::layer::Turns;

/// Bytes of a page. No burst of AXI crosses its end.
const PAGE: u64 = 4096;

/// Gains of a norm in memory, or pairs of gain and bias.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    /// Where.
    pub at: u64,
    /// They are pairs, of a layer norm.
    pub layer_norm: bool,
}

/// Puts data into a memory, one area after the other.
pub struct Placer<'a> {
    free: Allocator,
    /// The memory.
    pub memory: &'a mut dyn Executor,
}

impl<'a> Placer<'a> {
    /// An empty window.
    pub fn new(window: &Window, memory: &'a mut dyn Executor) -> Self {
        Self { free: Allocator::new(window), memory }
    }

    /// Whole pages: bursts of operands that are alike end alike in all layers, so layers take the same time. The golden
    /// model then computes the time of one.
    ///
    /// # Errors
    /// No room.
    pub fn take(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.free.take((bytes as u64).next_multiple_of(PAGE))?)
    }

    /// Bytes.
    ///
    /// # Errors
    /// No room.
    pub fn store(&mut self, bytes: &[u8]) -> Result<u64> {
        let address = self.take(bytes.len())?;
        self.memory.write(address, bytes)?;
        Ok(address)
    }

    /// Zeros.
    ///
    /// # Errors
    /// No room.
    pub fn room(&mut self, bytes: usize) -> Result<u64> {
        self.store(&vec![0; bytes])
    }

    /// Rows of numbers of fp16, and zeros in them.
    ///
    /// # Errors
    /// No room.
    pub fn rows(&mut self, rows: usize, columns: usize) -> Result<Operand> {
        let layout = Rows::dense(Format::Fp16, rows, columns)?;
        Ok(Operand { address: self.room(layout.bytes())?, stride: layout.stride().try_into()? })
    }

    /// Rows of numbers, rounded to fp16.
    ///
    /// # Errors
    /// No room; rows of different lengths.
    pub fn floats(&mut self, rows: &[Vec<f64>]) -> Result<Operand> {
        let layout = Rows::dense(Format::Fp16, rows.len(), rows.first().map_or(0, Vec::len))?;
        let halves: Vec<f16> = rows.iter().flatten().map(|&x| half(x)).collect();
        Ok(Operand { address: self.store(&layout.pack_floats(&halves)?)?, stride: layout.stride().try_into()? })
    }

    /// A norm of a model.
    ///
    /// # Errors
    /// No room; there is no such norm.
    pub fn affine(&mut self, model: &Model, layer: usize, norm: Norm) -> Result<Affine> {
        let gains = model.gain(layer, norm)?;
        let layer_norm = model.config().family == Family::Gpt;
        let row: Vec<f64> = match layer_norm {
            false => gains.iter().map(|&x| x.into()).collect(),
            true => {
                let pair = |(&gain, &bias): (&f32, &f32)| [gain.into(), bias.into()];
                gains.iter().zip(model.shift(layer, norm)?).flat_map(pair).collect()
            }
        };
        Ok(Affine { at: self.floats(&[row])?.address, layer_norm })
    }

    /// Cosine and sine of each pair of neighbours, a row for each position.
    ///
    /// # Errors
    /// No room.
    pub fn angles(&mut self, turns: &Turns, positions: usize) -> Result<Operand> {
        self.floats(&(0..positions).map(|position| turns.angles(position)).collect::<Vec<_>>())
    }
}

/// The nearest number of fp16.
#[must_use]
pub fn half(x: f64) -> f16 {
    f16::from_bits(fp16::from_f64(x) as u16)
}

/// An operand from a row on.
#[must_use]
pub fn rows_from(at: Operand, row: usize) -> Operand {
    Operand { address: at.address + row as u64 * u64::from(at.stride), ..at }
}

/// Rows of fp16 from a column on.
#[must_use]
pub fn columns_from(at: Operand, column: usize) -> Operand {
    Operand { address: at.address + 2 * column as u64, ..at }
}
