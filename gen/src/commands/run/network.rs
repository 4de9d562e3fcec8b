//! A model whose layers are each on an accelerator: some in simulation, all others in its golden model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, ensure};
use host::Device;
use models::decoder::arithmetic::{Norm, Projection, rms_norm};
use models::decoder::{Float, Matrix, Model};
use sim::process::processor_time;
use testbenches::systems::decoding::{DecoderLayer, LayerAccelerator, Rows};
use testbenches::systems::float_layer::Layer;
use testbenches::systems::hardware::Hardware;
use testbenches::systems::timing::Clock;

use super::WIDE;
use super::text::{Part, Reader};

/// Counts of the simulated layers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Simulated {
    /// Passes of the simulated layers.
    pub passes: u64,
    pub descriptors: u64,
    /// Cycles of first passes, which bring the prompt, and of all other passes.
    pub cycles: [u64; 2],
    /// Bytes that were compared. The cycles of all passes are compared, too.
    pub bytes: u64,
    /// Seconds of processor time.
    pub busy: f64,
}

/// The model, with the keys and values of a text in its layers.
pub(super) struct Network<'a> {
    model: &'a Model,
    layers: Vec<Box<dyn DecoderLayer + 'a>>,
    /// By layer.
    pub devices: BTreeMap<usize, (Device<Hardware<'a>>, Clock)>,
    pub simulated: Simulated,
    tokens: usize,
}

impl<'a> Network<'a> {
    /// All layers of a model for so many tokens. `texts` has the input of each layer for the texts that scales and
    /// codebooks are fitted to. `done` hears how many layers are ready.
    pub fn new(
        model: &'a Model,
        on: &'a dyn LayerAccelerator,
        texts: &[Vec<Rows>],
        tokens: usize,
        done: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let count = model.config().layers;
        ensure!(texts.len() == count, "texts for {} layers, the model has {count}", texts.len());
        let made = |number: usize| -> Result<Box<dyn DecoderLayer + 'a>> {
            let layer = on.layer(&WIDE, &layer_of(model, number)?, &texts[number], tokens);
            layer.with_context(|| format!("layer {number}"))
        };
        let next = AtomicUsize::new(0);
        let mut layers = BTreeMap::new();
        // On all cores, but each with one layer's weights in double precision at a time.
        thread::scope(|scope| -> Result<()> {
            let (send, receive) = mpsc::channel();
            for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(count) {
                let (send, next, made) = (send.clone(), &next, &made);
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        // Nobody listens any more where a layer was refused.
                        if number >= count || send.send((number, made(number))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            for (number, layer) in receive {
                layers.insert(number, layer?);
                done(layers.len());
            }
            Ok(())
        })?;
        let layers = layers.into_values().collect();
        Ok(Self { model, layers, devices: BTreeMap::new(), simulated: Simulated::default(), tokens: 0 })
    }

    /// Words of results with a number that was saturated, or is infinite or none: of all layers.
    pub fn overflows(&self) -> u64 {
        self.layers.iter().map(|layer| layer.overflows()).sum()
    }

    /// The output of a layer.
    fn layer(&mut self, number: usize, x: &[Vec<f64>]) -> Result<Rows> {
        let pass = self.layers[number].pass(x).with_context(|| format!("layer {number}"))?;
        let Some((device, clock)) = self.devices.get_mut(&number) else { return Ok(pass.rows) };
        let cycles = clock.cycles(&pass.job).with_context(|| format!("layer {number}"))?;
        let start = processor_time();
        let place = || format!("layer {number} after {} tokens, on the hardware", self.tokens);
        let (rows, counters) = pass.run_on(device, cycles).with_context(place)?;
        let all = &mut self.simulated;
        all.busy += (processor_time() - start) as f64 * 1e-9;
        all.passes += 1;
        all.descriptors += u64::from(pass.job.descriptors);
        all.cycles[usize::from(self.tokens > 0)] += counters.cycles;
        all.bytes += pass.job.bytes_written();
        Ok(rows)
    }
}

/// A layer's weights as the accelerators take them.
fn layer_of(model: &Model, layer: usize) -> Result<Layer> {
    let gains = |norm| -> Result<Vec<f64>> { Ok(model.gain(layer, norm)?.iter().map(|&x| x.into()).collect()) };
    let weights = |projection| -> Result<Rows> {
        let weight = model.weight(layer, projection)?;
        Ok(Layer::transposed(&weight.values, weight.inputs))
    };
    Ok(Layer {
        gains: [gains(Norm::Attention)?, gains(Norm::FeedForward)?],
        q: weights(Projection::Q)?,
        k: weights(Projection::K)?,
        v: weights(Projection::V)?,
        o: weights(Projection::O)?,
        gate: weights(Projection::Gate)?,
        up: weights(Projection::Up)?,
        down: weights(Projection::Down)?,
    })
}

impl Reader for Network<'_> {
    fn read(&mut self, tokens: &[u32], done: &mut dyn FnMut(Part)) -> Result<u32> {
        let (config, count) = (*self.model.config(), self.layers.len());
        let mut x: Rows = self.model.embed(tokens, self.tokens)?.iter().map(<[f64]>::to_vec).collect();
        for number in 0..count {
            x = self.layer(number, &x)?;
            let share = (number + 1) as f64 / count as f64;
            let (token, tokens) = (tokens.len() - 1, tokens.len() as f64 * share);
            done(Part { token, what: "layer", done: number + 1, of: count, tokens });
        }
        self.tokens += tokens.len();
        let last = Matrix::from_rows(&x.split_off(x.len() - 1))?;
        let normed = rms_norm(&last, self.model.gain(config.layers, Norm::Output)?, config.norm_eps);
        let logits = self.model.logits(&normed, &mut Float)?;
        let first = (0, f64::NEG_INFINITY);
        Ok(logits.values.iter().zip(0..).fold(first, |most, (&x, token)| if x > most.1 { (token, x) } else { most }).0)
    }
}
