//! `lower`: a layer of a model becomes files that a program in C runs on an accelerator.

use std::path::PathBuf;

use ::lower::files::{self, Contents};
use ::lower::layer::Layer;
use ::lower::needs::{Asked, Room};
use ::lower::pass::Rows;
use ::lower::whole::{self, Recorder, Sizes};
use golden::accelerators::cycles::Span;
use host::Window;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Float, Matrix, Model, Tokenizer};
use testbenches::accelerators::decoding::{LayerAccelerator, Machine, WholeAccelerator, window};

use super::calibration::{LEARNING, Learnt};
use super::run::args::LATENCY;
use super::run::chosen::{Accelerator, Source};
use super::run::failures::{failed, refused};
use super::run::prompt::{self, Prompt};
use super::run::work::Work;
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::output::{check_place, replace};
use crate::present::numbers::{counted, decimal};
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::timeline::{self, Bar, Timeline};

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
    /// Tokens after each prompt, which the float model writes; each comes in a pass of its own
    #[arg(long, value_name = "N", default_value_t = 0)]
    steps: usize,
    /// Folder for memory.bin, results.bin and layer.h, which may be there as another layer's
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Draw when the engines work on each operation, as SVG: each pass has its part of the picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The same as CSV: cycles in which each operation goes to its engine, begins and ends
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let named = args.work.accelerator(catalogue)?;
    let prompts = prompt::texts(std::iter::once(&args.prompt).chain(&args.prompts))?;
    files::check_place(&args.output).map_err(refused)?;
    args.csv.iter().chain(&args.svg).try_for_each(|path| check_place(path))?;
    let Source { tokenizer, read, name, .. } = args.work.source()?;
    let prompts = prompts.into_iter().map(|text| Prompt::new(text, &tokenizer)).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let (layers, number) = (model.config().layers, args.layer);
    if number >= layers {
        let last = layers - 1;
        return Err(Failure::Usage(format!("there is no layer {number}: the model has 0 to {last}")));
    }
    let texts = prompts.into_iter().map(|prompt| Text::new(&model, prompt.tokens, args.steps));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let work = Lowered { args, named: &named, model: &model, tokenizer: &tokenizer, texts: &texts, progress };
    let (contents, window, kept) = match &named.machine {
        Machine::Layers(on) => work.by_layer(on.as_ref())?,
        Machine::Whole(on) => work.of_whole(on.as_ref())?,
    };
    let tokens: usize = texts.iter().map(|text| text.prompt).sum();
    let side_by_side = if texts.len() == 1 { String::new() } else { format!(" in {} texts", texts.len()) };
    let steps = match args.steps {
        0 => String::new(),
        1 => ", then 1 step".to_owned(),
        more => format!(", then {more} steps"),
    };
    let tokens = counted(tokens, "token");
    let about =
        [vec![format!("Layer {number} of a model for {kept}, {tokens}{side_by_side}{steps}.")], args.work.origin()?]
            .concat();
    let bytes = contents.write(&args.output, &window, &about).map_err(failed)?;
    drop(work);
    if args.svg.is_some() || args.csv.is_some() {
        let title = format!("Layer {number} on {kept}");
        let timeline = timeline(title, &named, &contents, &window)?;
        args.csv.iter().try_for_each(|path| replace(path, timeline.csv().as_bytes()))?;
        args.svg.iter().try_for_each(|path| replace(path, timeline.svg().as_bytes()))?;
    }
    let (memory, results, header) = (files::MEMORY, files::RESULTS, files::HEADER);
    let (jobs, first) = (contents.jobs().count(), contents.jobs().next().map_or(0, |job| job.address));
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

/// When the engines work on the operations of each pass. Jobs of a pass follow each other at once.
fn timeline(title: String, named: &Accelerator, contents: &Contents, window: &Window) -> Result<Timeline> {
    let design = named.entry.elaborate(&named.params)?;
    let operations = design.operations();
    let rows: Vec<String> = operations.iter().map(|operation| operation.name.clone()).collect();
    let mut clock = named.machine.clock(window, LATENCY).map_err(failed)?;
    let mut jobs = Vec::new();
    for (number, pass) in contents.passes.iter().enumerate() {
        let title = if number == 0 { "prompt".into() } else { format!("step {number}") };
        let mut of_pass = timeline::Job { title, cycles: 0, bars: Vec::new() };
        for job in &pass.jobs {
            let (cycles, spans) = clock.spans(job).map_err(failed)?;
            let before = of_pass.cycles;
            for Span { opcode, goes, begins, ends } in spans {
                let row = operations.iter().position(|one| one.number == u32::from(opcode));
                let row = row.ok_or_else(|| Failure::Check(format!("the design has no operation {opcode}")))?;
                let [goes, begins, ends] = [goes, begins, ends].map(|cycle| before + cycle);
                of_pass.bars.push(Bar { row, goes, begins, ends });
            }
            of_pass.cycles += cycles;
        }
        jobs.push(of_pass);
    }
    Ok(Timeline { title, rows, jobs })
}

