//! Layers that go on from pass to pass, with texts side by side.

use anyhow::Result;
use golden::accelerators::kelle::KelleTop;
use host::kelle::{Caps, ClearJob, Policy};
use host::{ALIGNMENT, Window};
use models::calibration::Arrays;
use models::schemes::Settings;

use super::away::Away;
use super::builder::{Builder, Matrices};
use super::cycles;
use super::learnt::{self, Kept, Scales};
use crate::chain::ChainBuilder;
use crate::exact::Exact;
use crate::fresh::Fresh;
use crate::layer::Layer;
use crate::learn::Learnt;
use crate::needs::{Asked, Needs, Room};
use crate::order::Cost;
use crate::pass::{DecoderLayer, LayerLowering, Pass, Rows, Shares};

/// Bits that products lose before they count as importance.
const SHIFT: u8 = 24;
/// Tokens of a text, at most: positions are counted so far.
const CONTEXT: usize = 65_535;

/// An accelerator, and how many tokens its heads keep.
#[derive(Clone, Debug)]
pub struct OnKelle {
    /// The capabilities that a driver reads.
    pub caps: Caps,
    /// Its golden model.
    pub golden: Fresh<KelleTop>,
    /// Tokens of a head after each step where nobody sets a budget, at most as many as it has room for.
    pub budget: u16,
}

impl LayerLowering for OnKelle {
    /// Whole columns of the array, at aligned places.
    fn head_unit(&self) -> usize {
        (self.caps.columns as usize).next_multiple_of(ALIGNMENT as usize / 2)
    }

    fn most_tokens(&self) -> usize {
        CONTEXT
    }

    fn needs(&self, asked: &Asked<'_>) -> Needs {
        let (c, caps, heads) = (asked.config, &self.caps, asked.heads(self.head_unit()));
        let (mut needs, all) = (Needs::default(), heads.queries * heads.width);
        let longest = c.width.max(c.ffn_width).max(all).next_multiple_of(caps.rows.max(1) as usize);
        // Both engines have the parameters of the array.
        for parameter in ["spec.inner", "attention.spec.inner"] {
            needs.at_least(parameter, caps.inner as usize, longest, "channels of the longest row");
        }
        for parameter in ["spec.tokens", "attention.spec.tokens"] {
            needs.at_least(parameter, caps.tokens as usize, heads.shared(), "query heads of a key head at a time");
        }
        // Where heads come back from memory, texts take turns in them.
        let (wanted, whose) = match caps.save {
            true => (heads.keys, "key heads of a text"),
            false => (heads.keys * asked.room.texts, "key heads of all texts"),
        };
        needs.at_least("attention.heads", caps.heads as usize, wanted, whose);
        needs.at_least("attention.slots", caps.slots as usize, asked.prompt, "tokens of a prompt");
        needs.at_least("attention.width", caps.width as usize, heads.width, "elements of a head");
        needs.at_least("attention.group", caps.group as usize, heads.shared(), "query heads of a key head");
        needs.activation(&caps.vector, c.activation);
        needs.vector(&caps.vector, (c, c.width.max(heads.width)), false);
        needs
    }

    fn learn_layer(&self, layer: &Layer, texts: &[Rows], settings: &Settings) -> Result<Arrays> {
        let scales = Scales::of(layer, &Exact::of_texts(layer, texts)?, layer.heads.keys);
        let usual = self.budget.min(self.caps.slots as u16);
        learnt::arrays(&scales, settings, usual)
    }

    fn layer_with<'a>(
        &'a self,
        window: &Window,
        layer: &Layer,
        learnt: Learnt<'_>,
        room: Room,
    ) -> Result<Box<dyn DecoderLayer + 'a>> {
        room.check()?;
        let caps = &self.caps;
        let mut b = ChainBuilder::new(caps.vector, window, self.golden.copy())?;
        b.saturate();
        let of_cost = *caps;
        b.order_by(Cost(Box::new(move |descriptor| cycles(descriptor, &of_cost))));
        let mut builder = Builder { caps, b };
        let kept = Kept::of_arrays(learnt.arrays, caps)?;
        let mut matrices = builder.matrices_by(layer, &Scales::of_arrays(learnt.arrays)?)?;
        let of_text = [matrices.heads(), layer.heads.width];
        matrices.away = caps.save.then(|| Away::new(&mut builder, of_text, room.texts)).transpose()?;
        let heads = caps.heads.min((matrices.heads() * room.texts) as u32);
        builder.b.then(ClearJob { first: 0, heads }.build(caps, window)?)?;
        if let Some(refresh) = kept.refresh {
            builder.b.then(refresh.build(caps, window)?)?;
        }
        matrices.policies = kept.budgets.iter().map(|&budget| Policy::of_budget(budget, SHIFT)).collect();
        let (policy, tokens) = (Policy::of_budget(self.budget, SHIFT), vec![0; room.texts]);
        Ok(Box::new(OnLayer { builder, matrices, policy, room: room.tokens, tokens }))
    }
}

struct OnLayer<'a> {
    builder: Builder<'a>,
    matrices: Matrices,
    policy: Policy,
    room: usize,
    /// By text.
    tokens: Vec<usize>,
}

impl DecoderLayer for OnLayer<'_> {
    fn pass(&mut self, texts: &[(usize, Rows)]) -> Result<Pass> {
        let (rows, shares) = Shares::of(texts, &self.tokens, self.room)?;
        let rows = self.builder.b.given(&rows)?;
        let (_, out) = self.builder.tokens((&rows, &shares), &self.matrices, (self.policy, None))?;
        shares.add_to(&mut self.tokens);
        Pass::of(&mut self.builder.b, rows, out)
    }

    fn without_images(&mut self) {
        self.builder.b.without_images();
    }

    fn overflows(&self) -> u64 {
        self.builder.b.overflows()
    }
}
