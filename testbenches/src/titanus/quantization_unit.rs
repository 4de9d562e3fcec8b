//! [`QuantizationUnit`] against the golden sequence. The prefill is shorter or longer than the buffer, or empty;
//! sequences end within it or within a token. Levels run out, starts come while busy, widths are refused, resets come.

use golden::titanus::quantization_unit::{self as golden_unit, Tile};
use hdl::blocks::titanus::quantization_unit::{HierarchicalTile, SequenceStart};
use hdl::blocks::titanus::{PrunedTile, QuantizationUnit};
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Driver, In, Monitor, Out, Run, Sim, Values};

use super::sequences::{Case, STALLS, numbers, tokens, wanted};
use super::tiles::{at_full_speed, flag, levels, pruned, quantized};

/// The bench of a quantization unit; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &QuantizationUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// The bench with given sequences first, then random ones; tokens of `given` fill between tiles - 1 and tiles tiles.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &QuantizationUnit, given: Vec<Case>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = UnitBench { p: p.clone(), given };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// A sequence of a user.
pub const TENSORS: FromTensors<QuantizationUnit> = FromTensors {
    wanted: |p| Ok(wanted(&[("tokens", "pruned tokens, one a row")], p.lanes * p.tiles)),
    bench: |p, tensors| {
        let (bits, prefill) = numbers(tensors);
        let case = Case { bits: bits[0], prefill, tokens: tokens(tensors, "tokens") };
        Ok((bench_of(p, vec![case])?, 1))
    },
};

/// A sequence of at least one tile, perhaps cut within its last token.
#[derive(Clone)]
struct Job {
    case: Case,
    layer: u64,
    /// Tiles that the last token lacks.
    missing: usize,
}

/// The streams of a run of sequences.
struct Streams {
    tile: Driver<PrunedTile<Values>>,
    start: Driver<SequenceStart<Values>>,
    result: Monitor<HierarchicalTile<Values>>,
}

/// Writes of widths, of legal and of other ones.
struct Widths {
    ports: [In; 3],
    refused: Out,
    layers: u64,
    layer_limit: u64,
    rng: StimulusRng,
    expected: Option<bool>,
}

impl Widths {
    fn new(sim: &Sim, run: &Run, layers: u32) -> sim::Result<Self> {
        let ports = [sim.input("bits_write_i")?, sim.input("bits_layer_i")?, sim.input("bits_i")?];
        let layer_limit = 1 << sim.port_of_input(ports[1]).width;
        let (refused, rng) = (sim.output("bits_refused_o")?, run.rng("widths"));
        Ok(Self { ports, refused, layers: layers.into(), layer_limit, rng, expected: None })
    }

    fn poke(&mut self, sim: &mut Sim, write: bool, layer: u64, bits: u32) {
        let values = [write.into(), layer, bits.into()];
        self.ports.iter().zip(values).for_each(|(&port, value)| sim.poke_u64(port, value));
        if write {
            self.expected = Some(!(2..=8).contains(&bits) || layer >= self.layers);
        }
    }

    /// Widths of all jobs, one a cycle.
    fn write(&mut self, sim: &mut Sim, run: &mut Run, jobs: &[Job]) -> sim::Result<()> {
        for job in jobs {
            self.poke(sim, true, job.layer, job.case.bits);
            sim.tick()?;
            self.check(sim, run)?;
        }
        Ok(())
    }

    /// One cycle of inputs that do not change the widths of `waiting`. Mostly there is noise without a write, else a
    /// write that must be refused, or a new width for a layer that no waiting job has.
    fn noise(&mut self, sim: &mut Sim, waiting: &[Job]) {
        let layer = self.rng.random_range(0..self.layer_limit);
        let bits = self.rng.random_range(0..16u32);
        let legal = (2..=8).contains(&bits) && layer < self.layers;
        let write = (!legal || waiting.iter().all(|job| job.layer != layer)) && self.rng.random_range(0..3u8) == 0;
        self.poke(sim, write, layer, bits);
    }

    fn check(&self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        self.expected.map_or(Ok(()), |expected| run.expect_u64(sim, self.refused, expected.into()))
    }
}

struct UnitBench {
    p: QuantizationUnit,
    given: Vec<Case>,
}

