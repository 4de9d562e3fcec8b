//! [`PeLane`] against the golden sums. Banks are used once or several times, by one group or by many. There are pauses
//! on all sides, one or several outliers in a beat, and groups that break a rule between others. Codebooks change while
//! beats are inside, and clears come at random moments.

mod outliers;
mod streams;
mod task;

use golden::kllm::pe_lane::{Centroids, Position, outlier_sum, pairs};
use hdl::blocks::kllm::PeLane;
use hdl::blocks::kllm::pe_lane::{ActivationBeat, CodebookEntry, WeightWord};
use hdl::lang::index_width;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Error, Run, Sim, Values};

use streams::{Streams, Sums};
pub use task::{Bank, Inputs, Pass, Task};

/// The expected results of a group: its sums, and whether they are in error.
struct Group {
    sums: Vec<i128>,
    outliers: Vec<Option<i128>>,
    error: bool,
    beats: u64,
}

/// The bench of a lane; a vector is a group of columns.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &PeLane) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// A bench of the tasks `given`; without any, of random ones.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &PeLane, given: Vec<Task>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = LaneBench { p: p.clone(), given };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct LaneBench {
    p: PeLane,
    given: Vec<Task>,
}

impl LaneBench {
    fn entries(&self, centroids: &Centroids, rng: &mut StimulusRng) -> Vec<CodebookEntry<Values>> {
        let index_width = self.p.a_bits.max(self.p.w_bits);
        let mut entries = Vec::new();
        for (activation, values, bits) in
            [(false, &centroids.weights, self.p.w_bits), (true, &centroids.activations, self.p.a_bits)]
        {
            // Bits of an index above its width mean nothing.
            let above = |rng: &mut StimulusRng| rng.random::<u64>() << bits;
            entries.extend(values.iter().enumerate().map(|(i, &value)| CodebookEntry {
                activation: Bits::truncated(1, activation.into()),
                index: Bits::truncated(index_width, i as u64 | above(rng)),
                value: Bits::truncated(self.p.centroid_bits, value as u64),
            }));
        }
        entries
    }

    /// The values that the entries count as: the most negative number has no opposite.
    fn counted(&self, centroids: &Centroids) -> Centroids {
        let most = (1i64 << (self.p.centroid_bits - 1)) - 1;
        let counted = |values: &[i64]| values.iter().map(|&v| v.max(-most)).collect();
        Centroids { activations: counted(&centroids.activations), weights: counted(&centroids.weights) }
    }

    fn centroids(&self, rng: &mut StimulusRng) -> Centroids {
        let half = 1i64 << (self.p.centroid_bits - 1);
        let kind = rng.random_range(0..6u8);
        let value = |rng: &mut StimulusRng| match kind {
            0 => half - 1,
            1 => [-half, half - 1, -half + 1, 0][rng.random_range(0..4usize)],
            2 => rng.random_range(-1..=1i64).clamp(-half, half - 1),
            _ => rng.random_range(-half..half),
        };
        let mut values = |bits: u32| (0..1 << bits).map(|_| value(rng)).collect::<Vec<_>>();
        let (mut activations, weights) = (values(self.p.a_bits), values(self.p.w_bits));
        if kind == 5 && self.p.centroid_bits > self.p.a_bits {
            activations = (0..1 << self.p.a_bits).collect();
        }
        Centroids { activations, weights }
    }

    fn inputs(&self, high: bool, rng: &mut StimulusRng) -> Inputs {
        let inputs = self.p.inputs as usize;
        let sparse = rng.random_range(0..12u8);
        Inputs {
            index: (0..inputs).map(|_| rng.random_range(0..1u64 << self.p.a_bits)).collect(),
            present: (0..inputs)
                .map(|_| if sparse == 0 { rng.random::<bool>() } else { rng.random_range(0..24u8) != 0 })
                .collect(),
            high,
            outlier: None,
            again: false,
        }
    }

    fn words(&self, count: u32, rng: &mut StimulusRng) -> Vec<Vec<u64>> {
        let indices = self.p.columns * self.p.inputs;
        let word = |_| (0..indices).map(|_| rng.random_range(0..1u64 << self.p.w_bits)).collect();
        (0..count).map(word).collect()
    }

