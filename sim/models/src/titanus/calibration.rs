//! Titanus' calibration, as far as schemes and explorations know it: how keys and values of each layer are kept.

use anyhow::{Context, Result, ensure};

use super::language_model::{Pruning, Setting};
use crate::calibration::{Array, Arrays};
use crate::schemes::{Choice, Kind, Settings};

/// The accelerator whose calibration this is.
pub const ACCELERATOR: &str = "titanus_core";

/// Array of the bits of keys and of values, by layer.
pub const BITS: &str = "bits";
/// Array of the thresholds of keys and of values, by layer.
pub const THRESHOLDS: &str = "thresholds";

/// Where thresholds come from: an option.
const FROM: &str = "thresholds";

/// The value of an option that no layer, or not every layer, shares: a search has chosen for each layer.
const BY_LAYER: &str = "layers";

/// Options of the calibration.
#[must_use]
pub fn choices() -> Vec<Choice> {
    let [keys, values] = widths();
    vec![
        pruned("least share of keys, and of values, that becomes 0, by the smallest threshold that reaches it"),
        keys,
        values,
        Choice {
            name: FROM,
            default: "prompt",
            kind: Kind::Word(&["prompt", "text"]),
            about: "what thresholds are found on: each prompt, or once for each layer the text",
        },
    ]
}

/// The share that is pruned, an option.
pub(super) fn pruned(about: &'static str) -> Choice {
    Choice { name: "pruned", default: "33.8", kind: or_by_layer(Kind::Percent(0.0..=100.0)), about }
}

/// Bits of keys and of values, two options.
pub(super) fn widths() -> [Choice; 2] {
    let bits = |name, about| Choice { name, default: "4", kind: or_by_layer(Kind::Count(2..=8)), about };
    [bits("keys", "bits of a key's element"), bits("values", "bits of a value's element")]
}

fn or_by_layer(kind: Kind) -> Kind {
    Kind::Or(Box::new(kind), BY_LAYER)
}

/// Whether a calibration with these options has thresholds.
///
/// # Errors
/// They are no options of this calibration.
pub fn has_thresholds(settings: &Settings) -> Result<bool> {
    Ok(settings.word(FROM)? == "text")
}

/// The setting of each layer.
///
/// # Errors
/// Arrays or options are missing; bits that the hardware has not.
pub fn by_layer(settings: &Settings, arrays: &Arrays) -> Result<Vec<Setting>> {
    let pair = |name: &str| -> Result<Vec<[u32; 2]>> {
        let rows = arrays.rows::<u8>(name)?;
        let of = |row: Vec<u8>| match row[..] {
            [keys, values] => Ok([keys.into(), values.into()]),
            _ => anyhow::bail!("array `{name}` has {} numbers for a layer, wanted are 2", row.len()),
        };
        rows.into_iter().map(of).collect()
    };
    let bits = pair(BITS)?;
    let legal = bits.iter().flatten().all(|bits| (2..=8).contains(bits));
    ensure!(legal, "array `{BITS}` has other bits than 2 to 8");
    let pruning: Vec<[Pruning; 2]> = if has_thresholds(settings)? {
        pair(THRESHOLDS)?.into_iter().map(|both| both.map(Pruning::Threshold)).collect()
    } else {
        let all = match settings.percent("pruned")? {
            0 => Pruning::Threshold(0),
            share => Pruning::Share(f64::from(share) / 10_000.0),
        };
        vec![[all; 2]; bits.len()]
    };
    Ok(pruning.into_iter().zip(bits).map(|(pruning, bits)| Setting { pruning, bits: Some(bits) }).collect())
}

/// Thresholds of keys and values of each layer, if a calibration has some.
///
/// # Errors
/// Arrays or options are missing.
pub fn thresholds(settings: &Settings, arrays: &Arrays) -> Result<Option<Vec<Vec<u8>>>> {
    has_thresholds(settings)?.then(|| arrays.rows::<u8>(THRESHOLDS)).transpose()
}

/// Puts thresholds and bits, of keys and of values for each layer, into a calibration. Its options say then what the
/// arrays have.
///
/// # Errors
/// A number beyond 255, or not as many layers as the calibration has.
pub fn put(
    options: &mut std::collections::BTreeMap<String, String>,
    arrays: &mut Arrays,
    all: [&[[u32; 2]]; 2],
) -> Result<()> {
    let layers = arrays.get(BITS)?.shape().first().copied();
    for (name, pairs) in [THRESHOLDS, BITS].into_iter().zip(all) {
        ensure!(Some(pairs.len()) == layers, "`{name}` of {} layers, the calibration is of {layers:?}", pairs.len());
        let small = |&x: &u32| u8::try_from(x).with_context(|| format!("`{name}` has {x}, allowed: 0 to 255"));
        let bytes = pairs.iter().flatten().map(small).collect::<Result<Vec<u8>>>()?;
        arrays.set(name, Array::new(&[pairs.len(), 2], bytes)?);
    }
    options.insert(FROM.to_owned(), "text".to_owned());
    // The thresholds reach no share that anybody asked for.
    options.insert("pruned".to_owned(), BY_LAYER.to_owned());
    let [_, bits] = all;
    for (side, name) in ["keys", "values"].into_iter().enumerate() {
        let first = bits.first().map(|both| both[side]);
        let same = first.filter(|&first| bits.iter().all(|both| both[side] == first));
        options.insert(name.to_owned(), same.map_or_else(|| BY_LAYER.to_owned(), |bits| bits.to_string()));
    }
    Ok(())
}
