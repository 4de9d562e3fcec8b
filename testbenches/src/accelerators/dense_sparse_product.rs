//! [`DenseSparseProduct`] against exact sums: values of every kind, scales in order and not, some tiles for the same
//! rows. Blocks run at full speed, where each tile has its cycle, and with pauses on all streams. A `clear_i` or a
//! reset drops some of them at a random moment.

use golden::accelerators::dense_sparse_product::{Block, Cycles, Tile};
use golden::format::Format;
use golden::kllm::orizuru::Timing;
use hdl::accelerators::sparse::{ChannelWeights, DenseSparseProduct, ProductRow, RowValues};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Driver, Monitor, Run, Sim, Values};

use crate::kllm::vectors::vector;

/// The bench; a vector is a tile's rows, with one to three tiles of weights.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DenseSparseProduct) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("blocks");
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        let mut number = 0;
        while number < run.vectors() {
            let count = rng.random_range(1..=4u64).min(run.vectors() - number);
            let blocks: Vec<Block> = (number..number + count).map(|k| block(&p, k, &mut rng)).collect();
            let stalls = match rng.random_range(0..2u8) {
                0 => [Stall::Never; 3],
                _ => [0; 3].map(|_| Stall::ALL[rng.random_range(0..Stall::ALL.len())]),
            };
            checked(&p, sim, run, &blocks, stalls)?;
            number += count;
            if rng.random() {
                let blocks = [0; 3].map(|_| block(&p, rng.random_range(0..1 << 32), &mut rng));
                dropped(&p, sim, run, &blocks, stalls, &mut rng)?;
            } else {
                forgotten(sim)?;
            }
        }
        Ok(())
    })
}

/// A bench of these blocks alone: at full speed, and with pauses.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &DenseSparseProduct, blocks: Vec<Block>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        checked(&p, sim, run, &blocks, [Stall::Never; 3])?;
        checked(&p, sim, run, &blocks, [Stall::ALL[1], Stall::ALL[3], Stall::ALL[4]])
    })
}

/// All results of the blocks, the cycles of their tiles at full speed, and a text about their order.
fn checked(
    p: &DenseSparseProduct,
    sim: &mut Sim,
    run: &mut Run,
    blocks: &[Block],
    stalls: [Stall; 3],
) -> sim::Result<()> {
    let ends = multiplied(p, sim, run, blocks, stalls)?;
    if stalls == [Stall::Never; 3] {
        for (tile, (due, end)) in cycles(p).ends(blocks).into_iter().zip(ends).enumerate() {
            run.expect_equal(sim, "product_valid_o", &format!("cycle of the end of tile {tile}"), due, end)?;
        }
    }
    let error = sim.output("order_error_o")?;
    let risen = blocks.iter().flat_map(|block| &block.tiles).any(Tile::is_out_of_order);
    run.expect_u64(sim, error, risen.into())
}

/// Cycles by the contract.
#[must_use]
pub fn cycles(p: &DenseSparseProduct) -> Cycles {
    let finder = p.finder();
    let finder = Timing {
        n: p.channels.into(),
        lanes: p.lanes.into(),
        radix: finder.radix.into(),
        levels_per_cycle: finder.tree.levels_per_cycle.into(),
        shared: false,
    };
    Cycles { finder, rows: p.rows.into(), columns: p.columns.into() }
}

/// A whole number of `width` bits in two's complement.
fn signed(raw: u64, width: u32) -> i64 {
    (raw << (64 - width)) as i64 >> (64 - width)
}

