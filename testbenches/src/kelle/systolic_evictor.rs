//! [`SystolicEvictor`] beside a pretended array: scores arrive with its skew, passes follow each other without a pause.

use golden::kelle::evictor::{Candidate, updated, victim};
use hdl::blocks::kelle::SystolicEvictor;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of an evictor; a vector is one victim.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &SystolicEvictor) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: SystolicEvictor,
}

/// One pass: what is loaded, and what the array computes.
#[derive(Clone)]
struct Pass {
    loaded: Vec<(i64, bool)>,
    amounts: Vec<i64>,
    /// Passes for this victim less one.
    passes: u64,
    /// After its last row, this must be the victim.
    victim: Option<Option<usize>>,
}

impl Bench {
    /// The passes of one victim.
    fn passes(&self, rng: &mut StimulusRng) -> Vec<Pass> {
        let rows = self.p.rows as usize;
        let passes = rng.random_range(1..=self.p.passes as usize);
        let top = (1i64 << self.p.score_width) - 1;
        let half = 1i64 << (self.p.amount_width - 1);
        // Few different values make ties; all protected, almost all, or few.
        let (few, guard) = (rng.random_range(0..3u8) == 0, rng.random_range(0..4u8));
        let mut score = || if few { rng.random_range(0..=top.min(1)) } else { rng.random_range(0..=top) };
        let scores: Vec<i64> = (0..passes * rows).map(|_| score()).collect();
        let guarded: Vec<bool> = scores
            .iter()
            .map(|_| match guard {
                0 => true,
                1 => rng.random_range(0..8u8) != 0,
                2 => rng.random(),
                _ => false,
            })
            .collect();
        let amounts: Vec<i64> = scores
            .iter()
            .map(|_| match rng.random_range(0..6u8) {
                0 => half - 1,
                1 => -half,
                2 => rng.random_range(-half..half),
                _ => rng.random_range(-1..=1.min(half - 1)),
            })
            .collect();
        let candidate =
            |i: usize| Candidate { score: updated(scores[i], amounts[i], self.p.score_width), protected: guarded[i] };
        let all: Vec<_> = (0..scores.len()).map(candidate).collect();
        let pass = |n: usize| {
            let at = n * rows..(n + 1) * rows;
            Pass {
                loaded: at.clone().map(|i| (scores[i], guarded[i])).collect(),
                amounts: amounts[at].to_vec(),
                passes: passes as u64 - 1,
                victim: (n + 1 == passes).then(|| victim(&all)),
            }
        };
        (0..passes).map(pass).collect()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("scores");
        let rows = self.p.rows as usize;
        let (load_i, load_score_i) = (sim.input("load_i")?, sim.input("load_score_i")?);
        let (load_protected_i, pass_i) = (sim.input("load_protected_i")?, sim.input("pass_i")?);
        let amount_i = sim.input("amount_i")?;
        let several = self.p.passes > 1;
        let passes_i = several.then(|| sim.input("passes_i")).transpose()?;
        let (score_o, valid_o) = (sim.output("score_o")?, sim.output("victim_valid_o")?);
        let (found_o, row_o) = (sim.output("victim_found_o")?, sim.output("victim_row_o")?);
        let pass_o = several.then(|| sim.output("victim_pass_o")).transpose()?;
        // When each pass starts; a victim's passes may follow another's at once, but the number of passes belongs to
        // what is in the chain.
        let mut schedule: Vec<(usize, Pass)> = Vec::new();
        let mut start = 1;
        for _ in 0..run.vectors() {
            let passes = self.passes(&mut rng);
            let hurry = schedule.last().is_none_or(|l| l.1.passes == passes[0].passes) && rng.random_range(0..4u8) != 0;
            start += if hurry { 0 } else { rows + rng.random_range(0..3usize) };
            for pass in passes {
                schedule.push((start, pass));
                start += if rng.random_range(0..8u8) == 0 { 2 } else { 1 };
            }
        }
        let cycles = start + rows + 2;
        sim.reset(2)?;
        let mut first = 0;
        for cycle in 0..cycles {
            // Row r works for the pass that started r cycles ago; it is loaded in the cycle before that.
            while first < schedule.len() && schedule[first].0 + rows < cycle {
                first += 1;
            }
            let active = &schedule[first..(first + rows + 3).min(schedule.len())];
            let at = |start: usize| active.iter().find(|s| s.0 == start).map(|s| &s.1);
            let mut works: Vec<Option<&Pass>> = Vec::with_capacity(rows);
            let mut loads: Vec<Option<&Pass>> = Vec::with_capacity(rows);
            for r in 0..rows {
                works.push(cycle.checked_sub(r).and_then(at));
                loads.push((cycle + 1).checked_sub(r).and_then(at));
            }
            let noise: u64 = rng.random();
            let width = self.p.score_width;
            sim.poke(load_i, &Bits::pack(1, loads.iter().map(|l| l.is_some().into())));
            let score =
                |(r, l): (usize, &Option<&Pass>)| l.map_or(noise & ((1 << width) - 1), |l| l.loaded[r].0 as u64);
            sim.poke(load_score_i, &Bits::pack(width, loads.iter().enumerate().map(score)));
            let guard = |(r, l): (usize, &Option<&Pass>)| l.map_or(noise & 1, |l| l.loaded[r].1.into());
            sim.poke(load_protected_i, &Bits::pack(1, loads.iter().enumerate().map(guard)));
            sim.poke_u64(pass_i, at(cycle).is_some().into());
            let width = self.p.amount_width;
            let amount = |(r, w): (usize, &Option<&Pass>)| w.map_or(noise as i64, |w| w.amounts[r]) as u64;
            let mask = (1u64 << width) - 1;
            sim.poke(amount_i, &Bits::pack(width, works.iter().enumerate().map(amount).map(|a| a & mask)));
            // The pass whose victim is due now: it started `rows` cycles ago.
            let ends = cycle.checked_sub(rows).and_then(at);
            if let Some(passes_i) = passes_i {
                let count = ends.or_else(|| active.first().map(|s| &s.1)).map_or(0, |p| p.passes);
                sim.poke_u64(passes_i, count);
            }
            sim.settle()?;
            let due = ends.and_then(|p| p.victim);
            run.expect_u64(sim, valid_o, due.is_some().into())?;
            if let Some(victim) = due {
                run.expect_u64(sim, found_o, victim.is_some().into())?;
                if let Some(position) = victim {
                    run.expect_u64(sim, row_o, (position % rows) as u64)?;
                    if let Some(pass_o) = pass_o {
                        run.expect_u64(sim, pass_o, (position / rows) as u64)?;
                    }
                }
            }
            // Importance as updated in the cycle before.
            let scores = sim.peek(score_o);
            for r in 0..rows {
                let Some(pass) = cycle.checked_sub(r + 1).and_then(at) else { continue };
                let expected = updated(pass.loaded[r].0, pass.amounts[r], self.p.score_width) as u64;
                let got = scores.field(r as u32 * self.p.score_width, self.p.score_width);
                // Loaded again at once, the new importance is not seen in S.
                let reloaded = cycle.checked_sub(r).and_then(at).is_some();
                if !reloaded {
                    run.expect_equal(sim, "score_o", &format!("row {r}"), expected, got)?;
                }
            }
            sim.tick()?;
        }
        Ok(())
    }
}
