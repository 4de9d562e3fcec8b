//! [`WeightedSum`] against the golden sum, with pauses on both sides and resets at random moments. Some counts do not
//! fit fp16, and some bins are wrong from the start.

use golden::common::float::FloatFormat;
use golden::kllm::fp16_mac::Fp16Mac as GoldenMac;
use golden::kllm::weighted_sum::{is_infinite, weighted_sum};
use hdl::blocks::kllm::WeightedSum;
use hdl::blocks::kllm::weighted_sum::{ColumnSum, WeightedBin};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::floats::{addend, finite, fp16, mac};

use super::interrupted::cut_short;
use crate::common::float::Operands;

/// The bench of a weighted sum; a vector is one column.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &WeightedSum) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { golden: mac(&p.mac), largest: p.largest_count.into() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    golden: GoldenMac,
    /// Largest count.
    largest: u64,
}

/// The bins of a column.
struct Column {
    counts: Vec<u64>,
    centroids: Vec<u64>,
    wrong: Vec<bool>,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("columns");
        run.reset(sim, 2)?;
        for (share, stalls) in [(2, [Stall::Never; 2]), (4, [Stall::Random { num: 1, den: 2 }, Stall::ALL[2]])] {
            let mut bins = [run.driver_of::<WeightedBin<Values>>(sim, "bins", stalls[0])?];
            let mut sums = [run.monitor_of::<ColumnSum<Values>>(sim, "sum", stalls[1])?];
            for _ in 0..run.vectors().div_ceil(share) {
                let column = self.column(&mut rng);
                bins[0].extend(self.beats(&column))?;
                sums[0].expect([self.sum(&column)])?;
            }
            run.streams(sim, &mut bins, &mut sums)?;
        }
        for _ in 0..run.vectors().div_ceil(16) {
            let stalls = [Stall::Random { num: 1, den: 4 }, Stall::Random { num: 1, den: 2 }];
            let mut bins = [run.driver_of::<WeightedBin<Values>>(sim, "bins", stalls[0])?];
            let mut sums = [run.monitor_of::<ColumnSum<Values>>(sim, "sum", stalls[1])?];
            for _ in 0..3 {
                let column = self.column(&mut rng);
                bins[0].extend(self.beats(&column))?;
                sums[0].expect([self.sum(&column)])?;
            }
            cut_short(sim, run, &mut bins, &mut sums, rng.random_range(0..60))?;
        }
        Ok(())
    }

    fn sum(&self, column: &Column) -> ColumnSum<Values> {
        let value = weighted_sum(self.golden, &column.counts, &column.centroids);
        let error = column.wrong.iter().zip(&column.counts).any(|(&wrong, &count)| wrong || is_infinite(count));
        ColumnSum {
            value: Bits::truncated(self.golden.accumulate.width(), value),
            error: Bits::truncated(1, error.into()),
        }
    }

    fn column(&self, rng: &mut StimulusRng) -> Column {
        // A column with a NaN or an infinity says little: most have none.
        let special = rng.random_range(0..4u8) == 0;
        let (large, flagged) = (rng.random_range(0..3u8) == 0, rng.random_range(0..6u8) == 0);
        // Sums that cancel again and again.
        let cancels = rng.random_range(0..4u8) == 0;
        let mut column = Column { counts: vec![], centroids: vec![], wrong: vec![] };
        for _ in 0..rng.random_range(1..=24u32) {
            let sum = if cancels { weighted_sum(self.golden, &column.counts, &column.centroids) } else { 0 };
            column.counts.push(match rng.random_range(0..4u8) {
                0 => 0,
                _ if cancels => 1,
                1 if large => rng.random_range(0..=self.largest),
                // About the largest numbers of fp16.
                2 if large => (65_500 + rng.random_range(0..40)).min(self.largest),
                3 => rng.random_range(0..=self.largest.min(65_519)),
                _ => rng.random_range(0..=self.largest.min(40)),
            });
            column.wrong.push(flagged && rng.random_range(0..8u8) == 0);
            column.centroids.push(match (special, cancels) {
                (true, _) if rng.random() => Operands::new(FloatFormat::Fp16).any(rng),
                (_, true) => addend(self.golden, sum, rng),
                (true, false) => fp16(rng),
                (false, false) => finite(rng),
            });
        }
        column
    }

    fn beats(&self, column: &Column) -> Vec<WeightedBin<Values>> {
        let width = 64 - self.largest.leading_zeros();
        let count = column.counts.len();
        let beat = |i: usize| WeightedBin {
            count: Bits::truncated(width, column.counts[i]),
            centroid: Bits::truncated(16, column.centroids[i]),
            error: Bits::truncated(1, column.wrong[i].into()),
            last: Bits::truncated(1, u64::from(i + 1 == count)),
        };
        (0..count).map(beat).collect()
    }
}
