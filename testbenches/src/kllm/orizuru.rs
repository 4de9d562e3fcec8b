//! [`Orizuru`] against sorting, beat by beat, with pauses on all streams; its comparisons against the golden tree's.
//! Between the vectors some that are dropped at a random moment, by `clear_i` or by a reset.

use golden::format::Format;
use golden::kllm::orizuru::{Beat, Timing, Trace, comparison_bound};
use hdl::blocks::common::{FloatFormat, NumberFormat};
use hdl::blocks::kllm::orizuru_tree::Comparators;
use hdl::blocks::kllm::{Orizuru, Pop, VectorBeat};
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Driver, Error, In, Monitor, Out, Run, Sim, Values};

use super::vectors::vector;
use crate::common::formats::{nan_policy, number_format};

/// The bench of an Orizuru; a test vector is one vector of values, with random run-time k.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Orizuru) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// Vectors of a user, one a row, each with the full k.
pub const TENSORS: FromTensors<Orizuru> = FromTensors {
    wanted: |p| {
        let numbers = match p.format {
            NumberFormat::Float(FloatFormat::Fp16) => Numbers::Float16,
            NumberFormat::Uint { bits: 8 } => Numbers::Integers(0..=255),
            NumberFormat::Int { bits: bits @ (8 | 16 | 32) } => Numbers::Integers(signed(bits)),
            other => anyhow::bail!("no tensor has elements of {other}: fp16, int8, uint8, int16 and int32 are taken"),
        };
        let shape = vec![Extent::Any, Extent::Exactly(p.n as usize)];
        Ok(vec![Wanted { name: "vectors", meaning: "vectors, one a row", numbers, shape }])
    },
    bench: |p, tensors| {
        let mask = u64::MAX >> (64 - p.format.width());
        let rows: Vec<Vec<u64>> = tensors.rows("vectors").map(|row| row.iter().map(|x| x & mask).collect()).collect();
        let count = rows.len() as u64;
        Ok((bench_of(p, rows)?, count))
    },
};

