//! [`IndexMatmulColumn`] against the golden column, bit by bit and cycle by cycle. There are pauses on both sides,
//! columns that are too long, and resets at random moments.

use golden::kllm::index_distribution_counter::{Mode, Shape};
use golden::kllm::index_matmul_column::{Column, IndexMatmulColumn as Golden, Pair};
use hdl::blocks::kllm::index_matmul_column::{ColumnOutput, PairBeat};
use hdl::blocks::kllm::{IndexDistributionCounter, IndexMatmulColumn};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Error, Run, Sim, Values};

use super::floats::{finite, fp16, mac};
use super::index_distribution_counter as counter;
use super::interrupted::{cut_short, record};

/// Columns that share a codebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// fp16 value of each bin.
    pub codebook: Vec<u64>,
    /// The columns in order.
    pub columns: Vec<Column>,
}

/// The bench of a column; a vector is one column of pairs.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &IndexMatmulColumn) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// A bench of the tasks `given`; without any, of random ones.
///
/// # Errors
/// Parameters that the block refuses, or a column with more than k pairs.
pub fn bench_of(p: &IndexMatmulColumn, given: Vec<Task>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let fits = |c: &Column| c.pairs.iter().filter(|p| p.present && !p.outlier).count() <= p.counter.k as usize;
    anyhow::ensure!(given.iter().flat_map(|t| &t.columns).all(fits), "a given column has more than k pairs");
    let shape = Shape { a_bits: p.counter.a_bits, b_bits: p.counter.b_bits };
    let golden = Golden { shape, mac: mac(&p.mac) };
    let bench = ColumnBench { p: p.counter.clone(), stages: p.mac.stages.into(), golden, given };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct ColumnBench {
    p: IndexDistributionCounter,
    /// Ranks of registers of the weighted sum.
    stages: u64,
    golden: Golden,
    given: Vec<Task>,
}

/// Columns for which a codebook is written.
const COLUMNS_A_CODEBOOK: u64 = 12;

/// A finite value of either sign close to `base` in exponent and fraction: sums in which much cancels, or in which one
/// product just exceeds the other.
fn alike(base: u64, rng: &mut StimulusRng) -> u64 {
    let reach = [0, 1, 3, 13][rng.random_range(0..4usize)];
    let exponent = (base >> 10 & 0x1f) as i64 + rng.random_range(-reach..=reach);
    let fraction = match rng.random_range(0..4u8) {
        0 => base,
        1 => base ^ (1 << rng.random_range(0..10u32)),
        2 => base + rng.random_range(0..5u64),
        _ => rng.random(),
    };
    rng.random_range(0..2u64) << 15 | (exponent.clamp(0, 30) as u64) << 10 | fraction & 0x3ff
}

/// `base` or twice that, of either sign: sums that come back to zero, from either side.
fn multiple(base: u64, rng: &mut StimulusRng) -> u64 {
    (base + (rng.random_range(0..2u64) << 10)) ^ (rng.random_range(0..2u64) << 15)
}

impl ColumnBench {
    fn column(&self, number: u64, rng: &mut StimulusRng) -> Column {
        let k = self.p.k as usize;
        let length = match number % 3 {
            0 => k,
            1 => rng.random_range(1..=k),
            _ => rng.random_range(1..=k.min(3 * self.p.inputs as usize)),
        };
        let (a, w) = (1u64 << self.p.a_bits, 1u64 << self.p.b_bits);
        let crowded = rng.random::<bool>();
        let index = |n: u64, rng: &mut StimulusRng| {
            if crowded { (rng.random_range(0..n) + rng.random_range(0..n)) / 2 } else { rng.random_range(0..n) }
        };
        let pair = |_| Pair {
            a: index(a, rng),
            w: index(w, rng),
            present: rng.random_range(0..32u8) != 0,
            outlier: rng.random_range(0..50u8) == 0,
        };
        Column {
            pairs: (0..length).map(pair).collect(),
            mode: if rng.random_range(0..4u8) == 0 { Mode::Integer } else { Mode::KMeans },
            half: rng.random_range(0..6u8) == 0,
            scale_w: finite(rng),
            scale_a: if rng.random_range(0..8u8) == 0 { fp16(rng) } else { finite(rng) },
        }
    }

    fn tasks(&self, columns: u64, rng: &mut StimulusRng) -> Vec<Task> {
        if !self.given.is_empty() {
            return self.given.clone();
        }
        let bins = 1usize << (self.p.a_bits + self.p.b_bits);
        let tables = (columns / COLUMNS_A_CODEBOOK).max(4);
        let share = columns.div_ceil(tables);
        let task = |number: u64| {
            let base = finite(rng);
            let any_size = rng.random_range(1..30u64) << 10 | base & 0x3ff;
            let value = |rng: &mut StimulusRng| match number % 8 {
                // Infinities and NaNs reach every sum.
                2 | 6 => fp16(rng),
                1 | 5 => alike(base, rng),
                3 => alike(any_size, rng),
                7 => multiple(any_size, rng),
                _ => finite(rng),
            };
            let codebook = (0..bins).map(|_| value(rng)).collect();
            Task { codebook, columns: (0..share).map(|i| self.column(number + i, rng)).collect() }
        };
        (0..tables).map(task).collect()
    }

    fn beats(&self, column: &Column, rng: &mut StimulusRng) -> Vec<PairBeat<Values>> {
        let inputs = self.p.inputs as usize;
        let count = column.pairs.len().div_ceil(inputs).max(1);
        let beat = |number: usize| {
            let mut noise = || Pair {
                a: rng.random::<u64>() & ((1 << self.p.a_bits) - 1),
                w: rng.random::<u64>() & ((1 << self.p.b_bits) - 1),
                present: false,
                outlier: rng.random(),
            };
            let at = |i: usize| column.pairs.get(number * inputs + i).copied();
            let pairs: Vec<Pair> = (0..inputs).map(|i| at(i).unwrap_or_else(&mut noise)).collect();
            let last = number + 1 == count;
            // Fields that count with the last beat only are noise before it.
            let with_last = |value: u64, rng: &mut StimulusRng| if last { value } else { rng.random() };
            PairBeat {
                a: Bits::pack(self.p.a_bits, pairs.iter().map(|p| p.a)),
                w: Bits::pack(self.p.b_bits, pairs.iter().map(|p| p.w)),
                present: Bits::pack(1, pairs.iter().map(|p| p.present.into())),
                outlier: Bits::pack(1, pairs.iter().map(|p| p.outlier.into())),
                integer: Bits::truncated(
                    1,
                    if number == 0 { (column.mode == Mode::Integer).into() } else { rng.random::<u64>() & 1 },
                ),
                half: Bits::truncated(1, with_last(column.half.into(), rng) & 1),
                last: Bits::truncated(1, last.into()),
                scale_a: Bits::truncated(16, with_last(column.scale_a, rng) & 0xffff),
                scale_w: Bits::truncated(16, with_last(column.scale_w, rng) & 0xffff),
            }
        };
        (0..count).map(beat).collect()
    }

    /// Cycles of columns of (beats, bins) without pauses, from the first beat taken to the last output taken.
    fn cycles(&self, sizes: &[(u64, u64)]) -> u64 {
        counter::cycles(&self.p, sizes) + 2 + self.stages
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("columns");
        let [write, bin, value] =
            ["codebook_write_i", "codebook_bin_i", "codebook_value_i"].map(|name| sim.input(name));
        let (write, bin, value) = (write?, bin?, value?);
        run.reset(sim, 2)?;
        let random = Stall::Random { num: 1, den: 2 };
        let stalls =
            [[Stall::Never; 2], [random, Stall::ALL[2]], [Stall::Never, random], [Stall::ALL[1], Stall::Never]];
        let tasks = self.tasks(run.vectors(), &mut rng);
        for (number, task) in tasks.iter().enumerate() {
            for (i, &entry) in task.codebook.iter().enumerate() {
                sim.poke_u64(write, 1);
                sim.poke_u64(bin, i as u64);
                sim.poke_u64(value, entry);
                sim.tick()?;
            }
            sim.poke_u64(write, 0);
            let [input, output] = stalls[number % 4];
            let mut pairs = [run.driver_of::<PairBeat<Values>>(sim, "pairs", input)?];
            let mut y = [run.monitor_of::<ColumnOutput<Values>>(sim, "y", output)?];
            let mut sizes = Vec::new();
            for column in &task.columns {
                let beats = self.beats(column, &mut rng);
                sizes.push((beats.len() as u64, self.golden.shape.bins(column.mode, column.half)));
                for beat in beats {
                    pairs[0].push(beat)?;
                }
                y[0].expect([self.output(column, &task.codebook)?])?;
            }
            // A column of one bin waits for the scales, which are fetched when the sum before it is taken.
            let scales_wait = sizes.iter().any(|&(_, bins)| bins < 2);
            if number % 4 == 0 && !scales_wait {
                let (start, stated) = (sim.cycle_count(), self.cycles(&sizes));
                while !y[0].is_done() && sim.cycle_count() - start < 2 * stated + 100 {
                    run.cycle(sim, &mut pairs, &mut y)?;
                }
                let got = sim.cycle_count() - start;
                if got != stated {
                    let difference = Difference::Value {
                        port: "y_valid_o".into(),
                        expected: format!("{} columns in {stated} cycles", sizes.len()),
                        got: format!("{got} cycles"),
                        place: String::new(),
                    };
                    return Err(run.fail(sim.cycle_count(), difference));
                }
            }
            run.streams(sim, &mut pairs, &mut y)?;
            if self.given.is_empty() && number < 4 {
                self.too_many(sim, run, &task.codebook, &mut rng)?;
                self.interrupted(sim, run, &task.codebook, &mut rng)?;
            }
        }
        Ok(())
    }

    fn output(&self, column: &Column, codebook: &[u64]) -> sim::Result<ColumnOutput<Values>> {
        let unsupported = |e: golden::format::FormatError| Error::Unsupported(e.to_string());
        let y = self.golden.y(column, codebook).map_err(unsupported)?;
        let wrong = self.golden.is_wrong(column, self.p.k.into()).map_err(unsupported)?;
        Ok(ColumnOutput { value: Bits::truncated(16, y), error: Bits::truncated(1, wrong.into()) })
    }

    /// A column with more than k pairs between two others: it is flagged, and harms neither.
    fn too_many(&self, sim: &mut Sim, run: &mut Run, codebook: &[u64], rng: &mut StimulusRng) -> sim::Result<()> {
        let mut pairs = run.driver_of::<PairBeat<Values>>(sim, "pairs", Stall::Random { num: 1, den: 4 })?;
        let mut y = run.monitor_of::<ColumnOutput<Values>>(sim, "y", Stall::Random { num: 1, den: 3 })?;
        let mut expected = Vec::new();
        for number in 0..3 {
            let mut column = self.column(rng.random_range(0..3), rng);
            if number == 1 {
                let pair = Pair { a: 0, w: 1, present: true, outlier: false };
                column.pairs.resize(self.p.k as usize + rng.random_range(1..=self.p.k as usize), pair);
                column.pairs.iter_mut().for_each(|p| (p.present, p.outlier) = (true, false));
            }
            pairs.extend(self.beats(&column, rng))?;
            expected.push(self.output(&column, codebook)?);
        }
        record(sim, run, &mut pairs, &mut y, expected.len())?;
        for (number, (expected, got)) in expected.into_iter().zip(y.received()).enumerate() {
            let place = format!("column {number} of three, of which 1 has too many pairs");
            run.expect_equal(sim, "y_error_o", &place, &expected.error, &got.error)?;
            if number != 1 {
                run.expect_equal(sim, "y_value_o", &place, &expected.value, &got.value)?;
            }
        }
        Ok(())
    }

    /// A reset at a random moment. Columns after it are summed as ever, with the same codebook.
    fn interrupted(&self, sim: &mut Sim, run: &mut Run, codebook: &[u64], rng: &mut StimulusRng) -> sim::Result<()> {
        for _ in 0..4 {
            let mut pairs = [run.driver_of::<PairBeat<Values>>(sim, "pairs", Stall::Never)?];
            let mut y = [run.monitor_of::<ColumnOutput<Values>>(sim, "y", Stall::Random { num: 1, den: 4 })?];
            let mut cycles = 0;
            for number in 0..3 {
                let column = self.column(number, rng);
                let beats = self.beats(&column, rng);
                cycles += beats.len() as u64 + self.golden.shape.bins(column.mode, column.half);
                pairs[0].extend(beats)?;
                y[0].expect([self.output(&column, codebook)?])?;
            }
            cut_short(sim, run, &mut pairs, &mut y, rng.random_range(0..cycles))?;
        }
        Ok(())
    }
}
