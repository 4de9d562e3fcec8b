//! [`KvPacker`] against the golden byte format.

use golden::titanus::format::{self, Tile};
use hdl::blocks::titanus::KvPacker;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Difference, Run, Sim};

use super::sequences::{Case, STALLS};
use super::tiles::{blocks, quantized_tile};

pub use super::kv_unpacker::bench as unpacker_bench;

/// The bench of a packer; a vector is a stream.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvPacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { lanes: p.lanes, block_bytes: p.block_bytes };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    lanes: u32,
    block_bytes: u32,
}

/// A stream: width of a value, tiles, bytes.
pub(super) fn random_stream(rng: &mut StimulusRng, lanes: u32, block_bytes: u32) -> (u32, Vec<Tile>, Vec<u8>) {
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
pub(super) fn stated_cycles(tiles: &[Tile], lanes: u32) -> u64 {
    let half = lanes.div_ceil(2) as usize;
    let opened = |t: &Tile| t.records.iter().flatten().count();
    let more = |t: &Tile| u64::from(t.initial || opened(t) > 0) + u64::from(opened(t) > half);
    1 + tiles.iter().map(|t| 1 + more(t)).sum::<u64>()
}

/// Demands a number of cycles.
pub(super) fn cycles(sim: &Sim, run: &Run, got: u64, stated: u64, port: &str) -> sim::Result<()> {
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

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        sim.reset(2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of(sim, "block", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = random_stream(&mut rng, self.lanes, self.block_bytes);
                for (n, tile) in tiles.iter().enumerate() {
                    driver[0].push(quantized_tile(bits, tile, n + 1 == tiles.len()))?;
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
