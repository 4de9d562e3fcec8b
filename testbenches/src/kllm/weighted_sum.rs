//! [`WeightedSum`] against the golden sum, with pauses on both sides.

use golden::kllm::weighted_sum::weighted_sum;
use hdl::blocks::kllm::WeightedSum;
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::Stall;
use sim::{Bits, Run, Sim};

use super::floats::{finite, fp16, mac};

/// The bench of a weighted sum; a vector is one column.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &WeightedSum) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(Bench { p: p.clone(), parameters: serde_json::to_value(p)? }))
}

struct Bench {
    p: WeightedSum,
    parameters: Value,
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        WeightedSum::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("columns");
        let golden = mac(self.p.accumulate, self.p.fused, self.p.subnormals);
        let width = self.p.accumulate.width();
        let largest = (1u64 << self.p.count_width) - 1;
        sim.reset(2)?;
        for (share, stalls) in [(2, [Stall::Never; 2]), (4, [Stall::Random { num: 1, den: 2 }, Stall::ALL[2]])] {
            let mut bins = [run.driver(sim, "bins", &["count", "centroid", "last"], stalls[0])?];
            let mut sums = [run.monitor(sim, "sum", &["value"], stalls[1])?];
            for _ in 0..run.vectors().div_ceil(share) {
                let length = rng.random_range(1..=24usize);
                // A column with a NaN or an infinity says little: most have none.
                let special = rng.random_range(0..4u8) == 0;
                let (mut counts, mut centroids) = (vec![], vec![]);
                for _ in 0..length {
                    counts.push(match rng.random_range(0..4u8) {
                        0 => 0,
                        1 => rng.random_range(0..=largest),
                        _ => rng.random_range(0..=largest.min(40)),
                    });
                    centroids.push(if special { fp16(&mut rng) } else { finite(&mut rng) });
                }
                for (i, (&count, &centroid)) in counts.iter().zip(&centroids).enumerate() {
                    bins[0].push(vec![
                        Bits::truncated(self.p.count_width, count),
                        Bits::truncated(16, centroid),
                        Bits::truncated(1, u64::from(i + 1 == length)),
                    ])?;
                }
                sums[0].expect([vec![Bits::truncated(width, weighted_sum(golden, &counts, &centroids))]])?;
            }
            run.streams(sim, &mut bins, &mut sums)?;
        }
        Ok(())
    }
}
