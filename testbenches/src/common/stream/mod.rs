//! Benches of the parts of streams.

pub mod stream_arbiter;
pub mod stream_fifo;
pub mod stream_fork;
pub mod stream_join;
pub mod stream_register;
pub mod stream_width_converter;

use golden::common::stream::{Inputs, Queue};
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// Drives a part with one stream on each side cycle by cycle: offers and pauses of changing density, clears at random
/// moments, noise where nothing is offered. Ready, valid, data and level must be the model's in every cycle.
///
/// # Errors
/// The first difference.
pub fn queue(
    sim: &mut Sim,
    run: &mut Run,
    width: u32,
    model: &mut dyn Queue<Bits>,
    has_level: bool,
) -> sim::Result<()> {
    let mut rng = run.rng("queue");
    let inputs = ["clear_i", "input_valid_i", "input_data_i", "output_ready_i"].map(|n| sim.input(n));
    let [clear_i, valid_i, data_i, ready_i] = inputs;
    let (clear_i, valid_i, data_i, ready_i) = (clear_i?, valid_i?, data_i?, ready_i?);
    let (ready_o, valid_o, data_o) =
        (sim.output("input_ready_o")?, sim.output("output_valid_o")?, sim.output("output_data_o")?);
    let level_o = if has_level { Some(sim.output("level_o")?) } else { None };
    let mut offer: Option<Bits> = None;
    let (mut offers, mut takes, mut clears) = (1, 1, 0);
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 2)?;
    for cycle in 0..run.vectors() {
        if cycle % 64 == 0 {
            // Of 8 cycles: never, some, all.
            (offers, takes) = (rng.random_range(0..=8), rng.random_range(0..=8));
            clears = if rng.random_range(0..4u8) == 0 { 1 } else { 0 };
            if cycle < 192 {
                (offers, takes, clears) = [(8, 8, 0), (8, 0, 0), (0, 8, 0)][cycle as usize / 64];
            }
        }
        if offer.is_none() && rng.random_range(0..8) < offers {
            offer = Some(Bits::random(width, &mut rng));
        }
        let ready = rng.random_range(0..8) < takes;
        let clear = rng.random_range(0..8) < clears;
        let now = Inputs { clear, offer: offer.clone(), ready };
        sim.poke_u64(clear_i, clear.into());
        sim.poke_u64(valid_i, offer.is_some().into());
        sim.poke(data_i, offer.as_ref().unwrap_or(&Bits::random(width, &mut rng)));
        sim.poke_u64(ready_i, ready.into());
        sim.settle()?;
        let shown = model.show(&now);
        run.expect_u64(sim, ready_o, shown.ready.into())?;
        run.expect_u64(sim, valid_o, shown.beat.is_some().into())?;
        if let Some(beat) = &shown.beat {
            run.expect(sim, data_o, beat)?;
        }
        if let Some(level_o) = level_o {
            run.expect_u64(sim, level_o, shown.level as u64)?;
        }
        model.edge(&now);
        if shown.ready {
            offer = None;
        }
        sim.tick()?;
    }
    Ok(())
}
