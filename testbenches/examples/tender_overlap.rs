//! What overlap brings on `tender_top`: cycles of layer 14 of SmolLM2-135M, for a prompt and for a token after it, by the
//! recurrence which the benches hold the hardware to.
//!
//! `./scripts/data/weights` once, then `cargo run --release -p senbazuru-testbenches --example tender_overlap`; `--facts FILE`
//! writes the cycles as JSON.

use anyhow::Result;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use hdl::blocks::tender::MultiScaleArray;
use lower::learn::Learnt;
use lower::needs::Room;
use lower::whole::{Sizes, Source, Spent};
use models::calibration::Source as Learning;
use models::decoder::{Decoder, Precision};
use models::{schemes, smollm2};
use sim::facts::Facts;
use testbenches::accelerators::decoding::{WholeAccelerator, window};
use testbenches::accelerators::tender::decoding::{OnTender, for_decoding};

/// Of memory.
const LATENCY: u32 = 20;
/// Of SmolLM2-135M.
const LAYER: usize = 14;
/// Tokens of the prompt.
const PROMPT: usize = 64;

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

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let model = Decoder::open(&smollm2::path(), Precision::File)?.model;
    let tokens: Vec<u32> = (300..301 + PROMPT as u32).collect();
    let rows: Vec<Vec<f64>> = model.embed(&tokens, 0)?.iter().map(<[f64]>::to_vec).collect();
    let learning = schemes::Learning { windows: vec![tokens[..16].to_vec()] };
    println!("| PEs | tokens | cycles, one by one | where operations overlap | ratio |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (block, name) in [(for_prompts(), "16 x 16"), (for_decoding(128), "2 x 128")] {
        let [mut apart, mut together] = [[0; 2]; 2];
        for (overlaps, cycles) in [(false, &mut apart), (true, &mut together)] {
            let block = TenderTop { bus: TopParameters { overlaps, ..block.bus.clone() }, ..block.clone() };
            let on = OnTender::new(block)?;
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
            println!("| {name} | {tokens} | {apart} | {together} | {:.3} |", together as f64 / apart as f64);
            facts.add(&format!("{name} {tokens} one by one"), apart as f64);
            facts.add(&format!("{name} {tokens} overlap"), together as f64);
        }
    }
    Ok(facts.write()?)
}
