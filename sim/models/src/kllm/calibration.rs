//! KLLM's calibration, as far as schemes know it: codebooks of weights and of the inputs of projections.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail, ensure};
use golden::kllm::codebook::Codebook;
use golden::kllm::outliers::{OutlierRule, per_side};
use half::f16;

use super::language_model::{Books, ClusteredModel, ClusteredWeights, Counting, Outliers, book};
use crate::calibration::{Arrays, Source};
use crate::decoder::Config;
use crate::decoder::arithmetic::Projection;
use crate::decoder::calibration::{Calibration, Input};
use crate::schemes::{Choice, Kind, Settings};

/// The accelerator whose calibration this is.
pub const ACCELERATOR: &str = "kllm_top";

/// Bits of a weight's index.
pub const WEIGHT_BITS: u32 = 4;

/// The codebook of each weight.
pub type WeightBooks = BTreeMap<(usize, Projection), Codebook>;

/// Options of the calibration.
#[must_use]
pub fn choices() -> Vec<Choice> {
    vec![
        Choice { name: "activations", default: "4", kind: Kind::Count(1..=8), about: "bits of an activation's index" },
        counts(),
        Choice {
            name: "tokens",
            default: "rows",
            kind: Kind::Word(&["rows", "energy"]),
            about: "what codebooks of activations are trained on: all rows, where values count alike; or a sample of \
                    them, where a value counts by the squares of the weights behind it",
        },
        outliers(),
        detection(),
    ]
}

/// Counting of weights, an option.
pub(super) fn counts() -> Choice {
    Choice {
        name: "counting",
        default: "alike",
        kind: Kind::Word(&["alike", "input", "fisher"]),
        about: "how a weight counts when its codebook is trained: all alike, by the square of its input, or by its \
                Fisher information (squared gradients)",
    }
}

/// Share of outliers, an option.
pub(super) fn outliers() -> Choice {
    Choice {
        name: "outliers",
        default: "1",
        kind: Kind::Percent(0.0..=100.0),
        about: "share of a token's values, largest and smallest together, that stay in binary16",
    }
}

/// What an outlier is, an option.
pub(super) fn detection() -> Choice {
    Choice {
        name: "detection",
        default: "online",
        kind: Kind::Word(&["online", "offline"]),
        about: "the extremes of each token (KLLM), or values beyond thresholds of the text (KLLM-S)",
    }
}

/// Array of the codebook of a projection's weights.
#[must_use]
pub fn weights(projection: Projection) -> String {
    format!("weights.{projection:?}").to_lowercase()
}

/// Array of the codebook of an input's tokens.
#[must_use]
pub fn tokens(input: Input) -> String {
    format!("tokens.{}", input.name())
}

/// Array of the thresholds of an input's outliers, where they are detected by thresholds.
#[must_use]
pub fn thresholds(input: Input) -> String {
    format!("thresholds.{}", input.name())
}

/// Whether outliers have thresholds.
///
/// # Errors
/// There is no such option.
pub fn has_thresholds(settings: &Settings) -> Result<bool> {
    Ok(settings.word("detection")? == "offline")
}

/// A codebook of so many bits from an array of a layer.
///
/// # Errors
/// Names the array, and what is wrong with it.
pub fn codebook(arrays: &Arrays, name: &str, bits: u32) -> Result<Codebook> {
    let values = arrays.all::<f16>(name)?.into_iter().map(|value| u64::from(value.to_bits())).collect();
    let found = Codebook::new(bits, values).map_err(Error::from).with_context(|| format!("array `{name}`"))?;
    ensure!(found.is_ascending(), "array `{name}`: values do not ascend, as clustering wants them");
    Ok(found)
}

/// The values of a codebook.
#[must_use]
pub fn halves(codebook: &Codebook) -> Vec<f16> {
    codebook.values().iter().map(|&value| f16::from_bits(value as u16)).collect()
}

/// Codebooks of all weights of a layer's projections, by layer.
///
/// # Errors
/// The model has no gradients, and weights count by them; the model cannot read the text.
pub fn weight_books(from: &Source<'_>, settings: &Settings) -> Result<WeightBooks> {
    let (model, counting) = (from.model, counting(settings.word("counting")?));
    let fisher = if counting == Counting::Fisher { Some(from.learning.fisher(model)?) } else { None };
    let learnt = if counting == Counting::ByInput { samples(from)? } else { Calibration::new(1) };
    let mut all = BTreeMap::new();
    for layer in 0..model.config().layers {
        for &projection in model.config().projections() {
            let weight = model.weight(layer, projection)?;
            let made = book((layer, projection), weight, (&learnt, fisher.as_ref()), WEIGHT_BITS, counting)?;
            all.insert((layer, projection), made);
        }
    }
    Ok(all)
}

fn samples(from: &Source<'_>) -> Result<Calibration> {
    let mut learnt = Calibration::new(from.learning.stride());
    from.learning.windows.iter().try_for_each(|window| learnt.learn(from.model, window))?;
    Ok(learnt)
}

/// Codebooks of activations that count by the energy of weights, with the rules of their outliers.
///
/// # Errors
/// Numbers of the model that are not binary16; the model cannot read the text; options that the golden model refuses.
pub fn token_books(from: &Source<'_>, settings: &Settings, weights: &WeightBooks) -> Result<Arc<Books>> {
    let of = |layer, projection: Projection, _: &_| {
        weights.get(&(layer, projection)).cloned().with_context(|| format!("no codebook of {projection:?}"))
    };
    let clustered = ClusteredWeights::with_books(from.model, of)?;
    let (bits, share) = (settings.count("activations")?, settings.percent("outliers")?);
    let outliers = if has_thresholds(settings)? { Outliers::Offline } else { Outliers::Online };
    let model = ClusteredModel::new(&clustered, &samples(from)?, bits, share, outliers)?;
    model.books().context("activations without codebooks")
}

/// Codebooks of weights, and of activations with the rules of their outliers, from a calibration.
///
/// # Errors
/// Names the array, and what is wrong with it.
pub fn of_arrays(config: &Config, settings: &Settings, arrays: &Arrays) -> Result<(WeightBooks, Books)> {
    let (bits, share) = (settings.count("activations")?, settings.percent("outliers")?);
    let (mut of_weights, mut of_tokens) = (BTreeMap::new(), BTreeMap::new());
    for layer in 0..config.layers {
        let arrays = arrays.layer(layer)?;
        for &projection in config.projections() {
            of_weights.insert((layer, projection), codebook(&arrays, &weights(projection), WEIGHT_BITS)?);
        }
        for input in Input::ALL {
            let rule = if has_thresholds(settings)? {
                match arrays.all::<f16>(&thresholds(input))?[..] {
                    [low, high] => OutlierRule::Thresholds { low: low.to_bits().into(), high: high.to_bits().into() },
                    _ => bail!("array `{}` has not 2 thresholds for a layer", thresholds(input)),
                }
            } else {
                match per_side(input.channels(config), share)? {
                    0 => OutlierRule::None,
                    per_side => OutlierRule::TopK { per_side },
                }
            };
            of_tokens.insert((layer, input), (codebook(&arrays, &tokens(input), bits)?, rule));
        }
    }
    Ok((of_weights, of_tokens))
}

/// How weights count, by the word of the option.
pub(crate) fn counting(word: &str) -> Counting {
    match word {
        "input" => Counting::ByInput,
        "fisher" => Counting::Fisher,
        _ => Counting::Alike,
    }
}
