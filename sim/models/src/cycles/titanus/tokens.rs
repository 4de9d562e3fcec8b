//! Tokens on their way through a layer whose weights the core holds, operation by operation.

use anyhow::{Context, Result};
use host::Descriptor;
use host::titanus::Matrix;

use super::super::shapes::Model;
use super::super::{Numbers, Steps, longest, parts, steps};
use super::descriptors::{cache, kept, product};
use super::{STAGES, Titanus};

/// The unit that does an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Macros with weights.
    Store,
    /// The engine on keys and values.
    Context,
    /// The vector unit.
    Rows,
    /// The unit that appends and restores.
    Cache,
}

/// How keys and values enter the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enters {
    /// They are appended, and then all tokens are restored.
    Restored,
    /// The append keeps them as context. They belong to a prompt of so many tokens.
    Kept(u64),
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// One of [`STAGES`].
    pub stage: usize,
    /// The unit that does it.
    pub engine: Engine,
    /// Its cycles, on its own.
    pub cycles: u64,
}

impl Titanus {
    /// `tokens` tokens after `old` others: one chain from residual stream to residual stream.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn steps(&self, model: &Model, [old, tokens]: [u64; 2], enters: Enters) -> Result<Vec<Step>> {
        use Engine::{Cache, Context as Attends, Rows, Store};
        use Numbers::{Fp16, Int8};
        let (caps, width, head, [heads, shared]) = (&self.caps, model.width, model.head, model.heads);
        let (queries, channels, context) = (model.queries(), model.keys(), old + tokens);
        let store = |inputs: u64, outputs: u64, results: Numbers| {
            product(caps, (Matrix::Store { row: 0, column: 0 }, 0), [tokens, inputs, outputs], results)
        };
        let step =
            |what: Steps, results: Numbers, columns: u64| steps(&caps.vector, (what, results), [tokens, columns]);
        let norm = if model.gated { Steps::RmsNorm } else { Steps::LayerNorm };
        let (mut cached, of_tokens) = match enters {
            Enters::Restored => cache(caps, channels, [old, tokens])?,
            Enters::Kept(prompt) => kept(caps, channels, [old, tokens], prompt)?,
        };
        // The descriptors that make the old cache.
        let before: Vec<Descriptor> = cached.drain(..usize::from(old > 0)).collect();
        let mut all = vec![(0, Rows, step(norm, Int8, width)?)];
        for outputs in [queries, channels] {
            if model.gated {
                all.push((0, Store, store(width, outputs, Fp16)?));
                all.push((0, Rows, step(Steps::Rotate, Int8, outputs)?));
            } else {
                all.push((0, Store, store(width, outputs, Int8)?));
            }
        }
        all.push((0, Store, store(width, channels, Int8)?));
        all.extend(cached.into_iter().map(|descriptor| (1, Cache, descriptor)));
        for number in 0..heads {
            let tile = u16::try_from(number * shared / heads * head / u64::from(caps.lanes))?;
            let scores = product(caps, (Matrix::Keys { tile }, context), [tokens, head, context], Fp16)?;
            let values = product(caps, (Matrix::Values { tile }, context), [tokens, context, head], Int8)?;
            all.extend([(2, Attends, scores), (3, Rows, step(Steps::Softmax, Fp16, context)?), (4, Attends, values)]);
        }
        all.extend([
            (5, Store, store(queries, width, Fp16)?),
            (5, Rows, step(Steps::Add, Fp16, width)?),
            (5, Rows, step(norm, Int8, width)?),
        ]);
        if model.gated {
            all.extend([
                (6, Store, store(width, model.between, Fp16)?),
                (6, Store, store(width, model.between, Fp16)?),
            ]);
            for (columns, count) in parts(model.between, longest(&caps.vector)) {
                for _ in 0..count {
                    all.push((6, Rows, step(Steps::Gate, Int8, columns)?));
                }
            }
        } else {
            all.push((6, Store, store(width, model.between, Int8)?));
        }
        all.extend([(6, Store, store(model.between, width, Fp16)?), (6, Rows, step(Steps::Add, Fp16, width)?)]);
        let skipped = before.len();
        let descriptors = before.into_iter().chain(all.iter().map(|(.., descriptor)| descriptor.clone())).collect();
        let spent = self.spent(&self.golden, descriptors, &of_tokens)?;
        let of = |((stage, engine, _), taken): ((usize, Engine, Descriptor), super::super::Taken)| Step {
            stage,
            engine,
            cycles: taken.cycles,
        };
        Ok(all.into_iter().zip(spent.into_iter().skip(skipped)).map(of).collect())
    }

    /// A token after `context - 1` others; all keys and values are restored. For each descriptor its stage, one of
    /// [`STAGES`], and its cycles.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn token(&self, model: &Model, context: u64) -> Result<Vec<(usize, u64)>> {
        let old = context.checked_sub(1).filter(|old| *old > 0).context("a token after others")?;
        let steps = self.steps(model, [old, 1], Enters::Restored)?;
        Ok(steps.into_iter().map(|step| (step.stage, step.cycles)).collect())
    }

    /// The same, stage by stage.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn stages(&self, model: &Model, context: u64) -> Result<[u64; STAGES.len()]> {
        let mut all = [0; STAGES.len()];
        for (stage, cycles) in self.token(model, context)? {
            all[stage] += cycles;
        }
        Ok(all)
    }
}
