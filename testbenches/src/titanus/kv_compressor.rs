//! [`KvCompressor`] against the golden bytes. One side is taken before the other, starts wait, writes are refused,
//! streams stay open, and resets come.

use golden::common::crc32::crc32;
use golden::titanus::cpq::Sequence;
use golden::titanus::format::tiles;
use golden::titanus::kv_compressor::{packed, prune};
use golden::titanus::kv_packer::{bit_length, pack};
use hdl::blocks::titanus::pruning_unit::KvTile;
use hdl::blocks::titanus::quantization_unit::SequenceStart;
use hdl::blocks::titanus::{ByteBlock, KvCompressor};
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Driver, In, Monitor, Out, Run, Sim, Values};

use super::sequences::{Case, STALLS, numbers, pruned_tokens, tokens, wanted};
use super::tiles::{blocks, bytes, flag};

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
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// Keys and values of a user.
pub const TENSORS: FromTensors<KvCompressor> = FromTensors {
    wanted: |p| {
        let sides = [("keys", "keys, a token a row"), ("values", "values, a token a row")];
        let mut all = wanted(&sides, p.lanes * p.tiles);
        let shape = vec![Extent::Exactly(sides.len())];
        let meaning = "pruning thresholds of keys and values";
        all.push(Wanted { name: "thresholds", meaning, numbers: Numbers::Integers(0..=255), shape });
        Ok(all)
    },
    bench: |p, tensors| {
        let (bits, prefill) = numbers(tensors);
        let thresholds = tensors.all("thresholds");
        let case = RawCase {
            thresholds: [thresholds[0] as u32, thresholds[1] as u32],
            bits: [bits[0], bits[1]],
            prefill,
            tokens: [tokens(tensors, "keys"), tokens(tensors, "values")],
        };
        Ok((bench_of(p, vec![case])?, 1))
    },
};

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
        let sides = [(); 2].map(|()| pruned_tokens(rng, width, count));
        let thresholds = sides.each_ref().map(|side| side.0);
        let prefill = [0, count, long_prefill(rng), count / 2][rng.random_range(0..4usize)];
        let bits = [(); 2].map(|()| rng.random_range(2..=8));
        let tokens = sides.map(|side| side.1);
        Self { thresholds, bits, prefill, tokens }
    }

    /// Keys (0) or values (1), pruned.
    pub fn pruned(&self, side: usize) -> Case {
        let tokens = &self.tokens[side];
        let tokens = tokens.iter().map(|t| t.iter().map(|&x| prune(x, self.thresholds[side])).collect()).collect();
        Case { bits: self.bits[side], prefill: self.prefill, tokens }
    }
}

/// A prefill that is long, unless its highest bit is lost.
pub(super) fn long_prefill(rng: &mut StimulusRng) -> usize {
    (1 << rng.random_range(0..16u8)) + rng.random_range(0..3)
}

/// Cycles after which a tail is shown, and cycles in which it stays.
const SETTLED: u64 = 100;

/// Cycles after which a side whose blocks nobody takes has surely filled up.
const HELD_UP: u64 = 400;

/// Drives a compressor with given sequences first, then with random ones.
struct CompressorBench {
    p: KvCompressor,
    given: Vec<RawCase>,
}

/// Sequences of keys and values, and their compressed streams.
struct Job {
    layer: u64,
    case: RawCase,
    /// Tiles with their lengths.
    tiles: Vec<(usize, [Bits; 2])>,
    /// Keys and values.
    sequences: [Sequence; 2],
    bytes: [Vec<u8>; 2],
}

struct Ports {
    config: [In; 6],
    refused: Out,
    layer_bits: u32,
    /// Valid of the blocks and overflow of keys and of values.
    sides: [(Out, Out); 2],
}

impl Ports {
    fn new(sim: &Sim) -> sim::Result<Self> {
        let names = ["config_write_i", "config_layer_i", "threshold_k_i", "threshold_v_i", "bits_k_i", "bits_v_i"];
        let found: Vec<_> = names.iter().map(|n| sim.input(n)).collect::<sim::Result<_>>()?;
        let config = [found[0], found[1], found[2], found[3], found[4], found[5]];
        let sides = [
            (sim.output("k_valid_o")?, sim.output("overflow_k_o")?),
            (sim.output("v_valid_o")?, sim.output("overflow_v_o")?),
        ];
        let layer_bits = sim.port_of_input(config[1]).width;
        Ok(Self { config, refused: sim.output("config_refused_o")?, layer_bits, sides })
    }

