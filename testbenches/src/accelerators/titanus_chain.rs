//! [`TitanusChain`] between hosts and a memory: random jobs of all cores at once, whose links wait for each other. Jobs
//! are right or wrong, buses stall, soft resets come at any moment.

pub mod cores;
pub mod layers;
pub mod timing;

use std::ops::RangeInclusive;

use golden::accelerators::job::run as run_golden;
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::{Operation, Report, TitanusCore as Golden};
use golden::common::shell::job_controller::code;
use golden::common::shell::job_link::{Link, Token};
use hdl::accelerators::titanus::TitanusChain;
use rand::RngExt;
use sim::bus::{AxiConfig, AxiMemory};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Run, Sim};

use super::titanus::{golden_of, program};
use cores::{Cores, LINK};
use jobs::draft::Operations;
use jobs::player::register;
use jobs::program::Program;

/// Tokens of the links' counters that no round comes near to.
const MANY: usize = 20_000;

/// The bench of the chain; a vector is a job of each core.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusChain) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (cores, golden, operations) = (p.cores as usize, golden_of(&p.core)?, Operations::of(&p.core));
    sim::kit::bench(p, move |sim, run| {
        sim.reset(2)?;
        let (models, rng) = (vec![golden.clone(); cores], run.rng("jobs"));
        let mut player = Player { operations: operations.clone(), fresh: golden.clone(), models, rng };
        for number in 0..run.vectors() {
            player.round(sim, run, number)?;
        }
        Ok(())
    })
}

/// A job of a core, its report, and the memory after it.
pub struct Drawn {
    /// The job.
    pub program: Program,
    /// How it ends.
    pub report: Report,
    /// The core before the job, with all tokens that come.
    pub before: Golden,
    /// Tokens that it gives.
    pub given: Vec<Token>,
    memory: SparseMemory,
}

impl Drawn {
    /// It waits for a token that never comes.
    fn hangs(&self) -> bool {
        let last = self.report.executed.last();
        last.is_some_and(|last| {
            matches!(last.operation.operation, Operation::Link(Link { patience: 0, .. })) && !last.certain
        })
    }

    /// It ends well, and all of its results are known.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.report.end.code == 0 && self.report.is_certain()
    }
}

/// Jobs of all cores, each in memory of its own, and the tokens for the first one. Every job finds the tokens of the
/// job before. The models end in the state after the jobs.
pub fn draw(
    rng: &mut StimulusRng,
    (operations, models): (&Operations, &mut [Golden]),
    most: u32,
) -> (Vec<Token>, Vec<Drawn>) {
    let first: Vec<Token> = vec![false; rng.random_range(0..4)];
    let mut tokens = first.clone();
    // One spoilt job is enough to end a round: half of the rounds have none.
    let whole = rng.random::<bool>();
    let mut all: Vec<Drawn> = Vec::new();
    for model in models.iter_mut() {
        tokens.iter().for_each(|&token| model.offer(token));
        let drawn = loop {
            let program = program::draw(rng, (operations, model), most);
            let apart = |other: &Drawn| {
                let (a, b) = (other.program.limits, program.limits);
                a.limit < b.base || b.limit < a.base
            };
            let after = model.clone();
            let mut memory = SparseMemory::new();
            memory.store(program.base, &program.image);
            let report = run_golden(&after, program.limits, program.job, &mut memory);
            let given = after.given();
            // A core whose last token waits takes no more tokens, so its job is the last one of a round.
            let ends = given.iter().rev().skip(1).all(|&last| !last);
            let good = !whole || (report.end.code == 0 && report.is_certain());
            if good && in_time(&report) && all.iter().all(apart) && given.len() < MANY && ends {
                let before = std::mem::replace(model, after);
                break Drawn { program, report, before, given, memory };
            }
        };
        tokens.clone_from(&drawn.given);
        all.push(drawn);
    }
    (first, all)
}

/// The value of register LINK.
fn link_register(model: &Golden) -> u64 {
    let (waiting, ended) = model.waiting();
    1 << 31 | u64::from(ended) << 16 | waiting as u64
}

/// Whether no link depends on the times of tokens, and no link waits too long for the bench. A spoilt link may have a
/// short patience while a token comes late, or a very long one while none comes.
fn in_time(report: &Report) -> bool {
    report.executed.iter().all(|executed| match &executed.operation.operation {
        Operation::Link(Link { patience: 0, .. }) => true,
        Operation::Link(link) => (link.patience < 100_000) == (executed.codes == [code::TIMEOUT]),
        _ => true,
    })
}

fn area(range: &RangeInclusive<u64>) -> (u64, u64) {
    (*range.start(), (range.end() - range.start()).saturating_add(1))
}

struct Player {
    operations: Operations,
    fresh: Golden,
    models: Vec<Golden>,
    rng: StimulusRng,
}

impl Player {
    fn behaviour(&mut self) -> AxiConfig {
        match self.rng.random_range(0..3u8) {
            0 => AxiConfig::ideal(self.rng.random_range(1..30)),
            1 => AxiConfig::drawn(Stall::Never, &mut self.rng),
            _ => {
                let stall = Stall::Random { num: self.rng.random_range(1..12), den: 20 };
                AxiConfig::drawn(stall, &mut self.rng)
            }
        }
    }

