//! Layers of a running model on the Titanus core: weights in its macros, keys and values of a text as compressed streams.

use anyhow::ensure;
use hdl::accelerators::titanus::TitanusCore;
use host::Window;
use host::titanus::Caps;
use sim::Design;

use super::super::super::decoding::{DecoderLayer, LayerAccelerator, Pass, Rows};
use super::super::super::float_layer::Layer;
use super::super::super::timing::Clock;
use super::super::builder::Builder;
use super::super::float_decoder::{Decoder, Exact};
use super::super::timing::clock;
use super::super::{caps_of, golden_of, layer_core};
use super::{Compression, Held, Prompt};

/// The paper's share of zeros, and 4 bits.
const COMPRESSION: Compression = Compression { sparsity: 0.338, bits: [4, 4] };

/// A core for a decoder layer of SmolLM2-135M in wider macros. 2 x 13 of them hold all weights, and take a simulator
/// less time than 6 x 90 macros of the paper's size.
#[must_use]
pub fn wide_core() -> TitanusCore {
    let mut core = layer_core();
    let store = &mut core.spec.store;
    (store.tile.cells.inputs, store.tile.cells.outputs) = (1024, 256);
    (store.rows, store.columns) = (2, 13);
    core
}

/// The core, with all weights of a layer in its macros.
#[derive(Clone, Debug)]
pub struct OnTitanus {
    block: TitanusCore,
    caps: Caps,
    compression: Compression,
}

impl OnTitanus {
    /// Its parameters, and the capabilities that a driver reads.
    ///
    /// # Errors
    /// Parameters that the model refuses.
    pub fn new() -> anyhow::Result<Self> {
        Self::keeping(COMPRESSION)
    }

    /// The same with keys and values kept another way.
    ///
    /// # Errors
    /// Parameters that the model refuses.
    pub fn keeping(compression: Compression) -> anyhow::Result<Self> {
        let block = wide_core();
        Ok(Self { caps: caps_of(&golden_of(&block)?), block, compression })
    }
}

impl LayerAccelerator for OnTitanus {
    fn about(&self) -> String {
        let (store, bus) = (&self.block.spec.store, self.block.bus.axi.data_width);
        let Compression { sparsity, bits: [keys, values] } = self.compression;
        let pruned = 100.0 * sparsity;
        let kept = format!("{pruned:.0} % of the prompt's keys and values pruned, {keys} and {values} bits");
        let cells = &store.tile.cells;
        let macros = format!("{} x {} macros of {} x {}", store.rows, store.columns, cells.inputs, cells.outputs);
        format!("titanus_core, {macros}, INT8, {kept}, a bus of {bus} bits")
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    fn most_tokens(&self) -> [usize; 2] {
        [self.caps.context as usize; 2]
    }

    fn layer<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        texts: &[Rows],
        tokens: usize,
    ) -> anyhow::Result<Box<dyn DecoderLayer + 'a>> {
        let context = self.caps.context as usize;
        ensure!((1..=context).contains(&tokens), "room for {tokens} tokens, must be 1 to {context}");
        let mut b = Builder::new(&self.caps, window, golden_of(&self.block)?)?;
        b.b.saturate();
        let decoder = Decoder::from(layer);
        let held = Held::load(&mut b, &decoder, &Exact::of_texts(&decoder, texts)?, tokens)?;
        Ok(Box::new(OnLayer { b, held, compression: self.compression, room: tokens, tokens: 0 }))
    }
}

struct OnLayer<'a> {
    b: Builder<'a>,
    held: Held,
    compression: Compression,
    room: usize,
    tokens: usize,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, residual: &[Vec<f64>]) -> anyhow::Result<Pass> {
        let first = self.tokens;
        ensure!(first + residual.len() <= self.room, "there is room for {} tokens", self.room);
        // The first tokens are the prompt; all others come after it.
        let prompt = if first == 0 { residual.len() } else { first };
        let rows = self.b.b.given(residual)?;
        let (out, _) = self.held.pass(&mut self.b, (&rows, first), (prompt, Prompt::AtOnce), self.compression)?;
        self.tokens += residual.len();
        Pass::of(&mut self.b.b, out)
    }

    fn overflows(&self) -> u64 {
        self.b.b.overflows()
    }
}
