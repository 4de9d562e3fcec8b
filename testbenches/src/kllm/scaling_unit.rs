//! [`ScalingUnit`] against the golden result. Sums have all sizes; scales and factors bring results to both ends of
//! fp16, to ties, and to differences of equal numbers. Some sums have no value. There are pauses on all sides, and
//! clears and resets at random moments. Beats without pauses are checked to the cycle.

use golden::format::FloatFormat;
use golden::kllm::scaling_unit::{Scales, result, result_in};
use hdl::blocks::kllm::ScalingUnit;
use hdl::blocks::kllm::scaling_unit::{ScaledResults, ScaledSums, ScalingFactors};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Monitor, Run, Sim, Values};

use crate::common::formats::float_format;

/// Sums of columns of a token, with their factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// For each column the sums of centroids and of outliers.
    pub sums: Vec<(i64, i64)>,
    /// For each column their factors.
    pub factors: Vec<(u32, u32)>,
    /// The token's scale.
    pub scale: u16,
    /// An outlier had no value.
    pub special: bool,
    /// Goes along.
    pub error: bool,
    /// Goes along.
    pub last: bool,
}

/// The bench of a scaling unit; a vector is a beat.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ScalingUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| play(&p, sim, run))
}

impl Beat {
    fn draw(p: &ScalingUnit, rng: &mut StimulusRng) -> Self {
        let kind = rng.random_range(0..10u8);
        let scale = match rng.random_range(0..24u8) {
            0 => rng.random(),
            1 => [0, 1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x7e00][rng.random_range(0..8usize)],
            _ => rng.random_range(0x2000..0x4c00u16),
        };
        let one = |rng: &mut StimulusRng| {
            let (dense, outliers) = (integer(p.dense_width, rng), integer(p.outlier_width, rng));
            let exact = f64::from(half::f16::from_bits(scale));
            // About where a result shall be.
            let top =
                |rng: &mut StimulusRng| f64::from(rng.random_range(-26..17i32)).exp2() * (1.0 + rng.random::<f64>());
            let near = |target: f64, sum: f64| ((target / sum) as f32).to_bits();
            match kind {
                0 => ((dense, outliers), (rng.random(), rng.random())),
                // The difference of two equal numbers.
                1 | 2 => {
                    let target = top(rng);
                    let factor = |sum: i64, sign: f64| near(sign * target, if sum == 0 { 1.0 } else { sum as f64 });
                    let dense_factor = f32::from_bits(factor(dense, 1.0)) / exact as f32;
                    ((dense, outliers), (dense_factor.to_bits(), factor(outliers, -1.0)))
                }
                // Half way between two results of fp16, and beside it.
                3 | 4 => {
                    let bits = 12.min(p.dense_width - 1);
                    let odd = rng.random_range(0..1i64 << bits) | 1;
                    let place = f64::from(rng.random_range(-30..6i32)).exp2() as f32;
                    let power = f32::from(half::f16::from_bits(scale & 0x7c00)).max(1.0);
                    let beside = rng.random_range(-1..=1i64).clamp(i64::MIN >> (64 - p.outlier_width), 1);
                    ((odd, beside), ((place / power).to_bits(), (place / 4096.0).to_bits()))
                }
                _ => {
                    let sum = |x: i64| if x == 0 { 1.0 } else { x as f64 };
                    let dense_factor = near(top(rng), sum(dense) * exact.max(1e-8));
                    ((dense, outliers), (dense_factor, near(top(rng), sum(outliers))))
                }
            }
        };
        let (mut sums, mut factors): (Vec<(i64, i64)>, Vec<_>) = (0..p.columns).map(|_| one(rng)).unzip();
        let mut scale = scale;
        // Other formats are so small that any numbers will do.
        let (wide, narrow) = (p.wide.width(), p.narrow.width());
        if wide < 32 || narrow < 16 {
            let any = |rng: &mut StimulusRng| rng.random::<u32>() & ((1 << wide) - 1);
            factors = factors.iter().map(|_| (any(rng), any(rng))).collect();
            scale &= (1 << narrow) - 1;
            if kind == 1 || kind == 2 {
                // The difference of two equal numbers, however small they are.
                let bias = (1u16 << (p.narrow.exponent_bits() - 1)) - 1;
                scale = bias << p.narrow.fraction_bits();
                let most = i64::MAX >> (64 - p.dense_width.min(p.outlier_width));
                for ((dense, outliers), factors) in sums.iter_mut().zip(&mut factors) {
                    *dense = (*dense).clamp(-most, most);
                    *outliers = -*dense;
                    factors.1 = factors.0;
                }
            }
        }
        let mut flag = |of: u8| rng.random_range(0..of) == 0;
        Self { sums, factors, scale, special: flag(16), error: flag(8), last: flag(4) }
    }

