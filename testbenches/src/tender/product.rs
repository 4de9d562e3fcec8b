//! Products of matrices on the array, and their cycles. Tiles of the array's size go from left to right and top to
//! bottom. The last ones are padded with zeros. Each takes one pass or several.

use std::sync::Mutex;

use golden::tender::mesh_pe::PeSum;
use golden::tender::multi_scale_array::Beat;
use golden::tender::schedule::Step;
use hdl::blocks::tender::{MultiScaleArray, MultiScaleArrayOf};
use sim::kit::tensors::FromTensors;

use super::controller::{Controller, Tile, cycles, session};
use super::mesh_pe::PeBench;
use crate::common::product::{Matrices, wanted};

/// A product of a user's matrices, signed, with all channels in one group; a vector is a tile. Operands have twice the
/// width of the PE's where the array has INT8 mode.
#[must_use]
pub const fn tensors<P: IntegerPe>() -> FromTensors<MultiScaleArrayOf<P>> {
    FromTensors {
        wanted: |p| Ok(wanted(operand_bits(p), operand_bits(p))),
        bench: |p, tensors| {
            let int8 = p.int8;
            let given = Matrices::given(tensors);
            let plan: Vec<Step> = (0..given.weight.len()).map(Step::Channel).collect();
            let share = if int8 { 2 } else { 1 };
            let (height, width) = (p.rows as usize / share, p.columns as usize / share);
            let tiles = given.act.len().div_ceil(height) * given.outputs().div_ceil(width);
            let bench = session(p, move |controller| {
                Product { rows: &given.act, weights: &given.weight, int8 }.sums(controller, &plan).map(|_| ())
            })?;
            Ok((bench, tiles as u64))
        },
    }
}

/// A PE that multiplies integers.
pub trait IntegerPe: PeBench<Sum: PeSum<Operand = i64>> {}

impl<P: PeBench<Sum: PeSum<Operand = i64>>> IntegerPe for P {}

/// Bits of the widest operand of an array.
fn operand_bits<P: IntegerPe>(p: &MultiScaleArrayOf<P>) -> u32 {
    if p.int8 { 2 * p.pe.operand_bits() } else { p.pe.operand_bits() }
}

/// A product of quantized activations [token, channel] and weights [channel, output].
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// Activations.
    pub rows: &'a [Vec<i64>],
    /// Weights.
    pub weights: &'a [Vec<i64>],
    /// Whether they are INT8; INT4 otherwise.
    pub int8: bool,
}

/// A pass of a tile: row and column of its corner, and its number, under which [`Controller::sums`] has its sums.
struct Pass {
    top: usize,
    left: usize,
    number: usize,
}

impl Product<'_> {
    fn columns(&self) -> usize {
        self.weights.first().map_or(0, Vec::len)
    }

    /// Feeds all tiles, each in the given passes; returns the passes and the cycle of the last sum.
    fn feed<P: IntegerPe>(
        &self,
        controller: &mut Controller<'_, P>,
        passes: &[Vec<Step>],
    ) -> sim::Result<(Vec<Pass>, u64)> {
        let (height, width) = controller.extent(self.int8);
        let mut fed = Vec::new();
        for top in (0..self.rows.len()).step_by(height) {
            for left in (0..self.columns()).step_by(width) {
                for pass in passes {
                    let beat = |step: &Step| match *step {
                        Step::Rescale(shift) => Beat::Rescale(shift),
                        Step::Channel(k) => Beat::Multiply {
                            act: (top..top + height).map(|r| self.rows.get(r).map_or(0, |row| row[k])).collect(),
                            weight: (left..left + width)
                                .map(|c| self.weights[k].get(c).copied().unwrap_or(0))
                                .collect(),
                        },
                    };
                    let beats = pass.iter().map(beat).collect();
                    let tile = Tile { beats, int8: self.int8, act_signed: true, weight_signed: true };
                    fed.push(Pass { top, left, number: controller.tile(&tile, || false)?.number });
                }
            }
        }
        let end = controller.finish()?;
        Ok((fed, end))
    }

    /// The sums that the hardware shows, every tile in the one pass `plan`.
    ///
    /// # Errors
    /// A mismatch with the golden model.
    pub fn sums<P: IntegerPe>(&self, controller: &mut Controller<'_, P>, plan: &[Step]) -> sim::Result<Vec<Vec<i128>>> {
        let (height, width) = controller.extent(self.int8);
        let (fed, _) = self.feed(controller, &[plan.to_vec()])?;
        let mut sums = vec![vec![0; self.columns()]; self.rows.len()];
        for Pass { top, left, number } in fed {
            for (r, row) in sums.iter_mut().enumerate().skip(top).take(height) {
                for (c, sum) in row.iter_mut().enumerate().skip(left).take(width) {
                    *sum = controller.sums(number)[r - top][c - left];
                }
            }
        }
        Ok(sums)
    }

    /// Cycles of the product on `p`, once in each of the `ways` to cut its tiles into passes.
    ///
    /// # Errors
    /// A mismatch with the golden model.
    pub fn measured<const N: usize>(&self, p: &MultiScaleArray, ways: [&[Vec<Step>]; N]) -> anyhow::Result<[u64; N]> {
        let taken = Mutex::new([0; N]);
        let design = sim::Design::from(&hdl::lang::elaborate(p)?);
        let session = session(p, |controller| {
            let mut measured = [0; N];
            for (passes, result) in ways.into_iter().zip(&mut measured) {
                controller.finish()?;
                let start = controller.cycle();
                *result = self.feed(controller, passes)?.1 + 1 - start;
            }
            *taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = measured;
            Ok(())
        })?;
        sim::run(&*session, &design, &sim::RunOptions::default())?;
        drop(session);
        Ok(taken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Cycles of `tiles` tiles on `p`, each in the given passes, by the golden model's formula.
#[must_use]
pub fn predicted(p: &MultiScaleArray, passes: &[Vec<Step>], tiles: usize) -> u64 {
    let steps: Vec<u64> = passes.iter().map(|pass| pass.len() as u64).collect();
    cycles(p).tiles(&steps.repeat(tiles))
}
