//! [`PruningUnit`] against the pruning rule: thresholds of all layers, lengths from 0 on, pauses of both sides apart,
//! resets.

use golden::titanus::pruning_unit::prune;
use hdl::blocks::titanus::pruning_unit::KvTile;
use hdl::blocks::titanus::{PrunedTile, PruningUnit};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Monitor, Run, Sim, Values};

use super::sequences::{STALLS, at_threshold, random_tokens};
use super::tiles::{at_full_speed, broken_off, bytes, flag, pruned};

/// The bench of a pruning unit; a vector is a tile of keys and one of values.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &PruningUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// Tiles between two changes of the thresholds.
const TILES: usize = 50;

struct Bench {
    p: PruningUnit,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("tiles");
        let layer_bits = sim.port_of_input(sim.input("threshold_layer_i")?).width;
        run.reset(sim, 2)?;
        let mut thresholds = self.write_thresholds(sim, 0, &mut rng)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let v_stall = if i == 0 { output } else { STALLS[STALLS.len() - i].1 };
            let count = (run.vectors() as usize).div_ceil(STALLS.len());
            for from in (0..count).step_by(TILES) {
                let mut drivers = [run.driver_of::<KvTile<Values>>(sim, "tile", input)?];
                let side = |name: &str, stall| run.monitor_of::<PrunedTile<Values>>(sim, name, stall);
                let mut monitors = [side("k", output)?, side("v", v_stall)?];
                let tiles = TILES.min(count - from);
                self.push(&mut rng, &thresholds, &mut drivers[0], &mut monitors, (layer_bits, tiles))?;
                if i == 0 {
                    at_full_speed(sim, run, &mut drivers, &mut monitors, 2)?;
                }
                run.streams(sim, &mut drivers, &mut monitors)?;
                thresholds = self.write_thresholds(sim, from + i, &mut rng)?;
            }
        }
        // Resets at any time drop the tiles inside and leave the thresholds.
        for _ in 0..run.vectors().div_ceil(20) {
            for stall in [Stall::Random { num: 1, den: 4 }, Stall::Never] {
                let mut drivers = [run.driver_of::<KvTile<Values>>(sim, "tile", stall)?];
                let side = |name: &str| run.monitor_of::<PrunedTile<Values>>(sim, name, stall);
                let mut monitors = [side("k")?, side("v")?];
                self.push(&mut rng, &thresholds, &mut drivers[0], &mut monitors, (layer_bits, 6))?;
                if stall == Stall::Never {
                    run.streams(sim, &mut drivers, &mut monitors)?;
                } else {
                    broken_off(sim, run, &mut drivers, &mut monitors, rng.random_range(0..10))?;
                }
            }
        }
        Ok(())
    }

    /// Writes other thresholds for all layers; then the ports hold noise.
    fn write_thresholds(&self, sim: &mut Sim, number: usize, rng: &mut StimulusRng) -> sim::Result<Vec<[u32; 2]>> {
        let write = sim.input("threshold_write_i")?;
        let ports = ["threshold_layer_i", "threshold_k_i", "threshold_v_i"];
        let [layer_i, k_i, v_i] = [sim.input(ports[0])?, sim.input(ports[1])?, sim.input(ports[2])?];
        let mut one = |at: usize| match (number + at) % 4 {
            0 => [5, 0, 1, 2, 128, 129, 255][rng.random_range(0..7usize)],
            1 => rng.random_range(0..=255),
            _ => rng.random_range(0..=40),
        };
        let thresholds: Vec<[u32; 2]> = (0..self.p.layers as usize).map(|y| [one(y), one(y + 1)]).collect();
        sim.poke_u64(write, 1);
        for (y, th) in thresholds.iter().enumerate() {
            sim.poke_u64(layer_i, y as u64);
            sim.poke_u64(k_i, th[0].into());
            sim.poke_u64(v_i, th[1].into());
            sim.tick()?;
        }
        sim.poke_u64(write, 0);
        sim.poke_u64(layer_i, rng.random_range(0..u64::from(self.p.layers)));
        sim.poke_u64(k_i, rng.random_range(0..256));
        sim.poke_u64(v_i, rng.random_range(0..256));
        Ok(thresholds)
    }

    /// Queues random tiles.
    fn push(
        &self,
        rng: &mut StimulusRng,
        thresholds: &[[u32; 2]],
        driver: &mut Driver<KvTile<Values>>,
        monitors: &mut [Monitor<PrunedTile<Values>>; 2],
        (layer_bits, count): (u32, usize),
    ) -> sim::Result<()> {
        let lanes = self.p.lanes as usize;
        let length_bits = u64::BITS - (lanes as u64).leading_zeros();
        let [k, v] = [(); 2].map(|()| random_tokens(rng, lanes, count));
        for (k, v) in k.iter().zip(&v) {
            let layer = rng.random_range(0..self.p.layers as usize);
            let [k, v] = [(k, 0), (v, 1)].map(|(x, side)| at_threshold(rng, x, thresholds[layer][side]));
            // More than there are lanes are all of them.
            let length = if rng.random_range(0..3u8) == 0 { rng.random_range(0..1 << length_bits) } else { lanes };
            let last = rng.random_range(0..2u8) == 0;
            driver.push(KvTile {
                layer: Bits::truncated(layer_bits, layer as u64),
                length: Bits::truncated(length_bits, length as u64),
                k: bytes(&k),
                v: bytes(&v),
                last: flag(last),
            })?;
            for (side, x) in [&k, &v].into_iter().enumerate() {
                let inside = &x[..length.min(lanes)];
                let kept: Vec<i8> = inside.iter().map(|&x| prune(x, thresholds[layer][side])).collect();
                monitors[side].expect([pruned(lanes, &kept, last)])?;
            }
        }
        Ok(())
    }
}
