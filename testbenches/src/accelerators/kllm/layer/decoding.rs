//! The KLLM accelerator in the shape in which it runs layers of a language model.

use hdl::accelerators::kllm::KllmTop;
use host::Window;
use host::kllm::Bits;
use lower::fresh::Fresh;
use lower::kllm::{SHARE, bits_of};
use lower::learn::Learnt;
use lower::pass::LayerLowering;
use sim::Design;

use super::super::super::decoding::{LayerAccelerator, Machine, Runs};
use super::super::real::with_orizuru;
use super::super::timing::clock;
use super::super::{caps_of, golden_of};
use crate::accelerators::clock::Clock;

/// How the block runs language models.
pub const RUNS: Runs<KllmTop> =
    Runs { name: "kllm", block, machine: |block| Ok(Machine::Layers(Box::new(OnKllm::new(block, Bits::Four)?))) };

/// An accelerator, and how layers become its chains.
#[derive(Clone, Debug)]
pub struct OnKllm {
    block: KllmTop,
    lowering: lower::kllm::OnKllm,
}

/// Two lanes of 32 channels. Orizuru has one segment: it finds the outliers of the whole token.
#[must_use]
pub fn block() -> KllmTop {
    KllmTop { orizuru: 2048, ..with_orizuru() }
}

impl OnKllm {
    /// An accelerator whose activations, keys and values have so many bits.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn new(block: KllmTop, bits: Bits) -> anyhow::Result<Self> {
        let lowering = lower::kllm::OnKllm { caps: caps_of(&block), golden: Fresh::new(golden_of(&block)?), bits };
        Ok(Self { block, lowering })
    }

    /// [`block`], whose activations, keys and values have so many bits.
    ///
    /// # Errors
    /// None: the golden model takes these parameters.
    pub fn with(bits: Bits) -> anyhow::Result<Self> {
        Self::new(block(), bits)
    }

    /// The block, the bits of activations, and the share of outliers in hundredths of a per cent.
    fn keeps(&self, (bits, share): (Bits, u32)) -> String {
        let (lanes, bus) = (&self.block.product, self.block.bus.axi.data_width);
        let scheme = match bits {
            Bits::Three => "W4A3",
            Bits::Four => "W4A4",
        };
        format!(
            "kllm_top, {} lanes of {} channels, {scheme}, {} % outliers of a whole token, a bus of {bus} bits",
            lanes.lanes,
            lanes.columns,
            f64::from(share) / 100.0
        )
    }
}

impl LayerAccelerator for OnKllm {
    fn about(&self) -> String {
        self.keeps((self.lowering.bits, SHARE))
    }

    fn about_with(&self, learnt: Learnt<'_>) -> anyhow::Result<String> {
        Ok(self.keeps((bits_of(learnt.settings)?, learnt.settings.percent("outliers")?)))
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn address_width(&self) -> u32 {
        self.block.bus.axi.address_width
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    fn lowering(&self) -> &dyn LayerLowering {
        &self.lowering
    }
}
