//! [`KvUnpacker`] against the golden byte format.

use hdl::blocks::titanus::KvUnpacker;
use sim::{Run, Sim, StreamMonitor};

use super::kv_packer::{cycles, random_stream, stated_cycles};
use super::sequences::STALLS;
use super::tiles::{blocks, stored_tile};

/// The bench of an unpacker; a vector is a stream.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvUnpacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { lanes: p.lanes, block_bytes: p.block_bytes };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    lanes: u32,
    block_bytes: u32,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        let error = sim.output("error_o")?;
        sim.reset(2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "tile", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = random_stream(&mut rng, self.lanes, self.block_bytes);
                driver[0].extend(blocks(&bytes, self.block_bytes as usize))?;
                monitor[0].expect(tiles.iter().enumerate().map(|(n, t)| stored_tile(bits, t, n == 0)))?;
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
        let mut driver = [run.driver_of(sim, "block", STALLS[0].0)?];
        driver[0].extend(blocks(&bytes[..self.block_bytes as usize], self.block_bytes as usize))?;
        let mut monitor: [StreamMonitor; 0] = [];
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
