//! [`VectorUnit`]: all steps in all combinations, rows of all lengths, four streams that pause independently, clears at
//! any moment. Rows without pauses are checked to the cycle.

mod given;
mod operands;
mod player;
mod plays;
mod sharp;

use hdl::blocks::common::VectorUnit;
use player::Player;

pub use given::TENSORS;

/// The bench of the unit; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &VectorUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| Player::new(&p, sim, run)?.play(sim, run, None))
}
