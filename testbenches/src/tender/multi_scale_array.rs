//! [`MultiScaleArrayOf`] under tiles of all kinds, back to back and with pauses, in changing modes; every sum is foretold
//! to the cycle. In between, tiles are broken off by others and by resets, and steps come that no tile begins.

use golden::tender::multi_scale_array::Beat;
use hdl::blocks::tender::MultiScaleArrayOf;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::controller::{Controller, Tile, session};
use super::mesh_pe::{Choice, Operand, PeBench, Reading};

/// The bench of an array; a vector is one tile.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<P: PeBench>(p: &MultiScaleArrayOf<P>) -> anyhow::Result<Box<dyn sim::Bench>> {
    session(p, tiles)
}

fn tiles<P: PeBench>(controller: &mut Controller<'_, P>) -> sim::Result<()> {
    let mut rng = controller.rng("tiles");
    let mut pauses = controller.rng("pauses");
    let mut aborts = controller.rng("aborts");
    for number in 0..controller.vectors() {
        disturb(controller, &mut aborts)?;
        let tile = random_tile(controller, number, &mut rng);
        // Half of the tiles follow each other as closely as the array allows.
        let slow = rng.random_range(0..4u8);
        controller.tile(&tile, || slow > 1 && pauses.random_range(0..5u8) < slow)?;
        if rng.random_range(0..10u8) == 0 {
            controller.finish()?;
        }
    }
    controller.finish()?;
    if controller.array().pe.overflows() && controller.vectors() >= 50 && controller.overflows() == 0 {
        return Err(sim::Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
    }
    Ok(())
}

/// Disturbances that the next tile must not notice.
fn disturb<P: PeBench>(controller: &mut Controller<'_, P>, rng: &mut StimulusRng) -> sim::Result<()> {
    let kind = rng.random_range(0..24u8);
    let number = rng.random_range(0..1000);
    let tile = random_tile(controller, number, rng);
    match kind {
        0..=3 => controller.abort(&tile, rng.random_range(1..=tile.beats.len())),
        4 | 5 => controller.stray(&tile, true),
        6 => controller.stray(&tile, false),
        7 => controller.reset(rng.random_range(1..=3)),
        8 => {
            controller.abort(&tile, rng.random_range(1..=tile.beats.len()))?;
            controller.reset(1)
        }
        _ => Ok(()),
    }
}

/// Tiles of one step, of many, or of rescales only. Operands are random or the largest ones, and sums leave their
/// range.
fn random_tile<P: PeBench>(controller: &Controller<'_, P>, number: u64, rng: &mut StimulusRng) -> Tile<Operand<P>> {
    let p = controller.array();
    let int8 = p.int8 && rng.random();
    let (rows, columns) = controller.extent(int8);
    let (act_signed, weight_signed) = (rng.random(), rng.random());
    // How often a step is a rescale, in sixteenths; how often an operand is an extreme.
    let (rescales, extremes) = match number % 4 {
        0 => (2, 2),
        1 => (0, 16),
        2 => (12, 8),
        _ => (rng.random_range(0..16), rng.random_range(0..16)),
    };
    let length = match rng.random_range(0..4u8) {
        0 => 1,
        1 => rng.random_range(1..=p.columns as usize + 2),
        // Long enough for a doubled product to leave any accumulator.
        2 => p.pe.sum_bits() as usize + 4,
        _ => rng.random_range(1..=24),
    };
    // One sign for a whole tile: sums that grow.
    let drift: Option<bool> = number.is_multiple_of(3).then(|| rng.random());
    let mut operand = |signed, side: bool| {
        let choice = match drift {
            Some(up) if rng.random_range(0..16) < extremes => {
                if up || side {
                    Choice::Most
                } else {
                    Choice::Least
                }
            }
            _ if rng.random_range(0..16) < extremes => {
                if rng.random() {
                    Choice::Least
                } else {
                    Choice::Most
                }
            }
            _ => Choice::Any,
        };
        p.pe.operand(Reading { signed, wide: int8 }, choice, rng)
    };
    let mut beats = Vec::new();
    for _ in 0..length {
        beats.push(Beat::Multiply {
            act: (0..rows).map(|_| operand(act_signed, false)).collect(),
            weight: (0..columns).map(|_| operand(weight_signed, true)).collect(),
        });
    }
    if p.pe.max_rescale() > 0 {
        for beat in beats.iter_mut().skip(usize::from(!number.is_multiple_of(5))) {
            if rng.random_range(0..16) < rescales {
                *beat = Beat::Rescale(rng.random_range(1..=p.pe.max_rescale()));
            }
        }
    }
    Tile { beats, int8, act_signed, weight_signed }
}
