//! Implicit against explicit requantization (section VI-F, figure 13), measured: the array runs one product tile by tile,
//! first with all groups in one pass, then with a pass for each group, whose sums leave the array and are scaled and
//! added outside. The base is the same product under one scale.

use std::sync::Mutex;

use golden::tender::array::Beat;
use golden::tender::calibration::{Calibration, Scheme, Sign, Weights};
use golden::tender::schedule::{Step, steps};
use hdl::blocks::tender::{Drain, MultiScaleArray};

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

/// The passes of a tile: with one scale, with all groups in one pass, with a pass for each group.
struct Passes {
    rows: Vec<Vec<i64>>,
    weights: Vec<Vec<i64>>,
    one_scale: Vec<Vec<Step>>,
    implicit: Vec<Vec<Step>>,
    explicit: Vec<Vec<Step>>,
}

impl Passes {
    fn new(projection: &Projection, groups: usize) -> anyhow::Result<Self> {
        let bits = 4;
        let scheme = Scheme::new(bits, groups, Sign::Signed).map_err(anyhow::Error::msg)?;
        let calibration = Calibration::of(&projection.x, scheme).map_err(anyhow::Error::msg)?;
        let weights = Weights::quantize(&projection.w, bits).map_err(anyhow::Error::msg)?;
        let plan = steps(&calibration, 1);
        let is_rescale = |step: &Step| matches!(step, Step::Rescale(_));
        let explicit = plan.split(is_rescale).filter(|pass| !pass.is_empty()).map(<[Step]>::to_vec).collect();
        Ok(Self {
            rows: projection.x.iter().map(|row| calibration.quantize(row)).collect(),
            weights: weights.values,
            one_scale: vec![plan.iter().filter(|step| !is_rescale(step)).copied().collect()],
            implicit: vec![plan],
            explicit,
        })
    }

    fn cycles(&self, [base, implicit, explicit]: [u64; 3]) -> Cycles {
        let rescales = self.implicit[0].len() - self.one_scale[0].len();
        Cycles { passes: self.explicit.len(), rescales, base, implicit, explicit }
    }
}

/// Cycles by the formula of docs/blocks/tender.md, for `tiles` tiles.
///
/// # Errors
/// Tensors that cannot be quantized.
pub fn predict(p: &MultiScaleArray, projection: &Projection, groups: usize, tiles: usize) -> anyhow::Result<Cycles> {
    let passes = Passes::new(projection, groups)?;
    let total = |mode: &[Vec<Step>]| {
        let lengths: Vec<u64> = mode.iter().map(|pass| pass.len() as u64).collect();
        let periods: u64 = lengths.iter().map(|&steps| p.tile_period(steps)).sum();
        // From first step to first step, but for the first pass (which cannot be late) and the last one.
        let (first, last) = (lengths[0], lengths[lengths.len() - 1]);
        match p.drain {
            Drain::Double => tiles as u64 * periods - p.tile_period(first) + p.tile_cycles(first),
            Drain::Single => tiles as u64 * periods - p.tile_period(last) + p.tile_cycles(last),
        }
    };
    Ok(passes.cycles([&passes.one_scale, &passes.implicit, &passes.explicit].map(|mode| total(mode))))
}

/// Measures a projection in INT4 with `groups` groups on `p`, all of its rows and columns.
///
/// # Errors
/// A mismatch with the golden model, or tensors that cannot be quantized.
pub fn measure(p: &MultiScaleArray, projection: &Projection, groups: usize) -> anyhow::Result<Cycles> {
    let passes = Passes::new(projection, groups)?;
    let cycles = Mutex::new([0; 3]);
    let design = sim::Design::from(&hdl::lang::elaborate(p)?);
    let session = Session::new(p, |controller: &mut Controller<'_>| {
        let mut measured = [0; 3];
        let modes = [&passes.one_scale, &passes.implicit, &passes.explicit];
        for (mode, result) in modes.into_iter().zip(&mut measured) {
            controller.finish()?;
            let start = controller.cycle();
            let end = product(controller, mode, &passes.rows, &passes.weights)?;
            *result = end + 1 - start;
        }
        *cycles.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = measured;
        Ok(())
    })?;
    sim::run(&session, &design, &sim::RunOptions::default())?;
    Ok(passes.cycles(cycles.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
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
