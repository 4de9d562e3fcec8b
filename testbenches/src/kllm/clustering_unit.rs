//! [`ClusteringUnit`] against the golden index: all 65,536 fp16 values, and values on and next to the midpoints. Tables
//! are written in any order and while values flow. Ports hold noise while nothing is written. There are resets.

use golden::format::Format;
use golden::kllm::clustering_unit::{cycles, nearest};
use hdl::blocks::kllm::ClusteringUnit;
use hdl::blocks::kllm::clustering_unit::{ClusterIndices, ClusterValues};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, In, Run, Sim, Values};

use super::floats::{finite, fp16};
use super::interrupted::{cut_short, record};

/// Values, and the midpoints that they are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// 2^n - 1 midpoints.
    pub midpoints: Vec<u64>,
    /// Values in order.
    pub values: Vec<u64>,
}

/// The bench of a clustering unit; a vector is one value.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ClusteringUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// Values and midpoints of a user.
pub const TENSORS: FromTensors<ClusteringUnit> = FromTensors {
    wanted: |p| {
        let midpoints = vec![Extent::Exactly((1 << p.bits) - 1)];
        Ok(vec![
            Wanted {
                name: "midpoints",
                meaning: "midpoints, ascending, NaNs last",
                numbers: Numbers::Float16,
                shape: midpoints,
            },
            Wanted { name: "values", meaning: "values", numbers: Numbers::Float16, shape: vec![Extent::Any] },
        ])
    },
    bench: |p, tensors| {
        let (midpoints, values) = (tensors.all("midpoints").to_vec(), tensors.all("values").to_vec());
        let nan = |m: u64| Format::FP16.is_nan(m);
        let falls = |pair: &[u64]| match (nan(pair[0]), nan(pair[1])) {
            (_, true) => false,
            (true, false) => true,
            (false, false) => Format::FP16.total_cmp(pair[0], pair[1]).is_gt(),
        };
        if let Some(place) = midpoints.windows(2).position(falls) {
            anyhow::bail!("midpoints.npy falls after element {place}; wanted: ascending midpoints, NaNs last");
        }
        let count = values.len() as u64;
        Ok((bench_of(p, vec![Task { midpoints, values }])?, count))
    },
};