    fn configure(&self, sim: &mut Sim, write: bool, layer: u64, thresholds: [u32; 2], bits: [u32; 2]) {
        let [th, b] = [thresholds, bits];
        let values = [write.into(), layer, th[0].into(), th[1].into(), b[0].into(), b[1].into()];
        self.config.iter().zip(values).for_each(|(&port, value)| sim.poke_u64(port, value));
    }
}

struct Streams {
    tile: Driver<KvTile<Values>>,
    start: Driver<SequenceStart<Values>>,
    sides: [Monitor<ByteBlock<Values>>; 2],
}

impl CompressorBench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let ports = Ports::new(sim)?;
        ports.configure(sim, false, 0, [0; 2], [0; 2]);
        run.reset(sim, 2)?;
        run.expect_u64(sim, ports.refused, 0)?;
        let per_stall = (run.vectors() as usize).div_ceil(STALLS.len());
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let other = STALLS[(i + 2) % STALLS.len()].1;
            let mut number = i * per_stall;
            while number < (i + 1) * per_stall {
                let mut jobs: Vec<Job> = Vec::new();
                for _ in 0..rng.random_range(1..=3usize) {
                    let job = self.job(number, &mut rng, &jobs);
                    jobs.push(job);
                    number += 1;
                }
                self.configure(sim, run, &ports, &jobs)?;
                let mut streams = self.streams(sim, run, input, [output, other])?;
                if jobs.len() == 1 {
                    self.one_side_first(sim, run, &ports, &mut streams, &jobs[0], number % 2)?;
                } else {
                    self.together(sim, run, &ports, &mut streams, &jobs, None)?;
                }
            }
        }
        self.reset(sim, run, &ports)
    }

    fn job(&self, number: usize, rng: &mut StimulusRng, others: &[Job]) -> Job {
        let p = &self.p;
        let lanes = p.lanes as usize;
        let mut case = self.given.get(number).cloned().unwrap_or_else(|| {
            let cut = rng.random_range(0..lanes);
            RawCase::random(rng, lanes * p.tiles as usize - cut, 2 * (p.buffer_tokens as usize).min(8) + 3)
        });
        let mut layer = rng.random_range(0..u64::from(p.layers));
        if let Some(other) = others.iter().find(|o| o.layer == layer) {
            if number < self.given.len() {
                // Given sequences keep what they are; there are enough layers for them.
                layer = (0..).find(|l| others.iter().all(|o| o.layer != *l)).unwrap_or(layer);
            } else {
                (case.thresholds, case.bits) = (other.case.thresholds, other.case.bits);
            }
        }
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
        let sequences = [0, 1].map(|side| case.pruned(side).encode(p.levels, p.buffer_tokens));
        let bytes = sequences.each_ref().map(|s| packed(s, lanes, p.block_bytes as usize));
        Job { layer, case, tiles, sequences, bytes }
    }

    fn configure(&self, sim: &mut Sim, run: &mut Run, ports: &Ports, jobs: &[Job]) -> sim::Result<()> {
        for job in jobs {
            ports.configure(sim, true, job.layer, job.case.thresholds, job.case.bits);
            sim.tick()?;
            run.expect_u64(sim, ports.refused, 0)?;
        }
        ports.configure(sim, false, 0, [0; 2], [0; 2]);
        Ok(())
    }

    fn streams(&self, sim: &Sim, run: &Run, input: Stall, output: [Stall; 2]) -> sim::Result<Streams> {
        let tile = run.driver_of(sim, "tile", input)?;
        let start = run.driver_of(sim, "start", Stall::Random { num: 1, den: 8 })?;
        let sides = [run.monitor_of(sim, "k", output[0])?, run.monitor_of(sim, "v", output[1])?];
        Ok(Streams { tile, start, sides })
    }

    /// A sequence, or one without an end.
    fn push(&self, streams: &mut Streams, layer_bits: u32, job: &Job, ends: bool) -> sim::Result<()> {
        let lanes = self.p.lanes as usize;
        let layer = Bits::truncated(layer_bits, job.layer);
        let prefill = Bits::truncated(16, job.case.prefill as u64);
        streams.start.push(SequenceStart { layer: layer.clone(), prefill })?;
        for (n, (length, [k, v])) in job.tiles.iter().enumerate() {
            let length = Bits::truncated(u64::BITS - (lanes as u64).leading_zeros(), *length as u64);
            let last = flag(ends && n + 1 == job.tiles.len());
            streams.tile.push(KvTile { layer: layer.clone(), length, k: k.clone(), v: v.clone(), last })?;
        }
        let size = (self.p.block_bytes, self.p.checksum);
        for (side, monitor) in streams.sides.iter_mut().enumerate() {
            let mut blocks = blocks(&job.bytes[side], size);
            if !ends {
                // Blocks that are full leave, and none of them is the final one, even if it ends with the last tile.
                let bits = bit_length(job.case.bits[side], lanes, &tiles(&job.sequences[side], lanes));
                blocks.truncate(bits / (8 * self.p.block_bytes as usize));
                blocks.iter_mut().for_each(|block| block.last = flag(false));
            }
            monitor.expect(blocks)?;
        }
        Ok(())
    }

    /// Nobody takes the blocks of one side until the other side has all of its blocks, or waits for ever. A side whose
    /// stream fits the spare blocks must not wait, and no side may lose anything.
    fn one_side_first(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        streams: &mut Streams,
        job: &Job,
        first: usize,
    ) -> sim::Result<()> {
        self.push(streams, ports.layer_bits, job, true)?;
        sim.poke_u64(sim.input(["v_ready_i", "k_ready_i"][first])?, 0);
        let other_blocks = job.bytes[1 - first].len() / self.p.block_bytes as usize;
        let (mut still, mut done) = (0, false);
        while still < HELD_UP && !done {
            let mut drivers = [streams.tile.as_mut(), streams.start.as_mut()];
            let moved = run.cycle(sim, &mut drivers, &mut [streams.sides[first].as_mut()])?;
            still = if moved { 0 } else { still + 1 };
            done = streams.sides[first].is_done();
        }
        if other_blocks <= self.p.spare_blocks as usize {
            run.expect_equal(sim, "block", "the side that is taken has its whole stream", true, done)?;
        }
        let Streams { tile, start, sides: [k, v] } = streams;
        run.streams(sim, &mut [tile.as_mut(), start.as_mut()], &mut [k.as_mut(), v.as_mut()])?;
        for (side, sequence) in job.sequences.iter().enumerate() {
            run.expect_u64(sim, ports.sides[side].1, sequence.overflowed().into())?;
        }
        Ok(())
    }

    /// Sequences after each other, for `limit` cycles or to the end. Starts wait, writes that must be refused come all
    /// the time, overflow holds as long as the contract says, and open streams can be read.
    fn together(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        streams: &mut Streams,
        jobs: &[Job],
        limit: Option<u64>,
    ) -> sim::Result<()> {
        let mut rng = run.rng(&format!("configurations {}", sim.cycle_count()));
        for job in jobs {
            self.push(streams, ports.layer_bits, job, true)?;
        }
        let begin = sim.cycle_count();
        let mut refused = None;
        let Streams { tile, start, sides: [k, v] } = streams;
        let mut drivers = [tile.as_mut(), start.as_mut()];
        let mut monitors = [k.as_mut(), v.as_mut()];
        while !(drivers.iter().all(|d| d.is_done()) && monitors.iter().all(|m| m.is_done())) {
            let cycles = sim.cycle_count() - begin;
            if limit.is_some_and(|limit| cycles == limit) {
                ports.configure(sim, false, 0, [0; 2], [0; 2]);
                return Ok(());
            }
            if cycles > 100_000 {
                return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles, streams: vec!["tile".into()] }));
            }
            let mut bits = [(); 2].map(|()| rng.random_range(0..16u32));
            let write = rng.random_range(0..3u8) == 0;
            if write && bits.iter().all(|b| (2..=8).contains(b)) {
                bits[rng.random_range(0..2usize)] = [0, 1, 9, 15][rng.random_range(0..4usize)];
            }
            let layer = rng.random_range(0..u64::from(self.p.layers));
            ports.configure(sim, write, layer, [(); 2].map(|()| rng.random_range(0..=255)), bits);
            refused = if write { Some(1) } else { refused };
            run.cycle(sim, &mut drivers, &mut monitors)?;
            if let Some(refused) = refused {
                run.expect_u64(sim, ports.refused, refused)?;
            }
            let Some(now) = (drivers[1].sent() as usize).checked_sub(1) else { continue };
            let taken =
                (drivers[0].sent() as usize).saturating_sub(jobs[..now].iter().map(|j| j.tiles.len()).sum::<usize>());
            for (side, &(valid, overflow)) in ports.sides.iter().enumerate() {
                let blocks = |job: &Job| job.bytes[side].len() / self.p.block_bytes as usize;
                let before: usize = jobs[..now].iter().map(blocks).sum();
                let Some(left) = monitors[side].beats().len().checked_sub(before) else {
                    return run.expect_equal(sim, "start", "starts that were taken while busy", 0, 1);
                };
                let shown = left + sim.peek_u64(valid) as usize;
                if shown >= blocks(&jobs[now]) {
                    run.expect_u64(sim, overflow, jobs[now].sequences[side].overflowed().into())?;
                }
                self.tail(sim, run, &jobs[now], side, taken)?;
            }
        }
        ports.configure(sim, false, 0, [0; 2], [0; 2]);
        run.streams(sim, &mut drivers, &mut monitors)
    }

    /// The tail, when there is one, ends the stream of the tiles that were taken.
    fn tail(&self, sim: &Sim, run: &mut Run, job: &Job, side: usize, taken: usize) -> sim::Result<()> {
        let port = |what: &str| sim.output(&format!("tail_{}_{what}_o", ["k", "v"][side]));
        if sim.peek_u64(port("valid")?) == 0 {
            return Ok(());
        }
        let (lanes, size) = (self.p.lanes as usize, self.p.block_bytes as usize);
        let mut tiles = tiles(&job.sequences[side], lanes);
        let initial = tiles.iter().filter(|t| t.initial).count();
        tiles.truncate(initial + taken);
        let bits = job.case.bits[side];
        let (so_far, length) = (pack(bits, lanes, &tiles, size), bit_length(bits, lanes, &tiles));
        run.expect_u64(sim, port("used")?, (length % (8 * size)) as u64)?;
        let mut open = so_far[length / (8 * size) * size..].to_vec();
        open.resize(size, 0);
        run.expect(sim, port("data")?, &Bits::pack(8, open.iter().map(|&b| b.into())))?;
        if self.p.checksum {
            run.expect_u64(sim, port("crc")?, crc32(&so_far).into())?;
        }
        Ok(())
    }

    /// A stream without an end: when all of its tiles have come, the tails are shown and stay.
    fn open(&self, sim: &mut Sim, run: &mut Run, ports: &Ports, job: &Job) -> sim::Result<()> {
        // With a longer prefill the tokens wait.
        if job.case.prefill > job.case.tokens[0].len() {
            return Ok(());
        }
        let mut streams = self.streams(sim, run, Stall::Never, [Stall::Never; 2])?;
        self.push(&mut streams, ports.layer_bits, job, false)?;
        let Streams { tile, start, sides: [k, v] } = &mut streams;
        let mut drivers = [tile.as_mut(), start.as_mut()];
        let mut rest = 0;
        while rest < 2 * SETTLED {
            run.cycle(sim, &mut drivers, &mut [k.as_mut(), v.as_mut()])?;
            let all = drivers.iter().all(|driver| driver.is_done());
            rest = if all { rest + 1 } else { 0 };
            for side in [0, 1] {
                if rest >= SETTLED {
                    let valid = sim.output(&format!("tail_{}_valid_o", ["k", "v"][side]))?;
                    run.expect_u64(sim, valid, 1)?;
                    self.tail(sim, run, job, side, job.tiles.len())?;
                }
            }
        }
        Ok(())
    }

    /// Resets at any time: thresholds and widths stay, and the sequences that begin afterwards are right.
    fn reset(&self, sim: &mut Sim, run: &mut Run, ports: &Ports) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        for _ in 0..run.vectors().div_ceil(8) {
            let job = self.job(usize::MAX, &mut rng, &[]);
            self.configure(sim, run, ports, std::slice::from_ref(&job))?;
            if rng.random() {
                let stall = Stall::Random { num: 1, den: 4 };
                let mut streams = self.streams(sim, run, stall, [stall; 2])?;
                self.together(sim, run, ports, &mut streams, &[job], Some(rng.random_range(0..90)))?;
            } else {
                self.open(sim, run, ports, &job)?;
            }
            let job = self.job(usize::MAX, &mut rng, &[]);
            self.configure(sim, run, ports, std::slice::from_ref(&job))?;
            sim.reset(1)?;
            run.expect_u64(sim, ports.refused, 0)?;
            let mut streams = self.streams(sim, run, Stall::Never, [Stall::Never; 2])?;
            self.together(sim, run, ports, &mut streams, &[job], None)?;
        }
        Ok(())
    }
}
