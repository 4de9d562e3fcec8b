//! Decoding on the golden model of the Kelle accelerator.

use golden::kelle::decode::Numbers;
use host::kelle::Policy;
use models::kelle::accelerator::{GROUP, Group};
use models::kelle::decode::{Policy as Alone, Trace, run};

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// What the documentation claims of three query heads that share a key head and its victims, at N' = 64: clearly better than recent tokens, better
/// than the first and the recent ones, and, with importance of 12 bits, close to heads that each choose for themselves.
#[test]
fn a_group_chooses_well() {
    let (mut window, mut first, mut alone, mut eight, mut twelve) = (vec![], vec![], vec![], vec![], vec![]);
    for layer in [2, 14, 28] {
        for head in 0..GROUP {
            let trace = Trace::read(layer, head).unwrap();
            let full = trace.full();
            for (errors, policy) in [
                (&mut window, Alone::Window),
                (&mut first, Alone::SinkAndWindow),
                (&mut alone, Alone::Hardware(Numbers::EIGHT_BITS)),
            ] {
                errors.push(run(&trace, &full, 64, policy).unwrap().error);
            }
        }
        let group = Group::read(layer).unwrap();
        for (errors, bits) in [(&mut eight, 8), (&mut twelve, 12)] {
            let outcome = group.decode(Policy::of_budget(64, 24), bits).unwrap();
            assert_eq!((outcome.evictions, outcome.saturations), (384 - 64, 0));
            errors.extend(outcome.errors);
        }
    }
    let [window, first, alone, eight, twelve] = [&window, &first, &alone, &eight, &twelve].map(|errors| mean(errors));
    assert!(eight < 0.25 * window && eight < 0.95 * first, "{window} {first} {eight}");
    assert!(twelve < 0.85 * eight && twelve < 1.1 * alone, "{alone} {eight} {twelve}");
}

/// With room for all tokens but one, what is left is the error of roundings, of scores in fp16 most of all.
#[test]
fn roundings_are_small() {
    let outcome = Group::read(14).unwrap().decode(Policy { budget: 383, sink: 10, window: 191, shift: 24 }, 8).unwrap();
    assert!(outcome.errors.iter().all(|error| (1e-5..2e-3).contains(error)), "{outcome:?}");
}
