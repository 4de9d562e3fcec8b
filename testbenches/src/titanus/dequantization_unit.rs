//! [`DequantizationUnit`] against the golden sequence, values, levels and the work of its multipliers.

use golden::titanus::cpq::Sequence;
use golden::titanus::dequantization_unit::{restore, restore_open};
use golden::titanus::format::{self, Tile};
use golden::titanus::kv_unpacker::{Parsed, parse};
use hdl::blocks::titanus::{DequantizationUnit, RebuiltTile, StoredTile};
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Monitor, Run, Sim, Values};

use super::damage::Sizes;
use super::sequences::{Case, STALLS, numbers, tokens, wanted};
use super::tiles::{at_full_speed, bytes, flag, levels, mask, rebuilt, stored_tiles};

/// Damaged streams for each vector.
const DAMAGED: u64 = 7;

/// The bench of a dequantization unit; a vector is a sequence, and seven damaged ones.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DequantizationUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| {
        run.reset(sim, 2)?;
        bench.good(sim, run)?;
        bench.damaged(sim, run)?;
        bench.reset(sim, run)
    })
}

/// A sequence of a user, as a quantization unit would store it.
pub const TENSORS: FromTensors<DequantizationUnit> = FromTensors {
    wanted: |p| Ok(wanted(&[("tokens", "pruned tokens, one a row")], p.lanes * p.tiles)),
    bench: |p, tensors| {
        let (bits, prefill) = numbers(tensors);
        let case = Case { bits: bits[0], prefill, tokens: tokens(tensors, "tokens") };
        let bench = Bench { p: p.clone() };
        let bench = sim::kit::bench(p, move |sim, run| {
            run.reset(sim, 2)?;
            let stall = Stall::Random { num: 1, den: 4 };
            let mut driver = [run.driver_of(sim, "tile", stall)?];
            let mut monitor = [run.monitor_of(sim, "result", stall)?];
            bench.push(&case, &mut driver[0], &mut monitor[0])?;
            run.streams(sim, &mut driver, &mut monitor)
        })?;
        Ok((bench, 1))
    },
};

/// The output of a dequantizer for a sequence: values, index and levels, a beat for each tile of a token.
pub fn results(sequence: &Sequence, lanes: usize, max_levels: u32) -> Vec<RebuiltTile<Values>> {
    let level_bits = u64::from(max_levels).next_power_of_two().ilog2().max(1);
    let initial = if sequence.prefilled { sequence.initial.chunks(lanes).count() } else { 0 };
    let mut numbers = levels(sequence, lanes).into_iter().skip(initial);
    let mut beats = Vec::new();
    for (token, values) in sequence.tokens.iter().zip(sequence.decode()) {
        for (part, values) in token.chunks(lanes).zip(values.chunks(lanes)) {
            let mut x = values.to_vec();
            x.resize(lanes, 0);
            let mut index: Vec<bool> = part.iter().map(|e| e.index).collect();
            index.resize(lanes, false);
            let levels = numbers.next().map(|n| n.0).unwrap_or_default();
            let level = Bits::pack(level_bits, levels);
            let (first, last, error) = (flag(beats.is_empty()), flag(false), flag(false));
            beats.push(RebuiltTile { first, last, error, x: bytes(&x), index: mask(index), level });
        }
    }
    if let Some(last) = beats.last_mut() {
        last.last = flag(true);
    }
    beats
}

struct Bench {
    p: DequantizationUnit,
}

impl Bench {
    /// Offers a sequence, and expects its values.
    fn push(
        &self,
        case: &Case,
        driver: &mut Driver<StoredTile<Values>>,
        monitor: &mut Monitor<RebuiltTile<Values>>,
    ) -> sim::Result<Sequence> {
        let lanes = self.p.lanes as usize;
        let sequence = case.encode(self.p.levels, u32::MAX);
        let parsed = Parsed { bits: case.bits, tiles: format::tiles(&sequence, lanes), damage: None };
        driver.extend(stored_tiles(&parsed, lanes))?;
        monitor.expect(results(&sequence, lanes, self.p.levels))?;
        Ok(sequence)
    }

    fn good(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let lanes = self.p.lanes as usize;
        let width = lanes * self.p.tiles as usize;
        let mut work = [0u64; 4];
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            for number in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let cut = rng.random_range(0..lanes);
                let mut case = Case::random(&mut rng, width - cut, 14);
                let timed = i == 0 && number == 0;
                if timed {
                    case.prefill = 0;
                }
                let sequence = self.push(&case, &mut driver[0], &mut monitor[0])?;
                self.add_work(&sequence, &mut work);
                if timed {
                    at_full_speed(sim, run, &mut driver, &mut monitor, 2)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
            if self.p.count_skips {
                let ports = ["multiplications_o", "index_skips_o", "label_skips_o", "zero_point_skips_o"];
                for (port, expected) in ports.into_iter().zip(work) {
                    let port = sim.output(port)?;
                    run.expect_u64(sim, port, expected)?;
                }
            }
        }
        Ok(())
    }

