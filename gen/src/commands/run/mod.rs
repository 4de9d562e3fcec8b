//! `run`: a language model writes text on an accelerator in simulation.

mod choice;
mod layers;
mod network;
mod text;
mod whole;
pub(super) mod work;

use std::collections::BTreeSet;
use std::str::FromStr;

use lower::needs::{Asked, Room};
use models::decoder::Config;
use testbenches::accelerators::decoding::Machine;

use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::memory;
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;
use text::{Prompt, Texts, to_terminal};
use work::{Source, Work};

/// Cycles until memory answers.
const LATENCY: u32 = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Text to go on with
    #[arg(required_unless_present = "prompts")]
    prompt: Option<String>,
    /// Further text to go on with, side by side with the others; may be repeated
    #[arg(long = "prompt", value_name = "TEXT", id = "prompts")]
    prompts: Vec<String>,
    #[command(flatten)]
    work: Work,
    /// Largest number of tokens to write; the model may end its text earlier
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=65_535))]
    tokens: u64,
    /// Layers to simulate, as in 0,14,29, or `all`; the golden model computes the others [default: the middle one; all
    /// where an accelerator has the whole model]
    #[arg(long, value_name = "LAYERS", conflicts_with = "golden")]
    layers: Option<Layers>,
    /// Compute in the golden model without a simulation: the same text in less time
    #[arg(long)]
    golden: bool,
    /// Accelerators side by side, which share the columns of each projection; only where each has the whole model
    /// [default: 2, or 1 where the model has no equal shares]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4))]
    tops: Option<u64>,
    /// Tokens of a prompt that come together; only where an accelerator has the whole model [default: equal parts of up
    /// to 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    chunk: Option<u64>,
    /// Simulate without comparing every result with the golden model; only where an accelerator has the whole model
    #[arg(long, conflicts_with = "golden")]
    no_check: bool,
}

/// Layers of a model, the first one is 0.
#[derive(Clone, Debug)]
enum Layers {
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
    fn of(chosen: Option<&Self>, layers: usize) -> Result<BTreeSet<usize>> {
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

/// Refuses options that are for another kind of machine.
fn check_options(args: &Args, machine: &Machine) -> Result<()> {
    let on = &args.work.on;
    match machine {
        Machine::Whole(_) if args.layers.is_some() => {
            let why = "it has the whole model in its memory; --layers is for accelerators of a layer each";
            Err(Failure::Usage(format!("{on} computes all layers: {why}")))
        }
        Machine::Whole(_) => Ok(()),
        Machine::Layers(_) => {
            let given = [("--tops", args.tops.is_some()), ("--chunk", args.chunk.is_some())];
            if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
                let why = "each layer of the model is on an accelerator of its own, and takes a prompt at once";
                return Err(Failure::Usage(format!("{option} is not for {on}: {why}")));
            }
            if args.no_check {
                let why = "jobs are fitted to the golden model's results";
                return Err(Failure::Usage(format!("--no-check is not for {on}: {why}")));
            }
            Ok(())
        }
    }
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let on = args.work.accelerator(catalogue)?;
    let (entry, machine) = (&on.entry, &on.machine);
    check_options(args, machine)?;
    memory::give_back();
    let prompts: Vec<&String> = args.prompt.iter().chain(&args.prompts).collect();
    if prompts.iter().any(|prompt| prompt.is_empty()) {
        return Err(Failure::Usage("the prompt is empty; give the text to go on with".into()));
    }
    let Source { tokenizer, read, name, .. } = args.work.source()?;
    let encoded = |text: &String| {
        let tokens = tokenizer.prompt(text).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
        Ok(Prompt { text: text.clone(), tokens })
    };
    let prompts = prompts.into_iter().map(encoded).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let room = room(args, &prompts, model.config())?;
    let mut texts = Texts::new(args, &tokenizer, &prompts, &progress);
    let known = |config: &Config| args.work.known(&on, config);
    let name = entry.about().name;
    let told = match machine {
        Machine::Whole(on) => whole::run(&mut texts, model, (on.as_ref(), name), room, &known)?,
        Machine::Layers(on) => layers::run(&mut texts, model, (on.as_ref(), name), room, &known)?,
    };
    let rest = if to_terminal() || prompts.len() > 1 { texts.all() } else { String::new() };
    drop(progress);
    report::print(&format!("{rest}\n\n{told}"))
}

/// Texts, and tokens of each that the model reads.
fn room(args: &Args, prompts: &[Prompt], config: &Config) -> Result<Room> {
    let longest = longest(prompts);
    // The model does not read the last token that it writes.
    let tokens = longest + args.tokens as usize - 1;
    fits(args, longest, tokens, config.context)?;
    Ok(Room { texts: prompts.len(), tokens })
}

fn longest(prompts: &[Prompt]) -> usize {
    prompts.iter().map(|prompt| prompt.tokens.len()).max().unwrap_or_default()
}

/// Refuses more tokens than there is room for, whatever the parameters.
fn fits(args: &Args, prompt: usize, needed: usize, most: usize) -> Result<()> {
    if needed > most {
        let problem = format!("the prompt has {prompt} tokens, --tokens is {}", args.tokens);
        return Err(Failure::Usage(format!("{problem}; there is room for {most} in all")));
    }
    Ok(())
}

/// What is asked of an accelerator.
fn asked<'a>(config: &'a Config, room: Room, prompts: &[Prompt]) -> Asked<'a> {
    Asked { config, room, prompt: longest(prompts) }
}

/// What a user has given wrongly.
pub(super) fn refused(error: anyhow::Error) -> Failure {
    Failure::Usage(format!("{error:#}"))
}

pub(super) fn failed(error: anyhow::Error) -> Failure {
    Failure::Check(format!("{error:#}"))
}

/// A number with groups of digits.
fn count(number: u64) -> String {
    decimal(number as f64, 0)
}
