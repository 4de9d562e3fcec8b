//! `eval`: what a scheme of numbers costs a language model, as perplexity of a text and as answers to questions.

pub(super) mod accelerator;
mod told;

use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use models::calibration::File;
use models::decoder::choices::Question;
use models::decoder::perplexity::Windows;
use models::decoder::{Decoder, Model, Precision, digest};
use models::evaluation::{Material, Outcome, Store, Task, evaluate};
use models::schemes::{Bench, Chosen, Given, Learning, NothingToLearnFrom, Registry, Scheme, Settings};

use super::calibrate::{one_or_more, tokens};
use super::calibration::{read_any, read_for};
use super::run::chosen::Accelerator;
use super::run::failures::{chain, failed, refused};
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::params::{ParamArgs, plain};
use crate::present::progress::Progress;
use crate::present::report;
use accelerator::{From, OnAccelerator};
use told::WindowSizes;

/// Tokens of a window where the user says nothing, if the model's context is no shorter.
const CONTEXT: usize = 512;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// GGUF file, or folder with `config.json`, safetensors and `tokenizer.json`
    #[arg(long, value_name = "FILE_OR_FOLDER", required_unless_present = "schemes")]
    model: Option<PathBuf>,
    /// Text whose perplexity is computed, in UTF-8; white space at its end is left out
    #[arg(long, value_name = "FILE", required_unless_present_any = ["choices", "schemes"])]
    text: Option<PathBuf>,
    /// Multiple choice: a JSON object a line, with `context`, `choices` and `answer`, the number of the right choice from 0
    #[arg(long, value_name = "FILE")]
    choices: Option<PathBuf>,
    /// How the model is computed, once or several times: NAME, or NAME:OPTION=VALUE,.. [default: float]
    #[arg(long, value_name = "SCHEME")]
    scheme: Vec<String>,
    /// Cache for each of these schemes, once or several times: how keys and values are stored, which tokens stay, or both
    /// as STORED+TOKENS
    #[arg(long, value_name = "SCHEME", conflicts_with = "on")]
    cache: Vec<String>,
    /// Accelerator whose golden model computes, as in `run`: a block that runs language models, or its short name
    #[arg(long, value_name = "NAME", conflicts_with = "scheme")]
    on: Option<String>,
    /// Option of the scheme, or parameter of the accelerator; with several schemes write NAME:OPTION=VALUE
    #[arg(long, value_name = "OPTION=VALUE")]
    set: Vec<String>,
    /// Read parameters of the accelerator from a TOML file of `name = value` lines; `--set` goes before it
    #[arg(long, value_name = "FILE", requires = "on", conflicts_with = "scheme")]
    config: Option<PathBuf>,
    /// Show all schemes with their options
    #[arg(long, exclusive = true)]
    schemes: bool,
    /// Tokens of a window, which the model reads on its own [default: 512, or the model's context if that is less]
    #[arg(long, value_name = "N", requires = "text")]
    context: Option<usize>,
    /// Tokens from the beginning of a window to the beginning of the next one [default: a window, without overlap]
    #[arg(long, value_name = "N", requires = "text")]
    stride: Option<usize>,
    /// Read the first N tokens of the text [default: all]
    #[arg(long, value_name = "N", requires = "text")]
    tokens: Option<usize>,
    /// Tokens of a window that come at once, for accelerators and schemes that treat a prompt in another way [default:
    /// half of the window]
    #[arg(long, value_name = "N", requires = "text", value_parser = clap::value_parser!(u64).range(1..=65_535))]
    prompt: Option<u64>,
    /// Text that schemes learn ranges, codebooks and thresholds from: another one than is measured
    #[arg(long, value_name = "FILE")]
    learn: Option<PathBuf>,
    /// The accelerator learns each window of the text from this window itself: so the cost of another text is left out
    #[arg(long, requires = "on", requires = "text", conflicts_with_all = ["learn", "calibration", "choices", "scheme"])]
    learn_itself: bool,
    /// Option of the accelerator's calibration, where none is given; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "on", conflicts_with_all = ["calibration", "scheme"])]
    option: Vec<String>,
    /// Windows of it
    #[arg(long, value_name = "N", default_value_t = 5, requires = "learn", value_parser = one_or_more)]
    learn_windows: usize,
    /// Tokens of each of these windows [default: 512, or the model's context if that is less]
    #[arg(long, value_name = "N", requires = "learn")]
    learn_context: Option<usize>,
    /// Tokens from the beginning of such a window to the beginning of the next one
    #[arg(long, value_name = "N", default_value_t = 136, requires = "learn", value_parser = one_or_more)]
    learn_stride: usize,
    /// Calibration of the model, which `senbazuru calibrate` wrote: its folder. Schemes of its accelerator take what it has
    #[arg(long, value_name = "FOLDER")]
    calibration: Option<PathBuf>,
    /// Keep what was computed in a file, so that the same command goes on after a stop
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Windows and choices that are read in parallel [default: number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let registry = catalogue.schemes();
    if args.schemes {
        return report::print(&told::schemes(registry));
    }
    let on = args.accelerator(catalogue)?;
    let mut chosen = if on.is_some() { Vec::new() } else { args.chosen(registry, None)? };
    args.check_learn(&chosen, registry)?;
    let path = args.model.as_deref().unwrap_or(Path::new(""));
    let progress = Progress::new(1, format!("reading {}", path.display()));
    // An accelerator has the weights of the file; schemes are compared with weights in binary16.
    let precision = if on.is_some() { Precision::File } else { Precision::Half };
    let decoder = Decoder::open(path, precision).map_err(refused)?;
    let (material, windows) = args.material(&decoder)?;
    let learning = args.learning(&decoder)?;
    let model = &decoder.model;
    let options = args.option.join(",");
    let by_accelerator: Vec<(String, String)> = on.as_ref().map_or_else(Vec::new, |on| {
        let name = ("accelerator".to_owned(), on.entry.about().name.to_owned());
        let parameters = on.params.iter().map(|(name, value)| (format!("parameter {name}"), plain(value)));
        [name, ("options".to_owned(), options.clone())].into_iter().chain(parameters).collect()
    });
    let known = |on: &Accelerator| {
        let read = |known: &PathBuf| read_for(known, on, (&digest(path).map_err(refused)?, model.config()));
        args.calibration.as_ref().map(read).transpose()
    };
    let given = if on.is_some() { None } else { args.given(catalogue, (path, model), &chosen)? };
    if let Some(given) = &given {
        chosen = args.chosen(registry, Some(given))?;
    }
    drop(progress);
    let longest = [material.longest(), material.longest_prompt()];
    let on = on.map(|on| {
        let from = match (known(&on)?, &learning, args.learn_itself) {
            (Some(known), ..) => From::Known(known),
            (None, _, true) => From::Itself,
            (None, Some(learning), _) => From::Text(learning),
            (None, None, _) => From::Program(&decoder.tokenizer),
        };
        OnAccelerator::new(on, model, (from, &options), longest)
    });
    let on = on.transpose()?;
    if let Some(scheme) = &on {
        chosen.push(Chosen::one(scheme, Settings::parse(&[], "").map_err(refused)?));
    }
    let store = args.store.as_deref().map(|path| {
        let learnt = match (&learning, &args.calibration) {
            (Some(learning), _) => learning.fingerprint(),
            (None, Some(path)) => format!("calibration {}", File::read(path)?.fingerprint()),
            (None, None) if args.learn_itself => "each window itself".to_owned(),
            (None, None) if on.is_some() => "the text in the program".to_owned(),
            (None, None) => "nothing".to_owned(),
        };
        let all = [("model", model.fingerprint()), ("passages", material.fingerprint()), ("learnt from", learnt)];
        let all = all.into_iter().map(|(name, value)| (name.to_owned(), value));
        Store::open(path, &all.chain(by_accelerator).collect())
    });
    let mut store = store.transpose().map_err(refused)?;
    let bench = Bench::new(model, learning.as_ref()).with(given.as_ref());
    let outcomes = args.measure(&chosen, &bench, &material, store.as_mut())?;
    if args.json {
        return report::json(&told::data(&chosen, &material, windows, &outcomes));
    }
    report::print(&told::outcomes(&chosen, &material, windows, &outcomes))
}

