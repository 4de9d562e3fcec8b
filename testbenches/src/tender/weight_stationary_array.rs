//! [`WeightStationaryArray`] on products of random size: folds of random weights and group ends, vectors with pauses in
//! between; every sum is foretold to the cycle. In between, weights and vectors come in any order and number, with numbers
//! of sums that follow each other or do not exist, and resets.

use std::collections::{BTreeMap, VecDeque};

use golden::tender::cycles::StationaryCycles;
use golden::tender::weight_stationary_array::{Shown, Stationary, Vector, Weights};
use hdl::blocks::tender::{ActVector, WeightRow, WeightStationaryArray};
use hdl::lang::index_width;
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Error, Out, Run, Sim, StreamDriver, StreamMonitor, Values};

use crate::common::product::{Matrices, wanted};

/// The bench of an array; a vector is one product.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &WeightStationaryArray) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, products)
}

fn bench_of(
    p: &WeightStationaryArray,
    work: impl Fn(&mut Feeder<'_>) -> sim::Result<()> + 'static,
) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (rows, columns, depth) = (p.rows as usize, p.columns as usize, p.depth as usize);
    let golden = Stationary::new(rows, columns, depth, p.pe.accumulator_width).map_err(anyhow::Error::msg)?;
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut feeder = Feeder::new(&p, &golden, sim, run)?;
        feeder.run.reset(feeder.sim, 2)?;
        work(&mut feeder)
    })
}

/// A product of a user's matrices, signed, with all channels in one group; a vector is a tile.
pub const TENSORS: FromTensors<WeightStationaryArray> = FromTensors {
    wanted: |p| Ok(wanted(p.pe.operand_width, p.pe.operand_width)),
    bench: |p, tensors| {
        let given = Matrices::given(tensors);
        let tiles = given.tiles(p.depth as usize, p.columns as usize);
        let count = tiles.len() as u64;
        Ok((bench_of(p, move |feeder| tiles.iter().try_for_each(|tile| exactly(feeder, tile)))?, count))
    },
};

/// A tile, fold by fold; its sums are the exact product.
fn exactly(feeder: &mut Feeder<'_>, tile: &Matrices) -> sim::Result<()> {
    let (rows, inner) = (feeder.p.rows as usize, tile.weight.len());
    feeder.kept = Some(Vec::new());
    for first in (0..inner).step_by(rows) {
        // Rows of weights move down: the bottom one comes first.
        for row in (first..first + rows).rev() {
            let none = || vec![0; feeder.p.columns as usize];
            let weights = tile.weight.get(row).cloned().unwrap_or_else(none);
            feeder.load(Weights { weights, doubles: false }, true)?;
            feeder.settle()?;
        }
        for (index, act) in tile.act.iter().enumerate() {
            let acts = (first..first + rows).map(|k| act.get(k).copied().unwrap_or(0)).collect();
            feeder.vector(Vector { first: first == 0, last: first + rows >= inner, index, acts }, true)?;
            feeder.settle()?;
        }
    }
    feeder.finish()?;
    let exact: Vec<Vec<Option<i128>>> = tile
        .wrapped(feeder.p.pe.accumulator_width)
        .into_iter()
        .map(|row| row.into_iter().map(Some).collect())
        .collect();
    let kept = feeder.kept.take().unwrap_or_default();
    feeder.run.expect_equal(feeder.sim, "result_o", "product of whole rows", format!("{exact:?}"), format!("{kept:?}"))
}

