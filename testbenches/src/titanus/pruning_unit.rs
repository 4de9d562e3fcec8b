//! [`PruningUnit`] against the pruning rule: thresholds of all layers, lengths from 0 on, pauses of both sides apart.

use golden::titanus::cpq::prune;
use hdl::blocks::titanus::PruningUnit;
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

use super::sequences::{STALLS, random_tokens};
use super::tiles::{at_full_speed, bytes, pruned};

/// The bench of a pruning unit; a vector is a tile of keys and one of values.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &PruningUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(Bench { parameters: serde_json::to_value(p)?, p: p.clone() }))
}

/// The tile with some elements of exactly the threshold's magnitude, or one less.
fn at_threshold(rng: &mut StimulusRng, tile: &[i8], threshold: u32) -> Vec<i8> {
    let edge = |x: i8, rng: &mut StimulusRng| {
        let magnitude = threshold as i32 - rng.random_range(0..=1);
        let edge = if rng.random_range(0..2u8) == 0 { magnitude } else { -magnitude };
        if rng.random_range(0..4u8) == 0 { i8::try_from(edge).unwrap_or(x) } else { x }
    };
    tile.iter().map(|&x| edge(x, rng)).collect()
}

struct Bench {
    p: PruningUnit,
    parameters: Value,
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        PruningUnit::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("tiles");
        let lanes = self.p.lanes as usize;
        let layer_bits = sim.port_of_input(sim.input("threshold_layer_i")?).width;
        sim.reset(2)?;
        let corners = [5, 0, 1, 128, 129, 255];
        let thresholds: Vec<[u32; 2]> = (0..self.p.layers as usize)
            .map(|y| [corners[y % 6], if y % 3 == 0 { 4 } else { rng.random_range(0..=40) }])
            .collect();
        let write = sim.input("threshold_write_i")?;
        let ports = ["threshold_layer_i", "threshold_k_i", "threshold_v_i"];
        let [layer_i, k_i, v_i] = [sim.input(ports[0])?, sim.input(ports[1])?, sim.input(ports[2])?];
        sim.poke_u64(write, 1);
        for (y, th) in thresholds.iter().enumerate() {
            sim.poke_u64(layer_i, y as u64);
            sim.poke_u64(k_i, th[0].into());
            sim.poke_u64(v_i, th[1].into());
            sim.tick()?;
        }
        sim.poke_u64(write, 0);
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut drivers = [run.driver(sim, "tile", &["layer", "length", "k", "v", "last"], input)?];
            let fields = ["index", "count", "values", "last"];
            let v_stall = if i == 0 { output } else { STALLS[STALLS.len() - i].1 };
            let mut monitors = [run.monitor(sim, "k", &fields, output)?, run.monitor(sim, "v", &fields, v_stall)?];
            let count = (run.vectors() as usize).div_ceil(STALLS.len());
            let [k, v] = [(); 2].map(|()| random_tokens(&mut rng, lanes, count));
            for (k, v) in k.iter().zip(&v) {
                let layer = rng.random_range(0..self.p.layers as usize);
                let [k, v] = [(k, 0), (v, 1)].map(|(x, side)| at_threshold(&mut rng, x, thresholds[layer][side]));
                let length = if rng.random_range(0..3u8) == 0 { rng.random_range(0..=lanes) } else { lanes };
                let last = rng.random_range(0..2u8) == 0;
                drivers[0].push(vec![
                    Bits::truncated(layer_bits, layer as u64),
                    Bits::truncated(u64::BITS - (lanes as u64).leading_zeros(), length as u64),
                    bytes(&k),
                    bytes(&v),
                    Bits::truncated(1, last.into()),
                ])?;
                for (side, x) in [&k, &v].into_iter().enumerate() {
                    let kept: Vec<i8> = x[..length].iter().map(|&x| prune(x, thresholds[layer][side])).collect();
                    monitors[side].expect([pruned(lanes, &kept, last)])?;
                }
            }
            if i == 0 {
                at_full_speed(sim, run, &mut drivers, &mut monitors, 2)?;
            }
            run.streams(sim, &mut drivers, &mut monitors)?;
        }
        Ok(())
    }
}
