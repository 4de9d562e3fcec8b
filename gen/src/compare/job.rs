//! The work of a cell.

use models::cycles::Work;
use serde::{Deserialize, Serialize};

/// A phase of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// One token of each sequence, after the tokens before it
    Token,
    /// All tokens of a prompt at once
    Prompt,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 2] = [Self::Token, Self::Prompt];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Prompt => "prompt",
        }
    }
}

/// Sequences and tokens that are allowed.
pub(crate) const MOST_BATCH: u64 = 65_536;
pub(crate) const MOST_CONTEXT: u64 = 1 << 20;

/// Some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Phase.
    pub phase: Phase,
    /// Sequences side by side.
    pub batch: u64,
    /// Tokens that the last new token sees, including itself.
    pub context: u64,
}

impl Job {
    /// All combinations: the last axis varies fastest.
    ///
    /// # Errors
    /// No work at all, a number that is out of range, or a combination twice.
    pub fn all(phases: &[Phase], batches: &[u64], contexts: &[u64]) -> Result<Vec<Self>, String> {
        let mut all = Vec::new();
        for &phase in phases {
            for &batch in batches {
                for &context in contexts {
                    let job = Self { phase, batch, context };
                    job.check()?;
                    if all.contains(&job) {
                        return Err(format!("{} is there twice", job.words()));
                    }
                    all.push(job);
                }
            }
        }
        if all.is_empty() {
            return Err("no work: phases, batches or contexts are empty".to_owned());
        }
        Ok(all)
    }

    /// As the models of cycles have it.
    #[must_use]
    pub fn work(self) -> Work {
        let tokens = if self.phase == Phase::Prompt { self.context } else { 1 };
        Work { sequences: self.batch, tokens, context: self.context }
    }

    /// Refuses numbers that are out of range.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn check(self) -> Result<(), String> {
        for (what, found, most) in [("batch", self.batch, MOST_BATCH), ("context", self.context, MOST_CONTEXT)] {
            if !(1..=most).contains(&found) {
                return Err(format!("{what} {found}, allowed: 1 to {most}"));
            }
        }
        Ok(())
    }

    /// `16 tokens after 1023, one of each sequence`.
    #[must_use]
    pub fn words(self) -> String {
        let Self { batch, context, .. } = self;
        match (self.phase, batch) {
            (Phase::Token, 1) => format!("a token after {}", context - 1),
            (Phase::Token, _) => format!("{batch} tokens after {}, one of each sequence", context - 1),
            (Phase::Prompt, 1) => format!("a prompt of {context}"),
            (Phase::Prompt, _) => format!("{batch} prompts of {context}"),
        }
    }

    /// The same in fewer words.
    #[must_use]
    pub fn short(self) -> String {
        match (self.phase, self.batch) {
            (Phase::Token, batch) if batch > 1 => format!("{batch} tokens after {}", self.context - 1),
            _ => self.words(),
        }
    }

    /// The same for any context.
    #[must_use]
    pub fn group(self) -> String {
        match (self.phase, self.batch) {
            (Phase::Token, batch) => format!("decoding, {batch} side by side"),
            (Phase::Prompt, 1) => "a prompt".to_owned(),
            (Phase::Prompt, batch) => format!("{batch} prompts"),
        }
    }
}
