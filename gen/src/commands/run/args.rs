//! The options of the command.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::work::Work;
use crate::error::{Failure, Result};

/// Cycles until memory answers.
pub(in crate::commands) const LATENCY: u32 = 20;

#[derive(Debug, clap::Args)]
pub(in crate::commands) struct Args {
    /// Text to go on with
    #[arg(required_unless_present = "prompts")]
    pub(super) prompt: Option<String>,
    /// Further text to go on with, side by side with the others; may be repeated
    #[arg(long = "prompt", value_name = "TEXT", id = "prompts")]
    pub(super) prompts: Vec<String>,
    #[command(flatten)]
    pub(super) work: Work,
    /// Largest number of tokens to write; the model may end its text earlier
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=65_535))]
    pub(super) tokens: u64,
    /// Layers to simulate, as in 0,14,29, or `all`; the golden model computes the others [default: the middle one; all
    /// where an accelerator has the whole model]
    #[arg(long, value_name = "LAYERS", conflicts_with = "golden")]
    pub(super) layers: Option<Layers>,
    /// Compute in the golden model without a simulation: the same text in less time
    #[arg(long)]
    pub(super) golden: bool,
    /// Accelerators side by side, which share the columns of each projection; only where each has the whole model
    /// [default: 2, or 1 where the model has no equal shares]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4))]
    pub(super) tops: Option<u64>,
    /// Tokens of a prompt that come together; only where an accelerator has the whole model [default: equal parts of up
    /// to 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(super) chunk: Option<u64>,
    /// Simulate without comparing every result with the golden model; only where an accelerator has the whole model
    #[arg(long, conflicts_with = "golden")]
    pub(super) no_check: bool,
}

/// Layers of a model, the first one is 0.
#[derive(Clone, Debug)]
pub(super) enum Layers {
    All,
    These(BTreeSet<usize>),
}

impl FromStr for Layers {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let number = |part: &str| part.trim().parse().map_err(|_| "wanted are numbers, as in 0,14,29, or `all`".into());
        text.split(',').map(number).collect::<std::result::Result<_, String>>().map(Self::These)
    }
}

impl Layers {
    /// The chosen layers of a model that has so many, where a user has chosen some, else the middle one.
    pub(super) fn of(chosen: Option<&Self>, layers: usize) -> Result<BTreeSet<usize>> {
        match chosen {
            None => Ok([(layers - 1) / 2].into()),
            Some(Self::All) => Ok((0..layers).collect()),
            Some(Self::These(some)) => match some.iter().find(|&&layer| layer >= layers) {
                Some(layer) => {
                    Err(Failure::Usage(format!("there is no layer {layer}: the model has 0 to {}", layers - 1)))
                }
                None => Ok(some.clone()),
            },
        }
    }
}

/// Refuses more tokens than there is room for, whatever the parameters.
pub(super) fn fits(args: &Args, prompt: usize, needed: usize, most: usize) -> Result<()> {
    if needed > most {
        let problem = format!("the prompt has {prompt} tokens, --tokens is {}", args.tokens);
        return Err(Failure::Usage(format!("{problem}; there is room for {most} in all")));
    }
    Ok(())
}
