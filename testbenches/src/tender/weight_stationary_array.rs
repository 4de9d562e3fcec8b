//! [`WeightStationaryArray`] on products of random size: folds of random weights and group ends, vectors with pauses in
//! between; every sum is foretold to the cycle.

use std::collections::BTreeMap;

use golden::tender::accumulator::Overflow;
use golden::tender::cycles::StationaryCycles;
use golden::tender::weight_stationary_array::{Row, result};
use hdl::blocks::tender::{ActVector, WeightRow, WeightStationaryArray};
use hdl::lang::index_width;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Error, Out, Run, Sim, StreamDriver, StreamMonitor, Values};

/// The bench of an array; a vector is one product.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &WeightStationaryArray) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone(), cycles: StationaryCycles { rows: p.rows.into(), columns: p.columns.into() } };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: WeightStationaryArray,
    cycles: StationaryCycles,
}

/// One fold: weights by row and column, which rows double, activations by vector and row.
struct Fold {
    weights: Vec<Vec<i64>>,
    doubles: Vec<bool>,
    acts: Vec<Vec<i64>>,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("products");
        let mut feeder = Feeder::new(&self.p, sim, run)?;
        feeder.sim.reset(2)?;
        let mut overflows = 0;
        for number in 0..feeder.run.vectors() {
            let signed = (rng.random(), rng.random());
            let vectors = match number % 3 {
                0 => self.p.depth as usize,
                1 => 2,
                _ => rng.random_range(2..=self.p.depth as usize),
            };
            let count = rng.random_range(1..=4);
            let folds: Vec<Fold> = (0..count).map(|_| self.fold(vectors, signed, number, &mut rng)).collect();
            let pauses = rng.random_range(0..3u8);
            if pauses == 0 {
                // So that no vector is on its way when the cycles are counted.
                feeder.finish()?;
            }
            let start = feeder.cycle;
            for (i, fold) in folds.iter().enumerate() {
                // The row that is loaded first moves to the bottom.
                for r in (0..fold.doubles.len()).rev() {
                    feeder.load(&fold.weights[r], fold.doubles[r], signed.1, pauses)?;
                }
                for (m, act) in fold.acts.iter().enumerate() {
                    let (first, last) = (i == 0, i + 1 == folds.len());
                    let cycle = feeder.vector(act, signed.0, m, (first, last), pauses)?;
                    if last {
                        overflows += self.foretell(&mut feeder, &folds, m, cycle)?;
                    }
                }
            }
            if pauses == 0 {
                let end = feeder.finish()?;
                let cycles = self.cycles.product(count, vectors as u64);
                if end + 1 - start != cycles {
                    let (took, problem) = (end + 1 - start, "cycles from the first weight to the last sum");
                    return Err(Error::Unsupported(format!("{problem}: {took}, not {cycles}")));
                }
            }
        }
        feeder.finish()?;
        if feeder.run.vectors() >= 50 && self.p.pe.accumulator_width <= 18 && overflows == 0 {
            return Err(Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
        }
        Ok(())
    }

