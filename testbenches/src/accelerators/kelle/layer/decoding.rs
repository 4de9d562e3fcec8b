//! The Kelle accelerator in the shape in which it runs layers of a language model.

use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::bus::AxiSpec;
use host::Window;
use lower::fresh::Fresh;
use lower::learn::Learnt;
use lower::pass::LayerLowering;
use models::kelle::calibration::BUDGET as BUDGETS;
use sim::Design;

use super::super::super::decoding::{LayerAccelerator, Machine, Runs, range};
use super::super::timing::clock;
use super::super::{caps_of, golden_of};
use crate::accelerators::clock::Clock;

/// Key heads of SmolLM2-135M.
const HEADS: u32 = 3;
/// Tokens that a head has room for: a prompt comes in as a whole.
const SLOTS: u32 = 96;
/// Tokens of a head after each step.
pub const BUDGET: u16 = 64;

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

/// 16 x 16 PEs, with room for so many tokens of a head after each step.
#[must_use]
pub fn with_budget(budget: u16) -> KelleTop {
    block(16, HEADS, SLOTS.max(budget.into()))
}

/// How the block runs language models.
pub const RUNS: Runs<KelleTop> = Runs {
    name: "kelle",
    block: || with_budget(BUDGET),
    machine: |block| Ok(Machine::Layers(Box::new(OnKelle::new(block, BUDGET)?))),
};

/// An accelerator, and how layers become its chains.
#[derive(Clone, Debug)]
pub struct OnKelle {
    block: KelleTop,
    lowering: lower::kelle::OnKelle,
}

impl OnKelle {
    /// An accelerator whose heads keep so many tokens after each step, as far as they have room.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn new(block: KelleTop, budget: u16) -> anyhow::Result<Self> {
        let golden = golden_of(&block)?;
        // A head has room for so many.
        let budget = u16::try_from(block.attention.slots).map_or(budget, |slots| budget.min(slots));
        let lowering = lower::kelle::OnKelle { caps: caps_of(golden.shape()), golden: Fresh::new(golden), budget };
        Ok(Self { block, lowering })
    }

    /// [`with_budget`], whose heads keep so many tokens after each step, as far as they have room.
    ///
    /// # Errors
    /// None: the golden model takes these parameters.
    pub fn keeping(budget: u16) -> anyhow::Result<Self> {
        Self::new(with_budget(budget), budget)
    }

    /// The block, and the tokens of its heads.
    fn keeps(&self, tokens: &str) -> String {
        let (spec, bus) = (&self.block.spec, self.block.spec.axi.data_width);
        let sizes = format!("{} x {} PEs, weights of 8 bits, activations of 16", spec.rows, spec.columns);
        format!("kelle_top, {sizes}, {tokens} tokens a head, a bus of {bus} bits")
    }
}

impl LayerAccelerator for OnKelle {
    fn about(&self) -> String {
        self.keeps(&self.lowering.budget.to_string())
    }

    fn about_with(&self, learnt: Learnt<'_>) -> anyhow::Result<String> {
        Ok(self.keeps(&range(learnt.arrays.all::<u16>(BUDGETS)?)))
    }

    fn design(&self) -> anyhow::Result<Design> {
        Ok(Design::from(&hdl::lang::elaborate(&self.block)?))
    }

    fn address_width(&self) -> u32 {
        self.block.spec.axi.address_width
    }

    fn clock(&self, window: &Window, latency: u32) -> anyhow::Result<Clock> {
        clock((&self.block, latency), window)
    }

    /// Until all heads are empty.
    fn settling(&self) -> u32 {
        self.lowering.caps.cache_rows
    }

    fn lowering(&self) -> &dyn LayerLowering {
        &self.lowering
    }
}
