//! The bench of an accelerator: jobs that its player plays.

use golden::accelerators::job::Accelerator;
use hdl::accelerators::top;
use sim::stimulus::StimulusRng;

use super::{Facts, Player, registers};
use crate::draft::Operations;
use crate::program::Program;

/// The bench of an accelerator with its golden model; a vector is a job. After each job come
/// [`CHANGED_JOBS`](super::CHANGED_JOBS) of one descriptor with a changed bit. `draw` draws a chain of up to `most`
/// descriptors for what the model remembers.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<B, A>(
    p: &B,
    golden: A,
    facts: impl Fn(&B) -> Facts<A::Operation> + 'static,
    most: u32,
    draw: impl Fn(&mut StimulusRng, (&Operations, &A), u32) -> Program + 'static,
) -> anyhow::Result<Box<dyn sim::Bench>>
where
    B: top::Accelerator + Clone + 'static,
    A: Accelerator + Clone + 'static,
{
    let (block, operations) = (p.clone(), Operations::of(p));
    let (shell, mapped) = (p.shell(), registers::mapped(p)?);
    sim::kit::bench(p, move |sim, run| {
        sim.reset(2)?;
        let mut player = Player::new((golden.clone(), facts(&block)), (&shell, mapped.clone()), sim, run)?;
        for number in 0..run.vectors() {
            player.job(sim, run, number, |rng, model| draw(rng, (&operations, model), most))?;
            player.changed_jobs(sim, run, |rng, model| draw(rng, (&operations, model), 1))?;
        }
        Ok(())
    })
}