    /// The results of all columns.
    fn results(&self, p: &ScalingUnit) -> Vec<u16> {
        let formats = (float_format(p.wide), float_format(p.narrow));
        let one = |(&(dense, outliers), &(of_dense, of_outliers)): (&(i64, i64), &(u32, u32))| {
            let outliers = (!self.special).then_some(outliers.into());
            if formats == (FloatFormat::Fp32, FloatFormat::Fp16) {
                return result(
                    dense.into(),
                    outliers,
                    Scales { token: self.scale, dense: of_dense, sparse: of_outliers },
                );
            }
            let scales = (self.scale.into(), of_dense.into(), of_outliers.into());
            result_in(formats, dense.into(), outliers, scales) as u16
        };
        self.sums.iter().zip(&self.factors).map(one).collect()
    }

    fn sums(&self, p: &ScalingUnit) -> ScaledSums<Values> {
        let bit = |b: bool| Bits::truncated(1, b.into());
        let word = |width: u32, x: i64| x as u64 & (u64::MAX >> (64 - width));
        ScaledSums {
            dense: Bits::pack(p.dense_width, self.sums.iter().map(|&(dense, _)| word(p.dense_width, dense))),
            outliers: Bits::pack(p.outlier_width, self.sums.iter().map(|&(_, sum)| word(p.outlier_width, sum))),
            scale: Bits::truncated(p.narrow.width(), self.scale.into()),
            special: bit(self.special),
            error: bit(self.error),
            last: bit(self.last),
        }
    }

    fn factors(&self, p: &ScalingUnit) -> ScalingFactors<Values> {
        let width = p.wide.width();
        ScalingFactors {
            dense: Bits::pack(width, self.factors.iter().map(|&(dense, _)| dense.into())),
            outliers: Bits::pack(width, self.factors.iter().map(|&(_, outliers)| outliers.into())),
        }
    }

    fn expected(&self, p: &ScalingUnit) -> ScaledResults<Values> {
        let results = self.results(p);
        let narrow = float_format(p.narrow);
        let overflow = results.iter().map(|&result| u64::from(!narrow.is_finite(result.into())));
        ScaledResults {
            overflow: Bits::pack(1, overflow),
            values: Bits::pack(p.narrow.width(), results.iter().map(|&result| result.into())),
            error: Bits::truncated(1, self.error.into()),
            last: Bits::truncated(1, self.last.into()),
        }
    }
}

/// A signed integer of up to `width` bits: of all sizes, both ends, zero, and the middles between numbers of fp32.
fn integer(width: u32, rng: &mut StimulusRng) -> i64 {
    let (low, high) = (i64::MIN >> (64 - width), i64::MAX >> (64 - width));
    match rng.random_range(0..10u8) {
        0 => [0, 1, -1, low, high][rng.random_range(0..5usize)],
        1 if width > 28 => {
            let places = rng.random_range(1..=width - 26);
            let middle = (rng.random_range(1i64 << 23..1 << 24) << places) + (1 << (places - 1));
            let beside = middle + rng.random_range(-1..=1i64);
            if rng.random() { beside } else { -beside }
        }
        _ => rng.random_range(low..=high) >> rng.random_range(0..width),
    }
    .clamp(low, high)
}