    fn fold(&self, vectors: usize, signed: (bool, bool), number: u64, rng: &mut StimulusRng) -> Fold {
        let width = self.p.pe.operand_width;
        let mut operand = |signed: bool| {
            let (low, high) =
                if signed { (-1i64 << (width - 1), (1i64 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
            if number.is_multiple_of(4) { high } else { rng.random_range(low..=high) }
        };
        let rows = self.p.rows as usize;
        let weights = (0..rows).map(|_| (0..self.p.columns).map(|_| operand(signed.1)).collect()).collect();
        let acts = (0..vectors).map(|_| (0..rows).map(|_| operand(signed.0)).collect()).collect();
        let often = rng.random_range(0..4u8);
        let doubles = (0..rows).map(|_| rng.random_range(0..4u8) < often).collect();
        Fold { weights, doubles, acts }
    }

    /// The sums of vector `m`, shown after the step in `cycle`; returns how many of them left their range.
    fn foretell(&self, feeder: &mut Feeder<'_>, folds: &[Fold], m: usize, cycle: u64) -> sim::Result<u64> {
        let mut overflows = 0;
        for c in 0..self.p.columns {
            let row = |fold: &Fold, r: usize| Row {
                product: i128::from(fold.acts[m][r]) * i128::from(fold.weights[r][c as usize]),
                doubles: fold.doubles[r],
            };
            let folds: Vec<Vec<Row>> =
                folds.iter().map(|fold| (0..fold.doubles.len()).map(|r| row(fold, r)).collect()).collect();
            let width = self.p.pe.accumulator_width;
            let sum = result(&folds, width, width, Overflow::Wrap).map_err(Error::Unsupported)?;
            overflows += u64::from(sum.1);
            let shown = self.cycles.sum(cycle, c.into());
            feeder.expected.entry(shown).or_default().push((c, sum));
        }
        Ok(overflows)
    }
}

/// A sum that a column must show: the column, the sum, and its flag.
type Shown = (u32, (i128, bool));

/// Drives one cycle after the other, and compares.
struct Feeder<'a> {
    p: &'a WeightStationaryArray,
    sim: &'a mut Sim,
    run: &'a mut Run,
    pauses: StimulusRng,
    cycle: u64,
    expected: BTreeMap<u64, Vec<Shown>>,
    load: Driver<WeightRow<Values>>,
    step: Driver<ActVector<Values>>,
    result: [Out; 3],
}

impl<'a> Feeder<'a> {
    fn new(p: &'a WeightStationaryArray, sim: &'a mut Sim, run: &'a mut Run) -> sim::Result<Self> {
        let load = run.driver_of(sim, "load", Stall::Never)?;
        let step = run.driver_of(sim, "step", Stall::Never)?;
        let [valid, sum, overflow] = ["result_valid_o", "result_o", "overflow_o"].map(|name| sim.output(name));
        let result = [valid?, sum?, overflow?];
        let pauses = run.rng("pauses");
        Ok(Self { p, sim, run, pauses, cycle: 0, expected: BTreeMap::new(), load, step, result })
    }

    /// Offers a row of weights until it is taken.
    fn load(&mut self, weights: &[i64], doubles: bool, signed: bool, pauses: u8) -> sim::Result<()> {
        self.pause(pauses)?;
        self.load.push(WeightRow {
            doubles: Bits::truncated(1, doubles.into()),
            weight_signed: Bits::truncated(1, signed.into()),
            weight: Bits::pack(self.p.pe.operand_width, weights.iter().map(|&w| w as u64)),
        })?;
        self.settle()
    }

    /// Offers a vector until it is taken; returns the cycle.
    fn vector(&mut self, acts: &[i64], signed: bool, m: usize, ends: (bool, bool), pauses: u8) -> sim::Result<u64> {
        self.pause(pauses)?;
        self.step.push(ActVector {
            first: Bits::truncated(1, ends.0.into()),
            last: Bits::truncated(1, ends.1.into()),
            index: Bits::truncated(index_width(self.p.depth.into()), m as u64),
            act_signed: Bits::truncated(1, signed.into()),
            act: Bits::pack(self.p.pe.operand_width, acts.iter().map(|&x| x as u64)),
        })?;
        self.settle()?;
        Ok(self.cycle - 1)
    }

    /// Goes on until all that is offered is taken.
    fn settle(&mut self) -> sim::Result<()> {
        for _ in 0..2 * self.p.rows + 8 {
            self.tick()?;
            if self.load.is_done() && self.step.is_done() {
                return Ok(());
            }
        }
        Err(Error::Unsupported("the array does not become ready".into()))
    }

    fn pause(&mut self, often: u8) -> sim::Result<()> {
        while self.pauses.random_range(0..4u8) < often {
            self.tick()?;
        }
        Ok(())
    }

    /// Waits for all sums; returns the cycle of the last one.
    fn finish(&mut self) -> sim::Result<u64> {
        let end = self.expected.keys().next_back().copied().unwrap_or(self.cycle);
        while self.cycle <= end {
            self.tick()?;
        }
        Ok(end)
    }

    /// One cycle: what is offered is offered, what is shown is compared.
    fn tick(&mut self) -> sim::Result<()> {
        let shown = self.expected.remove(&self.cycle).unwrap_or_default();
        let [valid_o, result_o, overflow_o] = self.result;
        let mut valid = Bits::zero(self.p.columns);
        shown.iter().for_each(|sum| valid.set_bit(sum.0, true));
        self.run.expect(self.sim, valid_o, &valid)?;
        if !shown.is_empty() {
            let (mut results, mut flags) = (self.sim.peek(result_o), self.sim.peek(overflow_o));
            let width = self.p.pe.accumulator_width;
            for (c, (sum, flag)) in shown {
                results.set_slice(c * width, &Bits::truncated(width, sum as u64));
                flags.set_bit(c, flag);
            }
            self.run.expect(self.sim, result_o, &results)?;
            self.run.expect(self.sim, overflow_o, &flags)?;
        }
        let drivers: &mut [&mut StreamDriver] = &mut [self.load.as_mut(), self.step.as_mut()];
        self.run.cycle(self.sim, drivers, &mut [] as &mut [StreamMonitor])?;
        self.cycle += 1;
        Ok(())
    }
}
