//! Layers on `kllm_top`, `kelle_top` or `titanus_core`: some in simulation, each on an accelerator of its own, the others in the golden
//! model.

use std::collections::BTreeSet;

use host::Device;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Model, Tokenizer};
use models::smollm2::texts;
use sim::bus::AxiConfig;
use sim::{BuildOptions, Initial, Sim};
use testbenches::systems::decoding::{LayerAccelerator, Rows};
use testbenches::systems::hardware::{Hardware, ready};

use super::network::Network;
use super::text::{Text, Took};
use super::{LATENCY, LAYER, Layers, WIDE, count, failed};
use crate::error::Result;

/// Tokens of each window of the calibration text: the first ones, whose numbers are the largest.
const WINDOW_TOKENS: usize = 32;
/// Descriptors of a job, at most.
const MAX_DESCRIPTORS: u32 = 65_535;

/// Writes the text and returns its cost.
pub(super) fn run(text: &mut Text<'_>, model: &Model, on: &dyn LayerAccelerator, room: usize) -> Result<String> {
    let asked = text.args.layers.clone().unwrap_or_else(|| Layers::These([LAYER].into()));
    let asked = if text.args.golden { BTreeSet::new() } else { asked.of(model.config().layers)? };
    let mut sims = if asked.is_empty() { Vec::new() } else { compiled(text, on, asked.len())? };
    text.progress.message("calibrating: the float model reads another text");
    let texts = calibration(model, text.tokenizer).map_err(failed)?;
    let (progress, layers) = (text.progress, model.config().layers);
    let mut done = |layer| progress.message(format!("quantizing the weights, layer {layer} of {layers}"));
    done(0);
    let mut network = Network::new(model, on, &texts, room, &mut done).map_err(failed)?;
    for (sim, &layer) in sims.iter_mut().zip(&asked) {
        let mut device = Device::new(Hardware::new(sim, &AxiConfig::ideal(LATENCY), 1)?);
        ready(&mut device, WIDE, MAX_DESCRIPTORS).map_err(failed)?;
        for _ in 0..on.settling() {
            device.bus().cycle()?;
        }
        network.devices.insert(layer, (device, on.clock(&WIDE, LATENCY).map_err(failed)?));
    }
    let took = text.write(&mut network)?;
    Ok(told(text, &network, (&took, on), &asked))
}

/// The input of each layer, for each text.
fn calibration(model: &Model, tokenizer: &Tokenizer) -> anyhow::Result<Vec<Vec<Rows>>> {
    let mut all = vec![Vec::new(); model.config().layers];
    for window in texts::calibration(tokenizer)?.windows {
        let rows = ahead_of_layers(model, &window[..WINDOW_TOKENS.min(window.len())])?;
        all.iter_mut().zip(rows).for_each(|(all, rows)| all.push(rows));
    }
    Ok(all)
}

/// So many simulated accelerators.
fn compiled(text: &Text<'_>, on: &dyn LayerAccelerator, count: usize) -> Result<Vec<Sim>> {
    let design = on.design().map_err(failed)?;
    text.progress.message(format!("compiling {}, once", design.top));
    let model = sim::Model::build(&design, &BuildOptions::default())?;
    (0..count).map(|_| Ok(model.instance_with(Initial::Random(1))?)).collect()
}

fn told(
    text: &Text<'_>,
    network: &Network<'_>,
    (took, on): (&Took, &dyn LayerAccelerator),
    asked: &BTreeSet<usize>,
) -> String {
    let all = &network.simulated;
    let mut lines = vec![format!("  on          {}", on.about())];
    if !asked.is_empty() {
        let numbers: Vec<String> = asked.iter().map(usize::to_string).collect();
        let own = if asked.len() > 1 { ", each on an accelerator of its own" } else { "" };
        lines.push(format!("  layers      {} in simulation{own}, the others in the golden model", numbers.join(", ")));
    }
    lines.push(text.counted());
    lines.push(format!("  time        {}", took.speed()));
    if !asked.is_empty() {
        let (simulated, further) = (asked.len() as u64, (took.tokens - text.prompt.len()) as u64);
        let [prompt, others] = all.cycles;
        let of_token =
            others.checked_div(simulated * further).map(|each| format!(", {} for each token after it", count(each)));
        let speed = count(((prompt + others) as f64 / all.busy) as u64);
        lines.extend([
            format!("  simulation  {speed} cycles a second of processor time, {:.1} s a token", took.each(all.busy)),
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
