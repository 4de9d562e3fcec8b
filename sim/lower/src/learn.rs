//! Calibrations of accelerators that have a layer at a time: what each layer learns from texts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};
use models::calibration::{Arrays, Source};
use models::decoder::residual::ahead_of_layers;
use models::schemes::Settings;

use crate::layer::Layer;
pub use crate::learnt::Learnt;
use crate::pass::{LayerLowering, Rows};

/// Tokens of each window of the text, where nobody says how many: the first ones, whose numbers are the largest.
pub const WINDOW: usize = 32;

/// Arrays of all layers of a model. `done` hears how many layers are ready.
///
/// # Errors
/// The model cannot read the text; an error of [`LayerLowering::learn_layer`].
pub fn by_layer(
    on: &dyn LayerLowering,
    from: &Source<'_>,
    settings: &Settings,
    done: &mut dyn FnMut(usize),
) -> Result<Arrays> {
    layer_by_layer(from, on.head_unit(), &|layer, texts| on.learn_layer(layer, texts, settings), done)
}

/// The same for any accelerator: `learn` gets a layer, whose heads have elements up to a multiple of `unit`, and the rows
/// that the texts have before it.
///
/// # Errors
/// The model cannot read the text; an error of `learn`.
pub fn layer_by_layer(
    from: &Source<'_>,
    unit: usize,
    learn: &(dyn Fn(&Layer, &[Rows]) -> Result<Arrays> + Sync),
    done: &mut dyn FnMut(usize),
) -> Result<Arrays> {
    let (model, count) = (from.model, from.model.config().layers);
    let mut texts: Vec<Vec<Rows>> = vec![Vec::new(); count];
    for window in &from.learning.windows {
        texts.iter_mut().zip(ahead_of_layers(model, window)?).for_each(|(all, rows)| all.push(rows));
    }
    let learn = |number: usize| learn(&Layer::of_model(model, number, unit)?, &texts[number]);
    Arrays::of_layers(&all_layers(count, &learn, done)?)
}

/// Something of each layer, in their order: on all cores, but on each core one layer at a time. `done` hears how many
/// are ready.
///
/// # Errors
/// The first error of a layer, with the layer's number.
pub fn all_layers<T: Send>(
    count: usize,
    make: &(dyn Fn(usize) -> Result<T> + Sync),
    done: &mut dyn FnMut(usize),
) -> Result<Vec<T>> {
    let (next, mut layers) = (AtomicUsize::new(0), BTreeMap::new());
    thread::scope(|scope| -> Result<()> {
        let (send, receive) = mpsc::channel();
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(count) {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody listens any more where a layer was refused.
                    if number >= count || send.send((number, make(number))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for (number, layer) in receive {
            layers.insert(number, layer.with_context(|| format!("layer {number}"))?);
            done(layers.len());
        }
        Ok(())
    })?;
    Ok(layers.into_values().collect())
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

    #[test]
    fn layers_in_their_order() {
        let mut heard = Vec::new();
        let squares = all_layers(20, &|n| Ok(n * n), &mut |done| heard.push(done)).unwrap();
        assert_eq!(squares, (0..20).map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(heard, (1..=20).collect::<Vec<_>>());
        let failing = |n: usize| -> Result<()> {
            ensure!(n != 3, "no");
            Ok(())
        };
        assert_eq!(format!("{:#}", all_layers(9, &failing, &mut |_| ()).unwrap_err()), "layer 3: no");
    }
}
