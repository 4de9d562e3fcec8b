//! `run`: a language model writes text on an accelerator in simulation.

mod layers;
mod network;
mod tender;
mod text;

use std::collections::BTreeSet;
use std::str::FromStr;

use host::Window;
use models::decoder::{Model, Precision, Tokenizer};
use models::smollm2::open;
use testbenches::systems::decoding::LayerAccelerator;
use testbenches::systems::kelle_top::layer::decoding::OnKelle;
use testbenches::systems::kllm_top::layer::decoding::OnKllm;
use testbenches::systems::titanus_core::layer::decoding::OnTitanus;

use crate::catalogue::similar;
use crate::error::{Failure, Result};
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;
use text::{Text, to_terminal};

/// Accelerators that can run the model.
const ACCELERATORS: [&str; 4] = ["tender", "kllm", "kelle", "titanus"];
/// The layer that is simulated when the user names none.
const LAYER: usize = 14;
/// Memory that an accelerator may touch: half a gigabyte, of which SmolLM2-135M takes 150 MB.
const WINDOW: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 32 };
/// The same memory for accelerators with longer addresses.
const WIDE: Window = Window { address_width: 40, ..WINDOW };
/// Cycles until memory answers.
const LATENCY: u32 = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Text to go on with
    prompt: String,
    /// Accelerator: tender, kllm, kelle or titanus
    #[arg(long, value_name = "NAME")]
    on: String,
    /// Largest number of tokens to write; the model may end its text earlier
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=tender::CONTEXT as u64))]
    tokens: u64,
    /// Layers to simulate, as in 0,14,29, or `all`; the golden model computes the others [default: 14; tender: all]
    #[arg(long, value_name = "LAYERS", conflicts_with = "golden")]
    layers: Option<Layers>,
    /// Compute in the golden model without a simulation: the same text in less time
    #[arg(long)]
    golden: bool,
    /// Accelerators side by side, which share the columns of each projection; tender only [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4))]
    tops: Option<u64>,
    /// Simulate without comparing every result with the golden model; tender only
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
    /// The chosen layers of a model that has so many.
    fn of(&self, layers: usize) -> Result<BTreeSet<usize>> {
        match self {
            Self::All => Ok((0..layers).collect()),
            Self::These(some) => match some.iter().find(|&&layer| layer >= layers) {
                Some(layer) => {
                    Err(Failure::Usage(format!("there is no layer {layer}: the model has 0 to {}", layers - 1)))
                }
                None => Ok(some.clone()),
            },
        }
    }
}

/// The accelerator, before anything is read.
enum On {
    Tender,
    Layers(Box<dyn LayerAccelerator>),
}

impl On {
    fn of(args: &Args) -> Result<Self> {
        let of_layers = |accelerator: anyhow::Result<Box<dyn LayerAccelerator>>| accelerator.map_err(failed);
        let on = match args.on.as_str() {
            "tender" => Self::Tender,
            "kllm" => Self::Layers(Box::new(OnKllm::default())),
            "kelle" => Self::Layers(of_layers(OnKelle::new().map(|on| Box::new(on) as _))?),
            "titanus" => Self::Layers(of_layers(OnTitanus::new().map(|on| Box::new(on) as _))?),
            other => {
                let near = similar(other, &ACCELERATORS);
                let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
                let known = ACCELERATORS.join(", ");
                return Err(Failure::Usage(format!("no model runs on `{other}`;{hint} accelerators are: {known}")));
            }
        };
        match on {
            Self::Tender if args.layers.is_some() => {
                Err(Failure::Usage("tender computes all layers: --layers is for kllm, kelle and titanus".into()))
            }
            Self::Layers(_) if args.tops.is_some() => Err(Failure::Usage(
                "--tops is for tender; with the others each simulated layer has an accelerator of its own".into(),
            )),
            Self::Layers(_) if args.no_check => {
                let why = "the other accelerators need the golden model: their jobs are fitted to its results";
                Err(Failure::Usage(format!("--no-check is for tender; {why}")))
            }
            on => Ok(on),
        }
    }

    /// The most tokens of a prompt, and of all that the model reads.
    fn most_tokens(&self) -> [usize; 2] {
        match self {
            Self::Tender => [tender::CONTEXT; 2],
            Self::Layers(on) => on.most_tokens(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let on = On::of(args)?;
    if args.prompt.is_empty() {
        return Err(Failure::Usage("the prompt is empty; give the text to go on with".into()));
    }
    let file = open()?;
    let tokenizer = Tokenizer::read(&file).map_err(failed)?;
    let prompt = tokenizer.encode(&args.prompt).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
    let room = room(&on, prompt.len(), args)?;
    let progress = Progress::new(1, "reading the weights of SmolLM2-135M");
    let model = Model::read(&file, Precision::File).map_err(failed)?;
    let mut text = Text::new(args, &tokenizer, &prompt, &progress);
    let told = match &on {
        On::Tender => tender::run(&mut text, &model)?,
        On::Layers(accelerator) => layers::run(&mut text, &model, accelerator.as_ref(), room)?,
    };
    let rest = if to_terminal() { text.text() } else { String::new() };
    drop(progress);
    report::print(&format!("{rest}\n\n{told}"))
}

/// Number of tokens that the model reads in all.
fn room(on: &On, prompt: usize, args: &Args) -> Result<usize> {
    let [at_once, in_all] = on.most_tokens();
    // The model does not read the last token that it writes.
    let needed = prompt + args.tokens as usize - 1;
    let has = format!("the prompt has {prompt} tokens");
    if prompt > at_once && at_once < in_all {
        return Err(Failure::Usage(format!("{has}; {} takes {at_once} at once", args.on)));
    }
    if needed > in_all {
        let problem = format!("{has}, --tokens is {}", args.tokens);
        return Err(Failure::Usage(format!("{problem}; there is room for {in_all} in all")));
    }
    Ok(needed)
}

fn failed(error: anyhow::Error) -> Failure {
    Failure::Check(format!("{error:#}"))
}

/// A number with groups of digits.
fn count(number: u64) -> String {
    decimal(number as f64, 0)
}