/// A bench that starts with the vectors `given`, each of n raw values.
///
/// # Errors
/// Parameters that the block refuses, or a given vector of another length.
pub fn bench_of(p: &Orizuru, given: Vec<Vec<u64>>) -> anyhow::Result<Box<dyn sim::Bench>> {
    if let Some(wrong) = given.iter().find(|v| v.len() != p.n as usize) {
        anyhow::bail!("a given vector has {} values; n is {}", wrong.len(), p.n);
    }
    let bench = OrizuruBench { p: p.clone(), format: number_format(p.format), given };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// The golden result of one vector, for the maxima and minima asked for.
///
/// # Errors
/// Values that do not fit the format.
pub fn golden(p: &Orizuru, values: &[u64], k: (usize, usize)) -> sim::Result<Trace> {
    masked(p, values, &vec![true; values.len()], k)
}

/// The same where only some values are `present`.
fn masked(p: &Orizuru, values: &[u64], present: &[bool], k: (usize, usize)) -> sim::Result<Trace> {
    let (format, nan) = (number_format(p.format), nan_policy(p.nan));
    let available: Vec<bool> =
        values.iter().zip(present).map(|(&raw, &here)| here && nan.admits(format, raw)).collect();
    Trace::of(values, &available, k, format).map_err(|e| Error::Unsupported(e.to_string()))
}

/// Cycles by the contract.
#[must_use]
pub fn timing(p: &Orizuru) -> Timing {
    Timing {
        n: p.n.into(),
        lanes: p.lanes.into(),
        radix: p.radix.into(),
        levels_per_cycle: p.tree.levels_per_cycle.into(),
        shared: p.tree.comparators == Comparators::Shared,
    }
}

/// Drives an Orizuru with given vectors first (each with the full k), then with made ones.
struct OrizuruBench {
    p: Orizuru,
    format: Format,
    given: Vec<Vec<u64>>,
}

impl OrizuruBench {
    fn next(&self, number: u64, rng: &mut StimulusRng) -> (Vec<u64>, (usize, usize)) {
        let (k_max, k_min) = (self.p.k_max as usize, self.p.k_min as usize);
        if let Some(values) = self.given.get(number as usize) {
            return (values.clone(), (k_max, k_min));
        }
        let values = vector(number, self.p.n as usize, self.format, rng);
        // Anything the port can carry: none, all, and more than there are values.
        let mut k = |bound: usize| match rng.random_range(0..4u8) {
            0 => bound,
            1 => 0,
            2 => rng.random_range(0..=bound),
            _ => rng.random_range(0..(bound + 1).next_power_of_two()),
        };
        (values, (k(k_max), k(k_min)))
    }

    /// Which values take part: all, the first ones, or any.
    fn present(&self, rng: &mut StimulusRng) -> Vec<bool> {
        let n = self.p.n as usize;
        if !self.p.masked {
            return vec![true; n];
        }
        let kind = rng.random_range(0..4u8);
        let length = if kind == 0 { n } else { rng.random_range(0..=n) };
        (0..n).map(|i| if kind == 3 { rng.random() } else { i < length }).collect()
    }

    fn vector(&self, number: u64, rng: &mut StimulusRng) -> sim::Result<Vector> {
        let (values, k) = self.next(number, rng);
        let present = self.present(rng);
        let all = self.p.beats() as usize;
        let least = present.iter().rposition(|&here| here).map_or(1, |last| last / self.p.lanes as usize + 1);
        // After its last present element, a vector may end, or go on.
        let beats = if self.p.masked { rng.random_range(least..=all) } else { all };
        Ok(Vector { golden: masked(&self.p, &values, &present, k)?, values, present, beats, k })
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("vectors");
        let ports = Ports::find(sim, &self.p)?;
        sim.poke_u64(ports.clear, 0);
        // The first half at full speed, the second with pauses of every kind.
        run.reset(sim, 2)?;
        for (half, stalls) in [[Stall::Never; 3], [Stall::Random { num: 1, den: 2 }, Stall::ALL[2], Stall::ALL[1]]]
            .into_iter()
            .enumerate()
        {
            let mut load = [run.driver_of(sim, "load", stalls[0])?];
            let mut pops = [run.monitor_of(sim, "max", stalls[1])?, run.monitor_of(sim, "min", stalls[2])?];
            for number in half as u64 * (run.vectors() / 2)..(half as u64 + 1) * run.vectors().div_ceil(2) {
                let vector = self.vector(number, &mut rng)?;
                self.one(sim, run, &ports, &vector, &mut load, &mut pops, &mut rng, half == 0)?;
                if self.given.is_empty() {
                    let number = rng.random_range(0..1 << 32);
                    let vector = self.vector(number, &mut rng)?;
                    self.dropped(sim, run, &ports, &vector, stalls, &mut rng)?;
                }
            }
        }
        Ok(())
    }
}

struct Vector {
    values: Vec<u64>,
    present: Vec<bool>,
    /// Beats that are sent.
    beats: usize,
    k: (usize, usize),
    golden: Trace,
}

impl OrizuruBench {
    /// One vector, from its first beat until `done_o`.
    #[expect(clippy::too_many_arguments, reason = "the parts of one test step")]
    fn one(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        vector: &Vector,
        load: &mut [Driver<VectorBeat<Values>>; 1],
        pops: &mut [Monitor<Pop<Values>>; 2],
        rng: &mut StimulusRng,
        full_speed: bool,
    ) -> sim::Result<()> {
        let start = load[0].sent();
        load[0].extend(self.beats(vector, rng))?;
        for (monitor, expected) in pops.iter_mut().zip(self.pops(vector)) {
            monitor.expect(expected)?;
        }
        sim.poke_u64(ports.k_max, vector.k.0 as u64);
        sim.poke_u64(ports.k_min, vector.k.1 as u64);
        let (begin, mut first) = (sim.cycle_count(), None);
        loop {
            run.cycle(sim, load, pops)?;
            if first.is_none() && load[0].sent() > start {
                first = Some(sim.cycle_count());
                run.expect_u64(sim, ports.done, 0)?;
                // k counts with the first beat only.
                sim.poke_u64(ports.k_max, rng.random::<u64>() & ports.k_max_mask);
                sim.poke_u64(ports.k_min, rng.random::<u64>() & ports.k_min_mask);
            }
            if first.is_some() && sim.peek_u64(ports.done) == 1 {
                break;
            }
            let pops = (vector.golden.max.len() + vector.golden.min.len()) as u64;
            // Pauses of all streams, one after the other, are far shorter.
            if sim.cycle_count() - begin > 100 * timing(&self.p).vector(pops) {
                let difference = Difference::Deadlock {
                    cycles: sim.cycle_count() - begin,
                    streams: vec!["done_o stays low".into()],
                };
                return Err(run.fail(sim.cycle_count(), difference));
            }
        }
        let delivered = pops.iter().all(|p| p.is_done());
        run.expect_u64(sim, ports.done, u64::from(delivered))?;
        let mask = Bits::pack(1, vector.golden.mask.iter().map(|&b| u64::from(b)));
        run.expect(sim, ports.outlier, &mask)?;
        self.check_comparisons(sim, run, ports, vector)?;
        if let Some(first) = first.filter(|_| full_speed) {
            self.check_cycles(sim, run, vector, sim.cycle_count() - first)?;
        }
        Ok(())
    }

    /// The beats of a vector.
    fn beats(&self, vector: &Vector, rng: &mut StimulusRng) -> Vec<VectorBeat<Values>> {
        let (lanes, all) = (self.p.lanes as usize, self.p.beats() as usize);
        let beat = |(number, (beat, here)): (usize, (&[u64], &[bool]))| {
            // Lanes past the end hold noise, which must not matter.
            let lane = |i| beat.get(i).copied().unwrap_or_else(|| rng.random::<u64>() & self.format.mask());
            let data = Bits::pack(self.format.width(), (0..lanes).map(lane));
            let there = |i| u64::from(here.get(i).copied().unwrap_or_else(|| rng.random()));
            let present = self.p.masked.then(|| Bits::pack(1, (0..lanes).map(there)));
            // The n-th value ends a vector by itself.
            let ends = number + 1 == vector.beats && (vector.beats < all || rng.random());
            VectorBeat { data, present, last: self.p.masked.then(|| Bits::truncated(1, ends.into())) }
        };
        let beats = vector.values.chunks(lanes).zip(vector.present.chunks(lanes));
        beats.take(vector.beats).enumerate().map(beat).collect()
    }

    /// The outliers that both sides deliver.
    fn pops(&self, vector: &Vector) -> [Vec<Pop<Values>>; 2] {
        // Bits of the largest index; one where there is a single value.
        let index_width = (u64::BITS - u64::from(self.p.n - 1).leading_zeros()).max(1);
        let pop = |b: &Beat| Pop {
            index: Bits::truncated(index_width, b.pop.index as u64),
            value: Bits::truncated(self.format.width(), b.pop.value),
            last: Bits::truncated(1, u64::from(b.last)),
        };
        [&vector.golden.max, &vector.golden.min].map(|side| side.iter().map(pop).collect())
    }

    /// A vector that is dropped at a random moment: while it is loaded, built or served, or when it is done.
    fn dropped(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        vector: &Vector,
        stalls: [Stall; 3],
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let mut load = [run.driver_of::<VectorBeat<Values>>(sim, "load", stalls[0])?];
        let mut pops = [run.monitor_of(sim, "max", stalls[1])?, run.monitor_of(sim, "min", stalls[2])?];
        load[0].extend(self.beats(vector, rng))?;
        for (monitor, expected) in pops.iter_mut().zip(self.pops(vector)) {
            monitor.expect(expected)?;
        }
        sim.poke_u64(ports.k_max, vector.k.0 as u64);
        sim.poke_u64(ports.k_min, vector.k.1 as u64);
        let timing = timing(&self.p);
        let served = timing.next_pop() * rng.random_range(0..4u64);
        let cycles = rng.random_range(0..timing.load() + timing.first_pop() + served + 2);
        for _ in 0..cycles {
            run.cycle(sim, &mut load, &mut pops)?;
            if load[0].sent() > 0 {
                sim.poke_u64(ports.k_max, rng.random::<u64>() & ports.k_max_mask);
                sim.poke_u64(ports.k_min, rng.random::<u64>() & ports.k_min_mask);
            }
        }
        if rng.random_range(0..4u8) == 0 {
            run.reset(sim, 1)?;
        } else {
            sim.poke_u64(ports.clear, 1);
            run.cycle(sim, &mut load, &mut pops)?;
            sim.poke_u64(ports.clear, 0);
        }
        sim.settle()?;
        run.expect_u64(sim, ports.load_ready, 1)?;
        for status in [ports.done, ports.max_valid, ports.min_valid] {
            run.expect_u64(sim, status, 0)?;
        }
        Ok(())
    }

    fn check_comparisons(&self, sim: &Sim, run: &mut Run, ports: &Ports, vector: &Vector) -> sim::Result<()> {
        let Some(port) = ports.comparisons else { return Ok(()) };
        let (max, min) = (vector.golden.max.len(), vector.golden.min.len());
        let expected = vector.golden.comparisons_after(max, min).unwrap_or(u64::MAX);
        run.expect_u64(sim, port, expected)?;
        let bound = comparison_bound(self.p.n as usize, max, min);
        if expected > bound {
            let difference = Difference::Value {
                port: "comparisons_o".into(),
                expected: format!("at most 1.5 N + k log2 N = {bound}"),
                got: expected.to_string(),
                place: String::new(),
            };
            return Err(run.fail(sim.cycle_count(), difference));
        }
        Ok(())
    }

    /// Without pauses, the cycles from the edge that takes the first beat to the edge that raises `done_o` follow the
    /// contract.
    fn check_cycles(&self, sim: &Sim, run: &mut Run, vector: &Vector, cycles: u64) -> sim::Result<()> {
        let pops = vector.golden.max.len().max(vector.golden.min.len()) as u64;
        let left_out = u64::from(self.p.beats()) - vector.beats as u64;
        let stated = timing(&self.p).vector(pops) - left_out;
        if cycles == stated {
            return Ok(());
        }
        let difference = Difference::Value {
            port: "done_o".into(),
            expected: format!("{stated} cycles after the first beat"),
            got: format!("{cycles} cycles"),
            place: format!("{pops} pops"),
        };
        Err(run.fail(sim.cycle_count(), difference))
    }
}

struct Ports {
    k_max: In,
    k_min: In,
    k_max_mask: u64,
    k_min_mask: u64,
    clear: In,
    load_ready: Out,
    max_valid: Out,
    min_valid: Out,
    done: Out,
    outlier: Out,
    comparisons: Option<Out>,
}

impl Ports {
    fn find(sim: &Sim, p: &Orizuru) -> sim::Result<Self> {
        let mask = |k: u32| (u64::from(k) + 1).next_power_of_two() - 1;
        Ok(Self {
            k_max: sim.input("k_max_i")?,
            k_min: sim.input("k_min_i")?,
            k_max_mask: mask(p.k_max),
            k_min_mask: mask(p.k_min),
            clear: sim.input("clear_i")?,
            load_ready: sim.output("load_ready_o")?,
            max_valid: sim.output("max_valid_o")?,
            min_valid: sim.output("min_valid_o")?,
            done: sim.output("done_o")?,
            outlier: sim.output("outlier_o")?,
            comparisons: if p.tree.count_comparisons { Some(sim.output("comparisons_o")?) } else { None },
        })
    }
}
