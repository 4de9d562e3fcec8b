//! Decoding on the golden model of `kelle_top`: error against the full cache, by layer, budget and shift of the importance, as a
//! table. `cargo run --release -p senbazuru-models --example kelle_accelerator`

use golden::kelle::decode::Numbers;
use host::kelle::Policy;
use models::kelle::accelerator::{GROUP, Group};
use models::kelle::decode::{Policy as Alone, Trace, run};

fn main() -> anyhow::Result<()> {
    let shifts: Vec<u8> = match std::env::args().nth(1) {
        Some(list) => list.split(',').map(str::parse).collect::<Result<_, _>>()?,
        None => vec![25],
    };
    for layer in [2, 14, 28] {
        let group = Group::read(layer)?;
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
        for budget in [16, 32, 64, 128] {
            let mut line = format!("layer {layer:2}, N' = {budget:3}: ");
            for policy in [Alone::Window, Alone::SinkAndWindow, Alone::Hardware(Numbers::EIGHT_BITS)] {
                let mut errors = Vec::new();
                for head in 0..GROUP {
                    let trace = Trace::read(layer, head)?;
                    errors.push(run(&trace, &trace.full(), budget, policy).map_err(anyhow::Error::msg)?.error);
                }
                line += &format!("{:.3} ", mean(&errors));
            }
            for &shift in &shifts {
                for bits in [4, 6, 8, 12] {
                    let shift = shift + 8 - bits.min(8);
                    let outcome = group.decode(Policy::of_budget(budget as u16, shift), bits.into())?;
                    line += &format!("| {bits} bits, {shift}: {:.3} ", mean(&outcome.errors));
                }
            }
            println!("{line}");
        }
        let all = Policy { budget: 383, sink: 10, window: 191, shift: 25 };
        let outcome = group.decode(all, 8)?;
        println!(
            "layer {layer:2}, all but one: {:?}, {} evictions, {} saturations",
            outcome.errors, outcome.evictions, outcome.saturations
        );
    }
    Ok(())
}
