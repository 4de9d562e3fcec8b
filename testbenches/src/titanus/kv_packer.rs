//! [`KvPacker`] against the golden byte format.

use golden::common::crc32::crc32;
use golden::titanus::format::{self, Tile};
use golden::titanus::kv_packer::{bit_length, pack};
use hdl::blocks::titanus::{ByteBlock, KvPacker, QuantizedTile};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Run, Sim, StreamDriver, StreamMonitor, Values};

use super::sequences::{Case, STALLS};
use super::tiles::{blocks, quantized_tile};

/// The bench of a packer; a vector is a stream.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvPacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| {
        run.reset(sim, 2)?;
        bench.good(sim, run)?;
        bench.open(sim, run)?;
        bench.ill_formed(sim, run)?;
        bench.reset(sim, run)
    })
}

/// Cycles after which nothing moves any more, even with pauses of the consumer.
const QUIET: u64 = 32;

struct Bench {
    p: KvPacker,
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
    let bytes = pack(case.bits, lanes, &tiles, block_bytes as usize);
    (case.bits, tiles, bytes)
}

/// Cycles that the tiles of a stream and its header take.
pub(super) fn stated_cycles(tiles: &[Tile], lanes: u32) -> u64 {
    let half = lanes.div_ceil(2) as usize;
    let opened = |t: &Tile| t.records.iter().flatten().count();
    let more = |t: &Tile| u64::from(t.initial || opened(t) > 0) + u64::from(opened(t) > half);
    1 + tiles.iter().map(|t| 1 + more(t)).sum::<u64>()
}

/// Runs streams until `done`, and demands that it takes the stated number of cycles.
pub(super) fn cycles(
    sim: &mut Sim,
    run: &mut Run,
    (driver, monitor): (&mut StreamDriver, &mut StreamMonitor),
    done: impl Fn(&StreamDriver, &StreamMonitor) -> bool,
    stated: u64,
    port: &str,
) -> sim::Result<()> {
    let begin = sim.cycle_count();
    // More than this is wrong, and may be without end.
    while !done(driver, monitor) && sim.cycle_count() <= begin + stated {
        run.cycle(sim, &mut [&mut *driver], &mut [&mut *monitor])?;
    }
    let got = sim.cycle_count() - begin;
    if got == stated {
        return Ok(());
    }
    let difference = Difference::Value {
        port: port.into(),
        expected: format!("{stated} cycles"),
        got: if got > stated { format!("more than {stated}") } else { format!("{got} cycles") },
        place: "a stream without pauses".into(),
    };
    Err(run.fail(sim.cycle_count(), difference))
}

impl Bench {
    fn size(&self) -> (u32, bool) {
        (self.p.block_bytes, self.p.checksum)
    }

    fn stream(&self, rng: &mut StimulusRng) -> (u32, Vec<Tile>, Vec<u8>) {
        random_stream(rng, self.p.lanes, self.p.block_bytes)
    }