    /// Banks whose last pass ends `groups` groups at least, within the pairs that a group may have; with `broken`, some groups
    /// break a rule.
    fn banks(&self, groups: u64, broken: bool, rng: &mut StimulusRng) -> Vec<Bank> {
        let (mut banks, mut ended) = (Vec::new(), 0);
        let limit = 17 * u64::from(self.p.k);
        let (mut left, mut outliers) = (limit, u64::from(self.p.outliers));
        // A group of too many pairs, of which some have no high nibbles.
        let (mut wild, mut low) = (false, false);
        while ended < groups {
            let count = if rng.random_range(0..3u8) == 0 { self.p.buffer } else { rng.random_range(1..=self.p.buffer) };
            let words = self.words(count.min(48), rng);
            let mut bank = Bank { words, passes: Vec::new() };
            let uses = [1, 1, 1, 2, 3][rng.random_range(0..5usize)];
            for _ in 0..uses {
                let high = !low && rng.random_range(0..3u8) == 0;
                let mut beats: Vec<_> = bank.words.iter().map(|_| self.inputs(high, rng)).collect();
                let mut last = rng.random_range(0..if wild { 16u8 } else { 3 }) > u8::from(wild) * 14;
                if broken && rng.random_range(0..6u8) == 0 {
                    let other = rng.random_range(1..=self.p.buffer).min(49);
                    beats = (0..other).map(|_| self.inputs(high, rng)).collect();
                }
                wild |= broken && rng.random_range(0..6u8) == 0;
                low |= wild && rng.random();
                for beat in &mut beats {
                    for present in &mut beat.present {
                        let weight = if beat.high { 16 } else { 1 };
                        *present &= wild || weight <= left;
                        left = left.saturating_sub(if *present { weight } else { 0 });
                    }
                }
                let beats = outliers::put_in(&self.p, beats, &mut outliers, wild, rng);
                // Wild values get too large soon.
                last |= left == 0 && !wild;
                if last {
                    (left, wild, low) = (limit, false, false);
                    outliers = self.p.outliers.into();
                    ended += 1;
                }
                bank.passes.push(Pass { beats, last });
            }
            banks.push(bank);
        }
        if let Some(pass) = banks.last_mut().and_then(|bank| bank.passes.last_mut()) {
            pass.last = true;
        }
        banks
    }

    /// Groups of equally long banks, for which the time they take is stated.
    fn even_banks(&self, groups: u64, rng: &mut StimulusRng) -> Vec<Bank> {
        let count = rng.random_range(1..=self.p.buffer.min(40));
        let fits = (u64::from(self.p.k) / u64::from(count * self.p.inputs)).max(1);
        let mut banks = Vec::new();
        for _ in 0..groups {
            let of_group = rng.random_range(1..=fits.min(4));
            let mut outliers = self.p.outliers.into();
            for number in 0..of_group {
                let mut beats: Vec<_> = (0..count).map(|_| self.inputs(false, rng)).collect();
                if u64::from(count * self.p.inputs) > u64::from(self.p.k) {
                    beats.iter_mut().for_each(|beat| beat.present.fill(false));
                }
                let beats = outliers::put_in(&self.p, beats, &mut outliers, false, rng);
                let pass = Pass { beats, last: number + 1 == of_group };
                banks.push(Bank { words: self.words(count, rng), passes: vec![pass] });
            }
        }
        banks
    }

    /// The groups of `banks`.
    fn groups(&self, centroids: &Centroids, banks: &[Bank]) -> sim::Result<Vec<Group>> {
        let (columns, inputs) = (self.p.columns as usize, self.p.inputs as usize);
        let centroids = self.counted(centroids);
        let mut groups = Vec::new();
        let (mut positions, mut wrong, mut beats) = (Vec::new(), false, 0);
        let mut terms: Vec<Vec<(u16, i64)>> = vec![Vec::new(); columns];
        for bank in banks {
            for pass in &bank.passes {
                beats += pass.beats.len() as u64;
                let mut words = bank.words.iter();
                let mut word = words.next();
                for beat in &pass.beats {
                    // Beyond the last word there is anything.
                    let Some(indices) = word else {
                        wrong = true;
                        break;
                    };
                    positions.extend((0..inputs).map(|i| Position {
                        activation: beat.index[i] as usize,
                        weights: (0..columns).map(|c| indices[c * inputs + i] as usize).collect(),
                        present: beat.present[i],
                        high: beat.high,
                    }));
                    if let Some((position, value)) = beat.outlier {
                        wrong |= position >= inputs;
                        for (c, terms) in terms.iter_mut().enumerate() {
                            let index = indices.get(c * inputs + position).map_or(0, |&index| index as usize);
                            terms.push((value, centroids.weights[index]));
                        }
                    }
                    if !beat.again {
                        word = words.next();
                    }
                }
                wrong |= word.is_some();
                if pass.last {
                    let sums = centroids.sums(&positions, columns).map_err(|e| Error::Unsupported(e.to_string()))?;
                    let many = terms[0].len() as u64 > self.p.outliers.into();
                    let error = wrong || many || pairs(&positions) > 17 * u64::from(self.p.k);
                    let outliers = terms.iter_mut().map(|terms| outlier_sum(terms.drain(..))).collect();
                    groups.push(Group { sums, outliers, error, beats });
                    (positions, wrong, beats) = (Vec::new(), false, 0);
                }
            }
        }
        Ok(groups)
    }

