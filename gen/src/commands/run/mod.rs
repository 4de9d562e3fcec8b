//! `run`: a language model writes text on an accelerator in simulation.

pub(super) mod args;
mod choice;
pub(crate) mod chosen;
pub(crate) mod failures;
mod layers;
mod network;
pub(super) mod prompt;
mod text;
mod whole;
pub(super) mod work;

use lower::needs::Room;
use models::decoder::Config;
use testbenches::accelerators::decoding::Machine;

use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::memory;
use crate::present::progress::Progress;
use crate::present::report;
pub(super) use args::Args;
use args::fits;
use chosen::Source;
use prompt::{Prompt, longest};
use text::{Texts, to_terminal};

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
    let prompts = prompt::texts(args.prompt.iter().chain(&args.prompts))?;
    let Source { tokenizer, read, name, .. } = args.work.source()?;
    let prompts = prompts.into_iter().map(|text| Prompt::new(text, &tokenizer)).collect::<Result<Vec<_>>>()?;
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
