//! Titanus' compressed keys and values as a scheme.

use anyhow::{Result, ensure};

use super::calibration::{self, ACCELERATOR, pruned, widths};
use super::language_model::{Compressed, Pruning, Setting};
use crate::schemes::{BYTES, Bench, Choice, Kind, Part, Passage, Prepared, Scheme, Settings, Tally};

/// Keys and values that are pruned and quantized level by level.
#[derive(Clone, Copy, Debug)]
pub struct Titanus;

impl Scheme for Titanus {
    fn name(&self) -> &'static str {
        "titanus"
    }

    fn about(&self) -> &'static str {
        "keys and values in int8, pruned, and quantized level by level (CPQ); the first half of a text is prefill"
    }

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        let [keys, values] = widths();
        vec![
            pruned("least share of a head's elements that become 0, by the smallest threshold that reaches it"),
            keys,
            values,
            Choice {
                name: "levels",
                default: "yes",
                kind: Kind::Word(&["yes", "no"]),
                about: "whether elements are quantized after pruning; with `no` they stay int8",
            },
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let by_layer = match bench.given(ACCELERATOR) {
            None => {
                let pruning = match settings.percent("pruned")? {
                    0 => Pruning::Threshold(0),
                    share => Pruning::Share(f64::from(share) / 10_000.0),
                };
                let bits = [settings.count("keys")?, settings.count("values")?];
                let bits = (settings.word("levels")? == "yes").then_some(bits);
                vec![Setting { pruning: [pruning; 2], bits }]
            }
            Some(given) => {
                let levels = settings.word("levels")?;
                let place = given.file.path.display();
                ensure!(levels == "yes", "option `levels` is {levels}, wanted is yes for {place}");
                given.agrees(settings, self.shared())?;
                given.named(calibration::by_layer(&given.settings, &given.file.arrays))?
            }
        };
        Ok(Prepared::cache(move |passage, with| {
            let mut model = Compressed::by_layer(by_layer.clone(), prefill(passage));
            with(&mut model)?;
            Ok(tallies(&model))
        }))
    }

    fn calibrated_by(&self) -> Option<&'static str> {
        Some(ACCELERATOR)
    }

    fn shared(&self) -> &'static [&'static str] {
        &["pruned", "keys", "values"]
    }
}

/// Tokens that are quantized together: the prompt, of which one at least.
pub(crate) fn prefill(passage: &Passage<'_>) -> usize {
    passage.prompt.clamp(1, passage.tokens.len())
}

/// Figures of a model with compressed keys and values.
pub(crate) fn tallies(model: &Compressed) -> Vec<Tally> {
    vec![
        Tally::ratio("zeros", [model.zero_elements(), model.elements()], 1.0),
        Tally::ratio(BYTES, [model.moved_bits(), 8 * model.elements()], 1.0),
    ]
}