    fn push(&self, streams: &mut Streams, task: &Task, rng: &mut StimulusRng) -> sim::Result<Vec<u64>> {
        let groups = self.groups(&task.centroids, &task.banks)?;
        let outputs = self.p.outputs as usize;
        for group in &groups {
            let beats = group.sums.chunks(outputs).zip(group.outliers.chunks(outputs));
            let count = beats.len();
            streams.expected.extend(beats.enumerate().map(|(i, (sums, outliers))| Sums {
                sums: sums.to_vec(),
                outliers: (self.p.outliers > 0).then(|| outliers.to_vec()),
                error: group.error,
                last: i + 1 == count,
            }));
        }
        let (full, inputs) = (self.p.buffer as usize, self.p.inputs as usize);
        let bit = |b: bool| Bits::truncated(1, b.into());
        for bank in &task.banks {
            for (number, word) in bank.words.iter().enumerate() {
                let end = number + 1 == bank.words.len();
                // A full bank ends by itself.
                let last = end && (number + 1 < full || rng.random());
                let index = Bits::pack(self.p.w_bits, word.iter().copied());
                streams.weights.push(WeightWord { index, last: bit(last) })?;
            }
            for (number, pass) in bank.passes.iter().enumerate() {
                let mut at = 0;
                for (sent, beat) in pass.beats.iter().enumerate() {
                    let ends = sent + 1 == pass.beats.len();
                    let last = ends && pass.last;
                    at += usize::from(!beat.again);
                    let by_itself = last || at == full;
                    let (position, value) = beat.outlier.unwrap_or_else(|| (rng.random_range(0..inputs), rng.random()));
                    let position = Bits::truncated(index_width(inputs as u64), position as u64);
                    let some = self.p.outliers > 0;
                    streams.activations.push(ActivationBeat {
                        index: Bits::pack(self.p.a_bits, beat.index.iter().copied()),
                        present: Bits::pack(1, beat.present.iter().map(|&p| p.into())),
                        high: bit(beat.high),
                        end: bit(if beat.again { rng.random() } else { ends && (!by_itself || rng.random()) }),
                        keep: bit(if ends { number + 1 < bank.passes.len() } else { rng.random() }),
                        last: bit(last),
                        outlier: some.then(|| bit(beat.outlier.is_some())),
                        position: some.then_some(position),
                        value: some.then(|| Bits::truncated(16, value.into())),
                        again: some.then(|| bit(beat.again)),
                    })?;
                }
            }
        }
        Ok(groups.iter().map(|group| group.beats).collect())
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("groups");
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        let some = Stall::Random { num: 1, den: 3 };
        let stalls = [
            [Stall::Never; 4],
            [some; 4],
            [Stall::Never, Stall::Never, Stall::Never, Stall::Random { num: 3, den: 4 }],
            [some, Stall::Random { num: 3, den: 4 }, Stall::Never, Stall::Never],
            [some, Stall::Never, Stall::ALL[2], Stall::ALL[1]],
        ];
        if !self.given.is_empty() {
            let mut streams = Streams::new(sim, run, stalls[1])?;
            for task in &self.given {
                self.change_codebooks(sim, run, &mut streams, task, &mut rng)?;
                self.push(&mut streams, task, &mut rng)?;
            }
            return streams.finish(sim, run);
        }
        let mut streams = Streams::new(sim, run, [Stall::Never; 4])?;
        self.held_up(sim, run, &mut streams, &mut rng)?;
        let mut left = run.vectors();
        for number in 0.. {
            if left == 0 {
                return Ok(());
            }
            let groups = rng.random_range(1..=6).min(left);
            left -= groups;
            let mut streams = Streams::new(sim, run, stalls[number % stalls.len()])?;
            match number % 4 {
                0 => self.timed(sim, run, groups, &mut rng)?,
                3 => self.cleared(sim, run, &mut streams, groups, &mut rng)?,
                _ => {
                    // The codebooks change while beats of the task before are inside.
                    for _ in 0..2 {
                        let banks = self.banks(groups.div_ceil(2), number % 4 == 2, &mut rng);
                        let task = Task { centroids: self.centroids(&mut rng), banks };
                        self.change_codebooks(sim, run, &mut streams, &task, &mut rng)?;
                        self.push(&mut streams, &task, &mut rng)?;
                    }
                    streams.finish(sim, run)?;
                }
            }
        }
        Ok(())
    }

    /// Once all beats so far are taken, not once they have left.
    fn change_codebooks(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        streams: &mut Streams,
        task: &Task,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        streams.until(sim, run, |s| s.activations.is_done())?;
        streams.codebook.extend(self.entries(&task.centroids, rng))?;
        if streams.eager { Ok(()) } else { streams.until(sim, run, |s| s.codebook.is_done()) }
    }