/// A prompt, and the tokens that follow it.
struct Text {
    tokens: Vec<u32>,
    /// Tokens of the prompt.
    prompt: usize,
}

impl Text {
    /// A prompt, and so many tokens after it: each is the likeliest one of the float model, the first of several.
    fn new(model: &Model, mut tokens: Vec<u32>, steps: usize) -> Result<Self> {
        let (prompt, context) = (tokens.len(), model.config().context);
        if prompt + steps > context {
            let why = format!("the prompt has {prompt} tokens, --steps is {steps}; the model's context is {context}");
            return Err(Failure::Usage(why));
        }
        let (mut cache, mut next) = (model.cache(), 0);
        while tokens.len() < prompt + steps {
            let last = model.forward(&tokens[next..], &mut cache, &mut Float).map_err(refused)?;
            let last = Matrix::from_rows(&last.iter().last().map(<[f64]>::to_vec).into_iter().collect::<Vec<_>>());
            let logits = last.and_then(|last| model.logits(&last, &mut Float)).map_err(refused)?.values;
            next = tokens.len();
            let better = |most: usize, token: usize| if logits[token] > logits[most] { token } else { most };
            tokens.push((0..logits.len()).fold(0, better) as u32);
        }
        Ok(Self { tokens, prompt })
    }
}

/// A layer on its way to files.
struct Lowered<'a> {
    args: &'a Args,
    named: &'a Accelerator,
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    texts: &'a [Text],
    progress: Progress,
}

/// Passes, the memory that their accelerator may touch, and what the accelerator is.
type Lowering = (Contents, Window, String);

impl Lowered<'_> {
    /// What is asked of the accelerator.
    fn asked(&self) -> Asked<'_> {
        let prompt = self.texts.iter().map(|text| text.prompt).max().unwrap_or_default();
        let room = Room { texts: self.texts.len(), tokens: prompt + self.args.steps };
        Asked { config: self.model.config(), room, prompt }
    }

    /// The calibration of a file, if the user names one.
    fn known(&self) -> Result<Option<Learnt>> {
        self.args.work.known(self.named, self.model.config())
    }

    /// The rows of the residual stream before the layer: of each pass, by text.
    fn passes(&self) -> Result<Vec<Vec<(usize, Rows)>>> {
        let mut passes = vec![Vec::new(); 1 + self.args.steps];
        for (number, Text { tokens, prompt }) in self.texts.iter().enumerate() {
            let mut rows = ahead_of_layers(self.model, tokens).map_err(refused)?.swap_remove(self.args.layer);
            let steps = rows.split_off(*prompt).into_iter().map(|row| vec![row]);
            let of_text = std::iter::once(rows).chain(steps);
            passes.iter_mut().zip(of_text).for_each(|(pass, rows)| pass.push((number, rows)));
        }
        Ok(passes)
    }

    fn by_layer(&self, on: &dyn LayerAccelerator) -> Result<Lowering> {
        let (lowering, number, asked) = (on.lowering(), self.args.layer, self.asked());
        lowering.needs(&asked).refuse(self.named.entry.about().name).map_err(refused)?;
        let known = self.known()?.map(|known| known.layer(number)).transpose().map_err(refused)?;
        let passes = self.passes()?;
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
        let passes = passes.iter().map(|rows| layer.pass(rows).map_err(refused)).collect::<Result<Vec<_>>>()?;
        let kept = on.about_with(learnt.borrowed()).map_err(refused)?;
        Ok((Contents::of_passes(&passes, layer.overflows()), window, kept))
    }

    fn of_whole(&self, on: &dyn WholeAccelerator) -> Result<Lowering> {
        let (lowering, asked, name) = (on.lowering(), self.asked(), self.named.entry.about().name);
        let known = self.known()?;
        let settings = known.as_ref().map_or_else(|| lowering.defaults(), |known| Ok(known.settings.clone()));
        let needs = settings.and_then(|settings| lowering.needs(&asked, &settings));
        needs.and_then(|needs| needs.refuse(name)).map_err(refused)?;
        let passes = self.passes()?;
        let learnt = Learnt::known_or_new(known, lowering, (self.model, self.tokenizer), &self.progress)?;
        self.progress.message("quantizing the weights");
        let all = self.texts.iter().map(|text| text.prompt).sum();
        let (window, sizes) = (window(on.address_width()), Sizes { rows: all, room: asked.room });
        let mut golden = on.golden(&window, None).map_err(failed)?;
        let load = |memory: &mut Recorder<'_>| {
            let source = whole::Source::layer(self.model, self.args.layer)?;
            lowering.model_with(&window, source, learnt.borrowed(), sizes, memory)
        };
        let contents = Contents::of_rows(golden.as_mut(), load, &passes).map_err(refused)?;
        Ok((contents, window, format!("{name}, {}", on.about())))
    }
}