    /// A stream that is damaged, or breaks off without a last tile: beats in, beats out.
    fn wrong_stream(&self, rng: &mut StimulusRng) -> (Vec<StoredTile<Values>>, Vec<RebuiltTile<Values>>) {
        let DequantizationUnit { lanes, tiles, levels, .. } = self.p;
        let lanes_here = lanes as usize;
        // The bytes are a way to tiles only: blocks wide enough for any of them.
        let sizes = Sizes { lanes, tiles, levels, block_bytes: 4 * lanes };
        let (mut parsed, mut ends) = match rng.random_range(0..3u8) {
            0 => {
                let (bits, tiles) = sizes.good(rng);
                (Parsed { bits, tiles, damage: None }, true)
            }
            _ => {
                let stream = sizes.damaged(rng);
                (parse(&stream.bytes, lanes_here, sizes.block_bytes as usize, None), true)
            }
        };
        match rng.random_range(0..7u8) {
            0 if parsed.damage.is_none() => {
                parsed.tiles.truncate(rng.random_range(1..=parsed.tiles.len()));
                ends = false;
            }
            // Levels only.
            1 if parsed.damage.is_none() && parsed.tiles[0].initial => parsed.tiles.retain(|t| t.initial),
            // One of the tops at which levels begin moves into its level.
            2 => {
                let opens = |t: &Tile| (0..lanes_here).find(|&lane| t.records[lane].is_some() && t.label[lane]);
                let mut tops = parsed.tiles.iter_mut().filter_map(|t| opens(t).map(|lane| &mut t.values[lane]));
                if let Some(q) = tops.next() {
                    *q /= 2;
                }
            }
            3 => parsed.bits = [0, 1, 9, 10, 11, 12, 13, 14, 15][rng.random_range(0..9usize)],
            4 | 5 if parsed.damage.is_none() => {
                let (bits, tiles) = sizes.any_levels(rng);
                parsed = Parsed { bits, tiles, damage: None };
            }
            _ => {}
        }
        let mut beats = stored_tiles(&parsed, lanes_here);
        if ends {
            let (values, _) = restore(&parsed, lanes_here, tiles as usize, levels as usize);
            return (beats, rebuilt(&values, levels));
        }
        if let Some(last) = beats.last_mut() {
            last.last = flag(false);
        }
        let (values, _) = restore_open(&parsed, lanes_here, tiles as usize, levels as usize, None);
        (beats, rebuilt(&values, levels))
    }

    fn damaged(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("damage");
        for (input, output) in STALLS {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            for _ in 0..(DAMAGED * run.vectors()).div_ceil(STALLS.len() as u64) {
                let (beats, values) = self.wrong_stream(&mut rng);
                driver[0].extend(beats)?;
                monitor[0].expect(values)?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }

    /// Resets at any time; the stream that begins afterwards is right.
    fn reset(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("resets");
        for _ in 0..run.vectors().div_ceil(8) {
            let cycles = rng.random_range(0..24);
            for (limit, stall) in [(cycles, Stall::Random { num: 1, den: 4 }), (u32::MAX, Stall::Never)] {
                let mut driver = [run.driver_of(sim, "tile", stall)?];
                let mut monitor = [run.monitor_of(sim, "result", stall)?];
                let (beats, values) = self.wrong_stream(&mut rng);
                driver[0].extend(beats)?;
                monitor[0].expect(values)?;
                if limit == u32::MAX {
                    run.streams(sim, &mut driver, &mut monitor)?;
                    continue;
                }
                for _ in 0..limit {
                    if !monitor[0].is_done() {
                        run.cycle(sim, &mut driver, &mut monitor)?;
                    }
                }
                sim.reset(1)?;
            }
        }
        Ok(())
    }

    /// The golden model counts skips of elements. An element that opens a level costs the product for the level's
    /// constant, whatever its own value. So does a level from the prefill.
    fn add_work(&self, sequence: &Sequence, work: &mut [u64; 4]) {
        let elements = sequence.dequantizer_work();
        let mut opened = (0, 0);
        for (e, channel) in sequence.tokens.iter().flat_map(|t| t.iter().zip(&sequence.channels)) {
            if let Some(level) = e.level.filter(|_| e.opened && e.label) {
                let at_zero = i32::from(e.q) == channel.levels[level].zero_point();
                opened = (opened.0 + u64::from(!at_zero), opened.1 + u64::from(at_zero));
            }
        }
        let padding = (self.p.lanes * self.p.tiles) as usize - sequence.channels.len();
        let now = [
            elements.multiplications - opened.0 + sequence.levels() as u64,
            elements.index_skips + (padding * sequence.tokens.len()) as u64,
            elements.label_skips,
            elements.zero_point_skips - opened.1,
        ];
        work.iter_mut().zip(now).for_each(|(w, n)| *w += n);
    }
}
