//! A model whose layers are each on an accelerator: some in simulation, all others in its golden model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use host::{Device, Window};
use jobs::hardware::Hardware;
use lower::layer::Layer;
use lower::learn::all_layers;
use lower::needs::Room;
use lower::pass::{DecoderLayer, LayerLowering, Rows, logits};
use models::decoder::Model;
use sim::process::processor_time;
use testbenches::accelerators::clock::Clock;

use super::super::calibration::Learnt;
use super::text::{Next, Part, Reader};

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

/// The model, with the keys and values of texts in its layers.
pub(super) struct Network<'a> {
    /// Without its layers.
    model: Model,
    layers: Vec<Box<dyn DecoderLayer + 'a>>,
    /// By layer.
    pub devices: BTreeMap<usize, (Device<Hardware<'a>>, Clock)>,
    pub simulated: Simulated,
    /// By text.
    tokens: Vec<usize>,
}

impl<'a> Network<'a> {
    /// All layers of a model, whose accelerators may touch the memory of a window each, with what they have learnt. Some
    /// are to be simulated.
    /// `done` hears how many layers are ready.
    pub fn new(
        model: Model,
        (on, window): (&'a dyn LayerLowering, &Window),
        learnt: &Learnt,
        (room, simulated): (Room, &BTreeSet<usize>),
        done: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let (model, apart) = model.apart();
        let apart: Vec<_> = apart.into_iter().map(|layer| Mutex::new(Some(layer))).collect();
        let made = |number: usize| -> Result<Box<dyn DecoderLayer + 'a>> {
            // The weights of the file go as soon as the accelerator has its own.
            let own = apart[number].lock().unwrap_or_else(PoisonError::into_inner).take().context("made twice")?;
            let layer = Layer::of_model(&own, number, on.head_unit())?;
            drop(own);
            let mut layer = on.layer_with(window, &layer, learnt.layer(number)?.borrowed(), room)?;
            if !simulated.contains(&number) {
                layer.without_images();
            }
            Ok(layer)
        };
        let layers = all_layers(model.config().layers, &made, done)?;
        Ok(Self {
            model,
            layers,
            devices: BTreeMap::new(),
            simulated: Simulated::default(),
            tokens: vec![0; room.texts],
        })
    }

    /// Words of results with a number that was saturated, or is infinite or none: of all layers.
    pub fn overflows(&self) -> u64 {
        self.layers.iter().map(|layer| layer.overflows()).sum()
    }

    /// The output of a layer.
    fn layer(&mut self, number: usize, x: &[(usize, Rows)]) -> Result<Rows> {
        let pass = self.layers[number].pass(x).with_context(|| format!("layer {number}"))?;
        let Some((device, clock)) = self.devices.get_mut(&number) else { return Ok(pass.rows) };
        let cycles = clock.cycles(&pass.job).with_context(|| format!("layer {number}"))?;
        let start = processor_time();
        let place = || format!("layer {number} after {:?} tokens, on the hardware", self.tokens);
        let (rows, counters) = pass.run_on(device, cycles).with_context(place)?;
        let all = &mut self.simulated;
        all.busy += (processor_time() - start) as f64 * 1e-9;
        all.passes += 1;
        all.descriptors += u64::from(pass.job.descriptors);
        all.cycles[usize::from(self.tokens.iter().any(|&tokens| tokens > 0))] += counters.cycles;
        all.bytes += pass.job.bytes_written();
        Ok(rows)
    }
}

impl Reader for Network<'_> {
    fn read(&mut self, texts: &[Next], done: &mut dyn FnMut(Part)) -> Result<Vec<u32>> {
        let count = self.layers.len();
        let ahead = |(text, tokens): &Next| -> Result<(usize, Rows)> {
            let rows = self.model.embed(tokens, self.tokens[*text])?;
            Ok((*text, rows.iter().map(<[f64]>::to_vec).collect()))
        };
        let mut x = texts.iter().map(ahead).collect::<Result<Vec<_>>>()?;
        let all: usize = x.iter().map(|(_, rows)| rows.len()).sum();
        for number in 0..count {
            let mut rows = self.layer(number, &x)?.into_iter();
            for (_, of_text) in &mut x {
                *of_text = rows.by_ref().take(of_text.len()).collect();
            }
            let share = (number + 1) as f64 / count as f64;
            done(Part { token: all - 1, what: "layer", done: number + 1, of: count, tokens: all as f64 * share });
        }
        texts.iter().for_each(|(text, tokens)| self.tokens[*text] += tokens.len());
        let likeliest = |(_, rows): &(usize, Rows)| -> Result<u32> {
            let logits = logits(&self.model, rows.last().context("a text of no row")?)?;
            let first = (0, f64::NEG_INFINITY);
            Ok(logits.iter().zip(0..).fold(first, |most, (&x, token)| if x > most.1 { (token, x) } else { most }).0)
        };
        x.iter().map(likeliest).collect()
    }
}
