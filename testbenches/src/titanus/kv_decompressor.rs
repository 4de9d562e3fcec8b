//! [`KvDecompressor`] against the golden sequence, and against the golden parser for streams damaged in every way.

use golden::titanus::kv_decompressor::{Sequence, packed, parse, restore};
use hdl::blocks::titanus::KvDecompressor;
use rand::RngExt;
use sim::stimulus::Stall;
use sim::{Run, Sim};

use super::damage::Sizes;
use super::dequantization_unit::results;
use super::sequences::{Case, STALLS};
use super::tiles::{blocks, broken_off, rebuilt};

/// Damaged streams for each vector.
const DAMAGED: u64 = 7;

/// The bench of a decompressor; a vector is a good stream and seven damaged ones.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvDecompressor) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// The bench that begins with the sequences of `given`, which have the decompressor's number of levels.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &KvDecompressor, given: Vec<Sequence>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone(), given };
    sim::kit::bench(p, move |sim, run| {
        run.reset(sim, 2)?;
        bench.good(sim, run)?;
        bench.damaged(sim, run)?;
        bench.reset(sim, run)
    })
}

struct Bench {
    p: KvDecompressor,
    given: Vec<Sequence>,
}

impl Bench {
    fn good(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let p = &self.p;
        let lanes = p.lanes as usize;
        let mut given = self.given.iter();
        for (input, output) in STALLS {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let sequence = given.next().cloned().unwrap_or_else(|| {
                    let cut = rng.random_range(0..lanes);
                    Case::random(&mut rng, lanes * p.tiles as usize - cut, 14).encode(p.levels, u32::MAX)
                });
                let bytes = packed(&sequence, lanes, p.block_bytes as usize);
                driver[0].extend(blocks(&bytes, (p.block_bytes, p.checksum)))?;
                monitor[0].expect(results(&sequence, lanes, p.levels))?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    fn damaged(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("damage");
        let p = &self.p;
        let (lanes, size) = (p.lanes as usize, p.block_bytes as usize);
        let sizes = Sizes { lanes: p.lanes, tiles: p.tiles, levels: p.levels, block_bytes: p.block_bytes };
        for (input, output) in STALLS {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            let mut streams = sizes.cut_everywhere(&mut rng);
            let count = (DAMAGED * run.vectors()).div_ceil(STALLS.len() as u64);
            streams.extend((0..count).map(|_| sizes.damaged(&mut rng)));
            for stream in streams {
                let parsed = parse(&stream.bytes, lanes, size, stream.checksum(p.checksum));
                let (beats, _) = restore(&parsed, lanes, p.tiles as usize, p.levels as usize);
                driver[0].extend(stream.blocks((p.block_bytes, p.checksum), &mut rng))?;
                monitor[0].expect(rebuilt(&beats, p.levels))?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Resets at any time; the stream that begins afterwards is right.
    fn reset(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        let p = &self.p;
        let (lanes, size) = (p.lanes as usize, p.block_bytes as usize);
        let sizes = Sizes { lanes: p.lanes, tiles: p.tiles, levels: p.levels, block_bytes: p.block_bytes };
        for _ in 0..run.vectors().div_ceil(8) {
            for stall in [Stall::Random { num: 1, den: 4 }, Stall::Never] {
                let mut driver = [run.driver_of(sim, "block", stall)?];
                let mut monitor = [run.monitor_of(sim, "result", stall)?];
                let stream = sizes.damaged(&mut rng);
                let parsed = parse(&stream.bytes, lanes, size, stream.checksum(p.checksum));
                let (beats, _) = restore(&parsed, lanes, p.tiles as usize, p.levels as usize);
                driver[0].extend(stream.blocks((p.block_bytes, p.checksum), &mut rng))?;
                monitor[0].expect(rebuilt(&beats, p.levels))?;
                if stall == Stall::Never {
                    run.streams(sim, &mut driver, &mut monitor)?;
                } else {
                    broken_off(sim, run, &mut driver, &mut monitor, rng.random_range(0..40))?;
                }
            }
        }
        Ok(())
    }
}
