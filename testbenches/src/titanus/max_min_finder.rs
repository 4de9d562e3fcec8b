//! [`MaxMinFinder`] against running extremes, cycle by cycle: updates, mere readings, pauses, new sequences and
//! resets in any cycle.

use golden::titanus::max_min_finder::MaxMinFinder as Golden;
use hdl::blocks::titanus::MaxMinFinder;
use rand::RngExt;
use sim::{Run, Sim};

use super::tiles::{bytes, mask};

/// The bench of a max-min finder; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &MaxMinFinder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: MaxMinFinder,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("elements");
        let (lanes, tiles) = (self.p.lanes as usize, self.p.tiles as usize);
        let inputs = ["step_i", "first_i", "update_i", "index_i", "x_i"];
        let [step_i, first_i, update_i, index_i, x_i] = {
            let found: Vec<_> = inputs.iter().map(|n| sim.input(n)).collect::<sim::Result<_>>()?;
            [found[0], found[1], found[2], found[3], found[4]]
        };
        let (rmax_o, rmin_o) = (sim.output("rmax_o")?, sim.output("rmin_o")?);
        let mut golden = Golden::new(tiles, lanes);
        // Until the first tile of a sequence was stepped over, extremes are not known.
        let (mut tile, mut known) = (0, false);
        run.reset(sim, 2)?;
        for _ in 0..run.vectors() {
            let step = rng.random_range(0..4u8) > 0;
            let update = rng.random_range(0..4u8) > 0;
            let spread = [1, 10, 128][rng.random_range(0..3usize)];
            let x: Vec<i8> = (0..lanes).map(|_| rng.random_range(-spread..spread) as i8).collect();
            let index: Vec<bool> = (0..lanes).map(|_| rng.random_range(0..3u8) == 0).collect();
            let often = if tile == 0 { 8 } else { 30 };
            let first = !known || rng.random_range(0..often) == 0;
            sim.poke_u64(step_i, step.into());
            sim.poke_u64(first_i, first.into());
            sim.poke_u64(update_i, update.into());
            sim.poke(index_i, &mask(index.iter().copied()));
            sim.poke(x_i, &bytes(&x));
            sim.settle()?;
            let (empty, tile_now) = (Golden::new(tiles, lanes), if first { 0 } else { tile });
            let now = if first { empty.tile(0) } else { golden.tile(tile) };
            run.expect(sim, rmax_o, &bytes(&now.iter().map(|e| e.0).collect::<Vec<_>>()))?;
            run.expect(sim, rmin_o, &bytes(&now.iter().map(|e| e.1).collect::<Vec<_>>()))?;
            sim.tick()?;
            if rng.random_range(0..50u8) == 0 {
                sim.reset(1)?;
                (tile, known) = (0, false);
                continue;
            }
            // Without a step nothing changes, whatever was shown.
            if !step {
                continue;
            }
            if first {
                (golden, known) = (empty, true);
            }
            if update {
                golden.update(tile_now, &x, &index);
            }
            tile = (tile_now + 1) % tiles;
        }
        Ok(())
    }
}
