//! [`IndexDistributionCounter`] against the golden distribution: columns of every kind, back to back and with pauses,
//! with too many inputs, and cut short by resets.

use golden::kllm::index_distribution_counter::{Mode, Shape};
use hdl::blocks::kllm::IndexDistributionCounter;
use hdl::blocks::kllm::index_distribution_counter::{BinCount, IndexBeat};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Difference, Error, Run, Sim, Values};

use super::interrupted::{cut_short, record};

/// One column: an index or nothing for each input, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The inputs.
    pub inputs: Vec<Option<u64>>,
    /// Counted or added up.
    pub mode: Mode,
    /// Only the lower half of the activation indices is asked for.
    pub half: bool,
}

/// The bench of a counter; a vector is one column.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &IndexDistributionCounter) -> anyhow::Result<Box<dyn sim::Bench>> {
    let shape = Shape { a_bits: p.a_bits, b_bits: p.b_bits };
    let largest = u64::from(p.k) * ((1 << p.b_bits) - 1);
    let bench = CounterBench { p: p.clone(), shape, count_width: 64 - largest.leading_zeros() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct CounterBench {
    p: IndexDistributionCounter,
    shape: Shape,
    /// Bits of the largest count, which k integers of ones reach.
    count_width: u32,
}

impl CounterBench {
    /// A column of some kind. Half of them have all k inputs.
    fn column(&self, number: u64, rng: &mut StimulusRng) -> Column {
        let k = self.p.k as usize;
        let length = match number % 4 {
            0 | 1 => k,
            2 => rng.random_range(1..=k),
            _ => rng.random_range(1..=k.min(3 * self.p.inputs as usize)),
        };
        let bins = 1u64 << (self.p.a_bits + self.p.b_bits);
        let (one, group) = (rng.random_range(0..bins), rng.random_range(2..=16u64));
        let kind = rng.random_range(0..6u8);
        let index = |i: usize, rng: &mut StimulusRng| match kind {
            // All in one bin, the whole beat at once.
            0 => one,
            // Sixteen bins in turn: they overflow together.
            1 => (one + i as u64) % group.max(self.p.inputs.into()) % bins,
            // Few bins.
            2 => (one + rng.random_range(0..group)) % bins,
            // The largest integers, in a few rows.
            3 => (rng.random_range(0..bins) | ((1 << self.p.b_bits) - 1)) % bins,
            // Like centroids of a bell: the middle is crowded.
            4 => (0..4).map(|_| rng.random_range(0..bins)).sum::<u64>() / 4,
            _ => rng.random_range(0..bins),
        };
        let absent = *[0, 0, 1, 8].get(rng.random_range(0..4usize)).unwrap_or(&0);
        let input = |i| {
            let index = index(i, rng);
            (rng.random_range(0..16u8) >= absent).then_some(index)
        };
        let mut inputs: Vec<Option<u64>> = (0..length).map(input).collect();
        // Absent inputs do not count: there may be more inputs than k.
        for _ in 0..if number % 8 == 5 { rng.random_range(1..=2 * self.p.inputs) } else { 0 } {
            inputs.insert(rng.random_range(0..=inputs.len()), None);
        }
        Column {
            inputs,
            mode: if rng.random_range(0..3u8) == 0 { Mode::Integer } else { Mode::KMeans },
            half: rng.random_range(0..5u8) == 0,
        }
    }

    fn beats(&self, column: &Column, rng: &mut StimulusRng) -> Vec<IndexBeat<Values>> {
        let (inputs, width) = (self.p.inputs as usize, self.p.a_bits + self.p.b_bits);
        let bit = |b: bool| Bits::truncated(1, b.into());
        // A column without inputs has one beat as well.
        let count = column.inputs.len().div_ceil(inputs).max(1);
        let beat = |number: usize| {
            let at = |i: usize| column.inputs.get(number * inputs + i).copied().flatten();
            // Absent indices hold noise, which must not matter.
            let noise = |rng: &mut StimulusRng| rng.random::<u64>() & ((1 << width) - 1);
            let indices: Vec<u64> = (0..inputs).map(|i| at(i).unwrap_or_else(|| noise(rng))).collect();
            let last = number + 1 == count;
            IndexBeat {
                index: Bits::pack(width, indices),
                present: Bits::pack(1, (0..inputs).map(|i| u64::from(at(i).is_some()))),
                // Counts with the first beat only.
                integer: if number == 0 { bit(column.mode == Mode::Integer) } else { bit(rng.random()) },
                // Counts with the last beat only.
                half: if last { bit(column.half) } else { bit(rng.random()) },
                last: bit(last),
            }
        };
        (0..count).map(beat).collect()
    }

    fn bins(&self, column: &Column) -> sim::Result<Vec<BinCount<Values>>> {
        let counts = self.shape.distribution(column.mode, column.half, column.inputs.iter().copied());
        let counts = counts.map_err(|e| Error::Unsupported(e.to_string()))?;
        let (width, last) = (self.p.a_bits + self.p.b_bits, counts.len() - 1);
        let bin = |(bin, &count): (usize, &u64)| BinCount {
            bin: Bits::truncated(width, bin as u64),
            count: Bits::truncated(self.count_width, count),
            error: Bits::truncated(1, u64::from(column.inputs.iter().flatten().count() > self.p.k as usize)),
            last: Bits::truncated(1, u64::from(bin == last)),
        };
        Ok(counts.iter().enumerate().map(bin).collect())
    }
}

/// Cycles of columns of (beats, bins) without pauses, from the first beat taken to the last bin taken, both included.
#[must_use]
pub fn cycles(p: &IndexDistributionCounter, columns: &[(u64, u64)]) -> u64 {
    let (mut first_beat, mut drained) = (0, 0);
    for &(beats, bins) in columns {
        let complete = first_beat + beats;
        if p.ping_pong {
            // The swap waits for the bins of the column before; the next beat enters with it.
            let swap = complete.max(drained);
            (first_beat, drained) = (swap, swap + bins);
        } else {
            (first_beat, drained) = (complete + bins, complete + bins - 1);
        }
    }
    drained + 1
}

impl CounterBench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("columns");
        run.reset(sim, 2)?;
        let [never, random, bursts, slow] =
            [Stall::Never, Stall::Random { num: 1, den: 2 }, Stall::ALL[2], Stall::ALL[1]];
        let phases = [(never, never), (random, bursts), (slow, never), (never, slow)];
        for (phase, stalls) in phases.into_iter().enumerate() {
            let mut indices = [run.driver_of::<IndexBeat<Values>>(sim, "indices", stalls.0)?];
            let mut bins = [run.monitor_of::<BinCount<Values>>(sim, "bins", stalls.1)?];
            let mut sizes = Vec::new();
            // The first half at full speed.
            let share = |n: usize| run.vectors() * [0, 3, 4, 5, 6][n] / 6;
            for number in share(phase)..share(phase + 1) {
                let column = self.column(number, &mut rng);
                let (beats, expected) = (self.beats(&column, &mut rng), self.bins(&column)?);
                sizes.push((beats.len() as u64, expected.len() as u64));
                for beat in beats {
                    indices[0].push(beat)?;
                }
                bins[0].expect(expected)?;
            }
            if phase == 0 && !sizes.is_empty() {
                let start = sim.cycle_count();
                let stated = cycles(&self.p, &sizes);
                while !bins[0].is_done() && sim.cycle_count() - start < 2 * stated + 100 {
                    run.cycle(sim, &mut indices, &mut bins)?;
                }
                let got = sim.cycle_count() - start;
                if got != stated {
                    let difference = Difference::Value {
                        port: "bins_valid_o".into(),
                        expected: format!("{} columns in {stated} cycles", sizes.len()),
                        got: format!("{got} cycles"),
                        place: String::new(),
                    };
                    return Err(run.fail(sim.cycle_count(), difference));
                }
            }
            run.streams(sim, &mut indices, &mut bins)?;
        }
        for _ in 0..run.vectors().div_ceil(12) {
            self.too_many(sim, run, &mut rng)?;
            self.interrupted(sim, run, &mut rng)?;
        }
        Ok(())
    }

    /// A column with more than k inputs between two others: it is flagged, and harms neither.
    fn too_many(&self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let mut indices = run.driver_of::<IndexBeat<Values>>(sim, "indices", Stall::Random { num: 1, den: 4 })?;
        let mut bins = run.monitor_of::<BinCount<Values>>(sim, "bins", Stall::Random { num: 1, den: 3 })?;
        let mut expected = Vec::new();
        for number in 0..3 {
            let mut column = self.column(rng.random_range(0..4), rng);
            if number == 1 {
                // One too many, or a multiple.
                let more = if rng.random() { 1 } else { rng.random_range(1..=2 * self.p.k as usize + 40) };
                let index = rng.random_range(0..1u64 << (self.p.a_bits + self.p.b_bits));
                column.inputs.resize(self.p.k as usize + more, Some(index));
                column.inputs.iter_mut().for_each(|input| *input = input.or(Some(index)));
            }
            indices.extend(self.beats(&column, rng))?;
            // Each count as far as the port can show it.
            expected.extend(self.bins(&column)?);
        }
        record(sim, run, &mut indices, &mut bins, expected.len())?;
        for (place, (expected, got)) in expected.into_iter().zip(bins.received()).enumerate() {
            let wrong = expected.error == Bits::truncated(1, 1);
            let place = format!("bin {place} of three columns");
            run.expect_equal(sim, "bins_error_o", &place, &expected.error, &got.error)?;
            run.expect_equal(sim, "bins_bin_o", &place, &expected.bin, &got.bin)?;
            run.expect_equal(sim, "bins_last_o", &place, &expected.last, &got.last)?;
            if !wrong {
                run.expect_equal(sim, "bins_count_o", &place, &expected.count, &got.count)?;
            }
        }
        Ok(())
    }

    /// A reset at a random moment. Columns after it are counted as ever.
    fn interrupted(&self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let mut indices = [run.driver_of::<IndexBeat<Values>>(sim, "indices", Stall::Never)?];
        let mut bins = [run.monitor_of::<BinCount<Values>>(sim, "bins", Stall::Random { num: 1, den: 4 })?];
        let mut beats = 0;
        for number in 0..3 {
            let column = self.column(number, rng);
            let (of_column, expected) = (self.beats(&column, rng), self.bins(&column)?);
            beats += of_column.len() + expected.len();
            indices[0].extend(of_column)?;
            bins[0].expect(expected)?;
        }
        cut_short(sim, run, &mut indices, &mut bins, rng.random_range(0..beats as u64))
    }
}