fn products(feeder: &mut Feeder<'_>) -> sim::Result<()> {
    let (mut rng, mut disorder) = (feeder.run.rng("products"), feeder.run.rng("disorder"));
    let p = feeder.p;
    for number in 0..feeder.run.vectors() {
        let mut operands = Operands { p, largest: number.is_multiple_of(4), signed: (rng.random(), rng.random()) };
        let vectors = match number % 3 {
            0 => p.depth as usize,
            1 => 2,
            _ => rng.random_range(1..=p.depth as usize),
        };
        let folds = rng.random_range(1..=4);
        let pauses = rng.random_range(0..3u8);
        if pauses == 0 {
            // So that no vector is on its way when the cycles are counted, not even one whose sum does not leave.
            feeder.finish()?;
            (0..p.rows).try_for_each(|_| feeder.tick())?;
        }
        let start = feeder.cycle;
        for fold in 0..folds {
            let often = rng.random_range(0..4u8);
            for _ in 0..p.rows {
                let doubles = rng.random_range(0..4u8) < often;
                feeder.pause(pauses)?;
                feeder.load(operands.row(doubles, &mut rng), operands.signed.1)?;
                feeder.settle()?;
            }
            for index in 0..vectors {
                feeder.pause(pauses)?;
                let vector = operands.vector((fold == 0, fold + 1 == folds), index, &mut rng);
                feeder.vector(vector, operands.signed.0)?;
                feeder.settle()?;
            }
        }
        if pauses == 0 {
            let end = feeder.finish()?;
            let cycles = StationaryCycles { rows: p.rows.into(), columns: p.columns.into() };
            let cycles = cycles.product(folds, vectors as u64);
            feeder.run.expect_equal(feeder.sim, "result_valid_o", "cycles of a product", cycles, end + 1 - start)?;
        }
        if disorder.random_range(0..3u8) == 0 {
            operands.largest = false;
            out_of_order(feeder, &mut operands, &mut disorder)?;
        }
    }
    feeder.finish()?;
    if feeder.run.vectors() >= 50 && p.pe.accumulator_width <= 18 && feeder.overflows == 0 {
        return Err(Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
    }
    Ok(())
}

/// Rows and vectors in any order, offered together and while the array must refuse them; resets.
fn out_of_order(feeder: &mut Feeder<'_>, operands: &mut Operands<'_>, rng: &mut StimulusRng) -> sim::Result<()> {
    let places = 1usize << index_width(feeder.p.depth.into());
    let mut index = 0;
    for _ in 0..rng.random_range(1..6 * feeder.p.rows) {
        if rng.random_range(0..3u8) == 0 {
            feeder.load(operands.row(rng.random(), rng), operands.signed.1)?;
        }
        if rng.random_range(0..3u8) > 0 {
            if rng.random_range(0..3u8) > 0 {
                index = rng.random_range(0..places);
            }
            let ends = (rng.random_range(0..4u8) == 0, rng.random());
            feeder.vector(operands.vector(ends, index, rng), operands.signed.0)?;
        }
        if rng.random_range(0..3u8) > 0 {
            feeder.settle()?;
        }
        match rng.random_range(0..40u8) {
            0 => feeder.reset(rng.random_range(1..=3))?,
            1..=4 => feeder.tick()?,
            _ => {}
        }
    }
    feeder.settle()
}

struct Operands<'a> {
    p: &'a WeightStationaryArray,
    /// All operands are the largest there is.
    largest: bool,
    /// Activations, weights.
    signed: (bool, bool),
}

impl Operands<'_> {
    fn one(&self, signed: bool, rng: &mut StimulusRng) -> i64 {
        let width = self.p.pe.operand_width;
        let (low, high) =
            if signed { (-1i64 << (width - 1), (1i64 << (width - 1)) - 1) } else { (0, (1i64 << width) - 1) };
        if self.largest { high } else { rng.random_range(low..=high) }
    }

    fn row(&self, doubles: bool, rng: &mut StimulusRng) -> Weights {
        Weights { weights: (0..self.p.columns).map(|_| self.one(self.signed.1, rng)).collect(), doubles }
    }

    fn vector(&self, (first, last): (bool, bool), index: usize, rng: &mut StimulusRng) -> Vector {
        Vector { first, last, index, acts: (0..self.p.rows).map(|_| self.one(self.signed.0, rng)).collect() }
    }
}

/// Drives one cycle after the other, and compares.
struct Feeder<'a> {
    p: &'a WeightStationaryArray,
    sim: &'a mut Sim,
    run: &'a mut Run,
    reset: &'a Stationary,
    golden: Stationary,
    pauses: StimulusRng,
    cycle: u64,
    /// Expected outputs of columns, by cycle.
    expected: BTreeMap<u64, Vec<(u32, Shown)>>,
    overflows: u64,
    /// Sums of the vectors that end, where somebody wants them.
    kept: Option<Vec<Vec<Option<i128>>>>,
    load: Driver<WeightRow<Values>>,
    step: Driver<ActVector<Values>>,
    /// Beats that are offered, as numbers.
    rows: VecDeque<Weights>,
    vectors: VecDeque<Vector>,
    result: [Out; 3],
}

impl<'a> Feeder<'a> {
    fn new(
        p: &'a WeightStationaryArray,
        reset: &'a Stationary,
        sim: &'a mut Sim,
        run: &'a mut Run,
    ) -> sim::Result<Self> {
        let load = run.driver_of(sim, "load", Stall::Never)?;
        let step = run.driver_of(sim, "step", Stall::Never)?;
        let [valid, sum, overflow] = ["result_valid_o", "result_o", "overflow_o"].map(|name| sim.output(name));
        Ok(Self {
            p,
            pauses: run.rng("pauses"),
            sim,
            run,
            reset,
            golden: reset.clone(),
            cycle: 0,
            expected: BTreeMap::new(),
            overflows: 0,
            kept: None,
            load,
            step,
            rows: VecDeque::new(),
            vectors: VecDeque::new(),
            result: [valid?, sum?, overflow?],
        })
    }

