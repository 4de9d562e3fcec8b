//! Implicit against explicit requantization (section VI-F, figure 13), measured: the array runs one product tile by tile,
//! first with all groups in one pass, then with a pass for each group, whose sums leave the array and are scaled and
//! added outside. The base is the same product under one scale.

use golden::tender::array::Beat;
use golden::tender::calibration::{Calibration, Scheme, Sign, Weights};
use golden::tender::schedule::{Step, steps};
use hdl::blocks::tender::MultiScaleArray;
use std::sync::Mutex;

use super::controller::{Controller, Session, Tile};
use super::real::Projection;

/// Cycles of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Groups that have channels.
    pub passes: usize,
    /// Rescales of a tile.
    pub rescales: usize,
    /// Under one scale.
    pub base: u64,
    /// All groups in one pass.
    pub implicit: u64,
    /// A pass for each group.
    pub explicit: u64,
}

/// Measures a projection in INT4 with `groups` groups on `p`, all of its rows and columns.
///
/// # Errors
/// A mismatch with the golden model, or tensors that cannot be quantized.
pub fn measure(p: &MultiScaleArray, projection: &Projection, groups: usize) -> anyhow::Result<Cycles> {
    let bits = 4;
    let scheme = Scheme::new(bits, groups, Sign::Signed).map_err(anyhow::Error::msg)?;
    let calibration = Calibration::of(&projection.x, scheme).map_err(anyhow::Error::msg)?;
    let weights = Weights::quantize(&projection.w, bits).map_err(anyhow::Error::msg)?;
    let rows: Vec<Vec<i64>> = projection.x.iter().map(|row| calibration.quantize(row)).collect();
    let plan = steps(&calibration, 1);
    let passes: Vec<Vec<Step>> = plan
        .split(|step| matches!(step, Step::Rescale(_)))
        .filter(|pass| !pass.is_empty())
        .map(<[Step]>::to_vec)
        .collect();
    let channels: Vec<Step> = plan.iter().filter(|step| matches!(step, Step::Channel(_))).copied().collect();
    let cycles = Mutex::new([0; 3]);
    let design = sim::Design::from(&hdl::lang::elaborate(p)?);
    let session = Session::new(p, |controller: &mut Controller<'_>| {
        let modes = [vec![channels.clone()], vec![plan.clone()], passes.clone()];
        let mut measured = [0; 3];
        for (mode, result) in modes.iter().zip(&mut measured) {
            controller.finish()?;
            let start = controller.cycle();
            let end = product(controller, mode, &rows, &weights.values)?;
            *result = end + 1 - start;
        }
        *cycles.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = measured;
        Ok(())
    })?;
    sim::run(&session, &design, &sim::RunOptions::default())?;
    let [base, implicit, explicit] = cycles.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Cycles { passes: passes.len(), rescales: plan.len() - channels.len(), base, implicit, explicit })
}

/// Every tile of the product, each in the given passes; returns the cycle of the last sum.
fn product(
    controller: &mut Controller<'_>,
    passes: &[Vec<Step>],
    rows: &[Vec<i64>],
    weights: &[Vec<i64>],
) -> sim::Result<u64> {
    let (height, width) = controller.extent(false);
    let columns = weights.first().map_or(0, Vec::len);
    for top in (0..rows.len()).step_by(height) {
        for left in (0..columns).step_by(width) {
            for pass in passes {
                let beat = |step: &Step| match *step {
                    Step::Rescale(shift) => Beat::Rescale(shift),
                    Step::Channel(k) => Beat::Multiply {
                        act: (top..top + height).map(|r| rows.get(r).map_or(0, |row| row[k])).collect(),
                        weight: (left..left + width).map(|c| weights[k].get(c).copied().unwrap_or(0)).collect(),
                    },
                };
                let beats = pass.iter().map(beat).collect();
                controller.tile(&Tile { beats, int8: false, act_signed: true, weight_signed: true }, || false)?;
            }
        }
    }
    controller.finish()
}
