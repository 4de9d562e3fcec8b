//! [`KvCompressor`] against the golden bytes.

use golden::titanus::kv_compressor::{packed, prune};
use hdl::blocks::titanus::KvCompressor;
use hdl::blocks::titanus::pruning_unit::KvTile;
use hdl::blocks::titanus::quantization_unit::SequenceStart;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::sequences::{Case, STALLS, random_tokens};
use super::tiles::{blocks, bytes, flag};

pub use super::kv_decompressor::bench as decompressor_bench;

/// The bench of a compressor; a vector is a sequence of keys and values.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvCompressor) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// The bench with given sequences first, then random ones; tokens of `given` fill between tiles - 1 and tiles tiles.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &KvCompressor, given: Vec<RawCase>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = CompressorBench { p: p.clone(), given };
    crate::bench(p, move |sim, run| bench.run(sim, run))
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
struct CompressorBench {
    p: KvCompressor,
    given: Vec<RawCase>,
}

impl CompressorBench {
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
            let mut tile_driver = run.driver_of::<KvTile<Values>>(sim, "tile", input)?;
            let mut start = run.driver_of::<SequenceStart<Values>>(sim, "start", Stall::Random { num: 1, den: 2 })?;
            let other = STALLS[(i + 2) % STALLS.len()].1;
            let mut monitors = [run.monitor_of(sim, "k", output)?, run.monitor_of(sim, "v", other)?];
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
                let prefill = Bits::truncated(16, case.prefill as u64);
                start.push(SequenceStart { layer: layer.clone(), prefill })?;
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
                    tile_driver.push(KvTile { layer: layer.clone(), length, k, v, last: flag(n + 1 == count) })?;
                }
                let sequences = [0, 1].map(|side| case.pruned(side).encode(p.levels, p.buffer_tokens));
                for (monitor, sequence) in monitors.iter_mut().zip(&sequences) {
                    monitor.expect(blocks(&packed(sequence, lanes, p.block_bytes as usize), (p.block_bytes, false)))?;
                }
                run.streams(sim, &mut [tile_driver.as_mut(), start.as_mut()], &mut monitors)?;
                for (port, sequence) in overflow.into_iter().zip(&sequences) {
                    run.expect_u64(sim, port, sequence.overflowed().into())?;
                }
            }
        }
        Ok(())
    }
}
