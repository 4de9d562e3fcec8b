//! Language models on the crane: what `run`, `lower`, `calibrate` and `eval` ask of it.
//!
//! All weights are in its memory, as INT4 in groups. It does norms, projections, rotary embedding, scores, softmax,
//! values, activation and the residual sums. After the keys and values of a layer are computed, the host packs them.

mod cache;
mod placed;
mod products;
#[cfg(test)]
mod tests;

use lower::learn::{self, Learnt};
use lower::needs::{Asked, Needs};
use lower::whole::{
    Decoder, DecoderModel, Executor, HEAD_UNIT, ModelLowering, Policy, Since, Sizes, Source, equal_shares,
};
use models::calibration::{self, Arrays, Calibrates, Wanted};
use models::decoder::Config;
use models::schemes::{Choice, Settings};
use senbazuru::accelerator::prelude::*;
use senbazuru::anyhow::Result;
use senbazuru::hdl::accelerators::vector::VectorParameters;
use senbazuru_host::{Window, vector};
use testbenches::accelerators::decoding::{Machine, Runs, Whole};

use crate::bench::{caps_of, golden_of, timing};
use crate::engine::ProductParameters;
use crate::golden::Golden;
use crate::golden::cycles::Timing;
use crate::host::Caps;
use crate::registers::OVERFLOWS;
use crate::top::Crane;
use cache::Largest;
use placed::Learnt as OfModel;

/// With 8 rows on a bus of 64 bytes, which brings a word of 128 weights in each cycle. Its rows hold the channels of a
/// down projection of SmolLM2-135M.
pub const RUNS: Runs<Crane> = Runs {
    name: "crane",
    block: || Crane {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width: 512, id_width: 3 },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            overlaps: true,
            ports: 2,
            ..TopParameters::default()
        },
        array: ProductParameters { rows: 8, group: 32, channels: 1536, ..ProductParameters::default() },
        vector: VectorParameters { max_beats: 48, ..VectorParameters::all() },
    },
    machine: |block| Ok(Machine::Whole(Box::new(whole(block)))),
};

/// How a driver sees a crane.
#[derive(Clone, Copy, Debug)]
pub struct Lowering {
    caps: Caps,
    rows: vector::Caps,
    overlaps: bool,
    /// Of decoding, as the options have it.
    policy: Policy,
}

/// A crane with a memory.
fn whole(block: Crane) -> Whole<Crane, Lowering, Golden, Timing, Since<Timing>> {
    let ((caps, rows), bus) = (caps_of(&block), block.bus.axi.data_width);
    let Caps { rows: lines, group, word, .. } = caps;
    Whole {
        about: format!("{lines} rows x {word} channels, INT8 x INT4 in groups of {group}, a bus of {bus} bits"),
        lowering: Lowering { caps, rows, overlaps: block.bus.overlaps, policy: Policy::ALL },
        golden: golden_of(&block),
        timing,
        times: Since::from,
        overflows: |device| Ok([0, device.read64(OVERFLOWS)?]),
        block,
    }
}

impl ModelLowering for Lowering {
    fn shares(&self, config: &Config, parts: usize) -> Result<()> {
        equal_shares(config, parts)
    }

    fn needs(&self, asked: &Asked<'_>, _: &Settings) -> Result<Needs> {
        let (c, heads, mut needs) = (asked.config, asked.heads(HEAD_UNIT), Needs::default());
        let longest = c.width.max(c.ffn_width).max(heads.queries * heads.width).max(asked.room.tokens);
        let why = if longest == asked.room.tokens { "tokens of a text" } else { "channels of the longest product" };
        needs.at_least("channels", self.caps.channels as usize, longest, why);
        needs.activation(&self.rows, c.activation);
        needs.vector(&self.rows, (c, c.width.max(heads.width).max(asked.room.tokens)), true);
        Ok(needs)
    }

    fn host_work(&self) -> &'static str {
        "packs keys and values"
    }

    fn model_with(
        &self,
        window: &Window,
        source: Source<'_>,
        learnt: Learnt<'_>,
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Box<dyn DecoderModel>> {
        let asked = Asked { config: source.model.config(), room: sizes.room, prompt: sizes.rows };
        self.needs(&asked, learnt.settings)?.refuse("the crane")?;
        let on = Lowering { policy: Policy::of(learnt.settings)?, ..*self };
        let mut images = OfModel { on, arrays: learnt.arrays };
        Ok(Box::new(Decoder::new(&mut images, (source, window), sizes, memory)?))
    }
}

/// It learns the largest key and value of each head: the unit of a head follows from it.
impl Calibrates for Lowering {
    fn choices(&self) -> Vec<Choice> {
        Policy::choices()
    }

    fn window(&self) -> usize {
        learn::WINDOW
    }

    fn wanted(&self, asked: &calibration::Asked<'_>) -> Result<Vec<Wanted>> {
        Ok(Largest::wanted(asked.config))
    }

    fn learn(&self, from: &calibration::Source<'_>, _: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        Largest::learn(from, done)
    }

    fn runs_with(&self, asked: &calibration::Asked<'_>, arrays: &Arrays) -> Result<()> {
        Policy::of(asked.settings)?;
        (0..asked.config.layers).try_for_each(|layer| Largest::of(&arrays.layer(layer)?).map(|_| ()))
    }
}
