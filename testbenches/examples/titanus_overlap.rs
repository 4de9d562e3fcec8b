//! What overlap brings on `titanus_core`, and on `kllm_top` beside it: cycles of layer 14 of SmolLM2-135M, for its loads and
//! a prompt, and for a token after it, by the recurrence which the benches hold the hardware to. `titanus_core` also with
//! several computing engines.
//!
//! `./scripts/data/weights` once, then `cargo run --release -p senbazuru-testbenches --example titanus_overlap`; `--facts FILE`
//! writes the cycles as JSON.

use anyhow::Result;
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::titanus::{TitanusCore, TitanusSpec};
use hdl::accelerators::top::TopParameters;
use host::kllm::Bits;
use lower::layer::Layer;
use lower::learn::Learnt;
use lower::needs::Room;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Config, Decoder, Model, Precision};
use models::schemes::Settings;
use models::smollm2;
use sim::facts::Facts;
use testbenches::accelerators::decoding::{LayerAccelerator, window};
use testbenches::accelerators::kllm::layer::decoding::{OnKllm, block as kllm_block};
use testbenches::accelerators::titanus::layer::decoding::{COMPRESSION, OnTitanus};
use testbenches::accelerators::titanus::layer_core;

/// Of memory.
const LATENCY: u32 = 20;
/// Of SmolLM2-135M.
const LAYER: usize = 14;
/// Tokens of the prompt.
const PROMPT: usize = 64;
/// Ports to memory.
const PORTS: u32 = 2;

/// How the engines share the bus.
fn bus(of: &TopParameters, overlaps: bool) -> TopParameters {
    TopParameters { overlaps, ports: PORTS, ..of.clone() }
}

/// Cycles of a prompt, and of a token after it, with these options of the accelerator.
fn cycles(on: &dyn LayerAccelerator, options: &str, model: &Model, rows: &[Vec<f64>]) -> Result<[u64; 2]> {
    let window = window(on.address_width());
    let layer = Layer::of_model(model, LAYER, on.lowering().head_unit())?;
    let texts = [rows[..PROMPT].to_vec()];
    let settings = Settings::parse(&on.lowering().choices(), options)?;
    let arrays = on.lowering().learn_layer(&layer, &texts, &settings)?;
    let learnt = Learnt { settings: &settings, arrays: &arrays };
    let mut layer = on.lowering().layer_with(&window, &layer, learnt, Room::for_one(PROMPT + 1))?;
    let mut clock = on.clock(&window, LATENCY)?;
    let mut cycles = [0; 2];
    for (cycles, of) in cycles.iter_mut().zip([&rows[..PROMPT], &rows[PROMPT..]]) {
        *cycles = clock.cycles(&layer.pass(&[(0, of.to_vec())])?.job)?;
    }
    Ok(cycles)
}

/// Cycles in which macros of `titanus_core` compute in a layer, a vector in as many cycles as an input has bits; and cycles
/// in which its dot product engine computes. The last token sees `seen` tokens.
fn computing(block: &TitanusCore, config: &Config, tokens: usize, seen: usize) -> [u64; 2] {
    let macros = config.projections().len() * tokens * block.spec.store.tile.input_width as usize;
    // Each row meets all tokens that are there, and softmax makes later ones 0.
    let lanes = block.spec.lanes as usize;
    let head = seen * config.head_width.div_ceil(lanes) + config.head_width * seen.div_ceil(lanes);
    [macros as u64, (config.heads * tokens * head) as u64]
}

/// Shares of outliers of `kllm_top`, in per cent.
const OUTLIERS: [&str; 3] = ["0", "1", "3"];
/// Computing engines of `titanus_core`.
const ENGINES: [u32; 5] = [1, 2, 4, 8, 16];

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let model = Decoder::open(&smollm2::path(), Precision::File)?.model;
    let tokens: Vec<u32> = (300..301 + PROMPT as u32).collect();
    let rows = ahead_of_layers(&model, &tokens)?.swap_remove(LAYER);
    let (core, kllm) = (layer_core(), kllm_block());
    let of_core = |engines: u32, overlaps: bool| {
        let spec = TitanusSpec { engines, ..core.spec.clone() };
        let block = TitanusCore { bus: bus(&core.bus, overlaps), spec, ..core.clone() };
        let on = OnTitanus::new(block, COMPRESSION)?;
        let defaults = on.lowering().defaults()?.to_string();
        cycles(&on, &defaults, &model, &rows)
    };
    let of_kllm = |outliers: &str, overlaps: bool| {
        let block = KllmTop { bus: bus(&kllm.bus, overlaps), ..kllm.clone() };
        cycles(&OnKllm::new(block, Bits::Four)?, &format!("activations=4,outliers={outliers}"), &model, &rows)
    };
    let both = |of: &dyn Fn(bool) -> Result<[u64; 2]>| -> Result<[[u64; 2]; 2]> { Ok([of(false)?, of(true)?]) };
    let mut all = vec![];
    for outliers in OUTLIERS {
        all.push((format!("kllm_top, outliers = {outliers} %"), both(&|overlaps| of_kllm(outliers, overlaps))?));
    }
    for engines in ENGINES {
        let name = format!("titanus_core, engines = {engines}");
        all.push((name, both(&|overlaps| of_core(engines, overlaps))?));
    }
    println!("| accelerator | tokens | one by one | where operations overlap | times as fast |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (name, [apart, together]) in &all {
        for ((tokens, apart), together) in [PROMPT, 1].into_iter().zip(apart).zip(together) {
            println!("| {name} | {tokens} | {apart} | {together} | {:.3} |", *apart as f64 / *together as f64);
            facts.add(&format!("{name} {tokens} one by one"), *apart as f64);
            facts.add(&format!("{name} {tokens} overlap"), *together as f64);
        }
    }
    let of_titanus = all[OUTLIERS.len()].1;
    println!("\n| titanus_core with one engine computes | tokens | one by one | where operations overlap |");
    println!("| --- | ---: | ---: | ---: |");
    for (k, (tokens, seen)) in [(PROMPT, PROMPT), (1, PROMPT + 1)].into_iter().enumerate() {
        for (part, least) in ["macros", "dot products"].into_iter().zip(computing(&core, model.config(), tokens, seen))
        {
            let [apart, together] = of_titanus.map(|cycles| least as f64 / cycles[k] as f64);
            println!("| {part} | {tokens} | {apart:.3} | {together:.3} |");
        }
    }
    Ok(facts.write()?)
}
