//! [`MaxMinFinder`] against running extremes, cycle by cycle: updates, mere readings, pauses, new sequences and
//! resets in any cycle.

use golden::titanus::max_min_finder::MaxMinFinder as Golden;
use hdl::blocks::titanus::MaxMinFinder;
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::{Run, Sim};

use super::sequences::tokens;
use super::tiles::{bytes, mask};

/// The bench of a max-min finder; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &MaxMinFinder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| cycles(&mut Finder::new(&p, sim)?, sim, run))
}

/// Pruned tokens of a user, one after the other; a vector is a tile.
pub const TENSORS: FromTensors<MaxMinFinder> = FromTensors {
    wanted: |p| {
        let shape = vec![Extent::Any, Extent::Exactly((p.lanes * p.tiles) as usize)];
        let meaning = "pruned tokens, one a row; no element is where a 0 is";
        Ok(vec![Wanted { name: "tokens", meaning, numbers: Numbers::Integers(signed(8)), shape }])
    },
    bench: |p, tensors| {
        let (tokens, lanes) = (tokens(tensors, "tokens"), p.lanes as usize);
        let (block, count) = (p.clone(), tokens.len() as u64 * u64::from(p.tiles));
        let bench = sim::kit::bench(p, move |sim, run| {
            let mut finder = Finder::new(&block, sim)?;
            run.reset(sim, 2)?;
            let tiles = tokens.iter().flat_map(|token| token.chunks(lanes));
            for (number, x) in tiles.enumerate() {
                let index = x.iter().map(|&x| x != 0).collect();
                finder.cycle(
                    sim,
                    run,
                    &Cycle { step: true, first: number == 0, update: true, index, x: x.to_vec() },
                )?;
            }
            // The extremes of all tokens.
            for _ in 0..block.tiles {
                let (index, x) = (vec![false; lanes], vec![0; lanes]);
                finder.cycle(sim, run, &Cycle { step: true, first: false, update: false, index, x })?;
            }
            Ok(())
        })?;
        Ok((bench, count))
    },
};

/// What is shown to the block in a cycle.
struct Cycle {
    step: bool,
    first: bool,
    update: bool,
    index: Vec<bool>,
    x: Vec<i8>,
}

sim::handles! {
    struct Ports {
        step: In = "step_i",
        first: In = "first_i",
        update: In = "update_i",
        index: In = "index_i",
        x: In = "x_i",
        rmax: Out = "rmax_o",
        rmin: Out = "rmin_o",
    }
}

/// The block and its judge.
struct Finder {
    p: MaxMinFinder,
    ports: Ports,
    golden: Golden,
    tile: usize,
    /// Until the first tile of a sequence was stepped over, extremes are not known.
    known: bool,
}

impl Finder {
    fn new(p: &MaxMinFinder, sim: &Sim) -> sim::Result<Self> {
        let golden = Golden::new(p.tiles as usize, p.lanes as usize);
        Ok(Self { p: p.clone(), ports: Ports::find(sim)?, golden, tile: 0, known: false })
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, cycle: &Cycle) -> sim::Result<()> {
        let ports = &self.ports;
        sim.poke_u64(ports.step, cycle.step.into());
        sim.poke_u64(ports.first, cycle.first.into());
        sim.poke_u64(ports.update, cycle.update.into());
        sim.poke(ports.index, &mask(cycle.index.iter().copied()));
        sim.poke(ports.x, &bytes(&cycle.x));
        sim.settle()?;
        let empty = Golden::new(self.p.tiles as usize, self.p.lanes as usize);
        let (golden, tile) = if cycle.first { (&empty, 0) } else { (&self.golden, self.tile) };
        let now = golden.tile(tile);
        run.expect(sim, ports.rmax, &bytes(&now.iter().map(|e| e.0).collect::<Vec<_>>()))?;
        run.expect(sim, ports.rmin, &bytes(&now.iter().map(|e| e.1).collect::<Vec<_>>()))?;
        sim.tick()?;
        // Without a step nothing changes, whatever was shown.
        if cycle.step {
            if cycle.first {
                (self.golden, self.known) = (empty, true);
            }
            if cycle.update {
                self.golden.update(tile, &cycle.x, &cycle.index);
            }
            self.tile = (tile + 1) % self.p.tiles as usize;
        }
        Ok(())
    }
}

fn cycles(finder: &mut Finder, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("elements");
    let lanes = finder.p.lanes as usize;
    run.reset(sim, 2)?;
    for _ in 0..run.vectors() {
        let step = rng.random_range(0..4u8) > 0;
        let update = rng.random_range(0..4u8) > 0;
        let spread = [1, 10, 128][rng.random_range(0..3usize)];
        let x: Vec<i8> = (0..lanes).map(|_| rng.random_range(-spread..spread) as i8).collect();
        let index: Vec<bool> = (0..lanes).map(|_| rng.random_range(0..3u8) == 0).collect();
        let often = if finder.tile == 0 { 8 } else { 30 };
        let first = !finder.known || rng.random_range(0..often) == 0;
        finder.cycle(sim, run, &Cycle { step, first, update, index, x })?;
        if rng.random_range(0..50u8) == 0 {
            sim.reset(1)?;
            (finder.tile, finder.known) = (0, false);
        }
    }
    Ok(())
}