/// The streams of the unit under test.
struct Streams {
    sums: Driver<ScaledSums<Values>>,
    factors: Driver<ScalingFactors<Values>>,
    results: Monitor<ScaledResults<Values>>,
}

impl Streams {
    fn new(sim: &Sim, run: &Run, [sums, factors, results]: [Stall; 3]) -> sim::Result<Self> {
        Ok(Self {
            sums: run.driver_of(sim, "sums", sums)?,
            factors: run.driver_of(sim, "factors", factors)?,
            results: run.monitor_of(sim, "results", results)?,
        })
    }

    fn push(&mut self, p: &ScalingUnit, beat: &Beat) -> sim::Result<()> {
        self.sums.push(beat.sums(p))?;
        self.factors.push(beat.factors(p))?;
        self.results.expect([beat.expected(p)])
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<bool> {
        run.cycle(sim, &mut [self.sums.as_mut(), self.factors.as_mut()], &mut [self.results.as_mut()])
    }

    fn finish(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        run.streams(sim, &mut [self.sums.as_mut(), self.factors.as_mut()], &mut [self.results.as_mut()])
    }
}

fn play(p: &ScalingUnit, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("beats");
    let clear = sim.input("clear_i")?;
    run.only_while("results_valid_o", &["results_values_o", "results_overflow_o", "results_error_o", "results_last_o"]);
    sim.poke_u64(clear, 0);
    run.reset(sim, 2)?;
    let some = Stall::Random { num: 1, den: 3 };
    let most = Stall::Random { num: 7, den: 8 };
    let stalls = [[some; 3], [Stall::Never, Stall::Never, most], [most, some, Stall::Never], [some, most, some]];
    let mut left = run.vectors();
    for group in 0usize.. {
        if left == 0 {
            break;
        }
        let count = left.min(rng.random_range(1..=80));
        left -= count;
        let timed = group.is_multiple_of(3);
        let stalls = if timed { [Stall::Never; 3] } else { stalls[group % stalls.len()] };
        let mut streams = Streams::new(sim, run, stalls)?;
        for _ in 0..count {
            streams.push(p, &Beat::draw(p, &mut rng))?;
        }
        if timed {
            let start = sim.cycle_count();
            while !streams.results.is_done() && sim.cycle_count() - start < 20 * p.cycles(count) {
                streams.cycle(sim, run)?;
            }
            let place = format!("cycles of {count} beats");
            run.expect_equal(sim, "results_valid_o", &place, p.cycles(count), sim.cycle_count() - start)?;
        }
        if group % 3 == 1 {
            // All sums inside are dropped, and offers are not taken. Results after that are right.
            for _ in 0..rng.random_range(0..2 * p.cycles(1)) {
                streams.cycle(sim, run)?;
            }
            if rng.random() {
                let sent = streams.sums.sent() + streams.factors.sent();
                sim.poke_u64(clear, 1);
                streams.cycle(sim, run)?;
                sim.poke_u64(clear, 0);
                let taken = streams.sums.sent() + streams.factors.sent();
                run.expect_equal(sim, "clear_i", "beats taken by the end of it", sent, taken)?;
            } else {
                sim.reset(1)?;
            }
            // Not one of them comes later.
            streams = Streams::new(sim, run, [Stall::Never; 3])?;
            if rng.random() {
                for _ in 0..2 * p.cycles(1) {
                    streams.cycle(sim, run)?;
                }
                run.expect_equal(sim, "results_valid_o", "results after a clear", 0, streams.results.beats().len())?;
            }
            for _ in 0..count.min(8) {
                streams.push(p, &Beat::draw(p, &mut rng))?;
            }
        }
        streams.finish(sim, run)?;
    }
    Ok(())
}
