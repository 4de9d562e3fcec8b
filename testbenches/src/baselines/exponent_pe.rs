//! [`ExponentPe`] in the place of any PE of a row: tiles with pauses, operands of all exponents, sums that overflow and come back,
//! a left neighbour with random sums. Tiles begin, rows shift and resets come in any cycle.

use golden::baselines::exponent_pe::{Cycle, ExponentPe as Golden, ExponentSum, value};
use golden::tender::tender_pe::Drain as GoldenDrain;
use hdl::blocks::baselines::ExponentPe;
use hdl::blocks::tender::Drain;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

use crate::tender::mesh_pe::{Choice, PeBench, Reading, integer};

/// The bench of a PE; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ExponentPe) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench::new(p)?;
    sim::kit::bench(p, move |sim, run| bench.random(sim, run))
}

/// Every product of two operands within the limit, a tile each; it takes all, however many vectors there are.
///
/// # Errors
/// Parameters that the block refuses.
pub fn every_product(p: &ExponentPe) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench::new(p)?;
    sim::kit::bench(p, move |sim, run| bench.every_product(sim, run))
}

impl PeBench for ExponentPe {
    type Sum = ExponentSum;

    fn fresh(&self) -> Result<ExponentSum, String> {
        ExponentSum::new(self.accumulator_width)
    }

    fn operand(&self, reading: Reading, choice: Choice, rng: &mut StimulusRng) -> (i64, u32) {
        let integer = integer(self.operand_width, reading.signed, choice, rng);
        let limit = 1i128 << (self.accumulator_width / 2 - 1);
        let within = |exponent: &u32| value((integer, *exponent)).abs() <= limit;
        let most = (0..1 << self.exponent_width).rev().find(within).unwrap_or(0);
        (integer, if choice == Choice::Any { rng.random_range(0..=most) } else { most })
    }

    fn bits(&self, (integer, exponent): (i64, u32)) -> u64 {
        integer as u64 & ((1 << self.operand_width) - 1) | u64::from(exponent) << self.operand_width
    }

    fn overflows(&self) -> bool {
        // Narrow operands fill an accumulator of few bits only.
        2 * (self.operand_width + (1 << self.exponent_width)) >= self.accumulator_width
    }
}

struct Bench {
    p: ExponentPe,
    fresh: Golden,
    /// All operands within the limit.
    operands: Vec<(i64, u32)>,
    /// The largest, and the smallest.
    extremes: [(i64, u32); 2],
}

impl Bench {
    fn new(p: &ExponentPe) -> anyhow::Result<Self> {
        let drain = match p.drain {
            Drain::Single => GoldenDrain::Single,
            Drain::Double => GoldenDrain::Double,
        };
        let fresh = Golden::new(p.accumulator_width, drain).map_err(anyhow::Error::msg)?;
        let integers = -1i64 << (p.operand_width - 1)..1i64 << p.operand_width;
        let exponents = 0..1u32 << p.exponent_width;
        let all = exponents.flat_map(|exponent| integers.clone().map(move |integer| (integer, exponent)));
        let operands: Vec<_> = all.filter(|&operand| value(operand).abs() <= fresh.limit()).collect();
        let most = operands.iter().copied().max_by_key(|&operand| value(operand)).unwrap_or_default();
        let least = operands.iter().copied().min_by_key(|&operand| value(operand)).unwrap_or_default();
        Ok(Self { p: p.clone(), fresh, operands, extremes: [most, least] })
    }

    fn any(&self, rng: &mut StimulusRng) -> (i64, u32) {
        self.operands[rng.random_range(0..self.operands.len())]
    }

    fn every_product(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let ports = Ports::find(sim)?;
        let mut golden = self.fresh.clone();
        run.reset(sim, 2)?;
        for &act in &self.operands {
            for &weight in &self.operands {
                let cycle = Cycle { first: true, last: true, act, weight, drain: false, neighbour: (0, false) };
                ports.step(sim, run, &mut golden, &cycle)?;
            }
        }
        Ok(())
    }