    /// Offers a row of weights.
    fn load(&mut self, row: Weights, signed: bool) -> sim::Result<()> {
        let beat = WeightRow {
            doubles: Bits::truncated(1, row.doubles.into()),
            weight_signed: Bits::truncated(1, signed.into()),
            weight: Bits::pack(self.p.pe.operand_width, row.weights.iter().map(|&w| w as u64)),
        };
        self.rows.push_back(row);
        self.load.push(beat)
    }

    /// Offers a vector.
    fn vector(&mut self, vector: Vector, signed: bool) -> sim::Result<()> {
        let beat = ActVector {
            first: Bits::truncated(1, vector.first.into()),
            last: Bits::truncated(1, vector.last.into()),
            index: Bits::truncated(index_width(self.p.depth.into()), vector.index as u64),
            act_signed: Bits::truncated(1, signed.into()),
            act: Bits::pack(self.p.pe.operand_width, vector.acts.iter().map(|&x| x as u64)),
        };
        self.vectors.push_back(vector);
        self.step.push(beat)
    }

    /// Goes on until all offers are taken.
    fn settle(&mut self) -> sim::Result<()> {
        let mut left = (self.rows.len() + self.vectors.len()) as u32 * (2 * self.p.rows + 8);
        while !(self.rows.is_empty() && self.vectors.is_empty()) {
            left = left.checked_sub(1).ok_or_else(|| Error::Unsupported("the array does not become ready".into()))?;
            self.tick()?;
        }
        Ok(())
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

    /// Sums on their way, kept sums and weights are lost; offers stay.
    fn reset(&mut self, cycles: u32) -> sim::Result<()> {
        self.golden = self.reset.clone();
        self.expected.clear();
        self.run.reset(self.sim, cycles.into())
    }

    /// One cycle: makes the offers and compares the outputs.
    fn tick(&mut self) -> sim::Result<()> {
        self.compare()?;
        let drivers: &mut [&mut StreamDriver] = &mut [self.load.as_mut(), self.step.as_mut()];
        let before = [drivers[0].sent(), drivers[1].sent()];
        self.run.cycle(self.sim, drivers, &mut [] as &mut [StreamMonitor])?;
        let (loads, steps) = (self.load.sent() > before[0], self.step.sent() > before[1]);
        self.run.expect_equal(self.sim, "step_ready_o", "in a cycle of a load", false, loads && steps)?;
        if let Some(row) = loads.then(|| self.rows.pop_front()).flatten() {
            self.golden.load(row);
        }
        if let Some(vector) = steps.then(|| self.vectors.pop_front()).flatten() {
            let cycles = StationaryCycles { rows: self.p.rows.into(), columns: self.p.columns.into() };
            let shown = self.golden.step(&vector);
            if let (Some(kept), Some(shown)) = (&mut self.kept, &shown) {
                kept.push(shown.iter().map(|shown| shown.sum).collect());
            }
            for (c, shown) in (0..).zip(shown.into_iter().flatten()) {
                self.expected.entry(cycles.sum(self.cycle, c)).or_default().push((c as u32, shown));
            }
        }
        self.cycle += 1;
        Ok(())
    }

    fn compare(&mut self) -> sim::Result<()> {
        let shown = self.expected.remove(&self.cycle).unwrap_or_default();
        let [valid_o, result_o, overflow_o] = self.result;
        let mut valid = Bits::zero(self.p.columns);
        shown.iter().for_each(|sum| valid.set_bit(sum.0, true));
        self.run.expect(self.sim, valid_o, &valid)?;
        if shown.is_empty() {
            return Ok(());
        }
        // Fields without a meaning may have any value.
        let (mut results, mut flags) = (self.sim.peek(result_o), self.sim.peek(overflow_o));
        let width = self.p.pe.accumulator_width;
        for (c, Shown { sum, flag }) in shown {
            if let Some(sum) = sum {
                results.set_slice(c * width, &Bits::truncated(width, sum as u64));
            }
            if let Some(flag) = flag {
                flags.set_bit(c, flag);
                self.overflows += u64::from(flag);
            }
        }
        self.run.expect(self.sim, result_o, &results)?;
        self.run.expect(self.sim, overflow_o, &flags)
    }
}
