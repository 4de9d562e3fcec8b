//! [`KvDecompressor`] against the golden sequence: bytes in, tiles back.

use golden::titanus::cpq::Sequence;
use golden::titanus::format::packed;
use hdl::blocks::titanus::KvDecompressor;
use rand::RngExt;
use sim::{Run, Sim};

use super::dequantization_unit::results;
use super::sequences::{Case, STALLS};
use super::tiles::blocks;

/// The bench of a decompressor; a vector is a sequence.
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
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: KvDecompressor,
    given: Vec<Sequence>,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let p = &self.p;
        let lanes = p.lanes as usize;
        let error = sim.output("error_o")?;
        sim.reset(2)?;
        let mut given = self.given.iter();
        for (input, output) in STALLS {
            let mut driver = [run.driver_of(sim, "block", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let sequence = given.next().cloned().unwrap_or_else(|| {
                    let cut = rng.random_range(0..lanes);
                    Case::random(&mut rng, lanes * p.tiles as usize - cut, 14).encode(p.levels, u32::MAX)
                });
                driver[0].extend(blocks(&packed(&sequence, lanes, p.block_bytes as usize), p.block_bytes as usize))?;
                monitor[0].expect(results(&sequence, lanes, p.levels))?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
            run.expect_u64(sim, error, 0)?;
        }
        Ok(())
    }
}