impl UnitBench {
    /// The next sequence; one of a layer of `others` has its width.
    fn next(&self, number: usize, rng: &mut StimulusRng, others: &[Job]) -> Job {
        let layer = rng.random_range(0..u64::from(self.p.layers));
        if let Some(case) = self.given.get(number) {
            return Job { case: case.clone(), layer, missing: 0 };
        }
        let lanes = self.p.lanes as usize;
        let width = lanes * self.p.tiles as usize;
        let fits = |case: &Case| others.iter().all(|o| o.layer != layer || o.case.bits == case.bits);
        let mut case = loop {
            let cut = rng.random_range(0..lanes);
            let longest = 2 * (self.p.buffer_tokens as usize).min(12) + 3;
            let case = Case::random(rng, width - cut, longest);
            if fits(&case) {
                break case;
            }
        };
        let mut missing = 0;
        if rng.random_range(0..4u8) == 0 {
            missing = rng.random_range(0..self.p.tiles as usize);
            let there = width - missing * lanes;
            case.tokens.last_mut().into_iter().flatten().skip(there).for_each(|x| *x = 0);
        }
        Job { case, layer, missing }
    }

    fn streams(&self, sim: &Sim, run: &Run, input: Stall, output: Stall) -> sim::Result<Streams> {
        let tile = run.driver_of(sim, "tile", input)?;
        // A start is offered as soon as the one before is taken: most of the time the unit is busy.
        let start = run.driver_of(sim, "start", Stall::Never)?;
        Ok(Streams { tile, start, result: run.monitor_of(sim, "result", output)? })
    }

