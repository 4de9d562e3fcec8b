//! Tokens of a prompt side by side: how much faster would a prompt be if the core did operations of several tokens at
//! once? The input are the cycles of the operations one after the other. The bus is assumed to have room for all, so
//! these are bounds.

use anyhow::Result;
use golden::accelerators::titanus::{Shape, TitanusCore};
use host::titanus::{Caps, LinkJob};

use super::super::WINDOW;
use super::super::shapes::Model;
use super::{Engine, Enters, STAGES, Step, Titanus};

/// Units that work side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// The three engines as they are: loads and products, rows, the cache.
    Engines,
    /// The same, but products of weights and products of the context have a unit each.
    Apart,
    /// A unit for each of [`STAGES`], as in the paper's pipeline.
    Stages,
}

impl Units {
    fn count(self) -> usize {
        match self {
            Self::Engines => 3,
            Self::Apart => 4,
            Self::Stages => STAGES.len(),
        }
    }

    fn of(self, step: &Step) -> usize {
        match (self, step.engine) {
            (Self::Stages, _) => step.stage,
            (_, Engine::Store) => 0,
            (_, Engine::Rows) => 1,
            (_, Engine::Cache) => 2,
            (Self::Engines, Engine::Context) => 0,
            (Self::Apart, Engine::Context) => 3,
        }
    }
}

/// Cycles until all tokens have taken all their steps. A token takes its steps one after the other, and no token
/// overtakes another one. A unit takes one step at a time: the step that can begin first, and of several the first
/// token's. All tokens have the same steps. They go through `cores` cores that take the same time, each with units of
/// its own.
///
/// # Panics
/// Tokens of different numbers of steps.
fn overlapped(tokens: &[Vec<Step>], units: Units, cores: usize) -> u64 {
    let Some(steps) = tokens.first().map(Vec::len).filter(|steps| *steps > 0) else { return 0 };
    assert!(tokens.iter().all(|token| token.len() == steps), "tokens with different steps");
    let mut free = vec![0; cores * units.count()];
    // For each token: the steps that it has taken, and the end of each step.
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); tokens.len()];
    loop {
        let ready = |t: usize| {
            let k = ends[t].len();
            let core = k / steps;
            let step = tokens[t].get(k % steps).filter(|_| core < cores)?;
            let ahead = if t == 0 { 0 } else { *ends[t - 1].get(k)? };
            let unit = core * units.count() + units.of(step);
            let begin = ahead.max(ends[t].last().copied().unwrap_or(0)).max(free[unit]);
            Some((begin, t, unit, step.cycles))
        };
        let Some((begin, t, unit, cycles)) = (0..tokens.len()).filter_map(ready).min() else { break };
        free[unit] = begin + cycles;
        ends[t].push(begin + cycles);
    }
    ends.iter().filter_map(|ends| ends.last().copied()).max().unwrap_or(0)
}

/// First and last stage of each core, if a layer is on one, two or three cores of `titanus_chain`.
const PARTS: [&[(usize, usize)]; 3] = [&[(0, 6)], &[(0, 5), (6, 6)], &[(0, 0), (1, 4), (5, 6)]];

/// The steps of a token on a chain. All steps of a core are one step, with its links.
fn by_core(token: &[Step], parts: &[(usize, usize)], link: u64) -> Vec<Step> {
    let of = |&(first, last): &(usize, usize)| {
        token.iter().filter(|step| (first..=last).contains(&step.stage)).map(|step| step.cycles).sum::<u64>() + link
    };
    let one = |(stage, part)| Step { stage, engine: Engine::Store, cycles: of(part) };
    parts.iter().enumerate().map(one).collect()
}

/// The steps of a token. All steps of a stage are one step.
fn by_stage(token: &[Step]) -> Vec<Step> {
    let cycles = |stage| token.iter().filter(|step| step.stage == stage).map(|step| step.cycles).sum();
    (0..STAGES.len()).map(|stage| Step { stage, engine: Engine::Store, cycles: cycles(stage) }).collect()
}

/// Cycles of a prompt and of an answer in a model. Each layer has a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The prompt in a layer as one chain, each operation on all tokens.
    pub at_once: u64,
    /// The prompt in a layer token by token.
    pub plain: u64,
    /// The prompt in a layer token by token, with [`Units`] side by side, in the order of the variants.
    pub intra_core: [u64; 3],
    /// The same in all layers; each token goes on to the next core at once.
    pub core_to_core: [u64; 3],
    /// The prompt in a layer on one, two and three cores of `titanus_chain`, links included.
    pub on_cores: [u64; 3],
    /// The same in all layers, one after the other.
    pub chained: [u64; 3],
    /// Cycles of the two links of a token on a core.
    pub link: u64,
    /// Tokens of the answer.
    pub tokens: u64,
    /// The tokens of the answer in a layer.
    pub answer: u64,
    /// Layers.
    pub layers: u64,
}

impl Run {
    /// Speed-up over token by token, with the prompt at once.
    #[must_use]
    pub fn speed_at_once(&self) -> f64 {
        self.plainly() / (self.layers * (self.at_once + self.answer)) as f64
    }

    /// Speed-up over token by token, with units side by side in each core.
    #[must_use]
    pub fn speed_intra_core(&self, units: Units) -> f64 {
        self.plainly() / (self.layers * (self.intra_core[units as usize] + self.answer)) as f64
    }

