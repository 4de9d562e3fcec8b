//! [`SystolicEvictor`] beside a pretended array: scores arrive with its skew, passes follow each other without a pause.
//!
//! Every input is random in every cycle. Rows are loaded just before they work, long before, or not at all between two
//! passes. Passes come in every cycle or rarely; clears and resets come at any moment.

use std::collections::VecDeque;

use golden::kelle::systolic_evictor::{Candidate, updated, victim};
use hdl::blocks::kelle::SystolicEvictor;
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of an evictor; a vector is one victim.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &SystolicEvictor) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| Evictor::new(&block, sim, run)?.run(sim, run))
}

/// Passes of a user, one a cycle; a vector is the victim of as many passes as the block has.
pub const TENSORS: FromTensors<SystolicEvictor> = FromTensors {
    wanted: |p| {
        let shape = vec![Extent::Named("passes"), Extent::Exactly(p.rows as usize)];
        let of =
            |name, meaning, range| Wanted { name, meaning, numbers: Numbers::Integers(range), shape: shape.clone() };
        Ok(vec![
            of("scores", "scores before each pass", 0..=(1 << p.score_width) - 1),
            of("protected", "1 where a token must stay", 0..=1),
            of("amounts", "what each pass adds to the scores", signed(p.amount_width)),
        ])
    },
    bench: |p, tensors| {
        let scores = tensors.integers("scores");
        let protected = tensors.integers("protected");
        let amounts = tensors.integers("amounts");
        let (count, passes) = (scores.len(), p.passes as usize);
        anyhow::ensure!(
            count.is_multiple_of(passes),
            "scores.npy has {count} passes; wanted: a multiple of {passes}, the passes of a victim"
        );
        let loads = scores.into_iter().zip(protected).map(|(scores, protected)| {
            scores.into_iter().zip(protected).map(|(score, protected)| (score, protected == 1)).collect()
        });
        let given = Given { loads: loads.collect(), amounts };
        let block = p.clone();
        let bench = sim::kit::bench(p, move |sim, run| {
            let mut evictor = Evictor::new(&block, sim, run)?;
            evictor.given = Some(given.clone());
            evictor.wanted = passes as u64 - 1;
            evictor.run(sim, run)
        })?;
        Ok((bench, (count / passes) as u64))
    },
};

/// For each pass of a user the score and the protection of each row, and what it adds.
#[derive(Clone)]
struct Given {
    loads: Vec<Vec<(i64, bool)>>,
    amounts: Vec<Vec<i64>>,
}

impl Given {
    /// A pass follows the other in each cycle after the first one. Each row is loaded in the cycle before it works.
    fn inputs(&self, cycle: u64) -> Inputs {
        let (cycle, count) = (cycle as usize, self.loads.len());
        let rows = 0..self.loads[0].len();
        let load = |row: usize| cycle.checked_sub(row).and_then(|pass| self.loads.get(pass)).map(|pass| pass[row]);
        let amount =
            |row: usize| cycle.checked_sub(row + 1).and_then(|pass| self.amounts.get(pass)).map_or(0, |pass| pass[row]);
        Inputs {
            pass: (1..=count).contains(&cycle),
            clear: false,
            loads: rows.clone().map(load).collect(),
            amounts: rows.map(amount).collect(),
        }
    }
}

/// How often things happen, and to what values; drawn anew from time to time.
struct Mood {
    /// Odds of a pass and of a row's load, in sixteenths.
    passes: u8,
    loads: u8,
    /// Few different scores: many ties.
    few: bool,
    /// Odds of protection, in eighths.
    guarded: u8,
}

/// State of the golden model.
struct Evictor {
    p: SystolicEvictor,
    ports: Ports,
    rng: StimulusRng,
    mood: Mood,
    /// S of each row, and its protection; unknown until loaded.
    rows: Vec<Option<(i64, bool)>>,
    /// Passes under way, the oldest first: the row of each, and the scores that it saw.
    passes: VecDeque<Vec<Candidate>>,
    /// Passes of this victim that have ended, one after the other.
    ended: Vec<Candidate>,
    /// Passes for the present victim, less one.
    wanted: u64,
    /// Passes that take the place of random ones.
    given: Option<Given>,
    /// Victims so far, and clears that forgot something.
    victims: u64,
    cleared: u64,
}

/// The inputs of a cycle.
struct Inputs {
    pass: bool,
    clear: bool,
    loads: Vec<Option<(i64, bool)>>,
    amounts: Vec<i64>,
}

