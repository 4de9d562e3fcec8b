//! [`ClusteringUnit`] against the golden index: all 65,536 fp16 values, and values on and beside the midpoints.

use golden::format::Format;
use golden::kllm::clustering_unit::{cycles, nearest};
use hdl::blocks::kllm::ClusteringUnit;
use hdl::blocks::kllm::clustering_unit::{ClusterIndices, ClusterValues};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::floats::{finite, fp16};

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

/// A bench that starts with the tasks `given`.
///
/// # Errors
/// Parameters that the block refuses, or a wrong number of midpoints.
pub fn bench_of(p: &ClusteringUnit, given: Vec<Task>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let midpoints = (1 << p.bits) - 1;
    anyhow::ensure!(given.iter().all(|t| t.midpoints.len() == midpoints), "a task needs {midpoints} midpoints");
    let bench = ClusteringBench { bits: p.bits, lanes: p.lanes as usize, pipelined: p.pipelined, given };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct ClusteringBench {
    bits: u32,
    lanes: usize,
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
                1 => [0x0000, 0x8000, 0x0001, 0x8001, 0x3c00][rng.random_range(0..5usize)],
                2 => fp16(rng),
                // Short codebooks: the rest stands for no midpoint.
                _ if rng.random_range(0..4u8) == 0 => 0x7c01 | rng.random::<u64>() & 0x83ff,
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
        let [write, index, midpoint] = ["write_i", "write_index_i", "midpoint_i"].map(|name| sim.input(name));
        let (write, index, midpoint) = (write?, index?, midpoint?);
        sim.reset(2)?;
        let lanes = self.lanes;
        let share = run.vectors() / 6 + 1;
        let made = (0..6).map(|number| self.task(number, share, &mut rng));
        let tasks: Vec<Task> = self.given.iter().cloned().chain(made).collect();
        for (number, task) in tasks.iter().enumerate() {
            for (i, &value) in task.midpoints.iter().enumerate() {
                sim.poke_u64(write, 1);
                sim.poke_u64(index, i as u64);
                sim.poke_u64(midpoint, value);
                sim.tick()?;
            }
            sim.poke_u64(write, 0);
            let stalls =
                if number % 2 == 0 { [Stall::Never; 2] } else { [Stall::ALL[3], Stall::Random { num: 1, den: 3 }] };
            let mut values = [run.driver_of::<ClusterValues<Values>>(sim, "values", stalls[0])?];
            let mut indices = [run.monitor_of::<ClusterIndices<Values>>(sim, "indices", stalls[1])?];
            let mut all = task.values.clone();
            all.resize(all.len().next_multiple_of(lanes), 0);
            for beat in all.chunks(lanes) {
                values[0].push(ClusterValues { value: Bits::pack(16, beat.iter().copied()) })?;
                let expected = beat.iter().map(|&value| nearest(&task.midpoints, value));
                indices[0].expect([ClusterIndices { index: Bits::pack(self.bits, expected) }])?;
            }
            let start = sim.cycle_count();
            let beats = all.len().div_ceil(lanes) as u64;
            while number % 2 == 0 && !indices[0].is_done() && sim.cycle_count() - start < 2 * beats + 100 {
                run.cycle(sim, &mut values, &mut indices)?;
            }
            let stated = cycles(self.bits.into(), self.pipelined, beats);
            if number % 2 == 0 && sim.cycle_count() - start != stated {
                let difference = sim::Difference::Value {
                    port: "indices_valid_o".into(),
                    expected: format!("{beats} beats in {stated} cycles"),
                    got: format!("{} cycles", sim.cycle_count() - start),
                    place: String::new(),
                };
                return Err(run.fail(sim.cycle_count(), difference));
            }
            run.streams(sim, &mut values, &mut indices)?;
        }
        Ok(())
    }
}
