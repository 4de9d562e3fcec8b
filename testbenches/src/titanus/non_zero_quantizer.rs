//! [`NonZeroQuantizer`] against the exact rational rule: all that a lane can see, or random tiles with pauses and
//! resets.

use golden::titanus::non_zero_quantizer::Level;
use hdl::blocks::titanus::non_zero_quantizer::{LabelledTile, LevelledTile};
use hdl::blocks::titanus::{NonZeroQuantizer, RANGE_BITS, ZERO_BITS};
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::sequences::STALLS;
use super::tiles::{at_full_speed, broken_off, mask};

/// The bench of a quantizer; a vector is a tile.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &NonZeroQuantizer) -> anyhow::Result<Box<dyn sim::Bench>> {
    quantizer_bench(p, false)
}

/// The bench; `exhaustive` takes every distance, range and width instead of a number of vectors.
///
/// # Errors
/// Parameters that the block refuses.
pub fn quantizer_bench(p: &NonZeroQuantizer, exhaustive: bool) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = QuantizerBench { p: p.clone(), exhaustive };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// Tiles of a user; a vector is one.
pub const TENSORS: FromTensors<NonZeroQuantizer> = FromTensors {
    wanted: |p| {
        let tiles = Extent::Named("tiles");
        let shape = vec![tiles, Extent::Exactly(p.lanes as usize)];
        let of = |name, meaning, range, shape: &[Extent]| Wanted {
            name,
            meaning,
            numbers: Numbers::Integers(range),
            shape: shape.to_vec(),
        };
        Ok(vec![
            of("elements", "elements of each tile; no element is where a 0 is", signed(8), &shape),
            of("lows", "low ends of their levels", signed(8), &shape),
            of("ranges", "ranges of their levels, at least 2^bits - 1", 3..=510, &shape),
            of("bits", "widths of quantized values", 2..=8, &[tiles]),
        ])
    },
    bench: |p, tensors| {
        let elements = tensors.integers("elements");
        let (lows, ranges) = (tensors.integers("lows"), tensors.integers("ranges"));
        let bits = tensors.integers("bits").concat();
        let mut given = Vec::new();
        for (tile, &bits) in bits.iter().enumerate() {
            let lane = |lane: usize| {
                let (x, lo, range) = (elements[tile][lane], lows[tile][lane], ranges[tile][lane]);
                let steps = (1i64 << bits) - 1;
                anyhow::ensure!(
                    range >= steps,
                    "ranges.npy has {range} in row {tile}, column {lane}; wanted: {steps} to 510 for {bits} bits"
                );
                let level = Level { lo: lo as i32, range: range as i32, bits: bits as u32 };
                Ok(Lane { x: x as i32, level, index: x != 0, open: false })
            };
            let lanes = (0..p.lanes as usize).map(lane).collect::<anyhow::Result<Vec<Lane>>>()?;
            given.push((lanes, bits as u32));
        }
        let (bench, count) = (QuantizerBench { p: p.clone(), exhaustive: false }, given.len() as u64);
        let bench = sim::kit::bench(p, move |sim, run| {
            let mut rng = run.rng("tags");
            run.reset(sim, 2)?;
            let stall = Stall::Random { num: 1, den: 4 };
            let mut driver = [run.driver_of::<LevelledTile<Values>>(sim, "tile", stall)?];
            let mut monitor = [run.monitor_of::<LabelledTile<Values>>(sim, "result", stall)?];
            for (lanes, bits) in &given {
                let (input, output) = bench.beats(lanes, *bits, &Bits::random(bench.p.tag_width, &mut rng));
                driver[0].push(input)?;
                monitor[0].expect([output])?;
            }
            run.streams(sim, &mut driver, &mut monitor)
        })?;
        Ok((bench, count))
    },
};

/// Drives a quantizer with random tiles, or with every distance, range and width.
struct QuantizerBench {
    p: NonZeroQuantizer,
    exhaustive: bool,
}

/// One lane: an element and its level, whether there is an element, whether the level opens.
#[derive(Clone, Copy)]
struct Lane {
    x: i32,
    level: Level,
    index: bool,
    open: bool,
}

impl QuantizerBench {
    fn beats(&self, lanes: &[Lane], bits: u32, tag: &Bits) -> (LevelledTile<Values>, LabelledTile<Values>) {
        let pad = Lane { x: 3, level: Level { lo: -1, range: 255, bits }, index: false, open: false };
        let all: Vec<Lane> = (0..self.p.lanes as usize).map(|i| lanes.get(i).copied().unwrap_or(pad)).collect();
        let field = |width, pick: &dyn Fn(&Lane) -> i32| Bits::pack(width, all.iter().map(|l| pick(l) as u64));
        let q = |l: &Lane| if l.index { l.level.quantize(l.x).into() } else { 0 };
        let opened = |l: &Lane, value: i32| if l.open { value } else { 0 };
        let (bits, index) = (Bits::truncated(4, bits.into()), mask(all.iter().map(|l| l.index)));
        let open = mask(all.iter().map(|l| l.open));
        let input = LevelledTile {
            bits: bits.clone(),
            index: index.clone(),
            open: open.clone(),
            x: field(8, &|l| l.x),
            lo: field(8, &|l| l.level.lo),
            range: field(RANGE_BITS, &|l| l.level.range),
            tag: tag.clone(),
        };
        let output = LabelledTile {
            bits,
            index,
            label: mask(all.iter().map(|l| q(l) != 0)),
            q: field(8, &q),
            open,
            range: field(RANGE_BITS, &|l| opened(l, l.level.range)),
            zero: field(ZERO_BITS, &|l| opened(l, l.level.zero_point())),
            tag: tag.clone(),
        };
        (input, output)
    }

