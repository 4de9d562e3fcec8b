//! Layers of a running model on the KLLM accelerator: W4A4 or W4A3, keys and values of a text in panels that it fills itself.

use anyhow::ensure;
use hdl::accelerators::kllm::KllmTop;
use host::Window;
use host::kllm::{Bits, Caps};
use sim::Design;

use super::super::super::chain_builder::ChainBuilder;
use super::super::super::decoding::{DecoderLayer, LayerAccelerator, Pass, Rows};
use super::super::super::float_layer::{Exact, Layer};
use super::super::super::timing::Clock;
use super::super::builder::Builder;
use super::super::real::with_orizuru;
use super::super::timing::clock;
use super::super::{caps_of, golden_of};
use super::{Begin, Kept};

/// Channels that the codebook of a matrix is trained on: all would take ten times as long and change little.
const TRAINING: usize = 64;
/// Tokens of a text, at most.
const CONTEXT: usize = 256;

/// The accelerator, two lanes of 32 channels.
#[derive(Clone, Debug)]
pub struct OnKllm {
    block: KllmTop,
    caps: Caps,
    bits: Bits,
}

/// Orizuru has one segment: it finds the outliers of the whole token.
#[must_use]
pub fn block() -> KllmTop {
    KllmTop { orizuru: 2048, ..with_orizuru() }
}

impl OnKllm {
    /// Activations, keys and values have so many bits.
    #[must_use]
    pub fn with(bits: Bits) -> Self {
        let block = block();
        Self { caps: caps_of(&block), block, bits }
    }
}

impl Default for OnKllm {
    fn default() -> Self {
        Self::with(Bits::Four)
    }
}

impl LayerAccelerator for OnKllm {
    fn about(&self) -> String {
        let (lanes, bus) = (&self.block.product, self.block.bus.axi.data_width);
        let scheme = match self.bits {
            Bits::Three => "W4A3",
            Bits::Four => "W4A4",
        };
        format!(
            "kllm_top, {} lanes of {} channels, {scheme}, 1 % outliers of a whole token, a bus of {bus} bits",
            lanes.lanes, lanes.columns
        )
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    fn most_tokens(&self) -> [usize; 2] {
        [CONTEXT; 2]
    }

    fn layer<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        texts: &[Rows],
        tokens: usize,
    ) -> anyhow::Result<Box<dyn DecoderLayer + 'a>> {
        ensure!((1..=CONTEXT).contains(&tokens), "room for {tokens} tokens, must be 1 to {CONTEXT}");
        let caps = &self.caps;
        let mut b = ChainBuilder::new(caps.vector, window, golden_of(&self.block)?)?;
        b.saturate();
        let mut b = Builder { caps, bits: self.bits, b };
        let like = Exact::of_texts(texts, layer)?;
        let begin = Begin { layer, like: &like, training: TRAINING, room: tokens };
        let kept = Kept::new(&mut b, &begin, |_| [&[], &[]])?;
        Ok(Box::new(OnLayer { b, kept, tokens: 0 }))
    }
}

struct OnLayer<'a> {
    b: Builder<'a>,
    kept: Kept,
    tokens: usize,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, residual: &[Vec<f64>]) -> anyhow::Result<Pass> {
        let rows = self.b.b.given(residual)?;
        let out = self.b.pass(&mut self.kept, &rows, self.tokens)?.out;
        self.tokens += rows.rows;
        Pass::of(&mut self.b.b, out)
    }

    fn overflows(&self) -> u64 {
        self.b.b.overflows()
    }
}
