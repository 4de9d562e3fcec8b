//! The Titanus core in the shape in which it runs layers of a language model.

use hdl::accelerators::titanus::TitanusCore;
use host::Window;
use lower::fresh::Fresh;
use lower::learn::Learnt;
use lower::pass::LayerLowering;
use lower::titanus::Compression;
use models::titanus::calibration::{BITS, has_thresholds};
use sim::Design;

use super::super::super::decoding::{LayerAccelerator, Machine, Runs, range};
use super::super::timing::clock;
use super::super::{caps_of, golden_of, layer_core};
use crate::accelerators::clock::Clock;

/// The paper's share of zeros, and 4 bits.
pub const COMPRESSION: Compression = Compression { sparsity: 0.338, bits: [4, 4] };

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

/// How the block runs language models.
pub const RUNS: Runs<TitanusCore> = Runs {
    name: "titanus",
    block: wide_core,
    machine: |block| Ok(Machine::Layers(Box::new(OnTitanus::new(block, COMPRESSION)?))),
};

/// A core, with all weights of a layer in its macros, and how layers become its chains.
#[derive(Clone, Debug)]
pub struct OnTitanus {
    block: TitanusCore,
    lowering: lower::titanus::OnTitanus,
}

impl OnTitanus {
    /// A core that keeps keys and values so.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn new(block: TitanusCore, compression: Compression) -> anyhow::Result<Self> {
        let golden = golden_of(&block)?;
        let lowering = lower::titanus::OnTitanus { caps: caps_of(&golden), golden: Fresh::new(golden), compression };
        Ok(Self { block, lowering })
    }

    /// [`wide_core`], which keeps keys and values so.
    ///
    /// # Errors
    /// None: the golden model takes these parameters.
    pub fn keeping(compression: Compression) -> anyhow::Result<Self> {
        Self::new(wide_core(), compression)
    }

    /// The core, and how it keeps keys and values.
    fn keeps(&self, pruned: &str, [keys, values]: [String; 2]) -> String {
        let (store, bus) = (&self.block.spec.store, self.block.bus.axi.data_width);
        let cells = &store.tile.cells;
        let macros = format!("{} x {} macros of {} x {}", store.rows, store.columns, cells.inputs, cells.outputs);
        format!("titanus_core, {macros}, INT8, {pruned}, {keys} and {values} bits, a bus of {bus} bits")
    }
}

fn pruned(sparsity: f64) -> String {
    format!("{:.0} % of the prompt's keys and values pruned", 100.0 * sparsity)
}

impl LayerAccelerator for OnTitanus {
    fn about(&self) -> String {
        let Compression { sparsity, bits } = self.lowering.compression;
        self.keeps(&pruned(sparsity), bits.map(|bits| bits.to_string()))
    }

    fn about_with(&self, learnt: Learnt<'_>) -> anyhow::Result<String> {
        let bits = learnt.arrays.all::<u8>(BITS)?;
        let bits = [0, 1].map(|side| range(bits.iter().skip(side).step_by(2)));
        let pruned = match has_thresholds(learnt.settings)? {
            true => "keys and values pruned by thresholds of the calibration".to_owned(),
            false => pruned(f64::from(learnt.settings.percent("pruned")?) / 10_000.0),
        };
        Ok(self.keeps(&pruned, bits))
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
