//! What overlap brings on `kelle_top`: cycles of layer 14 of SmolLM2-135M, for a prompt and for a token after it, by the
//! recurrence which the benches hold the hardware to.
//!
//! `./scripts/data/weights` once, then `cargo run --release -p senbazuru-testbenches --example kelle_overlap`; `--facts FILE`
//! writes the cycles as JSON.

use anyhow::Result;
use hdl::accelerators::kelle::KelleTop;
use lower::layer::Layer;
use lower::needs::Room;
use models::decoder::Precision;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Config, Decoder};
use models::smollm2;
use sim::facts::Facts;
use testbenches::accelerators::decoding::{LayerAccelerator, window};
use testbenches::accelerators::kelle::layer::decoding::{BUDGET, OnKelle, block};

/// Of memory.
const LATENCY: u32 = 20;
/// Of SmolLM2-135M.
const LAYER: usize = 14;
/// Tokens of the prompt.
const PROMPT: usize = 64;
/// Tokens of a head that there is room for.
const SLOTS: u32 = 96;
/// Ports to memory.
const PORTS: u32 = 2;

/// Cycles in which the array computes in a layer: two steps for each row of a product and each tile of weights, and
/// weights of two bytes are two tiles. The last token sees `seen` tokens.
fn computing(block: &KelleTop, config: &Config, tokens: usize, seen: usize) -> u64 {
    let (rows, columns) = (block.spec.rows as usize, block.spec.columns as usize);
    let product = |outputs: usize, channels: usize| 2 * tokens * channels.div_ceil(rows) * outputs.div_ceil(columns);
    let (width, head) = (config.width, config.head_width);
    let (all, keys) = (config.heads * head, config.kv_heads * head);
    let linear = product(all, width) + 2 * product(keys, width) + product(width, all);
    let linear = linear + 2 * product(config.ffn_width, width) + product(width, config.ffn_width);
    let step = |seen: usize| 2 * 2 * seen.div_ceil(rows) * (head / columns) * 2 * (config.heads / config.kv_heads);
    let attention: usize = (seen + 1 - tokens..=seen).map(step).sum();
    (linear + config.kv_heads * attention) as u64
}

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let model = Decoder::open(&smollm2::path(), Precision::File)?.model;
    let tokens: Vec<u32> = (300..301 + PROMPT as u32).collect();
    let rows = ahead_of_layers(&model, &tokens)?.swap_remove(LAYER);
    println!(
        "| PEs | tokens | cycles, one by one | the array computes | where operations overlap | the array computes |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for side in [16, 32] {
        let [mut apart, mut together] = [[0; 2]; 2];
        for (overlaps, cycles) in [(false, &mut apart), (true, &mut together)] {
            let heads = model.config().kv_heads as u32;
            let on = OnKelle::new(KelleTop { overlaps, ports: PORTS, ..block(side, heads, SLOTS) }, BUDGET)?;
            let window = window(on.address_width());
            let layer = Layer::of_model(&model, LAYER, on.lowering().head_unit())?;
            let texts = [rows[..PROMPT].to_vec()];
            let mut layer = on.lowering().layer(&window, &layer, &texts, Room::for_one(PROMPT + 1))?;
            let mut clock = on.clock(&window, LATENCY)?;
            for (cycles, of) in cycles.iter_mut().zip([&rows[..PROMPT], &rows[PROMPT..]]) {
                *cycles = clock.cycles(&layer.pass(&[(0, of.to_vec())])?.job)?;
            }
        }
        for (tokens, (apart, together)) in [PROMPT, 1].into_iter().zip(apart.into_iter().zip(together)) {
            let seen = if tokens == 1 { PROMPT + 1 } else { tokens };
            let block = block(side, model.config().kv_heads as u32, SLOTS);
            let least = computing(&block, model.config(), tokens, seen) as f64;
            let [one_by_one, overlapping] = [apart, together].map(|cycles| least / cycles as f64);
            println!("| {side} x {side} | {tokens} | {apart} | {one_by_one:.3} | {together} | {overlapping:.3} |");
            facts.add(&format!("{side} x {side} {tokens} one by one"), apart as f64);
            facts.add(&format!("{side} x {side} {tokens} overlap"), together as f64);
        }
    }
    Ok(facts.write()?)
}