    /// Every distance x - lo, range and width; every lo, range and width for the zero point.
    fn all_cases() -> impl Iterator<Item = Lane> {
        (2..=8u32).flat_map(|bits| {
            let steps = (1 << bits) - 1;
            (steps..=510).flat_map(move |range| {
                let elements = (-255..=255).map(move |d: i32| {
                    // Which x and lo make the distance does not matter to the rule; they vary along the way.
                    let lo = if d < 0 { 127 - range % (256 + d) } else { -128 + range % (256 - d) };
                    Lane { x: lo + d, level: Level { lo, range, bits }, index: true, open: false }
                });
                let levels = (-128..=127).map(move |lo| {
                    let top = lo + range <= 127 && lo % 2 == 0;
                    let x = if top { lo + range } else { lo };
                    Lane { x, level: Level { lo, range, bits }, index: lo % 3 != 0, open: true }
                });
                elements.chain(levels)
            })
        })
    }
}

impl QuantizerBench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("tiles");
        let lanes = self.p.lanes as usize;
        run.reset(sim, 2)?;
        if self.exhaustive {
            let mut driver = [run.driver_of::<LevelledTile<Values>>(sim, "tile", Stall::Never)?];
            let mut monitor = [run.monitor_of::<LabelledTile<Values>>(sim, "result", Stall::Never)?];
            let (mut tile, mut cases) = (Vec::new(), Self::all_cases().peekable());
            while let Some(case) = cases.next() {
                tile.push(case);
                if tile.len() == lanes || cases.peek().is_none_or(|c| c.level.bits != case.level.bits) {
                    let tag = Bits::random(self.p.tag_width, &mut rng);
                    let (input, output) = self.beats(&tile, case.level.bits, &tag);
                    driver[0].push(input)?;
                    monitor[0].expect([output])?;
                    tile.clear();
                    run.cycle(sim, &mut driver, &mut monitor)?;
                }
            }
            return run.streams(sim, &mut driver, &mut monitor);
        }
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of::<LevelledTile<Values>>(sim, "tile", input)?];
            let mut monitor = [run.monitor_of::<LabelledTile<Values>>(sim, "result", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let (input, output) = self.random(&mut rng);
                driver[0].push(input)?;
                monitor[0].expect([output])?;
            }
            if i == 0 {
                at_full_speed(sim, run, &mut driver, &mut monitor, 2)?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        // Resets at any time drop all values inside and nothing else.
        for _ in 0..run.vectors().div_ceil(20) {
            for stall in [Stall::Random { num: 1, den: 4 }, Stall::Never] {
                let mut driver = [run.driver_of::<LevelledTile<Values>>(sim, "tile", stall)?];
                let mut monitor = [run.monitor_of::<LabelledTile<Values>>(sim, "result", stall)?];
                for _ in 0..6 {
                    let (input, output) = self.random(&mut rng);
                    driver[0].push(input)?;
                    monitor[0].expect([output])?;
                }
                if stall == Stall::Never {
                    run.streams(sim, &mut driver, &mut monitor)?;
                } else {
                    broken_off(sim, run, &mut driver, &mut monitor, rng.random_range(0..10))?;
                }
            }
        }
        Ok(())
    }

    /// A random tile, in and out.
    fn random(&self, rng: &mut StimulusRng) -> (LevelledTile<Values>, LabelledTile<Values>) {
        let bits = rng.random_range(2..=8);
        let tile: Vec<Lane> = (0..self.p.lanes)
            .map(|_| {
                let (a, b) = (rng.random_range(-128..=127), rng.random_range(-128..=127));
                let mut level = Level::spanning(a.min(b), a.max(b), bits);
                if rng.random_range(0..8u8) == 0 {
                    level.range = rng.random_range(level.range..=510);
                }
                let open = rng.random_range(0..4u8) == 0;
                let top = level.hi() <= 127 && rng.random_range(0..2u8) == 0;
                let end = if top { level.hi() } else { level.lo };
                let x = if open { end } else { rng.random_range(-128..=127) };
                Lane { x, level, index: rng.random_range(0..4u8) > 0, open }
            })
            .collect();
        let tag = Bits::random(self.p.tag_width, rng);
        self.beats(&tile, bits, &tag)
    }
}
