//! What overlap brings on `tender_top`: cycles of layer 14 of SmolLM2-135M, for a prompt and for a token after it, by the
//! recurrence which the benches hold the hardware to.
//!
//! `./scripts/data/weights` once, then `cargo run --release -p senbazuru-testbenches --example tender_overlap`; `--facts FILE`
//! writes the cycles as JSON.

use anyhow::Result;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use lower::learn::Learnt;
use lower::needs::Room;
use lower::whole::{Sizes, Source, Spent};
use models::calibration::Source as Learning;
use models::decoder::{Config, Decoder, Precision};
use models::{schemes, smollm2};
use sim::facts::Facts;
use testbenches::accelerators::decoding::{WholeAccelerator, window};
use testbenches::accelerators::tender::decoding::{for_decoding, whole};

/// Of memory.
const LATENCY: u32 = 20;
/// Of SmolLM2-135M.
const LAYER: usize = 14;
/// Tokens of the prompt.
const PROMPT: usize = 64;
/// Ports to memory.
const PORTS: u32 = 2;

/// 16 x 16 PEs, as the page of the accelerator has them.
fn for_prompts() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width: 128, id_width: 1 },
            ..TopParameters::default()
        },
        array: MultiScaleArray { rows: 16, columns: 16, ..MultiScaleArray::default() },
        depth: 1536,
        steps: 1600,
        vector: VectorParameters { max_beats: 192, ..for_decoding(16).vector },
        ..TenderTop::default()
    }
}

/// The same, with what shortens the time between short products.
fn quick(block: TenderTop) -> TenderTop {
    let dma = DmaSpec { check_bits: 8, ..block.bus.dma.clone() };
    TenderTop {
        bus: TopParameters { dma, ..block.bus.clone() },
        strip: 128,
        sum_tiles: 3,
        weight_readers: 2,
        pack_columns: 4,
        ..block
    }
}

/// Cycles in which the array computes in a layer: of rows at the end of `seen` tokens, in INT8.
fn computing(block: &TenderTop, config: &Config, rows: usize, seen: usize) -> u64 {
    let panels = |lines: usize, of: u32| lines.div_ceil(of as usize / 2);
    let product = |rows: usize, columns: usize, channels: usize| {
        panels(rows, block.array.rows) * panels(columns, block.array.columns) * channels
    };
    let (width, head) = (config.width, config.head_width);
    let (all, keys) = (config.heads * head, config.kv_heads * head);
    let layer = product(rows, all + 2 * keys, width)
        + product(rows, width, all)
        + product(rows, 2 * config.ffn_width, width)
        + product(rows, width, config.ffn_width);
    // Heads that share keys are rows of a token's products.
    let (heads, rows) =
        if rows == 1 { (config.kv_heads, config.heads / config.kv_heads) } else { (config.heads, rows) };
    (layer + heads * (product(rows, seen, head) + product(rows, head, seen))) as u64
}

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let model = Decoder::open(&smollm2::path(), Precision::File)?.model;
    let tokens: Vec<u32> = (300..301 + PROMPT as u32).collect();
    let rows: Vec<Vec<f64>> = model.embed(&tokens, 0)?.iter().map(<[f64]>::to_vec).collect();
    let learning = schemes::Learning { windows: vec![tokens[..16].to_vec()] };
    println!(
        "| PEs | tokens | cycles, one by one | the array computes | where operations overlap | the array computes |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let blocks = [
        (for_prompts(), "16 x 16"),
        (for_decoding(128), "2 x 128, as `run` has them"),
        (quick(for_decoding(128)), "2 x 128"),
    ];
    for (block, name) in blocks {
        let [mut apart, mut together] = [[0; 2]; 2];
        for (overlaps, cycles) in [(false, &mut apart), (true, &mut together)] {
            let bus = TopParameters { overlaps, ports: PORTS, ..block.bus.clone() };
            let pack_columns = if overlaps { block.pack_columns } else { 1 };
            let block = TenderTop { bus, pack_columns, ..block.clone() };
            let on = whole(block)?;
            let (lowering, window) = (on.lowering(), window(on.address_width()));
            let mut golden = on.golden(&window, Some(LATENCY))?;
            let settings = lowering.defaults()?;
            let arrays = lowering.learn(&Learning { model: &model, learning: &learning }, &settings, &mut |_| ())?;
            let learnt = Learnt { settings: &settings, arrays: &arrays };
            let sizes = Sizes { rows: PROMPT, room: Room::for_one(PROMPT + 1) };
            let mut decoder =
                lowering.model_with(&window, Source::layer(&model, LAYER)?, learnt, sizes, &mut golden)?;
            for (cycles, of) in cycles.iter_mut().zip([&rows[..PROMPT], &rows[PROMPT..]]) {
                let mut add = |spent: &Spent| {
                    *cycles += spent.cycles;
                    Ok(())
                };
                decoder.pass(&mut golden, (&[(0, of.to_vec())], false), &mut add)?;
            }
        }
        for (tokens, (apart, together)) in [PROMPT, 1].into_iter().zip(apart.into_iter().zip(together)) {
            let seen = if tokens == 1 { PROMPT + 1 } else { tokens };
            let least = computing(&block, model.config(), tokens, seen) as f64;
            let [one_by_one, overlapping] = [apart, together].map(|cycles| least / cycles as f64);
            println!("| {name} | {tokens} | {apart} | {one_by_one:.3} | {together} | {overlapping:.3} |");
            facts.add(&format!("{name} {tokens} one by one"), apart as f64);
            facts.add(&format!("{name} {tokens} overlap"), together as f64);
        }
    }
    Ok(facts.write()?)
}
