//! Tender as one of the accelerators whose memory has a whole model.

use anyhow::Result;
use host::Window;
use host::tender::Caps;
use models::calibration::{self, Arrays, Calibrates, Wanted};
use models::decoder::Config;
use models::schemes::{Choice, Settings};
use models::tender::groups::{ByGroups, Groups};

use super::{decoder, needs};
use crate::learn::Learnt;
use crate::needs::{Asked, Needs};
use crate::whole::{DecoderModel, Executor, ModelLowering, Sizes, Source, equal_shares};

/// An accelerator.
#[derive(Clone, Copy, Debug)]
pub struct OnTender {
    /// The capabilities that a driver reads.
    pub caps: Caps,
    /// Its operations overlap. Then rows come in blocks: a block's norms beside the products of another one.
    pub overlaps: bool,
}

impl ModelLowering for OnTender {
    fn shares(&self, config: &Config, parts: usize) -> Result<()> {
        equal_shares(config, parts)
    }

    fn needs(&self, asked: &Asked<'_>, settings: &Settings) -> Result<Needs> {
        Ok(needs(&self.caps, asked, settings.count("groups")?))
    }

    fn host_work(&self) -> &'static str {
        "puts keys and values into their panels"
    }

    fn model_with(
        &self,
        window: &Window,
        source: Source<'_>,
        learnt: Learnt<'_>,
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Box<dyn DecoderModel>> {
        let groups = Groups::of_arrays(source.model.config(), learnt.settings, learnt.arrays)?;
        Ok(Box::new(decoder((source, &groups), (&self.caps, self.overlaps, window), sizes, memory)?))
    }
}

/// As the groups have it.
impl Calibrates for OnTender {
    fn choices(&self) -> Vec<Choice> {
        ByGroups.choices()
    }

    fn parameters(&self) -> &'static [&'static str] {
        ByGroups.parameters()
    }

    fn window(&self) -> usize {
        ByGroups.window()
    }

    fn wanted(&self, asked: &calibration::Asked<'_>) -> Result<Vec<Wanted>> {
        ByGroups.wanted(asked)
    }

    fn learn(
        &self,
        from: &calibration::Source<'_>,
        settings: &Settings,
        done: &mut dyn FnMut(usize),
    ) -> Result<Arrays> {
        ByGroups.learn(from, settings, done)
    }

    fn runs_with(&self, asked: &calibration::Asked<'_>, arrays: &Arrays) -> Result<()> {
        ByGroups.runs_with(asked, arrays)
    }
}
