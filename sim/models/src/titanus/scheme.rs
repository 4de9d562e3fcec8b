//! Titanus' compressed keys and values as a scheme.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::calibration::{self, ACCELERATOR, pruned, widths};
use super::language_model::{Compressed, Pruning, Setting};
use crate::calibration::Arrays;
use crate::schemes::{BYTES, Bench, Choice, Given, Kind, Part, Passage, Prepared, Scheme, Settings, Tally};

/// Options: thresholds of keys, of values.
const THRESHOLDS: [&str; 2] = ["key_threshold", "value_threshold"];
/// Options: bits of keys, of values.
const BITS: [&str; 2] = ["keys", "values"];
/// No threshold: the share that is pruned says it.
const SHARE: &str = "share";
/// The largest magnitude of int8.
const LARGEST: u64 = 127;

/// The same with a value for each layer.
fn by_layer(choice: Choice) -> Choice {
    Choice { kind: Kind::Layers(Box::new(choice.kind)), ..choice }
}

/// Thresholds of keys or of values.
fn threshold(name: &'static str, about: &'static str) -> Choice {
    let kind = Kind::Or(Box::new(Kind::Count(0..=LARGEST)), SHARE);
    by_layer(Choice { name, default: SHARE, kind, about })
}

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
            by_layer(keys),
            by_layer(values),
            threshold(THRESHOLDS[0], "magnitude of int8 below which a key's element becomes 0, instead of the share"),
            threshold(THRESHOLDS[1], "the same of a value's element"),
            Choice {
                name: "levels",
                default: "yes",
                kind: Kind::Word(&["yes", "no"]),
                about: "whether elements are quantized after pruning; with `no` they stay int8",
            },
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let layers = match bench.given(ACCELERATOR) {
            None => settings_by_layer(&self.choices(), settings, bench.model.config().layers)?,
            Some(given) => {
                let levels = settings.word("levels")?;
                let place = given.file.path.display();
                ensure!(levels == "yes", "option `levels` is {levels}, wanted is yes for {place}");
                for name in THRESHOLDS {
                    let found = settings.word(name)?;
                    ensure!(found == SHARE, "option `{name}` is {found}, wanted is {SHARE} for {place}");
                }
                given.agrees(settings, self.shared())?;
                given.named(calibration::by_layer(&given.settings, &given.file.arrays))?
            }
        };
        Ok(Prepared::cache(move |passage, with| {
            let mut model = Compressed::by_layer(layers.clone(), prefill(passage));
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

    fn held(&self, given: &Given) -> Result<Vec<(&'static str, Vec<String>)>> {
        let Some(all) = given.named(calibration::thresholds(&given.settings, &given.file.arrays))? else {
            return Ok(Vec::new());
        };
        let of = |side: usize| all.iter().filter_map(|both| Some(both.get(side)?.to_string())).collect();
        Ok(vec![(THRESHOLDS[0], of(0)), (THRESHOLDS[1], of(1))])
    }

    fn put(
        &self,
        settings: &Settings,
        (options, arrays): (&mut BTreeMap<String, String>, &mut Arrays),
        layers: usize,
    ) -> Result<()> {
        let found = settings_by_layer(&self.choices(), settings, layers)?;
        let thresholds = found.iter().map(|setting| match setting.pruning {
            [Pruning::Threshold(keys), Pruning::Threshold(values)] => Ok([keys, values]),
            _ => bail!("options `{}` and `{}` have a {SHARE}, wanted are thresholds", THRESHOLDS[0], THRESHOLDS[1]),
        });
        let thresholds = thresholds.collect::<Result<Vec<_>>>()?;
        let bits = found.iter().map(|setting| setting.bits).collect::<Option<Vec<_>>>();
        let bits = bits.context("option `levels` is no, wanted is yes: a calibration has bits")?;
        calibration::put(options, arrays, [&thresholds, &bits])
    }
}

/// What options say of each layer; one setting where all layers have the same.
fn settings_by_layer(choices: &[Choice], settings: &Settings, layers: usize) -> Result<Vec<Setting>> {
    let of_layer = |settings: Settings| -> Result<Setting> {
        let bits = [settings.count(BITS[0])?, settings.count(BITS[1])?];
        let pruning = |name: &str| -> Result<Pruning> {
            Ok(match (settings.word(name)?, settings.percent("pruned")) {
                (SHARE, Ok(0)) => Pruning::Threshold(0),
                (SHARE, share) => Pruning::Share(f64::from(share?) / 10_000.0),
                _ => Pruning::Threshold(settings.count(name)?),
            })
        };
        let pruning = [pruning(THRESHOLDS[0])?, pruning(THRESHOLDS[1])?];
        Ok(Setting { pruning, bits: (settings.word("levels")? == "yes").then_some(bits) })
    };
    settings.by_layer(choices, layers)?.into_iter().map(of_layer).collect()
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
