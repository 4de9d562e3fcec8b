//! [`KvUnpacker`] against the golden parser: good streams, open ones, and streams damaged in every way.

use golden::titanus::format::Tile;
use golden::titanus::kv_packer::{bit_length, pack};
use golden::titanus::kv_unpacker::parse;
use hdl::blocks::titanus::KvUnpacker;
use rand::RngExt;
use sim::stimulus::Stall;
use sim::{Run, Sim};

use super::damage::{Damaged, Sizes};
use super::kv_packer::{cycles, random_stream, stated_cycles};
use super::sequences::STALLS;
use super::tiles::{blocks, stored_tiles};

/// Damaged streams for each vector.
const DAMAGED: u64 = 7;

/// The bench of an unpacker; a vector is a good stream and seven damaged ones.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvUnpacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    let sizes = Sizes { lanes: p.lanes, tiles: 2, levels: 6, block_bytes: p.block_bytes };
    let bench = Bench { sizes, checksum: p.checksum };
    sim::kit::bench(p, move |sim, run| {
        run.reset(sim, 2)?;
        bench.good(sim, run)?;
        bench.damaged(sim, run)?;
        bench.reset(sim, run)
    })
}

struct Bench {
    sizes: Sizes,
    checksum: bool,
}

impl Bench {
    fn size(&self) -> (u32, bool) {
        (self.sizes.block_bytes, self.checksum)
    }

    fn good(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        let lanes = self.sizes.lanes;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "tile", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = random_stream(&mut rng, lanes, self.sizes.block_bytes);
                let parsed = parse(&bytes, lanes as usize, self.sizes.block_bytes as usize, None);
                assert_eq!((parsed.damage, &parsed.tiles), (None, &tiles));
                driver[0].extend(blocks(&bytes, self.size()))?;
                monitor[0].expect(stored_tiles(&parsed, lanes as usize))?;
                if i == 0 {
                    // One cycle until the first block is in place, two stages after the last tile.
                    let stated = stated_cycles(&tiles, lanes) + self.padding_cycles(bits, &tiles) + 3;
                    let streams = (driver[0].as_mut(), monitor[0].as_mut());
                    cycles(sim, run, streams, |_, tiles| tiles.is_done(), stated, "block")?;
                    run.streams(sim, &mut driver, &mut monitor)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Cycles that the last tile waits for the end of a long padding: one for each window but the last.
    fn padding_cycles(&self, bits: u32, tiles: &[Tile]) -> u64 {
        let lanes = u64::from(self.sizes.lanes);
        let window = (2 + 10 * lanes).max(lanes + 18 * lanes.div_ceil(2));
        let used = bit_length(bits, self.sizes.lanes as usize, tiles) as u64;
        let padding = used.next_multiple_of(8 * u64::from(self.sizes.block_bytes)) - used;
        padding.div_ceil(window).saturating_sub(1)
    }

    /// Streams in any state, good ones between them. For any bytes, the output equals the golden parser's.
    fn damaged(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("damage");
        let (lanes, size) = (self.sizes.lanes as usize, self.sizes.block_bytes as usize);
        for (input, output) in STALLS {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "tile", output)?];
            let mut streams = self.sizes.cut_everywhere(&mut rng);
            let count = (DAMAGED * run.vectors()).div_ceil(STALLS.len() as u64);
            streams.extend((0..count).map(|_| self.sizes.damaged(&mut rng)));
            for stream in streams {
                let parsed = parse(&stream.bytes, lanes, size, stream.checksum(self.checksum));
                driver[0].extend(stream.blocks(self.size(), &mut rng))?;
                monitor[0].expect(stored_tiles(&parsed, lanes))?;
                if rng.random_range(0..4u8) == 0 {
                    let (_, _, bytes) = random_stream(&mut rng, self.sizes.lanes, self.sizes.block_bytes);
                    driver[0].extend(blocks(&bytes, self.size()))?;
                    monitor[0].expect(stored_tiles(&parse(&bytes, lanes, size, None), lanes))?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Resets at any time; the stream that begins afterwards is right.
    fn reset(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        let lanes = self.sizes.lanes as usize;
        for _ in 0..run.vectors().div_ceil(8) {
            let mut driver = [run.driver_of(sim, "block", Stall::Random { num: 1, den: 4 })?];
            let mut monitor = [run.monitor_of(sim, "tile", Stall::Random { num: 1, den: 4 })?];
            let stream: Damaged = self.sizes.damaged(&mut rng);
            driver[0].extend(stream.blocks(self.size(), &mut rng))?;
            monitor[0].expect(stored_tiles(
                &parse(&stream.bytes, lanes, self.sizes.block_bytes as usize, stream.checksum(self.checksum)),
                lanes,
            ))?;
            for _ in 0..rng.random_range(0..24) {
                if !monitor[0].is_done() {
                    run.cycle(sim, &mut driver, &mut monitor)?;
                }
            }
            sim.reset(1)?;
            let mut driver = [run.driver_of(sim, "block", Stall::Never)?];
            let mut monitor = [run.monitor_of(sim, "tile", Stall::Never)?];
            let (bits, tiles) = self.sizes.good(&mut rng);
            let bytes = pack(bits, lanes, &tiles, self.sizes.block_bytes as usize);
            driver[0].extend(blocks(&bytes, self.size()))?;
            monitor[0].expect(stored_tiles(&parse(&bytes, lanes, self.sizes.block_bytes as usize, None), lanes))?;
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }
}