fn block(p: &DenseSparseProduct, number: u64, rng: &mut StimulusRng) -> Block {
    let (rows, channels, width) = (p.rows as usize, p.channels as usize, p.activation_width);
    let values = |r: u64, rng: &mut StimulusRng| -> Vec<i64> {
        let raw = vector(number + r, channels, Format::Int { bits: width }, rng);
        // Most values small, so that not all are saturated, and a few as they are.
        let less = rng.random_range(0..width);
        let rare = rng.random_range(1..=channels);
        let place = |raw: u64, rng: &mut StimulusRng| {
            let value = signed(raw, width);
            if rng.random_range(0..rare) == 0 { value } else { value >> less }
        };
        raw.into_iter().map(|raw| place(raw, rng)).collect()
    };
    let mut wanted = || match rng.random_range(0..3u8) {
        0 => p.outliers as usize,
        // Whatever the port carries: none, and more than there are channels.
        _ => rng.random_range(0..(p.outliers as usize + 1).next_power_of_two()),
    };
    let outliers = (0..rows).map(|_| (wanted(), wanted())).collect();
    let rows = (0..p.rows.into()).map(|r| values(r, rng)).collect();
    let tiles = (0..rng.random_range(1..=3)).map(|_| tile(p, rng)).collect();
    Block { rows, outliers, tiles }
}

fn tile(p: &DenseSparseProduct, rng: &mut StimulusRng) -> Tile {
    let most = (1 << p.shift_width) - 1;
    let mut shifts: Vec<u32> = (0..p.channels).map(|_| rng.random_range(0..=most)).collect();
    match rng.random_range(0..8u8) {
        0 => shifts.fill(rng.random_range(0..=most)),
        // In no order.
        1 => {}
        _ => shifts.sort_by(|a, b| b.cmp(a)),
    }
    let limit = 1i64 << (p.operand_width - 1);
    let largest = rng.random_range(0..3u8) == 0;
    let mut weight = || match largest {
        true => [-limit, limit - 1][rng.random_range(0..2usize)],
        false => rng.random_range(-limit..limit),
    };
    let weights = (0..p.channels).map(|_| (0..p.columns).map(|_| weight()).collect()).collect();
    Tile { shifts, weights }
}

/// All of it on streams.
struct Streams {
    rows: Driver<RowValues<Values>>,
    weights: Driver<ChannelWeights<Values>>,
    products: Monitor<ProductRow<Values>>,
    /// Outliers of each row.
    wanted: Vec<(usize, usize)>,
    noise: StimulusRng,
}

/// `values` as two's complement, side by side.
fn pack(width: u32, values: impl IntoIterator<Item = i64>) -> Bits {
    let mask = u64::MAX >> (64 - width);
    Bits::pack(width, values.into_iter().map(|value| value as u64 & mask))
}

impl Streams {
    fn new(p: &DenseSparseProduct, sim: &Sim, run: &Run, blocks: &[Block], stalls: [Stall; 3]) -> sim::Result<Self> {
        let mut streams = Self {
            rows: run.driver_of(sim, "row", stalls[0])?,
            weights: run.driver_of(sim, "weight", stalls[1])?,
            products: run.monitor_of(sim, "product", stalls[2])?,
            wanted: blocks.iter().flat_map(|block| block.outliers.clone()).collect(),
            noise: run.rng(&format!("noise in cycle {}", sim.cycle_count())),
        };
        let (lanes, width) = (p.lanes as usize, p.activation_width);
        for block in blocks {
            for beat in block.rows.iter().flat_map(|row| row.chunks(lanes)) {
                // Lanes after the last channel hold noise.
                let noise = (beat.len()..lanes).map(|_| signed(streams.noise.random(), width));
                streams.rows.push(RowValues { values: pack(width, beat.iter().copied().chain(noise)) })?;
            }
            for (t, tile) in block.tiles.iter().enumerate() {
                for (k, (&shift, weights)) in tile.shifts.iter().zip(&tile.weights).enumerate() {
                    let last = k + 1 == tile.shifts.len();
                    let release = if last { t + 1 == block.tiles.len() } else { streams.noise.random() };
                    streams.weights.push(ChannelWeights {
                        shift: Bits::truncated(p.shift_width, shift.into()),
                        release: Bits::truncated(1, release.into()),
                        weights: pack(p.operand_width, weights.iter().copied()),
                    })?;
                }
            }
            for product in block.products(p.operand_width) {
                let row = |(r, sums): (usize, &Vec<i64>)| ProductRow {
                    last: Bits::truncated(1, (r + 1 == product.len()).into()),
                    sums: pack(p.sum_width(), sums.iter().copied()),
                };
                streams.products.expect(product.iter().enumerate().map(row).collect::<Vec<_>>())?;
            }
        }
        Ok(streams)
    }