    /// Queues a sequence; returns for each tile that it gives whether a level was missing.
    fn push(&self, sim: &Sim, streams: &mut Streams, job: &Job) -> sim::Result<Vec<bool>> {
        let lanes = self.p.lanes as usize;
        let level_bits = u64::from(self.p.levels).next_power_of_two().ilog2().max(1);
        let layer_bits = sim.port_of_input(sim.input("start_layer_i")?).width;
        let Job { case, layer, missing } = job;
        let sequence = case.encode(self.p.levels, self.p.buffer_tokens);
        let prefill = Bits::truncated(16, case.prefill as u64);
        streams.start.push(SequenceStart { layer: Bits::truncated(layer_bits, *layer), prefill })?;
        let tiles: Vec<_> = case.tokens.iter().flat_map(|t| t.chunks(lanes)).collect();
        let tiles = &tiles[..tiles.len() - missing];
        for (n, tile) in tiles.iter().enumerate() {
            streams.tile.push(pruned(lanes, tile, n + 1 == tiles.len()))?;
        }
        let mut expected: Vec<_> =
            golden_unit::tiles(&sequence, lanes).into_iter().zip(levels(&sequence, lanes)).collect();
        expected.truncate(expected.len() - missing);
        let count = expected.len();
        let mut overflows = Vec::new();
        for (n, (tile, (levels, overflow))) in expected.into_iter().enumerate() {
            let level = Bits::pack(level_bits, levels);
            streams.result.expect([hierarchical(case.bits, &tile, n + 1 == count, level, overflow)])?;
            overflows.push(overflow);
        }
        Ok(overflows)
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let mut widths = Widths::new(sim, run, self.p.layers)?;
        widths.poke(sim, false, 0, 0);
        run.reset(sim, 2)?;
        run.expect_u64(sim, widths.refused, 0)?;
        let per_stall = (run.vectors() as usize).div_ceil(STALLS.len());
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut number = i * per_stall;
            let full_speed = (input, output) == (Stall::Never, Stall::Never);
            while number < (i + 1) * per_stall {
                let mut jobs = Vec::new();
                for _ in 0..if full_speed { 1 } else { rng.random_range(1..=4usize) } {
                    jobs.push(self.next(number, &mut rng, &jobs));
                    number += 1;
                }
                let mut streams = self.streams(sim, run, input, output)?;
                widths.write(sim, run, &jobs)?;
                if full_speed && rng.random_range(0..2u8) == 0 {
                    self.timed(sim, run, &mut widths, &mut streams, &jobs[0])?;
                } else {
                    self.together(sim, run, &mut widths, streams, &jobs, None)?;
                }
            }
        }
        self.reset(sim, run, &mut widths)
    }

    /// Tiles of the prefill first fill the buffer; then a tile leaves every cycle until the end.
    fn timed(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        widths: &mut Widths,
        streams: &mut Streams,
        job: &Job,
    ) -> sim::Result<()> {
        self.push(sim, streams, job)?;
        widths.poke(sim, false, 0, 0);
        let buffered = job.case.prefill.min(self.p.buffer_tokens as usize).min(job.case.tokens.len());
        // Missing elements of a token take their cycles as long as levels are found, and leave no output.
        let waiting = buffered as u64 * u64::from(self.p.tiles);
        let mut drivers = [streams.tile.as_mut(), streams.start.as_mut()];
        let mut monitors = [streams.result.as_mut()];
        at_full_speed(sim, run, &mut drivers, &mut monitors, waiting + 3)?;
        run.streams(sim, &mut drivers, &mut monitors)?;
        run.expect_u64(
            sim,
            sim.output("overflow_o")?,
            job.case.encode(self.p.levels, self.p.buffer_tokens).overflowed().into(),
        )
    }

    /// Sequences after each other, for `limit` cycles or to the end. Starts wait while the unit is busy, widths come
    /// and are refused all the time, and overflow is right in every cycle.
    fn together(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        widths: &mut Widths,
        mut streams: Streams,
        jobs: &[Job],
        limit: Option<u64>,
    ) -> sim::Result<()> {
        let overflows = jobs.iter().map(|job| self.push(sim, &mut streams, job)).collect::<sim::Result<Vec<_>>>()?;
        let (valid, overflow) = (sim.output("result_valid_o")?, sim.output("overflow_o")?);
        let Streams { tile, start, result } = &mut streams;
        let mut drivers = [tile.as_mut(), start.as_mut()];
        let mut monitors = [result.as_mut()];
        let begin = sim.cycle_count();
        while !(drivers.iter().all(|d| d.is_done()) && monitors[0].is_done()) {
            let cycles = sim.cycle_count() - begin;
            if limit.is_some_and(|limit| cycles == limit) {
                return Ok(());
            }
            if cycles > 100_000 {
                return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles, streams: vec!["tile".into()] }));
            }
            widths.noise(sim, &jobs[drivers[1].sent() as usize..]);
            run.cycle(sim, &mut drivers, &mut monitors)?;
            widths.check(sim, run)?;
            // Tiles of the sequence that was started last: tiles that left, and the tile that is offered.
            let Some(now) = (drivers[1].sent() as usize).checked_sub(1) else { continue };
            let before: usize = overflows[..now].iter().map(Vec::len).sum();
            let Some(left) = monitors[0].beats().len().checked_sub(before) else {
                return run.expect_equal(sim, "start", "starts that were taken while busy", 0, 1);
            };
            let shown = left + sim.peek_u64(valid) as usize;
            run.expect_u64(sim, overflow, overflows[now].iter().take(shown).any(|&o| o).into())?;
        }
        widths.poke(sim, false, 0, 0);
        run.streams(sim, &mut drivers, &mut monitors)
    }

    /// Resets at any time: the widths stay, and the sequences that begin afterwards are right.
    fn reset(&self, sim: &mut Sim, run: &mut Run, widths: &mut Widths) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        for _ in 0..run.vectors().div_ceil(8) {
            let limit = rng.random_range(0..60);
            let jobs = [self.next(usize::MAX, &mut rng, &[])];
            widths.write(sim, run, &jobs)?;
            let stall = Stall::Random { num: 1, den: 4 };
            let streams = self.streams(sim, run, stall, stall)?;
            self.together(sim, run, widths, streams, &jobs, Some(limit))?;
            let jobs = [self.next(usize::MAX, &mut rng, &[])];
            widths.write(sim, run, &jobs)?;
            widths.poke(sim, false, 0, 0);
            sim.reset(1)?;
            widths.expected = Some(false);
            widths.check(sim, run)?;
            let streams = self.streams(sim, run, Stall::Never, Stall::Never)?;
            self.together(sim, run, widths, streams, &jobs, None)?;
        }
        Ok(())
    }
}

/// A quantized tile with levels.
fn hierarchical(bits: u32, tile: &Tile, last: bool, level: Bits, overflow: bool) -> HierarchicalTile<Values> {
    let mut fields = quantized(bits, tile, last).into_iter();
    let mut next = || fields.next().unwrap_or_else(|| Bits::zero(1));
    HierarchicalTile {
        bits: next(),
        initial: next(),
        index: next(),
        label: next(),
        values: next(),
        open: next(),
        range: next(),
        zero: next(),
        last: next(),
        level,
        overflow: flag(overflow),
    }
}
