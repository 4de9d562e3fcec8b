//! `calibrate`: an accelerator learns from a text what a model on it needs, and a folder keeps it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use models::calibration::{Calibrates, DOCUMENT, File, Origin, Source as From, Text};
use models::decoder::{Precision, Tokenizer};
use models::schemes::{Learning, Settings};

use super::run::chosen::{Accelerator, Source, digest_of};
use super::run::failures::{failed, refused};
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::params::ParamArgs;
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Accelerator: a block that runs language models, or its short name, such as tender
    accelerator: String,
    #[command(flatten)]
    params: ParamArgs,
    /// Model: a GGUF file, or a folder with config.json, safetensors and tokenizer.json [default: SmolLM2-135M, which
    /// `scripts/setup full` fetches]
    #[arg(long, value_name = "PATH")]
    model: Option<PathBuf>,
    /// Text that the float model reads, in UTF-8; white space at its end is left out
    #[arg(long, value_name = "FILE", required_unless_present = "options")]
    text: Option<PathBuf>,
    /// Use the first N tokens of the text [default: all]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    /// Windows of the text; fewer where the text has no more
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = one_or_more)]
    windows: usize,
    /// Tokens of each window [default: as the accelerator says, or the model's context if that is less]
    #[arg(long, value_name = "N")]
    context: Option<usize>,
    /// Tokens from the beginning of a window to the beginning of the next one
    #[arg(long, value_name = "N", default_value_t = 136, value_parser = one_or_more)]
    stride: usize,
    /// Round the model's numbers to binary16 first, as `eval` does
    #[arg(long)]
    half: bool,
    /// Option of the accelerator's calibration; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    option: Vec<String>,
    /// Show all options of the accelerator's calibration
    #[arg(long)]
    options: bool,
    /// Folder for the calibration, which may be there as another calibration
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "options")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let on = Accelerator::named(catalogue, &args.accelerator, &args.params)?;
    let calibrates = on.machine.calibrates();
    if args.options {
        return report::print(&options(calibrates));
    }
    let settings = Settings::parse(&calibrates.choices(), &args.option.join(",")).map_err(refused)?;
    let (Some(text), Some(output)) = (&args.text, &args.output) else { return Ok(()) };
    File::check_place(output).map_err(refused)?;
    let precision = if args.half { Precision::Half } else { Precision::File };
    let Source { tokenizer, read, name } = Source::of(args.model.as_deref(), precision)?;
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let (digest, config) = (digest_of(args.model.as_deref())?, model.config());
    let tokens = tokens(text, &tokenizer)?;
    let count = args.tokens.unwrap_or(tokens.len());
    let part = tokens.get(..count);
    let part = part.ok_or_else(|| {
        Failure::Usage(format!("--tokens is {count}; {} has {} tokens", text.display(), tokens.len()))
    })?;
    let context = args.context.unwrap_or_else(|| calibrates.window().min(config.context));
    if !(2..=config.context).contains(&context) {
        let most = config.context;
        return Err(Failure::Usage(format!("--context is {context}, allowed: 2 to {most}, the model's context")));
    }
    let learning = Learning::beginnings(part, context, args.stride, args.windows);
    let learning = learning.map_err(|e| Failure::Usage(format!("{}: {e:#}", text.display())))?;
    let layers = config.layers;
    progress.message("calibrating: the float model reads the text");
    let mut done = |layer| progress.message(format!("calibrating, layer {layer} of {layers}"));
    let from = From { model: &model, learning: &learning };
    let arrays = calibrates.learn(&from, &settings, &mut done).map_err(failed)?;
    let asked = from.asks(&settings);
    let wanted = calibrates.wanted(&asked).map_err(refused)?;
    arrays.check(&wanted, &|name| format!("array `{name}`")).map_err(failed)?;
    let origin = Origin {
        accelerator: on.entry.about().name.to_owned(),
        model: file_name(Path::new(&name)),
        digest,
        half: args.half,
        text: Text {
            name: file_name(text),
            tokens: learning.tokens(),
            windows: learning.windows.len(),
            context: asked.window,
            stride: args.stride,
            digest: learning.fingerprint(),
        },
        parameters: calibrates
            .parameters()
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), on.params.get(*name)?.clone())))
            .collect(),
        options: pairs(&settings),
        explored: None,
    };
    let bytes = File::write(output, &origin, &arrays).map_err(refused)?;
    drop(progress);
    let (count, windows) = (decimal(origin.text.tokens as f64, 0), origin.text.windows);
    let mut told =
        format!("{}: {DOCUMENT}, {} arrays, {} bytes\n", output.display(), wanted.len(), decimal(bytes as f64, 0));
    let _ = writeln!(told, "  accelerator {}", origin.accelerator);
    let _ = writeln!(told, "  options     {settings}");
    let _ = writeln!(told, "  text        {}: {count} tokens in {windows} windows", origin.text.name);
    report::print(&told)
}

/// A number of windows, or of tokens from one to the next.
pub(super) fn one_or_more(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "allowed: whole numbers from 1 on".to_owned())
}

/// The last part of a path: the rest is not the same on another machine.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// All options with their values.
fn pairs(settings: &Settings) -> BTreeMap<String, String> {
    let text = settings.to_string();
    text.split(',').filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

/// All options: what each is, and what is allowed.
fn options(calibrates: &dyn Calibrates) -> String {
    let one = |choice: models::schemes::Choice| {
        format!("{}={}: {}; allowed: {}\n", choice.name, choice.default, choice.about, choice.kind)
    };
    calibrates.choices().into_iter().map(one).collect()
}

/// All tokens of a file.
pub(crate) fn tokens(path: &Path, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let text = sim::files::read_regular(path).map_err(|e| Failure::file("read", path, &e))?;
    let text = String::from_utf8(text);
    let text = text.map_err(|e| Failure::Usage(format!("{}: no UTF-8: {}", path.display(), e.utf8_error())))?;
    let tokens = tokenizer.prompt(text.trim_end());
    tokens.map_err(|e| Failure::Usage(format!("{}: {e:#}", path.display())))
}
