//! [`KvPacker`] and [`KvUnpacker`] against the golden byte format, in both directions.

use golden::titanus::format::{self, Tile};
use hdl::blocks::titanus::{KvPacker, KvUnpacker};
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::StimulusRng;
use sim::{Difference, Run, Sim};

use super::sequences::{Case, STALLS};
use super::tiles::{QUANTIZED, STORED, blocks, quantized, stored};

/// The bench of a packer; a vector is a stream.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvPacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(PackerBench { parameters: serde_json::to_value(p)?, lanes: p.lanes, block_bytes: p.block_bytes }))
}

/// The bench of an unpacker; a vector is a stream.
///
/// # Errors
/// Parameters that the block refuses.
pub fn unpacker_bench(p: &KvUnpacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(UnpackerBench { parameters: serde_json::to_value(p)?, lanes: p.lanes, block_bytes: p.block_bytes }))
}

struct PackerBench {
    lanes: u32,
    block_bytes: u32,
    parameters: Value,
}

struct UnpackerBench {
    lanes: u32,
    block_bytes: u32,
    parameters: Value,
}

/// A stream: width of a value, tiles, bytes.
fn random_stream(rng: &mut StimulusRng, lanes: u32, block_bytes: u32) -> (u32, Vec<Tile>, Vec<u8>) {
    let lanes = lanes as usize;
    let width = rng.random_range(1..=3) * lanes - rng.random_range(0..lanes);
    let mut case = Case::random(rng, width, 10);
    if rng.random_range(0..4u8) == 0 {
        // Full tiles of the widest values.
        case.bits = 8;
        case.tokens.iter_mut().flatten().for_each(|x| *x |= 1);
    }
    let tiles = format::tiles(&case.encode(8, 64), lanes);
    let bytes = format::pack(case.bits, lanes, &tiles, block_bytes as usize);
    (case.bits, tiles, bytes)
}

/// Cycles that the tiles of a stream and its header take.
fn stated_cycles(tiles: &[Tile], lanes: u32) -> u64 {
    let half = lanes.div_ceil(2) as usize;
    let opened = |t: &Tile| t.records.iter().flatten().count();
    let more = |t: &Tile| u64::from(t.initial || opened(t) > 0) + u64::from(opened(t) > half);
    1 + tiles.iter().map(|t| 1 + more(t)).sum::<u64>()
}

impl sim::Bench for PackerBench {
    fn block(&self) -> &str {
        KvPacker::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        sim.reset(2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver(sim, "tile", &QUANTIZED, input)?];
            let mut monitor = [run.monitor(sim, "block", &["data", "last"], output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = random_stream(&mut rng, self.lanes, self.block_bytes);
                for (n, tile) in tiles.iter().enumerate() {
                    driver[0].push(quantized(bits, tile, n + 1 == tiles.len()))?;
                }
                monitor[0].expect(blocks(&bytes, self.block_bytes as usize))?;
                if i == 0 {
                    let begin = sim.cycle_count();
                    while !driver[0].is_done() {
                        run.cycle(sim, &mut driver, &mut monitor)?;
                    }
                    cycles(sim, run, sim.cycle_count() - begin, stated_cycles(&tiles, self.lanes), "tile")?;
                    run.streams(sim, &mut driver, &mut monitor)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }
}

/// Demands a number of cycles.
fn cycles(sim: &Sim, run: &Run, got: u64, stated: u64, port: &str) -> sim::Result<()> {
    if got == stated {
        return Ok(());
    }
    let difference = Difference::Value {
        port: port.into(),
        expected: format!("{stated} cycles"),
        got: format!("{got} cycles"),
        place: "a stream without pauses".into(),
    };
    Err(run.fail(sim.cycle_count(), difference))
}

impl sim::Bench for UnpackerBench {
    fn block(&self) -> &str {
        KvUnpacker::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        let error = sim.output("error_o")?;
        sim.reset(2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver(sim, "block", &["data", "last"], input)?];
            let mut monitor = [run.monitor(sim, "tile", &STORED, output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = random_stream(&mut rng, self.lanes, self.block_bytes);
                driver[0].extend(blocks(&bytes, self.block_bytes as usize))?;
                monitor[0].expect(tiles.iter().enumerate().map(|(n, t)| stored(bits, t, n == 0)))?;
                if i == 0 {
                    let begin = sim.cycle_count();
                    while !monitor[0].is_done() {
                        run.cycle(sim, &mut driver, &mut monitor)?;
                    }
                    // One cycle until the first block is in place, two stages behind the last tile.
                    let stated = stated_cycles(&tiles, self.lanes) + 3;
                    cycles(sim, run, sim.cycle_count() - begin, stated, "block")?;
                    run.streams(sim, &mut driver, &mut monitor)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
            run.expect_u64(sim, error, 0)?;
        }
        // A header of another version is reported, and stays reported until reset.
        let (_, _, mut bytes) = random_stream(&mut rng, self.lanes, self.block_bytes);
        bytes[0] ^= 0x20;
        let mut driver = [run.driver(sim, "block", &["data", "last"], STALLS[0].0)?];
        driver[0].extend(blocks(&bytes[..self.block_bytes as usize], self.block_bytes as usize))?;
        let mut monitor: [sim::StreamMonitor; 0] = [];
        sim.poke_u64(sim.input("tile_ready_i")?, 1);
        for _ in 0..8 {
            run.cycle(sim, &mut driver, &mut monitor)?;
        }
        run.expect_u64(sim, error, 1)?;
        sim.reset(2)?;
        sim.settle()?;
        run.expect_u64(sim, error, 0)
    }
}
