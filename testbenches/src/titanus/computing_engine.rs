//! [`ComputingEngine`] against plain dot products. Vectors have all lengths, also the lengths of the paper's three
//! cases; they are dense or zero, or at the ends of the ranges. There are too many beats, pauses of both sides, and
//! clears and resets at any time.

use golden::titanus::computing_engine::{beats, dot};
use hdl::blocks::titanus::{ComputingEngine, DotBeat, DotResult};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Monitor, Run, Sim, Values};

use super::sequences::STALLS;
use super::tiles::{at_full_speed, broken_off, flag};

/// The bench of an engine; a vector is a pair of vectors.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ComputingEngine) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("vectors");
        run.reset(sim, 2)?;
        for (input, output) in STALLS {
            let (mut driver, mut monitor) = streams(sim, run, (input, output))?;
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                Pair::random(&p, &mut rng).push(&p, &mut rng, &mut driver, &mut monitor)?;
            }
            run.streams(sim, &mut [&mut driver], &mut [&mut monitor])?;
        }
        let (mut driver, mut monitor) = streams(sim, run, (Stall::Never, Stall::Never))?;
        for _ in 0..20 {
            let mut pair = Pair::random(&p, &mut rng);
            pair.shorten(p.capability() as usize);
            pair.push(&p, &mut rng, &mut driver, &mut monitor)?;
        }
        at_full_speed(sim, run, &mut [&mut driver], &mut [&mut monitor], 3)?;
        for number in 0..run.vectors().div_ceil(8) {
            let (mut driver, mut monitor) = streams(sim, run, (Stall::Never, Stall::Random { num: 1, den: 2 }))?;
            for _ in 0..4 {
                Pair::random(&p, &mut rng).push(&p, &mut rng, &mut driver, &mut monitor)?;
            }
            let cycles = rng.random_range(0..8);
            if number % 2 == 0 {
                broken_off(sim, run, &mut [&mut driver], &mut [&mut monitor], cycles)?;
            } else {
                cleared(sim, run, (&mut driver, &mut monitor), cycles)?;
            }
            let (mut driver, mut monitor) = streams(sim, run, (Stall::Never, Stall::Never))?;
            Pair::random(&p, &mut rng).push(&p, &mut rng, &mut driver, &mut monitor)?;
            run.streams(sim, &mut [&mut driver], &mut [&mut monitor])?;
        }
        Ok(())
    })
}

type Streams = (Driver<DotBeat<Values>>, Monitor<DotResult<Values>>);

fn streams(sim: &Sim, run: &Run, (input, output): (Stall, Stall)) -> sim::Result<Streams> {
    Ok((run.driver_of(sim, "input", input)?, run.monitor_of(sim, "output", output)?))
}

/// Drops all vectors inside, while more are offered and the result is not taken.
fn cleared(
    sim: &mut Sim,
    run: &mut Run,
    (driver, monitor): (&mut Driver<DotBeat<Values>>, &mut Monitor<DotResult<Values>>),
    cycles: u64,
) -> sim::Result<()> {
    for _ in 0..cycles {
        if monitor.is_done() {
            break;
        }
        run.cycle(sim, &mut [&mut *driver], &mut [&mut *monitor])?;
    }
    let [clear_i, valid_i, ready_i] = ["clear_i", "input_valid_i", "output_ready_i"].map(|name| sim.input(name));
    let (clear_i, valid_i, ready_i) = (clear_i?, valid_i?, ready_i?);
    sim.poke_u64(clear_i, 1);
    sim.poke_u64(valid_i, 1);
    sim.poke_u64(ready_i, 0);
    sim.settle()?;
    run.expect_u64(sim, sim.output("input_ready_o")?, 0)?;
    sim.tick()?;
    sim.poke_u64(clear_i, 0);
    sim.poke_u64(valid_i, 0);
    sim.settle()?;
    run.expect_u64(sim, sim.output("output_valid_o")?, 0)
}

/// Two vectors.
struct Pair {
    signed: bool,
    a: Vec<i64>,
    b: Vec<i64>,
}

impl Pair {
    fn random(p: &ComputingEngine, rng: &mut StimulusRng) -> Self {
        let (capability, most) = (p.capability() as usize, (p.capability() * p.max_beats) as usize);
        let elements = match rng.random_range(0..6u8) {
            0 => rng.random_range(0..=capability),
            1 => capability * rng.random_range(1..=p.max_beats as usize),
            2 => most,
            // Too many.
            3 if rng.random_range(0..4u8) == 0 => most + rng.random_range(1..=2 * capability),
            _ => rng.random_range(0..=most),
        };
        let signed = rng.random();
        let (zeros, extremes) = (rng.random_range(0..8u8), rng.random_range(0..6u8) == 0);
        let half = 1i64 << (p.operand_width - 1);
        let mut draw = |low: i64, high: i64, extreme: i64| match rng.random_range(0..8u8) {
            kind if kind < zeros => 0,
            _ if extremes => extreme,
            _ => rng.random_range(low..=high),
        };
        let a = (0..elements)
            .map(|_| if signed { draw(-half, half - 1, -half) } else { draw(0, 2 * half - 1, 2 * half - 1) })
            .collect();
        Self { signed, a, b: (0..elements).map(|_| draw(-half, half - 1, -half)).collect() }
    }

    fn shorten(&mut self, elements: usize) {
        self.a.truncate(elements);
        self.b.truncate(elements);
    }

    fn push(
        &self,
        p: &ComputingEngine,
        rng: &mut StimulusRng,
        driver: &mut Driver<DotBeat<Values>>,
        monitor: &mut Monitor<DotResult<Values>>,
    ) -> sim::Result<()> {
        let (capability, width) = (p.capability() as usize, p.operand_width);
        let count = beats(self.a.len(), capability);
        let length_bits = u64::BITS - (capability as u64).leading_zeros();
        for beat in 0..count {
            let here = beat * capability..self.a.len().min((beat + 1) * capability);
            // Beyond the elements in use there is noise; more than all is all.
            let full = here.len() == capability && rng.random_range(0..4u8) == 0;
            let length = if full { (1 << length_bits) - 1 } else { here.len() as u64 };
            let mut pack = |values: &[i64]| {
                let noise = std::iter::repeat_with(|| rng.random::<u64>() as i64).take(capability - values.len());
                let all: Vec<i64> = values.iter().copied().chain(noise).collect();
                Bits::pack(width, all.into_iter().map(|v| v as u64 & ((1 << width) - 1)))
            };
            driver.push(DotBeat {
                length: Bits::truncated(length_bits, length),
                a_signed: flag(self.signed),
                a: pack(&self.a[here.clone()]),
                b: pack(&self.b[here]),
                last: flag(beat + 1 == count),
            })?;
        }
        let (sum, skipped) = dot(&self.a, &self.b);
        monitor.expect([DotResult {
            sum: Bits::truncated(p.sum().width, sum as u64),
            skipped: Bits::truncated(p.skipped().width, skipped),
            overlong: flag(count > p.max_beats as usize),
        }])
    }
}