impl Evictor {
    fn new(p: &SystolicEvictor, sim: &Sim, run: &Run) -> sim::Result<Self> {
        let rows = p.rows as usize;
        Ok(Self {
            ports: Ports::find(sim, p.passes > 1)?,
            rng: run.rng("scores"),
            mood: Mood { passes: 16, loads: 16, few: false, guarded: 2 },
            rows: vec![None; rows],
            passes: VecDeque::new(),
            ended: Vec::new(),
            wanted: 0,
            given: None,
            victims: 0,
            cleared: 0,
            p: p.clone(),
        })
    }

    fn run(mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        run.only_while("victim_valid_o", &["victim_found_o"]);
        run.only_while("victim_found_o", &["victim_row_o", "victim_pass_o"]);
        // Passes during a reset do not count.
        for _ in 0..8 {
            run.reset(sim, 1)?;
            sim.settle()?;
            run.expect_u64(sim, self.ports.valid, 0)?;
        }
        let most = 64 * (run.vectors() + 4) * u64::from(self.p.passes) + 64 * u64::from(self.p.rows);
        for cycle in 0..most {
            if self.victims >= run.vectors() {
                break;
            }
            if self.given.is_none() && self.one_in(64 * self.p.rows * self.p.passes) {
                // Nothing is loaded and no pass starts in its cycle: S stays.
                sim.poke(self.ports.load, &Bits::zero(self.p.rows));
                sim.poke_u64(self.ports.pass, 0);
                sim.reset(1)?;
                self.forget();
            }
            let inputs = match &self.given {
                Some(given) => given.inputs(cycle),
                None => self.inputs(cycle),
            };
            self.poke(sim, &inputs);
            sim.settle()?;
            self.compare(sim, run)?;
            sim.tick()?;
            self.follow(&inputs);
        }
        run.expect_equal(sim, "victim_valid_o", "victims", run.vectors(), self.victims)?;
        if run.vectors() >= 500 && self.given.is_none() {
            run.expect_equal(sim, "clear_i", "some clears forgot something", true, self.cleared > 0)?;
        }
        Ok(())
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.random_range(0..n) == 0
    }

    fn forget(&mut self) {
        self.cleared += u64::from(!self.passes.is_empty() || !self.ended.is_empty());
        self.passes.clear();
        self.ended.clear();
    }

    fn inputs(&mut self, cycle: u64) -> Inputs {
        if self.one_in(2 * self.p.rows + 2) {
            let odds = [1, 8, 16, 16];
            self.mood = Mood {
                passes: odds[self.rng.random_range(0..4usize)],
                loads: odds[self.rng.random_range(0..4usize)],
                few: self.one_in(3),
                guarded: [0, 4, 7, 8][self.rng.random_range(0..4usize)],
            };
        }
        // The first cycle only loads.
        let first = cycle == 0;
        let top = (1i64 << self.p.score_width) - 1;
        let half = 1i64 << (self.p.amount_width - 1);
        let (rng, mood) = (&mut self.rng, &self.mood);
        let score = |rng: &mut StimulusRng| rng.random_range(0..=if mood.few { top.min(1) } else { top });
        let load = |rng: &mut StimulusRng| (score(rng), rng.random_range(0..8) < mood.guarded);
        let loads =
            (0..self.p.rows).map(|_| (first || rng.random_range(0..16) < mood.loads).then(|| load(rng))).collect();
        let amount = |rng: &mut StimulusRng| match rng.random_range(0..6u8) {
            0 => half - 1,
            1 => -half,
            2 => rng.random_range(-half..half),
            _ => rng.random_range(-1..=1.min(half - 1)),
        };
        let amounts = (0..self.p.rows).map(|_| amount(rng)).collect();
        let pass = !first && rng.random_range(0..16) < mood.passes;
        Inputs { pass, clear: self.one_in(12 * self.p.rows * self.p.passes), loads, amounts }
    }