    /// One cycle. How many outliers are wanted counts with the first beat of a row, and is noise at all other times.
    fn cycle(&mut self, p: &DenseSparseProduct, sim: &mut Sim, run: &mut Run) -> sim::Result<bool> {
        let (row, beat) = (self.rows.sent() / u64::from(p.words()), self.rows.sent() % u64::from(p.words()));
        let wanted = self.wanted.get(row as usize).filter(|_| beat == 0).copied();
        let noise = (u64::from(p.outliers) + 1).next_power_of_two();
        let mut any = || self.noise.random_range(0..noise);
        let (largest, smallest) = wanted.map_or_else(|| (any(), any()), |(l, s)| (l as u64, s as u64));
        for (name, value) in [("largest_i", largest), ("smallest_i", smallest)] {
            let input = sim.input(name)?;
            sim.poke_u64(input, value);
        }
        run.cycle(sim, &mut [&mut *self.rows, &mut *self.weights], &mut [&mut *self.products])
    }
}

/// Multiplies all blocks; returns for each tile the cycles from the first beat of a row to its last result.
fn multiplied(
    p: &DenseSparseProduct,
    sim: &mut Sim,
    run: &mut Run,
    blocks: &[Block],
    stalls: [Stall; 3],
) -> sim::Result<Vec<u64>> {
    const PATIENCE: u64 = 5000;
    let mut streams = Streams::new(p, sim, run, blocks, stalls)?;
    let (mut first, mut ends, mut idle) = (None, Vec::new(), 0);
    let mut quiet = 0;
    while quiet < 2 * (p.rows + p.columns) + 8 {
        let (cycle, results) = (sim.cycle_count(), streams.products.beats().len());
        let moved = streams.cycle(p, sim, run)?;
        if streams.rows.sent() > 0 && first.is_none() {
            first = Some(cycle);
        }
        let now = streams.products.beats().len();
        if now > results && now.is_multiple_of(p.rows as usize) {
            ends.push(cycle - first.unwrap_or(cycle));
        }
        let done = streams.products.is_done();
        quiet = if done { quiet + 1 } else { 0 };
        idle = if moved || done { 0 } else { idle + 1 };
        if idle > PATIENCE {
            let streams = vec![format!("product: {now} rows of results")];
            return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles: idle, streams }));
        }
    }
    for (name, done) in [("row_ready_o", streams.rows.is_done()), ("weight_ready_o", streams.weights.is_done())] {
        run.expect_equal(sim, name, "all beats are taken", true, done)?;
    }
    Ok(ends)
}

/// Blocks that are dropped in the middle.
fn dropped(
    p: &DenseSparseProduct,
    sim: &mut Sim,
    run: &mut Run,
    blocks: &[Block],
    stalls: [Stall; 3],
    rng: &mut StimulusRng,
) -> sim::Result<()> {
    let mut streams = Streams::new(p, sim, run, blocks, stalls)?;
    let whole = cycles(p).ends(blocks).last().copied().unwrap_or(0);
    for _ in 0..rng.random_range(0..whole) {
        streams.cycle(p, sim, run)?;
    }
    if rng.random_range(0..4u8) == 0 {
        run.reset(sim, 1)?;
    } else {
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 1);
        streams.cycle(p, sim, run)?;
        sim.poke_u64(clear, 0);
    }
    sim.settle()?;
    for (name, value) in [("row_ready_o", 1), ("weight_ready_o", 0), ("product_valid_o", 0), ("order_error_o", 0)] {
        let output = sim.output(name)?;
        run.expect_u64(sim, output, value)?;
    }
    Ok(())
}

/// Forgets errors, while nothing is inside.
fn forgotten(sim: &mut Sim) -> sim::Result<()> {
    let clear = sim.input("clear_i")?;
    sim.poke_u64(clear, 1);
    sim.tick()?;
    sim.poke_u64(clear, 0);
    Ok(())
}