    /// Cycles as stated, without pauses.
    fn timed(&self, sim: &mut Sim, run: &mut Run, groups: u64, rng: &mut StimulusRng) -> sim::Result<()> {
        let mut streams = Streams::new(sim, run, [Stall::Never; 4])?;
        let task = Task { centroids: self.centroids(rng), banks: self.even_banks(groups, rng) };
        self.change_codebooks(sim, run, &mut streams, &task, rng)?;
        let beats = self.push(&mut streams, &task, rng)?;
        let before = streams.activations.sent();
        while streams.activations.sent() == before {
            streams.cycle(sim, run)?;
        }
        // The first beat was taken in the cycle before this one.
        let start = sim.cycle_count() - 1;
        streams.until(sim, run, Streams::is_done)?;
        let (got, stated) = (sim.cycle_count() - start, self.p.cycles(&beats));
        run.expect_equal(sim, "sums_valid_o", &format!("cycles of groups of {beats:?} beats"), stated, got)
    }

    /// Columns that nobody takes do not keep codebooks from changing once no beat looks at them.
    fn held_up(&self, sim: &mut Sim, run: &mut Run, streams: &mut Streams, rng: &mut StimulusRng) -> sim::Result<()> {
        let mut task = Task { centroids: self.centroids(rng), banks: Vec::new() };
        for _ in 0..2 {
            let passes = vec![Pass { beats: vec![self.inputs(false, rng)], last: true }];
            task.banks.push(Bank { words: self.words(1, rng), passes });
        }
        task.banks.iter_mut().for_each(|bank| bank.passes[0].beats[0].present.fill(false));
        self.change_codebooks(sim, run, streams, &task, rng)?;
        self.push(streams, &task, rng)?;
        let ready = sim.input("sums_ready_i")?;
        let entries = self.entries(&task.centroids, rng);
        let long = 4 * entries.len() as u64 + 200;
        for cycle in 0..2 * long {
            if cycle == long {
                streams.codebook.extend(entries.clone())?;
            }
            sim.poke_u64(ready, 0);
            let drivers = &mut [streams.codebook.as_mut(), streams.weights.as_mut(), streams.activations.as_mut()];
            run.cycle(sim, drivers, &mut [] as &mut [&mut sim::StreamMonitor])?;
        }
        run.expect_equal(sim, "codebook_ready_o", "entries taken while sums wait", true, streams.codebook.is_done())?;
        streams.finish(sim, run)
    }

    /// A clear or a reset drops everything inside at a random moment. Later beats are summed as ever.
    fn cleared(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        streams: &mut Streams,
        groups: u64,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let clear = sim.input("clear_i")?;
        let (mut centroids, mut kept) = (self.centroids(rng), false);
        let rounds = 6 * groups;
        for round in 0..=rounds {
            let task = Task { centroids: centroids.clone(), banks: self.banks(2 + groups / 2, false, rng) };
            if !kept {
                self.change_codebooks(sim, run, streams, &task, rng)?;
            }
            self.push(streams, &task, rng)?;
            if round == rounds {
                return streams.finish(sim, run);
            }
            let cycles = task.banks.iter().map(|bank| bank.words.len() as u64).sum::<u64>() + 40;
            for _ in 0..rng.random_range(0..cycles) {
                streams.cycle(sim, run)?;
            }
            let sent = |s: &Streams| [s.codebook.sent(), s.weights.sent(), s.activations.sent()];
            let before = sent(streams);
            let by_clear: bool = rng.random();
            kept = by_clear && streams.codebook.is_done();
            if by_clear {
                // A clear takes nothing, whatever is offered, and keeps the codebooks. Only an entry that is offered and not
                // taken is not there.
                streams.codebook.extend(self.entries(&centroids, rng).into_iter().take(1))?;
                sim.poke_u64(clear, 1);
                streams.cycle(sim, run)?;
                sim.poke_u64(clear, 0);
                run.expect_equal(sim, "clear_i", "beats taken with it", before[0], sent(streams)[0])?;
                run.expect_equal(sim, "clear_i", "words taken with it", before[1], sent(streams)[1])?;
                run.expect_equal(sim, "clear_i", "beats taken with it", before[2], sent(streams)[2])?;
            } else {
                sim.reset(1)?;
            }
            if !kept {
                centroids = self.centroids(rng);
            }
            // Also where beats wait for sums to leave.
            let sums = if round % 2 == 0 { Stall::Random { num: 15, den: 16 } } else { Stall::Never };
            *streams = Streams::new(sim, run, [Stall::Never, Stall::Never, Stall::Never, sums])?;
        }
        Ok(())
    }
}