    fn good(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("streams");
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of(sim, "block", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (bits, tiles, bytes) = self.stream(&mut rng);
                driver[0].extend(quantized_tiles(bits, &tiles))?;
                monitor[0].expect(blocks(&bytes, self.size()))?;
                if i == 0 {
                    let streams = (driver[0].as_mut(), monitor[0].as_mut());
                    let stated = stated_cycles(&tiles, self.p.lanes);
                    cycles(sim, run, streams, |tiles, _| tiles.is_done(), stated, "tile")?;
                    run.streams(sim, &mut driver, &mut monitor)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Streams that pause after some of their tiles: the blocks that left and the tail make a whole stream so far.
    fn open(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("open streams");
        let (lanes, size) = (self.p.lanes as usize, self.p.block_bytes as usize);
        let valid = sim.output("tail_valid_o")?;
        let (input, output) = STALLS[3];
        let mut driver = [run.driver_of(sim, "tile", input)?];
        let mut monitor = [run.monitor_of(sim, "block", output)?];
        for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
            let (bits, tiles, bytes) = self.stream(&mut rng);
            let whole = blocks(&bytes, self.size());
            let mut beats = quantized_tiles(bits, &tiles).into_iter();
            let (mut left, taken) = (0, driver[0].sent());
            for n in 0..tiles.len() {
                driver[0].extend(beats.next())?;
                if n + 1 == tiles.len() || rng.random_range(0..3u8) > 0 {
                    continue;
                }
                let complete = bit_length(bits, lanes, &tiles[..=n]) / (8 * size);
                monitor[0].expect(whole[left..complete].iter().cloned())?;
                left = complete;
                let (begin, mut quiet) = (sim.cycle_count(), 0);
                while quiet < QUIET {
                    let done = driver[0].is_done() && monitor[0].is_done();
                    quiet = if done { quiet + 1 } else { 0 };
                    run.cycle(sim, &mut driver, &mut monitor)?;
                    self.tail(sim, run, bits, &tiles[..(driver[0].sent() - taken) as usize])?;
                    let cycles = sim.cycle_count() - begin;
                    if cycles > 10_000 {
                        return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles, streams: vec![] }));
                    }
                }
                run.expect_u64(sim, valid, 1)?;
                self.tail(sim, run, bits, &tiles[..=n])?;
            }
            monitor[0].expect(whole[left..].iter().cloned())?;
            run.streams(sim, &mut driver, &mut monitor)?;
            // Nothing is open between streams.
            run.expect_u64(sim, valid, 0)?;
        }
        Ok(())
    }

    /// The blocks that left, and the tail if there is one, are the stream of the tiles that were taken.
    fn tail(&self, sim: &Sim, run: &mut Run, bits: u32, tiles: &[Tile]) -> sim::Result<()> {
        if sim.peek_u64(sim.output("tail_valid_o")?) == 0 {
            return Ok(());
        }
        let (lanes, size) = (self.p.lanes as usize, self.p.block_bytes as usize);
        let so_far = pack(bits, lanes, tiles, size);
        let length = bit_length(bits, lanes, tiles);
        run.expect_u64(sim, sim.output("tail_used_o")?, (length % (8 * size)) as u64)?;
        let mut open = so_far[length / (8 * size) * size..].to_vec();
        open.resize(size, 0);
        run.expect(sim, sim.output("tail_data_o")?, &Bits::pack(8, open.iter().map(|&b| b.into())))?;
        if self.p.checksum {
            run.expect_u64(sim, sim.output("tail_crc_o")?, crc32(&so_far).into())?;
        }
        Ok(())
    }

    /// Tiles that no quantization unit makes: the stream comes to its end, and the next one is right.
    fn ill_formed(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("ill-formed tiles");
        let lanes = self.p.lanes;
        let (input, output) = STALLS[2];
        for _ in 0..run.vectors().div_ceil(4) {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of::<ByteBlock<Values>>(sim, "block", output)?];
            let (bits, tiles, _) = self.stream(&mut rng);
            let width = [0, 1, 9, 12, 15, bits][rng.random_range(0..6usize)];
            let mut beats = quantized_tiles(width, &tiles);
            // Values where there is no label, and wider than the stream's, labels without index.
            for beat in &mut beats {
                if rng.random_range(0..2u8) == 0 {
                    beat.values = Bits::random(8 * lanes, &mut rng);
                    beat.label = Bits::random(lanes, &mut rng);
                }
            }
            driver[0].extend(beats)?;
            run.streams(sim, &mut driver, &mut monitor)?;
            let received = monitor[0].received();
            let ends = received.iter().filter(|b| b.last.bit(0)).count();
            run.expect_equal(sim, "block", "streams that ended", 1, ends)?;
            let header = (0..4).map(|k| u32::from(received[0].data.bit(k)) << k).sum();
            run.expect_equal(sim, "block", "width in the header", width, header)?;
            let mut monitor = [run.monitor_of(sim, "block", output)?];
            let (bits, tiles, bytes) = self.stream(&mut rng);
            driver[0].extend(quantized_tiles(bits, &tiles))?;
            monitor[0].expect(blocks(&bytes, self.size()))?;
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Resets at any time; the stream that begins afterwards is right.
    fn reset(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        for _ in 0..run.vectors().div_ceil(4) {
            let cycles = rng.random_range(0..24);
            for broken_off in [true, false] {
                let stall = if broken_off { Stall::Random { num: 1, den: 4 } } else { Stall::Never };
                let mut driver = [run.driver_of(sim, "tile", stall)?];
                let mut monitor = [run.monitor_of(sim, "block", stall)?];
                let (bits, tiles, bytes) = self.stream(&mut rng);
                driver[0].extend(quantized_tiles(bits, &tiles))?;
                monitor[0].expect(blocks(&bytes, self.size()))?;
                if !broken_off {
                    run.streams(sim, &mut driver, &mut monitor)?;
                    continue;
                }
                for _ in 0..cycles {
                    if !monitor[0].is_done() {
                        run.cycle(sim, &mut driver, &mut monitor)?;
                    }
                }
                sim.reset(1)?;
            }
        }
        Ok(())
    }
}

/// The tiles of a stream on their way to memory.
fn quantized_tiles(bits: u32, tiles: &[Tile]) -> Vec<QuantizedTile<Values>> {
    tiles.iter().enumerate().map(|(n, tile)| quantized_tile(bits, tile, n + 1 == tiles.len())).collect()
}
