//! `lower`: a layer of a model becomes files that a program in C runs on an accelerator.

use std::path::PathBuf;

use ::lower::files::{self, Contents};
use ::lower::layer::Layer;
use ::lower::needs::{Asked, Room};
use ::lower::pass::Rows;
use ::lower::whole::{self, Recorder, Sizes};
use host::Window;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Model, Tokenizer};
use testbenches::accelerators::decoding::{LayerAccelerator, Machine, WholeAccelerator, window};

use super::calibration::{LEARNING, Learnt};
use super::run::work::{Accelerator, Source, Work};
use super::run::{failed, refused};
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Text whose tokens go through the layer, as the prompt of an empty cache
    prompt: String,
    /// A further text, side by side with the others in the same pass; may be repeated
    #[arg(long = "prompt", value_name = "TEXT", id = "prompts")]
    prompts: Vec<String>,
    #[command(flatten)]
    work: Work,
    /// Layer, the first one is 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    layer: usize,
    /// Folder for memory.bin, results.bin and layer.h
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let named = args.work.accelerator(catalogue)?;
    let Source { tokenizer, read, name, .. } = args.work.source()?;
    let read_prompt = |text: &String| {
        let tokens = tokenizer.prompt(text).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
        if tokens.is_empty() { Err(Failure::Usage("the prompt is empty; give a text".into())) } else { Ok(tokens) }
    };
    let texts = std::iter::once(&args.prompt).chain(&args.prompts).map(read_prompt).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let (layers, number) = (model.config().layers, args.layer);
    if number >= layers {
        let last = layers - 1;
        return Err(Failure::Usage(format!("there is no layer {number}: the model has 0 to {last}")));
    }
    let work = Lowered { args, named: &named, model: &model, tokenizer: &tokenizer, texts: &texts, progress };
    let (contents, window, kept) = match &named.machine {
        Machine::Layers(on) => work.by_layer(on.as_ref())?,
        Machine::Whole(on) => work.of_whole(on.as_ref())?,
    };
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let side_by_side = if texts.len() == 1 { String::new() } else { format!(" in {} texts", texts.len()) };
    let about = format!("Layer {number} of a model for {kept}, {tokens} tokens{side_by_side}.");
    let bytes = contents.write(&args.output, &window, &about).map_err(failed)?;
    drop(work);
    let (memory, results, header) = (files::MEMORY, files::RESULTS, files::HEADER);
    let (jobs, first) = (contents.jobs.len(), contents.jobs.first().map_or(0, |job| job.address));
    let chains = if jobs == 1 { "chain " } else { "chains" };
    let of_jobs = if jobs == 1 { String::new() } else { format!(" in {jobs} jobs") };
    let lines = [
        format!("{}: {memory}, {results}, {header}, {} bytes", args.output.display(), decimal(bytes as f64, 0)),
        format!("  on          {kept}"),
        format!("  {chains}      {} descriptors{of_jobs} from {first:#x} on", contents.descriptors()),
        format!("  saturated   {} words of results left the range of the calibration", contents.overflows),
    ];
    report::print(&(lines.join("\n") + "\n"))
}

/// A layer on its way to files.
struct Lowered<'a> {
    args: &'a Args,
    named: &'a Accelerator,
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    texts: &'a [Vec<u32>],
    progress: Progress,
}

/// A pass, the memory that its accelerator may touch, and what the accelerator is.
type Lowering = (Contents, Window, String);

impl Lowered<'_> {
    /// What is asked of the accelerator.
    fn asked(&self) -> Asked<'_> {
        let tokens = self.texts.iter().map(Vec::len).max().unwrap_or_default();
        Asked { config: self.model.config(), room: Room { texts: self.texts.len(), tokens }, prompt: tokens }
    }

    /// The calibration of a file, if the user names one.
    fn known(&self) -> Result<Option<Learnt>> {
        self.args.work.known(self.named, self.model.config())
    }

    /// The rows of the residual stream before the layer, by text.
    fn rows(&self) -> Result<Vec<(usize, Rows)>> {
        let of_text = |tokens: &Vec<u32>| ahead_of_layers(self.model, tokens).map_err(refused);
        let rows = |(number, tokens)| Ok((number, of_text(tokens)?.swap_remove(self.args.layer)));
        self.texts.iter().enumerate().map(rows).collect()
    }

    fn by_layer(&self, on: &dyn LayerAccelerator) -> Result<Lowering> {
        let (lowering, number, asked) = (on.lowering(), self.args.layer, self.asked());
        lowering.needs(&asked).refuse(self.named.entry.about().name).map_err(refused)?;
        let known = self.known()?.map(|known| known.layer(number)).transpose().map_err(refused)?;
        let rows = self.rows()?;
        let layer = Layer::of_model(self.model, number, lowering.head_unit()).map_err(refused)?;
        let learnt = match known {
            Some(known) => known,
            None => {
                self.progress.message(LEARNING);
                Learnt::of_layer(lowering, &layer, (self.model, self.tokenizer), number).map_err(failed)?
            }
        };
        self.progress.message("quantizing the weights");
        let window = window(on.address_width());
        let mut layer = lowering.layer_with(&window, &layer, learnt.borrowed(), asked.room).map_err(refused)?;
        let pass = layer.pass(&rows).map_err(refused)?;
        let kept = on.about_with(learnt.borrowed()).map_err(refused)?;
        Ok((Contents::of_pass(&pass, layer.overflows()), window, kept))
    }

    fn of_whole(&self, on: &dyn WholeAccelerator) -> Result<Lowering> {
        let (lowering, asked, name) = (on.lowering(), self.asked(), self.named.entry.about().name);
        let known = self.known()?;
        let settings = known.as_ref().map_or_else(|| lowering.defaults(), |known| Ok(known.settings.clone()));
        let needs = settings.and_then(|settings| lowering.needs(&asked, &settings));
        needs.and_then(|needs| needs.refuse(name)).map_err(refused)?;
        let rows = self.rows()?;
        let learnt = Learnt::known_or_new(known, lowering, (self.model, self.tokenizer), &self.progress)?;
        self.progress.message("quantizing the weights");
        let all = rows.iter().map(|(_, rows)| rows.len()).sum();
        let (window, sizes) = (window(on.address_width()), Sizes { rows: all, room: asked.room });
        let mut golden = on.golden(&window, None).map_err(failed)?;
        let load = |memory: &mut Recorder<'_>| {
            let source = whole::Source::layer(self.model, self.args.layer)?;
            lowering.model_with(&window, source, learnt.borrowed(), sizes, memory)
        };
        let contents = Contents::of_rows(golden.as_mut(), load, &rows).map_err(refused)?;
        Ok((contents, window, format!("{name}, {}", on.about())))
    }
}