    fn poke(&mut self, sim: &mut Sim, inputs: &Inputs) {
        let (ports, p) = (&self.ports, &self.p);
        let noise = |rng: &mut StimulusRng, width: u32| rng.random::<u64>() & (u64::MAX >> (64 - width));
        let rng = &mut self.rng;
        let loads: Vec<_> = inputs
            .loads
            .iter()
            .map(|l| l.map_or_else(|| (noise(rng, p.score_width), noise(rng, 1)), |l| (l.0 as u64, l.1.into())))
            .collect();
        sim.poke(ports.load, &Bits::pack(1, inputs.loads.iter().map(|l| l.is_some().into())));
        sim.poke(ports.load_score, &Bits::pack(p.score_width, loads.iter().map(|l| l.0)));
        sim.poke(ports.load_protected, &Bits::pack(1, loads.iter().map(|l| l.1)));
        let mask = u64::MAX >> (64 - p.amount_width);
        sim.poke(ports.amount, &Bits::pack(p.amount_width, inputs.amounts.iter().map(|&a| a as u64 & mask)));
        sim.poke_u64(ports.pass, inputs.pass.into());
        sim.poke_u64(ports.clear, inputs.clear.into());
        // Passes of the victim count when one of them ends, and may be others in each cycle.
        if let Some((passes, _)) = ports.several {
            if self.given.is_none() && self.rng.random_range(0..16u8) == 0 {
                self.wanted = self.rng.random_range(0..u64::from(p.passes.next_power_of_two()));
            }
            sim.poke_u64(passes, self.wanted);
        }
    }

    fn compare(&self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let (ports, rows) = (&self.ports, self.rows.len());
        let end = self.end();
        run.expect_u64(sim, ports.valid, end.is_some().into())?;
        if let Some(all) = end {
            let found = victim(&all);
            run.expect_u64(sim, ports.found, found.is_some().into())?;
            if let Some(position) = found {
                run.expect_u64(sim, ports.row, (position % rows) as u64)?;
                if let Some((_, pass)) = ports.several {
                    run.expect_u64(sim, pass, (position / rows) as u64)?;
                }
            }
        }
        // S holds from one change to the next.
        let scores = sim.peek(ports.score).unpack(self.p.score_width);
        for (row, (s, got)) in self.rows.iter().zip(scores).enumerate() {
            if let Some((score, _)) = s {
                run.expect_equal(sim, "score_o", &format!("row {row}"), *score as u64, got)?;
            }
        }
        Ok(())
    }

    /// All candidates of the victim that is due in this cycle.
    fn end(&self) -> Option<Vec<Candidate>> {
        let last = self.passes.front().filter(|p| p.len() == self.rows.len())?;
        let ended = (self.ended.len() / self.rows.len()) as u64;
        (ended >= self.wanted).then(|| [&self.ended[..], last].concat())
    }

    /// The effects of the edge.
    fn follow(&mut self, inputs: &Inputs) {
        if self.end().is_some() {
            self.victims += 1;
            self.ended.clear();
            self.passes.pop_front();
        } else if self.passes.front().is_some_and(|p| p.len() == self.rows.len()) {
            self.ended.extend(self.passes.pop_front().into_iter().flatten());
        }
        if inputs.pass {
            self.passes.push_back(Vec::new());
        }
        for pass in &mut self.passes {
            let row = pass.len();
            if let Some((score, protected)) = self.rows[row] {
                let score = updated(score, inputs.amounts[row], self.p.score_width);
                self.rows[row] = Some((score, protected));
                pass.push(Candidate { score, protected });
            }
        }
        for (row, load) in self.rows.iter_mut().zip(&inputs.loads) {
            *row = load.or(*row);
        }
        if inputs.clear {
            self.forget();
        }
    }
}

struct Ports {
    load: sim::In,
    load_score: sim::In,
    load_protected: sim::In,
    pass: sim::In,
    clear: sim::In,
    amount: sim::In,
    score: sim::Out,
    valid: sim::Out,
    found: sim::Out,
    row: sim::Out,
    /// Passes wanted, pass of the victim.
    several: Option<(sim::In, sim::Out)>,
}

impl Ports {
    fn find(sim: &Sim, several: bool) -> sim::Result<Self> {
        Ok(Self {
            load: sim.input("load_i")?,
            load_score: sim.input("load_score_i")?,
            load_protected: sim.input("load_protected_i")?,
            pass: sim.input("pass_i")?,
            clear: sim.input("clear_i")?,
            amount: sim.input("amount_i")?,
            score: sim.output("score_o")?,
            valid: sim.output("victim_valid_o")?,
            found: sim.output("victim_found_o")?,
            row: sim.output("victim_row_o")?,
            several: if several { Some((sim.input("passes_i")?, sim.output("victim_pass_o")?)) } else { None },
        })
    }
}
