//! [`AxiArbiter`] between managers that read and write all the time and a memory that reorders and pauses. Fields that
//! the arbiter does not use must pass unchanged.

mod bench;
mod unchanged;

use bench::{Bench, errors};
use golden::common::bus::axi_arbiter::out_of_turn;
use hdl::blocks::common::AxiArbiter;
use rand::RngExt;
use sim::bus::AxiConfig;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Run, Sim};

/// The bench of an arbiter; a vector is a burst.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AxiArbiter) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| work(&p, sim, run))
}

fn work(p: &AxiArbiter, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("bursts");
    let mut bench = Bench::new(p, sim)?;
    in_turn(&mut bench, sim, run, &mut rng)?;
    let mut left = run.vectors();
    let mut round = 0;
    while left > 0 {
        round += 1;
        if round % 4 == 1 {
            // While nothing is on its way.
            bench.reset(sim)?;
            unchanged::run(&mut bench, sim, run, &mut rng)?;
            bench.reset(sim)?;
        }
        let stall = Stall::ALL[rng.random_range(0..Stall::ALL.len())];
        let bad = rng.random_range(0..2u8) == 0;
        let mut config = AxiConfig::drawn(stall, &mut rng);
        if bad {
            config.errors = errors(bench.managers as u64);
        }
        let own = Stall::ALL[rng.random_range(0..Stall::ALL.len())];
        bench.begin(sim, run, &config, own, rng.random())?;
        let number = rng.random_range(8..40).min(left);
        left -= number;
        for at in 0..number {
            let k = rng.random_range(0..bench.managers);
            bench.read(k, &mut rng, bad);
            let k = rng.random_range(0..bench.managers);
            bench.write(k, &mut rng, at, bad);
        }
        if round % 4 == 0 {
            // A reset in the middle of everything, on both sides.
            for _ in 0..rng.random_range(0..150) {
                bench.cycle(sim, run, &mut rng)?;
            }
            bench.reset(sim)?;
        } else {
            bench.run(sim, run, &mut rng)?;
        }
    }
    Ok(())
}

/// All managers want to read all the time: they take turns.
fn in_turn(bench: &mut Bench, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    bench.begin(sim, run, &AxiConfig::ideal(3), Stall::Never, 1)?;
    for _ in 0..12 {
        for k in 0..bench.managers {
            bench.read(k, rng, false);
        }
    }
    bench.run(sim, run, rng)?;
    // The first ones find empty places, the last ones nobody beside them.
    let turns = &bench.turns[3 * bench.managers..9 * bench.managers];
    let wrong = out_of_turn(turns, bench.managers);
    run.expect_equal(sim, "mgr_arready_o", "turn", "None".into(), format!("{wrong:?}"))
}
