//! Layers on an accelerator each: some in simulation, the others in the golden model.

use std::collections::BTreeSet;

use host::Device;
use jobs::hardware::{Hardware, ready};
use lower::needs::Room;
use models::decoder::{Config, Model};
use sim::bus::AxiConfig;
use sim::{BuildOptions, Initial, Sim};
use testbenches::accelerators::decoding::{LayerAccelerator, window};

use super::super::calibration::Learnt;
use super::args::{LATENCY, Layers, fits};
use super::failures::{failed, refused};
use super::network::Network;
use super::prompt::{asked, longest};
use super::text::{Texts, Took, count};
use crate::error::Result;
use crate::present::numbers::significant;

/// Descriptors of a job, at most.
const MAX_DESCRIPTORS: u32 = 65_535;

/// Writes the text and returns its cost.
pub(super) fn run(
    text: &mut Texts<'_>,
    model: Model,
    (on, name): (&dyn LayerAccelerator, &str),
    room: Room,
    known: &dyn Fn(&Config) -> Result<Option<Learnt>>,
) -> Result<String> {
    let (config, lowering) = (*model.config(), on.lowering());
    fits(text.args, longest(text.prompts), room.tokens, lowering.most_tokens())?;
    let known = known(&config)?;
    lowering.needs(&asked(&config, room, text.prompts)).refuse(name).map_err(refused)?;
    let chosen = Layers::of(text.args.layers.as_ref(), config.layers)?;
    let asked = if text.args.golden { BTreeSet::new() } else { chosen };
    let window = window(on.address_width());
    let mut sims = if asked.is_empty() { Vec::new() } else { compiled(text, on, asked.len())? };
    let (progress, layers) = (text.progress, config.layers);
    let learnt = Learnt::known_or_new(known, lowering, (&model, text.tokenizer), progress)?;
    let mut done = |layer| progress.message(format!("quantizing the weights, layer {layer} of {layers}"));
    done(0);
    let mut network = Network::new(model, (lowering, &window), &learnt, (room, &asked), &mut done).map_err(failed)?;
    for (sim, &layer) in sims.iter_mut().zip(&asked) {
        let mut device = Device::new(Hardware::new(sim, &AxiConfig::ideal(LATENCY), 1)?);
        ready(&mut device, window, MAX_DESCRIPTORS).map_err(failed)?;
        for _ in 0..on.settling() {
            device.bus().cycle()?;
        }
        network.devices.insert(layer, (device, on.clock(&window, LATENCY).map_err(failed)?));
    }
    let about = on.about_with(learnt.borrowed()).map_err(refused)?;
    let took = text.write(&mut network)?;
    Ok(told(text, &network, (&took, &about), &asked))
}

/// So many simulated accelerators.
fn compiled(text: &Texts<'_>, on: &dyn LayerAccelerator, count: usize) -> Result<Vec<Sim>> {
    let design = on.design().map_err(failed)?;
    text.progress.message(format!("compiling {}, once", design.top));
    let model = sim::Model::build(&design, &BuildOptions::default())?;
    (0..count).map(|_| Ok(model.instance_with(Initial::Random(1))?)).collect()
}

fn told(text: &Texts<'_>, network: &Network<'_>, (took, about): (&Took, &str), asked: &BTreeSet<usize>) -> String {
    let all = &network.simulated;
    let mut lines = vec![format!("  on          {about}")];
    if !asked.is_empty() {
        let numbers: Vec<String> = asked.iter().map(usize::to_string).collect();
        let own = if asked.len() > 1 { ", each on an accelerator of its own" } else { "" };
        lines.push(format!("  layers      {} in simulation{own}, the others in the golden model", numbers.join(", ")));
    }
    lines.push(text.counted());
    lines.push(format!("  time        {}", took.speed()));
    if asked.is_empty() {
        lines.push(took.speeds());
    } else {
        let (simulated, further) = (asked.len() as u64, (took.tokens - text.prompted()) as u64);
        let [prompt, others] = all.cycles;
        let of_token =
            others.checked_div(simulated * further).map(|each| format!(", {} for each token after it", count(each)));
        let speed = count(((prompt + others) as f64 / all.busy) as u64);
        lines.extend([
            format!(
                "  simulation  {speed} cycles a second of processor time, {} s a token",
                significant(took.each(all.busy), 2)
            ),
            format!(
                "  cycles      of a layer {} for the prompt{}",
                count(prompt / simulated),
                of_token.unwrap_or_default()
            ),
            format!("  operations  {} in {} jobs", count(all.descriptors), count(all.passes)),
        ]);
    }
    lines.push(format!(
        "  saturated   {} words of results left the range of the calibration",
        count(network.overflows())
    ));
    lines.push("  host        looks embeddings up, computes the last norm and the last product in floats, chooses the largest logit".to_owned());
    if !asked.is_empty() {
        let bytes = count(all.bytes);
        lines.push(format!(
            "  checked     {bytes} bytes of results and the cycles of each job; all equal the golden model's"
        ));
    }
    lines.join("\n") + "\n"
}
