//! [`WeightedSum`] against the golden sum, with pauses on both sides.

use golden::kllm::fp16_mac::Fp16Mac as GoldenMac;
use golden::kllm::weighted_sum::weighted_sum;
use hdl::blocks::kllm::WeightedSum;
use hdl::blocks::kllm::weighted_sum::{ColumnSum, WeightedBin};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::floats::{finite, fp16, mac};

/// The bench of a weighted sum; a vector is one column.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &WeightedSum) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { golden: mac(&p.mac), count_width: p.count_width };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    golden: GoldenMac,
    count_width: u32,
}

/// Counts and centroids of the bins of a column.
struct Column {
    counts: Vec<u64>,
    centroids: Vec<u64>,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("columns");
        sim.reset(2)?;
        for (share, stalls) in [(2, [Stall::Never; 2]), (4, [Stall::Random { num: 1, den: 2 }, Stall::ALL[2]])] {
            let mut bins = [run.driver_of::<WeightedBin<Values>>(sim, "bins", stalls[0])?];
            let mut sums = [run.monitor_of::<ColumnSum<Values>>(sim, "sum", stalls[1])?];
            for _ in 0..run.vectors().div_ceil(share) {
                let column = self.column(&mut rng);
                bins[0].extend(self.beats(&column))?;
                let value = weighted_sum(self.golden, &column.counts, &column.centroids);
                sums[0].expect([ColumnSum { value: Bits::truncated(self.golden.accumulate.width(), value) }])?;
            }
            run.streams(sim, &mut bins, &mut sums)?;
        }
        Ok(())
    }

    fn column(&self, rng: &mut StimulusRng) -> Column {
        let largest = (1u64 << self.count_width) - 1;
        // A column with a NaN or an infinity says little: most have none.
        let special = rng.random_range(0..4u8) == 0;
        let mut column = Column { counts: vec![], centroids: vec![] };
        for _ in 0..rng.random_range(1..=24u32) {
            column.counts.push(match rng.random_range(0..4u8) {
                0 => 0,
                1 => rng.random_range(0..=largest),
                _ => rng.random_range(0..=largest.min(40)),
            });
            column.centroids.push(if special { fp16(rng) } else { finite(rng) });
        }
        column
    }

    fn beats(&self, column: &Column) -> Vec<WeightedBin<Values>> {
        let last = column.counts.len() - 1;
        let beat = |(i, (&count, &centroid)): (usize, (&u64, &u64))| WeightedBin {
            count: Bits::truncated(self.count_width, count),
            centroid: Bits::truncated(16, centroid),
            last: Bits::truncated(1, u64::from(i == last)),
        };
        column.counts.iter().zip(&column.centroids).enumerate().map(beat).collect()
    }
}