    fn round(&mut self, sim: &mut Sim, run: &mut Run, number: u64) -> sim::Result<()> {
        let (tokens, jobs) = draw(&mut self.rng, (&self.operations, &mut self.models), 6);
        let mut memory = AxiMemory::new();
        memory.serve_all(sim, "mem", &self.behaviour(), run.seed() ^ number)?;
        jobs.iter().for_each(|job| memory.memory_mut().store(job.program.base, &job.program.image));
        let stall = Stall::Random { num: self.rng.random_range(0..3), den: 3 };
        let mut cores = Cores::new(sim, memory, self.models.len(), (stall, run.seed() ^ number))?;
        cores.neighbours.coming.extend(tokens);
        for (k, job) in jobs.iter().enumerate() {
            cores.set_up(sim, k, &job.program)?;
        }
        // Any of them may be first.
        let first = self.rng.random_range(0..jobs.len());
        for k in 0..jobs.len() {
            cores.store(sim, (first + k) % jobs.len(), register::CONTROL, 1)?;
        }
        // The first job that does not end well, or whose end is not known. The jobs after it wait for its tokens.
        let bad = jobs.iter().position(|job| !job.is_good());
        let ends = match bad {
            Some(bad) if !jobs[bad].report.is_certain() || jobs[bad].hangs() => bad,
            Some(bad) => bad + 1,
            None => jobs.len(),
        };
        let reset = (self.rng.random_range(0..6u8) == 0).then(|| self.rng.random_range(0..800u32));
        let begin = sim.cycle_count();
        let whole = (1u64 << ends) - 1;
        while cores.interrupts(sim) & whole != whole && reset.is_none() {
            cores.cycle(sim)?;
            if sim.cycle_count() - begin > 400_000 {
                let got = cores.interrupts(sim);
                return run.expect_equal(sim, "irq_o", "jobs that do not end", whole, got);
            }
        }
        for _ in 0..reset.unwrap_or(0) {
            cores.cycle(sim)?;
        }
        if reset.is_none() {
            for (k, job) in jobs.iter().enumerate().take(ends) {
                registers(sim, run, &mut cores, (k, job))?;
            }
            if bad.is_none() {
                let given = &jobs[jobs.len() - 1].given;
                let text = |tokens: &[Token]| format!("{tokens:?}");
                run.expect_equal(sim, "next_last_o", "tokens given", text(given), text(&cores.neighbours.given))?;
                for (k, model) in self.models.iter().enumerate() {
                    let link = cores.load(sim, k, LINK)?;
                    run.expect_equal(sim, "LINK", &format!("of core {k}"), link_register(model), link)?;
                }
            }
        }
        compare(sim, run, &cores, &jobs[..if reset.is_some() { 0 } else { ends }], &jobs)?;
        // After a last token, nothing more would be taken in the next round.
        let ended = self.models.iter().any(|model| model.waiting().1);
        if reset.is_some() || bad.is_some() || ended {
            let one = self.rng.random_range(0..jobs.len());
            cores.soft_reset(sim, run, one)?;
            for k in 0..jobs.len() {
                cores.soft_reset(sim, run, k)?;
                let link = cores.load(sim, k, LINK)?;
                run.expect_equal(sim, "LINK", "after a soft reset of it and the cores before", 1 << 31, link)?;
            }
            self.models = vec![self.fresh.clone(); jobs.len()];
        }
        Ok(())
    }
}

/// How a job has ended.
fn registers(sim: &mut Sim, run: &mut Run, cores: &mut Cores, (k, job): (usize, &Drawn)) -> sim::Result<()> {
    let end = &job.report.end;
    let status = cores.load(sim, k, register::STATUS)?;
    run.expect_equal(sim, "STATUS", &format!("of core {k}"), if end.code == 0 { 2 } else { 4 }, status)?;
    if end.code != 0 {
        let code = cores.load(sim, k, register::ERROR_CODE)?;
        let codes = job.report.executed.last().map(|last| last.codes.clone()).unwrap_or_default();
        let allowed = code == u64::from(end.code) || codes.iter().any(|&other| u64::from(other) == code);
        return run.expect_equal(
            sim,
            "ERROR_CODE",
            &format!("{code} of core {k}, {} is expected", end.code),
            true,
            allowed,
        );
    }
    let descriptors = cores.load(sim, k, register::DESCRIPTORS)?;
    run.expect_equal(sim, "DESCRIPTORS", &format!("of core {k}"), u64::from(end.descriptors), descriptors)?;
    let tag = cores.load(sim, k, register::TAG)?;
    run.expect_equal(sim, "TAG", &format!("of core {k}"), u64::from(end.tag), tag)
}

/// Compares the memory after the jobs that have ended, and checks where any job has written.
fn compare(sim: &Sim, run: &mut Run, cores: &Cores, ended: &[Drawn], all: &[Drawn]) -> sim::Result<()> {
    let memory = cores.memory.memory();
    let mut allowed = Vec::new();
    for (k, job) in all.iter().enumerate() {
        let limits = job.program.limits;
        match job.report.is_certain() {
            true => allowed.extend(job.report.written().iter().map(area)),
            false => allowed.push(area(&(limits.base..=limits.limit))),
        }
        if k >= ended.len() || !job.is_good() || !job.program.plain || job.report.executed.iter().any(|e| !e.defined) {
            continue;
        }
        for range in job.report.written() {
            let (first, bytes) = area(&range);
            let mut got = vec![0; bytes as usize];
            memory.load(first, &mut got);
            let expected = job.memory.bytes(first, bytes as usize);
            let at = got.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(0);
            let what = format!("the byte at {:#x} of core {k}", first + at as u64);
            run.expect_equal(sim, "mem", &what, expected[at], got[at])?;
        }
    }
    if let Some(outside) = memory.written_outside(&allowed) {
        let what = format!(": bytes {:#x} to {:#x} are written", outside.start(), outside.end());
        run.expect_equal(sim, "mem", &what, false, true)?;
    }
    Ok(())
}
