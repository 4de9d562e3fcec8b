//! Products of matrices on the array, and their cycles. Tiles of the array's size go from left to right and top to
//! bottom. The last ones are padded with zeros. Each takes one pass or several.

use std::sync::Mutex;

use golden::tender::multi_scale_array::Beat;
use golden::tender::schedule::Step;
use hdl::blocks::tender::MultiScaleArray;
use sim::kit::tensors::{Elements, Extent, FromTensors, Wanted};

use super::controller::{Controller, Tile, cycles, session};

/// A product of a user's matrices, signed, with all channels in one group; a vector is a tile. Operands are bytes where the
/// array has INT8 mode.
pub const TENSORS: FromTensors<MultiScaleArray> = FromTensors {
    wanted: |_| {
        let channels = Extent::Named("channels");
        let of = |name, meaning, shape| Wanted { name, meaning, elements: Elements::Int8, shape };
        Ok(vec![
            of("act", "activations, a row for each token", vec![Extent::Any, channels]),
            of("weight", "weights, a row for each channel", vec![channels, Extent::Any]),
        ])
    },
    bench: |p, tensors| {
        let int8 = p.int8;
        let width = if int8 { 2 * p.pe.operand_width } else { p.pe.operand_width };
        let range = -1i64 << (width - 1)..=(1i64 << (width - 1)) - 1;
        let (rows, weights) = (tensors.integers("act", range.clone())?, tensors.integers("weight", range)?);
        let plan: Vec<Step> = (0..weights.len()).map(Step::Channel).collect();
        let share = if int8 { 2 } else { 1 };
        let (height, width) = (p.rows as usize / share, p.columns as usize / share);
        let tiles = rows.len().div_ceil(height) * weights.first().map_or(0, Vec::len).div_ceil(width);
        let bench = session(p, move |controller| {
            Product { rows: &rows, weights: &weights, int8 }.sums(controller, &plan).map(|_| ())
        })?;
        Ok((bench, tiles as u64))
    },
};

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
    fn feed(&self, controller: &mut Controller<'_>, passes: &[Vec<Step>]) -> sim::Result<(Vec<Pass>, u64)> {
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
    pub fn sums(&self, controller: &mut Controller<'_>, plan: &[Step]) -> sim::Result<Vec<Vec<i128>>> {
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
