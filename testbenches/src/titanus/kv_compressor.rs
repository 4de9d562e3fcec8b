//! [`KvCompressor`] and [`KvDecompressor`] against the golden bytes: tiles in, bytes off chip, tiles back.

use golden::titanus::cpq::{Sequence, prune};
use golden::titanus::format::packed;
use hdl::blocks::titanus::{KvCompressor, KvDecompressor};
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim};

use super::dequantization_unit::results;
use super::sequences::{Case, STALLS, random_tokens};
use super::tiles::{blocks, bytes};

/// The bench of a compressor; a vector is a sequence of keys and values.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvCompressor) -> anyhow::Result<Box<dyn sim::Bench>> {
    Ok(Box::new(CompressorBench::new(p, Vec::new())?))
}

/// The bench of a decompressor; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn decompressor_bench(p: &KvDecompressor) -> anyhow::Result<Box<dyn sim::Bench>> {
    Ok(Box::new(DecompressorBench::new(p, Vec::new())?))
}

/// Keys and values of a sequence as they come from the projections, not yet pruned.
#[derive(Clone, Debug)]
pub struct RawCase {
    /// Pruning thresholds of keys and values.
    pub thresholds: [u32; 2],
    /// Widths of quantized keys and values.
    pub bits: [u32; 2],
    /// Tokens announced as prefill.
    pub prefill: usize,
    /// Keys and values, tokens of one width.
    pub tokens: [Vec<Vec<i8>>; 2],
}

impl RawCase {
    fn random(rng: &mut StimulusRng, width: usize, longest: usize) -> Self {
        let count = rng.random_range(1..=longest);
        let thresholds = [(); 2].map(|()| [0, 1, 5, 30, 200][rng.random_range(0..5usize)]);
        let prefill = [0, count, 60_000, count / 2][rng.random_range(0..4usize)];
        let bits = [(); 2].map(|()| rng.random_range(2..=8));
        let tokens = [(); 2].map(|()| random_tokens(rng, width, count));
        Self { thresholds, bits, prefill, tokens }
    }

    /// Keys (0) or values (1), pruned.
    pub fn pruned(&self, side: usize) -> Case {
        let tokens = &self.tokens[side];
        let tokens = tokens.iter().map(|t| t.iter().map(|&x| prune(x, self.thresholds[side])).collect()).collect();
        Case { bits: self.bits[side], prefill: self.prefill, tokens }
    }
}

/// Drives a compressor with given sequences first, then with random ones.
pub struct CompressorBench {
    p: KvCompressor,
    parameters: Value,
    given: Vec<RawCase>,
}

impl CompressorBench {
    /// The bench; tokens of `given` fill between tiles - 1 and tiles tiles.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn new(p: &KvCompressor, given: Vec<RawCase>) -> anyhow::Result<Self> {
        p.check()?;
        Ok(Self { parameters: serde_json::to_value(p)?, p: p.clone(), given })
    }
}

impl sim::Bench for CompressorBench {
    fn block(&self) -> &str {
        KvCompressor::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let p = &self.p;
        let lanes = p.lanes as usize;
        let names = ["config_write_i", "config_layer_i", "threshold_k_i", "threshold_v_i", "bits_k_i", "bits_v_i"];
        let config: Vec<_> = names.iter().map(|n| sim.input(n)).collect::<sim::Result<_>>()?;
        let layer_bits = sim.port_of_input(config[1]).width;
        let overflow = [sim.output("overflow_k_o")?, sim.output("overflow_v_o")?];
        sim.reset(2)?;
        let per_stall = (run.vectors() as usize).div_ceil(STALLS.len());
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut drivers = [
                run.driver(sim, "tile", &["layer", "length", "k", "v", "last"], input)?,
                run.driver(sim, "start", &["layer", "prefill"], Stall::Random { num: 1, den: 2 })?,
            ];
            let fields = ["data", "last"];
            let other = STALLS[(i + 2) % STALLS.len()].1;
            let mut monitors = [run.monitor(sim, "k", &fields, output)?, run.monitor(sim, "v", &fields, other)?];
            for number in i * per_stall..(i + 1) * per_stall {
                let case = self.given.get(number).cloned().unwrap_or_else(|| {
                    let cut = rng.random_range(0..lanes);
                    RawCase::random(&mut rng, lanes * p.tiles as usize - cut, 2 * (p.buffer_tokens as usize).min(8) + 3)
                });
                let layer = rng.random_range(0..u64::from(p.layers));
                let [th, bits] = [case.thresholds, case.bits];
                let values = [1, layer, th[0].into(), th[1].into(), bits[0].into(), bits[1].into()];
                config.iter().zip(values).for_each(|(&port, value)| sim.poke_u64(port, value));
                sim.tick()?;
                sim.poke_u64(config[0], 0);
                let layer = Bits::truncated(layer_bits, layer);
                drivers[1].push(vec![layer.clone(), Bits::truncated(16, case.prefill as u64)])?;
                let mut case = case;
                let mut tiles = Vec::new();
                for t in 0..case.tokens[0].len() {
                    let width = case.tokens[0][t].len();
                    for left in (0..width).step_by(lanes) {
                        let there = (width - left).min(lanes);
                        // Now and then a tile is short or has no elements at all: the golden model then sees zeros.
                        let short = number >= self.given.len() && rng.random_range(0..9u8) == 0;
                        let length = if short { rng.random_range(0..=there) } else { there };
                        let sides = [0, 1].map(|side| {
                            let all = &mut case.tokens[side][t][left..left + there];
                            let mut lane = all.to_vec();
                            lane.resize_with(lanes, || rng.random());
                            all[length..].fill(0);
                            bytes(&lane)
                        });
                        tiles.push((length, sides));
                    }
                }
                let count = tiles.len();
                for (n, (length, [k, v])) in tiles.into_iter().enumerate() {
                    let length = Bits::truncated(u64::BITS - (lanes as u64).leading_zeros(), length as u64);
                    drivers[0].push(vec![layer.clone(), length, k, v, Bits::truncated(1, (n + 1 == count).into())])?;
                }
                let sequences = [0, 1].map(|side| case.pruned(side).encode(p.levels, p.buffer_tokens));
                for (monitor, sequence) in monitors.iter_mut().zip(&sequences) {
                    monitor.expect(blocks(&packed(sequence, lanes, p.block_bytes as usize), p.block_bytes as usize))?;
                }
                run.streams(sim, &mut drivers, &mut monitors)?;
                for (port, sequence) in overflow.into_iter().zip(&sequences) {
                    run.expect_u64(sim, port, sequence.overflowed().into())?;
                }
            }
        }
        Ok(())
    }
}

/// Drives a decompressor with given sequences first, then with random ones.
pub struct DecompressorBench {
    p: KvDecompressor,
    parameters: Value,
    given: Vec<Sequence>,
}

impl DecompressorBench {
    /// The bench; sequences of `given` have the decompressor's number of levels.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn new(p: &KvDecompressor, given: Vec<Sequence>) -> anyhow::Result<Self> {
        p.check()?;
        Ok(Self { parameters: serde_json::to_value(p)?, p: p.clone(), given })
    }
}

impl sim::Bench for DecompressorBench {
    fn block(&self) -> &str {
        KvDecompressor::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let p = &self.p;
        let lanes = p.lanes as usize;
        let error = sim.output("error_o")?;
        sim.reset(2)?;
        let mut given = self.given.iter();
        for (input, output) in STALLS {
            let mut driver = [run.driver(sim, "block", &["data", "last"], input)?];
            let mut monitor = [run.monitor(sim, "result", &["x", "index", "level"], output)?];
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