    fn random(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("cycles");
        let ports = Ports::find(sim)?;
        let mut golden = self.fresh.clone();
        run.reset(sim, 2)?;
        let half = 1i128 << (self.p.accumulator_width - 1);
        let (low, high) = (-half as i64, (half - 1) as i64);
        // Accumulators that shift have no sum of their own until the next tile.
        let drains = if self.p.drain == Drain::Single { 120u8 } else { 12 };
        let (mut mood, mut left, mut started, mut overflows) = (0u8, 0u32, false, 0u64);
        for _ in 0..run.vectors() {
            if left == 0 {
                (mood, left) = (rng.random_range(0..6), rng.random_range(1..=24));
            }
            left -= 1;
            if rng.random_range(0..300u16) == 0 {
                run.reset(sim, rng.random_range(1..=2))?;
                (golden, started) = (self.fresh.clone(), false);
            }
            let [most, least] = self.extremes;
            let (act, weight) = match mood {
                0 => (most, most),
                1 => (most, least),
                2 => ((0, self.any(&mut rng).1), self.any(&mut rng)),
                _ => (self.any(&mut rng), self.any(&mut rng)),
            };
            let cycle = Cycle {
                first: !started || rng.random_range(0..40u8) == 0,
                last: rng.random_range(0..15u8) == 0,
                act,
                weight,
                drain: rng.random_range(0..drains) == 0,
                neighbour: (rng.random_range(low..=high), rng.random()),
            };
            started = true;
            overflows += u64::from(ports.step(sim, run, &mut golden, &cycle)?);
        }
        if run.vectors() >= 1000
            && overflows == 0
            && self.p.accumulator_width <= 32
            && value(self.extremes[0]) == self.fresh.limit()
        {
            return Err(sim::Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
        }
        Ok(())
    }
}

struct Ports {
    first: [(In, Out); 2],
    operands: [(In, Out); 4],
    drain: In,
    neighbour: [(In, Out); 2],
}

impl Ports {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let pair = |name: &str| -> sim::Result<_> {
            Ok((sim.input(&format!("{name}_i"))?, sim.output(&format!("{name}_o"))?))
        };
        Ok(Self {
            first: [pair("first")?, pair("last")?],
            operands: [pair("act")?, pair("act_exponent")?, pair("weight")?, pair("weight_exponent")?],
            drain: sim.input("drain_i")?,
            neighbour: [pair("result")?, pair("overflow")?],
        })
    }

    /// Drives a cycle, compares all outputs; whether a flag was shown.
    fn step(&self, sim: &mut Sim, run: &mut Run, golden: &mut Golden, cycle: &Cycle) -> sim::Result<bool> {
        let controls = [cycle.first, cycle.last];
        for (port, value) in self.first.iter().zip(controls) {
            sim.poke_u64(port.0, value.into());
        }
        let [act, act_exponent, weight, weight_exponent] = self.operands;
        let integers = [(act, cycle.act.0), (weight, cycle.weight.0)];
        let exponents = [(act_exponent, cycle.act.1), (weight_exponent, cycle.weight.1)];
        for (port, integer) in integers {
            sim.poke_i64(port.0, integer);
        }
        for (port, exponent) in exponents {
            sim.poke_u64(port.0, exponent.into());
        }
        sim.poke_u64(self.drain, cycle.drain.into());
        let [result, overflow] = self.neighbour;
        sim.poke_i64(result.0, cycle.neighbour.0);
        sim.poke_u64(overflow.0, cycle.neighbour.1.into());
        sim.tick()?;
        let shown = golden.step(cycle).map_err(sim::Error::Unsupported)?;
        for (port, value) in self.first.iter().zip(controls) {
            run.expect_u64(sim, port.1, value.into())?;
        }
        for (port, integer) in integers {
            run.expect_i64(sim, port.1, integer)?;
        }
        for (port, exponent) in exponents {
            run.expect_u64(sim, port.1, exponent.into())?;
        }
        let Some((sum, flag)) = shown else { return Ok(false) };
        run.expect_i64(sim, result.1, sum)?;
        run.expect_u64(sim, overflow.1, flag.into())?;
        Ok(flag)
    }
}
