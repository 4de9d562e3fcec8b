//! The calibration of the accelerator.

use anyhow::{Context, Result};
use host::Window;
use models::calibration::{Arrays, Asked, Calibrates, Kind, Source, Wanted};
use models::decoder::calibration::Input;
use models::kelle::calibration::{self, BUDGET, IMPORTANCE, INTERVALS};
use models::schemes::{Choice, Settings};

use super::decoding::OnKelle;
use super::learnt::{HEADS, Kept, Scales, name};
use crate::learn::by_layer;

impl Calibrates for OnKelle {
    fn choices(&self) -> Vec<Choice> {
        calibration::choices()
    }

    fn window(&self) -> usize {
        crate::learn::WINDOW
    }

    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
        let (layers, heads) = (asked.config.layers, [asked.config.layers, asked.config.kv_heads]);
        let inputs = Input::ALL.map(|input| Wanted::new(name(input.name()), Kind::Float32, &[layers]));
        let of_heads = HEADS.map(|head| Wanted::new(name(head), Kind::Float32, &heads));
        let kept = [
            Wanted::new(BUDGET, Kind::Uint16, &heads),
            Wanted::new(INTERVALS, Kind::Uint32, &[layers, 4]),
            Wanted::new(IMPORTANCE, Kind::Uint32, &[layers]),
        ];
        Ok(inputs.into_iter().chain(of_heads).chain(kept).collect())
    }

    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        // Its address plays no part in a refresh.
        let anywhere = Window { base: 0, limit: 0xfff, address_width: 32 };
        for layer in 0..asked.config.layers {
            let arrays = arrays.layer(layer)?;
            Scales::of_arrays(&arrays)?;
            if let Some(refresh) = Kept::of_arrays(&arrays, &self.caps)?.refresh {
                refresh.build(&self.caps, &anywhere).with_context(|| format!("array `{INTERVALS}`"))?;
            }
        }
        Ok(())
    }

    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        by_layer(self, from, settings, done)
    }
}
