//! The calibration of the core.

use anyhow::Result;
use models::calibration::{Arrays, Asked, Calibrates, Kind, Source, Wanted};
use models::decoder::calibration::Input;
use models::schemes::{Choice, Settings};
use models::titanus::calibration::{BITS, THRESHOLDS, choices, has_thresholds};

use super::OnTitanus;
use super::compression::Compression;
use super::learnt::{Scales, UNITS, kept, lent, unit};
use crate::learn::{Learnt, by_layer};
use crate::pass::LayerLowering;

impl Calibrates for OnTitanus {
    fn choices(&self) -> Vec<Choice> {
        choices()
    }

    /// Heads are as wide as whole tiles.
    fn parameters(&self) -> &'static [&'static str] {
        &["spec.lanes"]
    }

    fn window(&self) -> usize {
        crate::learn::WINDOW
    }

    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
        let c = asked.config;
        let width = c.head_width.next_multiple_of(self.head_unit());
        let of_input = |input: Input| {
            let channels = if input == Input::AttentionOut { c.heads * width } else { input.channels(c) };
            Wanted::new(lent(input), Kind::Float64, &[c.layers, channels])
        };
        let mut all: Vec<Wanted> = Input::ALL.into_iter().map(of_input).collect();
        all.extend(UNITS.map(|name| Wanted::new(unit(name), Kind::Float64, &[c.layers])));
        all.push(Wanted::new(BITS, Kind::Uint8, &[c.layers, 2]));
        if has_thresholds(asked.settings)? {
            all.push(Wanted::new(THRESHOLDS, Kind::Uint8, &[c.layers, 2]));
        }
        Ok(all)
    }

    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        for layer in 0..asked.config.layers {
            let arrays = arrays.layer(layer)?;
            Scales::of_arrays(&arrays)?;
            kept(Learnt { settings: asked.settings, arrays: &arrays })?;
        }
        Ok(())
    }

    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        by_layer(self, from, settings, done)
    }

    fn defaults(&self) -> Result<Settings> {
        let Compression { sparsity, bits: [keys, values] } = self.compression;
        let pruned = (sparsity * 10_000.0).round() / 100.0;
        Settings::parse(&choices(), &format!("pruned={pruned},keys={keys},values={values}"))
    }
}