/// A bench of the tasks `given`; without any, of made ones.
///
/// # Errors
/// Parameters that the block refuses, or a wrong number of midpoints.
pub fn bench_of(p: &ClusteringUnit, given: Vec<Task>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let midpoints = (1 << p.bits) - 1;
    anyhow::ensure!(given.iter().all(|t| t.midpoints.len() == midpoints), "a task needs {midpoints} midpoints");
    let bench = ClusteringBench { bits: p.bits, lanes: p.lanes as usize, pipelined: p.pipelined, given };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct ClusteringBench {
    bits: u32,
    lanes: usize,
    /// Cycles from a value to its index.
    pipelined: bool,
    given: Vec<Task>,
}

impl ClusteringBench {
    /// Midpoints of some kind, ascending: equal ones and zeros of both signs too; NaNs of both signs at the end.
    fn task(&self, number: u64, values: u64, rng: &mut StimulusRng) -> Task {
        let count = (1 << self.bits) - 1;
        let mut midpoints: Vec<u64> = (0..count)
            .map(|_| match number % 4 {
                0 => finite(rng),
                1 => [0x0000, 0x8000, 0x0001, 0x8001, 0x3c00, 0xfc00][rng.random_range(0..6usize)],
                2 => fp16(rng),
                // Short codebooks: the rest stands for no midpoint. One bit of the fraction makes a NaN.
                _ if rng.random_range(0..4u8) == 0 => {
                    let fraction = rng.random::<u64>() & if rng.random() { 0x3ff } else { 0 };
                    rng.random_range(0..2u64) << 15 | 0x7c00 | 1 << rng.random_range(0..10u32) | fraction
                }
                _ => rng.random::<u64>() & 0xffff,
            })
            .collect();
        // -0 and +0 are equal: either may come first.
        let nan = |m: u64| Format::FP16.is_nan(m);
        midpoints.sort_by(|&a, &b| nan(a).cmp(&nan(b)).then(Format::FP16.total_cmp(a, b)));
        let values = (0..values)
            .map(|_| match rng.random_range(0..3u8) {
                0 => fp16(rng),
                1 => rng.random::<u64>() & 0xffff,
                _ => {
                    let near = midpoints[rng.random_range(0..midpoints.len())];
                    near.wrapping_add(rng.random_range(0..3u64)).wrapping_sub(1) & 0xffff
                }
            })
            .collect();
        Task { midpoints, values }
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("values");
        let mut table = Table::find(sim, self.bits)?;
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        // One table for every `VALUES_A_TABLE` vectors.
        let tables = if self.given.is_empty() { (run.vectors() / VALUES_A_TABLE).max(6) } else { 0 };
        let share = run.vectors() / tables.max(1) + 1;
        let made = (0..tables).map(|number| self.task(number, share, &mut rng));
        let tasks: Vec<Task> = self.given.iter().cloned().chain(made).collect();
        for (number, task) in tasks.iter().enumerate() {
            table.write(sim, &task.midpoints, number % 3 == 1, &mut rng)?;
            self.values(sim, run, number, task, &mut table, &mut rng)?;
            if number % 4 == 3 {
                self.interrupted(sim, run, task, &mut table, &mut rng)?;
            }
            if let Some(next) = tasks.get(number + 1).filter(|_| number % 4 == 1) {
                self.rewritten(sim, run, [task, next], &mut table, &mut rng)?;
            }
        }
        Ok(())
    }

    /// The values of a task, every other time to the cycle.
    fn values(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        number: usize,
        task: &Task,
        table: &mut Table,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let stalls = if number.is_multiple_of(2) {
            [Stall::Never; 2]
        } else {
            [Stall::ALL[3], Stall::Random { num: 1, den: 3 }]
        };
        let mut values = [run.driver_of::<ClusterValues<Values>>(sim, "values", stalls[0])?];
        let mut indices = [run.monitor_of::<ClusterIndices<Values>>(sim, "indices", stalls[1])?];
        for (beat, expected) in self.beats(&task.values, &task.midpoints) {
            values[0].push(beat)?;
            indices[0].expect([expected])?;
        }
        let start = sim.cycle_count();
        let beats = task.values.len().div_ceil(self.lanes) as u64;
        while !indices[0].is_done() && sim.cycle_count() - start < 20 * beats + 100 {
            table.garble(sim, rng);
            run.cycle(sim, &mut values, &mut indices)?;
        }
        let stated = cycles(self.bits.into(), self.pipelined, beats);
        if number.is_multiple_of(2) {
            let place = format!("cycles of {beats} beats");
            run.expect_equal(sim, "indices_valid_o", &place, stated, sim.cycle_count() - start)?;
        }
        run.streams(sim, &mut values, &mut indices)
    }

    /// Values in beats, the last one filled up, and their indices.
    fn beats<'a>(
        &'a self,
        values: &'a [u64],
        midpoints: &'a [u64],
    ) -> impl Iterator<Item = (ClusterValues<Values>, ClusterIndices<Values>)> {
        values.chunks(self.lanes).map(|beat| {
            let mut beat = beat.to_vec();
            beat.resize(self.lanes, 0);
            let indices = beat.iter().map(|&value| nearest(midpoints, value));
            let index = Bits::pack(self.bits, indices);
            (ClusterValues { value: Bits::pack(16, beat) }, ClusterIndices { index })
        })
    }

    /// A reset or a clear while values are inside: they are dropped, the table stays.
    fn interrupted(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        task: &Task,
        table: &mut Table,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let mut values = [run.driver_of::<ClusterValues<Values>>(sim, "values", Stall::Never)?];
        let mut indices =
            [run.monitor_of::<ClusterIndices<Values>>(sim, "indices", Stall::Random { num: 1, den: 2 })?];
        for (beat, expected) in self.beats(&task.values, &task.midpoints) {
            values[0].push(beat)?;
            indices[0].expect([expected])?;
        }
        table.garble(sim, rng);
        if rng.random() {
            cut_short(sim, run, &mut values, &mut indices, rng.random_range(0..16))?;
        } else {
            for _ in 0..rng.random_range(0..16u8) {
                run.cycle(sim, &mut values, &mut indices)?;
            }
            let clear = sim.input("clear_i")?;
            sim.poke_u64(clear, 1);
            run.cycle(sim, &mut values, &mut indices)?;
            sim.poke_u64(clear, 0);
            let valid = sim.output("indices_valid_o")?;
            sim.settle()?;
            run.expect_u64(sim, valid, 0)?;
        }
        self.values(sim, run, 1, task, table, rng)
    }

    /// The table is written while values flow. Values that enter after the last write are found with the new table.
    fn rewritten(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        tasks: [&Task; 2],
        table: &mut Table,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let mut values = run.driver_of::<ClusterValues<Values>>(sim, "values", Stall::Random { num: 1, den: 4 })?;
        let mut indices = run.monitor_of::<ClusterIndices<Values>>(sim, "indices", Stall::Random { num: 1, den: 4 })?;
        let [before, after] = tasks;
        let mut expected = Vec::new();
        // Enough of them that some enter when all is written.
        let enough = 8 * after.midpoints.len() * self.lanes + after.values.len();
        let offered: Vec<u64> = before.values.iter().chain(&after.values).copied().cycle().take(enough).collect();
        for (beat, index) in self.beats(&offered, &after.midpoints) {
            values.push(beat)?;
            expected.push(index);
        }
        for (place, &midpoint) in after.midpoints.iter().enumerate() {
            table.put(sim, place, midpoint);
            run.cycle(sim, &mut [&mut *values], &mut [&mut *indices])?;
            table.garble(sim, rng);
            run.cycle(sim, &mut [&mut *values], &mut [&mut *indices])?;
        }
        let first = values.sent() as usize;
        record(sim, run, &mut values, &mut indices, expected.len())?;
        for (place, (expected, got)) in expected.iter().zip(indices.received()).enumerate().skip(first) {
            let place = format!("beat {place}; from beat {first} on the table is the new one");
            run.expect_equal(sim, "indices_index_o", &place, &expected.index, &got.index)?;
        }
        Ok(())
    }
}

