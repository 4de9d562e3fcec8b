//! `lower`: a layer of a model becomes files that a program in C runs on an accelerator.

use std::path::PathBuf;

use ::lower::files;
use ::lower::layer::Layer;
use ::lower::needs::{Asked, Room};
use ::lower::pass::Rows;
use models::decoder::residual::ahead_of_layers;
use testbenches::accelerators::decoding::{Machine, window};

use super::calibration::{LEARNING, Learnt};
use super::run::work::{Source, Work};
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
    let block = named.entry.about().name;
    let Machine::Layers(on) = &named.machine else {
        let why = "a host works between its jobs; wanted is an accelerator that has a layer at a time";
        return Err(Failure::Usage(format!("no layer of {block} is one chain: {why}")));
    };
    let Source { tokenizer, read, name, .. } = args.work.source()?;
    let tokens = tokenizer.prompt(&args.prompt).map_err(|e| Failure::Usage(format!("the prompt: {e:#}")))?;
    if tokens.is_empty() {
        return Err(Failure::Usage("the prompt is empty; give a text".into()));
    }
    let progress = Progress::new(1, format!("reading the weights of {name}"));
    let model = read()?;
    let (config, lowering, number) = (model.config(), on.lowering(), args.layer);
    if number >= config.layers {
        let last = config.layers - 1;
        return Err(Failure::Usage(format!("there is no layer {number}: the model has 0 to {last}")));
    }
    let room = Room::for_one(tokens.len());
    lowering.needs(&Asked { config, room, prompt: tokens.len() }).refuse(block).map_err(refused)?;
    let known = args.work.known(&named, config)?.map(|known| known.layer(number)).transpose().map_err(refused)?;
    let rows: Rows = ahead_of_layers(&model, &tokens).map_err(refused)?.swap_remove(number);
    let layer = Layer::of_model(&model, number, lowering.head_unit()).map_err(refused)?;
    let learnt = match known {
        Some(known) => known,
        None => {
            progress.message(LEARNING);
            Learnt::of_layer(lowering, &layer, (&model, &tokenizer), number).map_err(failed)?
        }
    };
    progress.message("quantizing the weights");
    let window = window(on.address_width());
    let mut layer = lowering.layer_with(&window, &layer, learnt.borrowed(), room).map_err(refused)?;
    let pass = layer.pass(&[(0, rows)]).map_err(refused)?;
    let kept = on.about_with(learnt.borrowed()).map_err(refused)?;
    let about = format!("Layer {number} of a model for {kept}, {} tokens.", tokens.len());
    let bytes = files::write(&args.output, &pass, &window, &about).map_err(failed)?;
    drop(progress);
    let (memory, results, header) = (files::MEMORY, files::RESULTS, files::HEADER);
    let lines = [
        format!("{}: {memory}, {results}, {header}, {} bytes", args.output.display(), decimal(bytes as f64, 0)),
        format!("  on          {kept}"),
        format!("  chain       {} descriptors from {:#x} on", pass.job.descriptors, pass.job.address),
        format!("  saturated   {} words of results left the range of the calibration", layer.overflows()),
    ];
    report::print(&(lines.join("\n") + "\n"))
}