impl Args {
    /// The accelerator, if one computes.
    fn accelerator(&self, catalogue: &Catalogue) -> Result<Option<Accelerator>> {
        let named = |name: &String| {
            Accelerator::named(catalogue, name, &ParamArgs { set: self.set.clone(), config: self.config.clone() })
        };
        self.on.as_ref().map(named).transpose()
    }

    /// The schemes. Options that nobody gives are a calibration's, where a scheme takes it.
    fn chosen<'a>(&self, registry: &'a Registry, given: Option<&Given>) -> Result<Vec<Chosen<'a>>> {
        if !self.set.is_empty() && self.scheme.len() != 1 {
            let told = "--set goes with one --scheme; of several, write NAME:OPTION=VALUE".to_owned();
            return Err(Failure::Usage(told));
        }
        let float = ["float".to_owned()];
        let names = if self.scheme.is_empty() { &float[..] } else { &self.scheme };
        for cache in &self.cache {
            Chosen::parse(registry, cache).and_then(|cache| cache.is_cache(registry)).map_err(refused)?;
        }
        let with_caches = |name: &String| match &self.cache[..] {
            [] => vec![name.clone()],
            caches => caches.iter().map(|cache| format!("{name}+{cache}")).collect(),
        };
        // Options of `--set` are of the scheme, whose name stands first.
        let one = |name: &String| match given {
            Some(given) => Chosen::by(registry, name, &self.set, given),
            None => Chosen::with(registry, name, &self.set),
        };
        let all: Vec<String> = names.iter().flat_map(with_caches).collect();
        let chosen = all.iter().map(one).collect::<anyhow::Result<Vec<_>>>().map_err(refused)?;
        for (number, scheme) in chosen.iter().enumerate() {
            let name = scheme.canonical();
            if chosen[..number].iter().any(|other| other.canonical() == name) {
                return Err(Failure::Usage(format!("scheme `{name}` is there twice")));
            }
        }
        Ok(chosen)
    }

    /// Refuses a text to learn from that nobody reads.
    fn check_learn(&self, chosen: &[Chosen<'_>], registry: &Registry) -> Result<()> {
        if self.learn.is_none() {
            return Ok(());
        }
        if self.on.is_some() {
            return match &self.calibration {
                Some(_) => Err(Failure::Usage("--learn is not for an accelerator that has a --calibration".into())),
                None => Ok(()),
            };
        }
        if chosen.iter().any(Chosen::learns) {
            return Ok(());
        }
        let learns =
            |scheme: &&Arc<dyn Scheme>| Chosen::parse(registry, scheme.name()).is_ok_and(|chosen| chosen.learns());
        let names: Vec<&str> = registry.iter().filter(learns).map(|scheme| scheme.name()).collect();
        let told = format!("--learn is for schemes that learn from a text, and none of these does: {}", list(chosen));
        Err(Failure::Usage(format!("{told}; schemes that do: {}", names.join(", "))))
    }

    /// What is read, and sizes of the windows of the text if there is one.
    fn material(&self, decoder: &Decoder) -> Result<(Material, Option<WindowSizes>)> {
        let mut material = Material::default();
        let mut windows = None;
        if let Some(path) = &self.text {
            let tokens = tokens(path, &decoder.tokenizer)?;
            let count = self.tokens.unwrap_or(tokens.len());
            let part = tokens.get(..count).ok_or_else(|| {
                Failure::Usage(format!("--tokens is {count}; {} has {} tokens", path.display(), tokens.len()))
            })?;
            let most = decoder.model.config().context;
            let length = self.context.unwrap_or(CONTEXT.min(most));
            fits("--context", length, most)?;
            let stride = self.stride.unwrap_or(length);
            let prompt = self.prompt.map(|prompt| prompt as usize);
            let longest = length.min(count);
            if let Some(prompt) = prompt.filter(|&prompt| prompt > longest) {
                let told = format!("--prompt is {prompt}, allowed: 1 to {longest}, the tokens of a window");
                return Err(Failure::Usage(told));
            }
            let add = Windows::new(length, stride).and_then(|windows| material.add_text(part, windows, prompt));
            add.map_err(|e| Failure::Usage(format!("{}: {e:#}", path.display())))?;
            windows = Some([length, stride]);
        }
        if let Some(path) = &self.choices {
            let questions = Question::read(path).map_err(refused)?;
            let add = material.add_questions(&questions, (&decoder.model, &decoder.tokenizer));
            add.map_err(|e| Failure::Usage(format!("{}: {e:#}", path.display())))?;
        }
        Ok((material, windows))
    }

    /// The calibration, which one of the schemes takes at least.
    fn given(&self, catalogue: &Catalogue, of: (&Path, &Model), chosen: &[Chosen<'_>]) -> Result<Option<Given>> {
        let Some(path) = &self.calibration else { return Ok(None) };
        let digest = digest(of.0).map_err(refused)?;
        let given = read_any(path, catalogue, (&digest, of.1.config()))?;
        let accelerator = &given.file.origin.accelerator;
        let takes = |scheme: &dyn Scheme| scheme.calibrated_by() == Some(accelerator);
        if chosen.iter().any(|chosen| chosen.takes(accelerator)) {
            return Ok(Some(given));
        }
        let known = catalogue.schemes().iter().filter(|scheme| takes(scheme.as_ref())).map(|scheme| scheme.name());
        let known: Vec<&str> = known.collect();
        let told = format!("no scheme takes {}, a calibration of {accelerator}", path.display());
        Err(Failure::Usage(format!("{told}; schemes that do: {}", known.join(", "))))
    }

    fn learning(&self, decoder: &Decoder) -> Result<Option<Learning>> {
        let Some(path) = &self.learn else { return Ok(None) };
        let most = decoder.model.config().context;
        let context = self.learn_context.unwrap_or(CONTEXT.min(most));
        fits("--learn-context", context, most)?;
        let tokens = tokens(path, &decoder.tokenizer)?;
        let learning = Learning::new(&tokens, context, self.learn_stride, self.learn_windows);
        learning.map(Some).map_err(|e| Failure::Usage(format!("{}: {e:#}", path.display())))
    }

    fn measure(
        &self,
        chosen: &[Chosen<'_>],
        bench: &Bench<'_>,
        material: &Material,
        store: Option<&mut Store>,
    ) -> Result<Vec<Outcome>> {
        let tasks =
            chosen.iter().map(|chosen| Task { key: chosen.canonical(), prepare: Box::new(|| chosen.prepare(bench)) });
        let tasks: Vec<Task<'_>> = tasks.collect();
        let threads = self.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let progress = OnceCell::new();
        let first = tasks.first().map(|task| task.key.clone()).unwrap_or_default();
        let mut begin = |tokens| {
            let _ = progress.set(Progress::new(tokens, format!("tokens with {first}")));
        };
        let outcomes = evaluate(material, &tasks, store, threads, &mut begin, &mut |done| {
            if let Some(progress) = progress.get() {
                progress.message(format!("tokens with {}", tasks[done.task].key));
                progress.counter().inc(done.tokens as u64);
            }
        });
        outcomes.map_err(|error| {
            if error.chain().any(|cause| cause.is::<NothingToLearnFrom>()) {
                Failure::Usage(format!("{}; `--learn FILE` names one", chain(&error)))
            } else {
                failed(error)
            }
        })
    }
}

/// Schemes with their options.
fn list(chosen: &[Chosen<'_>]) -> String {
    chosen.iter().map(Chosen::canonical).collect::<Vec<_>>().join(", ")
}

fn fits(option: &str, length: usize, most: usize) -> Result<()> {
    if length <= most {
        return Ok(());
    }
    Err(Failure::Usage(format!("{option} is {length}, allowed: 2 to {most}, the model's context")))
}