/// Values for which a table of midpoints is written.
const VALUES_A_TABLE: u64 = 100;

/// The ports at which the table is written, and its contents.
struct Table {
    write: In,
    index: In,
    midpoint: In,
    bits: u32,
    content: Vec<Option<u64>>,
}

impl Table {
    fn find(sim: &Sim, bits: u32) -> sim::Result<Self> {
        let input = |name: &str| sim.input(name);
        let (write, index, midpoint) = (input("write_i")?, input("write_index_i")?, input("midpoint_i")?);
        Ok(Self { write, index, midpoint, bits, content: vec![None; (1 << bits) - 1] })
    }

    /// Values that must not matter while nothing is written: any number, any midpoint.
    fn garble(&self, sim: &mut Sim, rng: &mut StimulusRng) {
        sim.poke_u64(self.write, 0);
        sim.poke_u64(self.index, rng.random_range(0..1u64 << self.bits));
        sim.poke_u64(self.midpoint, rng.random::<u64>() & 0xffff);
    }

    /// Offers a midpoint to the coming edge.
    fn put(&mut self, sim: &mut Sim, place: usize, midpoint: u64) {
        sim.poke_u64(self.write, 1);
        sim.poke_u64(self.index, place as u64);
        sim.poke_u64(self.midpoint, midpoint);
        if let Some(content) = self.content.get_mut(place) {
            *content = Some(midpoint);
        }
    }

    /// Writes the table in any order, with gaps, some places twice, and the place that does not exist. With `changes`,
    /// only midpoints that change.
    fn write(&mut self, sim: &mut Sim, midpoints: &[u64], changes: bool, rng: &mut StimulusRng) -> sim::Result<()> {
        let mut order: Vec<usize> = (0..midpoints.len()).collect();
        order.shuffle(rng);
        order.retain(|&place| !changes || self.content[place] != Some(midpoints[place]));
        for place in order {
            match rng.random_range(0..8u8) {
                0 => self.garble(sim, rng),
                1 => self.put(sim, place, midpoints[place] ^ (1 << rng.random_range(0..16u32))),
                2 => self.put(sim, midpoints.len(), rng.random::<u64>() & 0xffff),
                _ => self.put(sim, place, midpoints[place]),
            }
            sim.tick()?;
            self.put(sim, place, midpoints[place]);
            sim.tick()?;
        }
        self.garble(sim, rng);
        Ok(())
    }
}
