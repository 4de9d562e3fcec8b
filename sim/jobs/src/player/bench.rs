//! The bench of an accelerator: jobs that its player plays, and chains whose cycles are compared.

use golden::accelerators::cycles::Recurrence;
use golden::accelerators::job::Accelerator;
use hdl::accelerators::top;
use sim::stimulus::StimulusRng;

use super::facts::Facts;
use super::registers;
use super::state::Player;
use crate::draft::Operations;
use crate::program::Program;
use crate::timing::compare;

/// The bench of an accelerator with its golden model; a vector is a job. After each job come
/// [`CHANGED_JOBS`](super::CHANGED_JOBS) of one descriptor with a change. Then come every wrong bit and, after a reset,
/// every register. Last come as many right chains with an ideal memory, which take as many cycles as the recurrence says.
/// `draw` draws a chain of up to `most` descriptors for what the model remembers, and `timing` gives the recurrence for a memory's latency.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<B, A, R>(
    p: &B,
    golden: A,
    facts: impl Fn(&B) -> Facts<A::Operation> + 'static,
    most: u32,
    draw: impl Fn(&mut StimulusRng, (&Operations, &A), u32) -> Program + 'static,
    timing: impl Fn(&B, u32) -> R + 'static,
) -> anyhow::Result<Box<dyn sim::Bench>>
where
    B: top::Accelerator + Clone + 'static,
    A: Accelerator + Clone + 'static,
    R: Recurrence<A>,
{
    let (block, operations) = (p.clone(), Operations::of(p));
    let (shell, mapped) = (p.shell(), registers::mapped(p)?);
    sim::kit::bench(p, move |sim, run| {
        sim.reset(2)?;
        let facts = facts(&block);
        let waits = facts.waits.clone();
        let mut player = Player::new((golden.clone(), facts), (&shell, mapped.clone(), operations.clone()), sim, run)?;
        for number in 0..run.vectors() {
            player.job(sim, run, number, |rng, model| draw(rng, (&operations, model), most))?;
            player.changed_jobs(sim, run, |rng, model| draw(rng, (&operations, model), 1))?;
        }
        player.wrong_bits(sim, run)?;
        player.every_register(sim, run)?;
        let draw = |rng: &mut StimulusRng, model: &A| draw(rng, (&operations, model), most);
        compare((sim, run), (&golden, &waits), draw, |latency| timing(&block, latency))
    })
}
