//! Layers of a running model on the Kelle accelerator: keys and values of a text in its heads, which keep to a budget.

use anyhow::ensure;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::bus::AxiSpec;
use host::Window;
use host::kelle::{Caps, ClearJob, Policy};
use sim::Design;

use super::super::super::chain_builder::ChainBuilder;
use super::super::super::decoding::{DecoderLayer, LayerAccelerator, Pass, Rows};
use super::super::super::float_layer::{Exact, Layer};
use super::super::super::timing::Clock;
use super::super::timing::clock;
use super::super::{caps_of, golden_of};
use super::{Builder, Matrices};

/// Key heads of SmolLM2-135M.
const HEADS: u32 = 3;
/// Tokens that a head has room for: a prompt comes in as a whole.
const SLOTS: u32 = 96;
/// Tokens of a head after each step.
const BUDGET: u16 = 64;
/// Bits that products lose before they count as importance.
const SHIFT: u8 = 24;
/// Tokens of a text, at most.
const CONTEXT: usize = 256;

/// So many rows and columns of PEs, and heads of the model's size.
#[must_use]
pub fn block(side: u32, heads: u32, slots: u32) -> KelleTop {
    let axi = AxiSpec { address_width: 40, data_width: 128, id_width: 1 };
    let spec = KelleSpec { axi, rows: side, columns: side, tokens: 2 * side, ..KelleSpec::default() };
    let attention = AttentionSpec { spec: spec.clone(), heads, slots, ..AttentionSpec::default() };
    KelleTop {
        vector: VectorParameters { max_beats: 192, ..VectorParameters::all() },
        spec,
        attention,
        ..KelleTop::default()
    }
}

/// The accelerator, 16 x 16 PEs.
#[derive(Clone, Debug)]
pub struct OnKelle {
    block: KelleTop,
    caps: Caps,
    budget: u16,
}

impl OnKelle {
    /// Its parameters, and the capabilities that a driver reads.
    ///
    /// # Errors
    /// Parameters that the model refuses.
    pub fn new() -> anyhow::Result<Self> {
        Self::keeping(BUDGET)
    }

    /// The same with another budget of a head, and room for as many tokens where they are more.
    ///
    /// # Errors
    /// Parameters that the model refuses.
    pub fn keeping(budget: u16) -> anyhow::Result<Self> {
        let block = block(16, HEADS, SLOTS.max(budget.into()));
        Ok(Self { caps: caps_of(golden_of(&block)?.shape()), block, budget })
    }
}

impl LayerAccelerator for OnKelle {
    fn about(&self) -> String {
        let (spec, bus) = (&self.block.spec, self.block.spec.axi.data_width);
        let sizes = format!("{} x {} PEs, weights of 8 bits, activations of 16", spec.rows, spec.columns);
        format!("kelle_top, {sizes}, {} tokens a head, a bus of {bus} bits", self.budget)
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    /// Until all heads are empty.
    fn settling(&self) -> u32 {
        self.caps.cache_rows
    }

    fn most_tokens(&self) -> [usize; 2] {
        [self.block.attention.slots as usize, CONTEXT]
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
        let mut builder = Builder { caps, b };
        let matrices = builder.matrices(layer, &Exact::of_texts(texts, layer)?, false)?;
        builder.b.then(ClearJob { first: 0, heads: HEADS }.build(caps, window)?)?;
        Ok(Box::new(OnLayer {
            builder,
            matrices,
            gains: layer.gains.clone(),
            budget: self.budget,
            room: tokens,
            tokens: 0,
        }))
    }
}

struct OnLayer<'a> {
    builder: Builder<'a>,
    matrices: Matrices,
    gains: [Vec<f64>; 2],
    budget: u16,
    room: usize,
    tokens: usize,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, residual: &[Vec<f64>]) -> anyhow::Result<Pass> {
        let (first, policy) = (self.tokens, Policy::of_budget(self.budget, SHIFT));
        ensure!(first + residual.len() <= self.room, "there is room for {} tokens", self.room);
        let rows = self.builder.b.given(residual)?;
        let (_, out) = self.builder.tokens((&rows, first), (&self.matrices, &self.gains), (policy, None))?;
        self.tokens += rows.rows;
        Pass::of(&mut self.builder.b, out)
    }

    fn overflows(&self) -> u64 {
        self.builder.b.overflows()
    }
}