    /// Further speed-up if tokens go on to the next core at once.
    #[must_use]
    pub fn speed_core_to_core(&self, units: Units) -> f64 {
        let answer = self.layers * self.answer;
        let within = self.layers * self.intra_core[units as usize] + answer;
        within as f64 / (self.core_to_core[units as usize] + answer) as f64
    }

    /// The answer in a layer on a chain: tokens that go from core to core.
    fn answer_on(&self, split: usize) -> u64 {
        self.answer + PARTS[split].len() as u64 * self.link * self.tokens
    }

    /// Speed-up over token by token on one core, with a layer on one, two or three cores of a chain (`split` 0 to 2).
    ///
    /// # Panics
    /// Another split.
    #[must_use]
    pub fn speed_on_cores(&self, split: usize) -> f64 {
        self.plainly() / (self.layers * (self.on_cores[split] + self.answer_on(split))) as f64
    }

    /// Further speed-up if tokens go on to the next layer's cores at once.
    ///
    /// # Panics
    /// Another split.
    #[must_use]
    pub fn speed_chained(&self, split: usize) -> f64 {
        let answer = self.layers * self.answer_on(split);
        (self.layers * self.on_cores[split] + answer) as f64 / (self.chained[split] + answer) as f64
    }

    fn plainly(&self) -> f64 {
        (self.layers * (self.plain + self.answer)) as f64
    }
}

impl Titanus {
    /// Cycles of the two links of a token on a core of a chain, if the token is there already.
    fn link(&self) -> Result<u64> {
        let caps = Caps { links: true, ..self.caps };
        let shape = Shape { rows: 0, columns: 0, links: true, ..*self.golden.shape() };
        let core = TitanusCore::new(shape).map_err(anyhow::Error::msg)?;
        core.offer(false);
        let links = [LinkJob::wait(1, false), LinkJob::give(1, false)];
        let descriptors = links.iter().map(|link| link.build(&caps, &WINDOW)).collect::<Result<_, _>>()?;
        Ok(self.spent(&core, descriptors, &[])?.iter().map(|taken| taken.cycles).sum())
    }

    /// A prompt and an answer of so many tokens.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn run(&self, model: &Model, [prompt, answer]: [u64; 2]) -> Result<Run> {
        let cycles = |steps: Vec<Step>| steps.iter().map(|step| step.cycles).sum::<u64>();
        let kept = Enters::Kept(prompt);
        let tokens = (0..prompt).map(|old| self.steps(model, [old, 1], kept)).collect::<Result<Vec<_>>>()?;
        let stages: Vec<Vec<Step>> = tokens.iter().map(|token| by_stage(token)).collect();
        let all = [Units::Engines, Units::Apart, Units::Stages];
        let of = |cores: usize| {
            all.map(|units| overlapped(if units == Units::Stages { &stages } else { &tokens }, units, cores))
        };
        let mut behind = 0;
        for old in prompt..prompt + answer {
            behind += cycles(self.steps(model, [old, 1], Enters::Restored)?);
        }
        let link = self.link()?;
        let chained = |cores: usize| {
            PARTS.map(|parts| {
                let tokens: Vec<Vec<Step>> = tokens.iter().map(|token| by_core(token, parts, link)).collect();
                overlapped(&tokens, Units::Stages, cores)
            })
        };
        Ok(Run {
            at_once: cycles(self.steps(model, [0, prompt], kept)?),
            plain: tokens.iter().map(|token| cycles(token.clone())).sum(),
            intra_core: of(1),
            core_to_core: of(model.layers as usize),
            on_cores: chained(1),
            chained: chained(model.layers as usize),
            link,
            tokens: answer,
            answer: behind,
            layers: model.layers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(cycles: &[(usize, Engine, u64)]) -> Vec<Step> {
        cycles.iter().map(|&(stage, engine, cycles)| Step { stage, engine, cycles }).collect()
    }

    /// Three tokens take 2, 5 and 1 cycles in three stages. The second stage is never idle after the first two cycles.
    #[test]
    fn stages_of_a_pipeline() {
        let one = token(&[(0, Engine::Store, 2), (1, Engine::Rows, 5), (2, Engine::Store, 1)]);
        let all = vec![one; 3];
        assert_eq!(overlapped(&all, Units::Stages, 1), 2 + 3 * 5 + 1);
        // The first stage of the second core begins when the first token has left the first core.
        assert_eq!(overlapped(&all, Units::Stages, 2), 8 + 2 + 3 * 5 + 1);
        assert_eq!(overlapped(&[], Units::Stages, 2), 0);
    }

    /// The last step goes to the engine of the first step, which then is busy for three cycles a token.
    #[test]
    fn steps_share_engines() {
        let one = token(&[(0, Engine::Store, 2), (1, Engine::Rows, 1), (2, Engine::Context, 1)]);
        let all = vec![one; 4];
        // Stores in 0..2, 2..4, 6..8, 8..10, dot products in 4..5, 5..6, 10..11, 11..12: the engine never rests.
        assert_eq!(overlapped(&all, Units::Engines, 1), 12);
        assert_eq!(overlapped(&all, Units::Apart, 1), 4 * 2 + 2);
    }

    #[test]
    fn tokens_stay_in_order() {
        let [slow, fast] = [9, 1].map(|cycles| token(&[(0, Engine::Store, 1), (1, Engine::Cache, cycles)]));
        assert_eq!(overlapped(&[slow, fast], Units::Apart, 1), 11);
    }
}
