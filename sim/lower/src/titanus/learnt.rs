//! What the core learns: scales of integers, and how keys and values are compressed.

use anyhow::{Result, ensure};
use models::calibration::Arrays;
use models::decoder::calibration::Input;
use models::schemes::Settings;
use models::titanus::calibration::{BITS, THRESHOLDS, has_thresholds};

use super::builder::threshold;
use super::compression::{Compression, Prompt};
use super::{attention, feed};
use crate::exact::Exact;
use crate::layer::Layer;
use crate::learn::Learnt;

/// Scales of integers of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scales {
    pub attention: attention::Units,
    pub feed: feed::Units,
}

/// Units of a layer, in the order in which scales have them.
pub(super) const UNITS: [&str; 7] = ["attention", "attention_out", "queries", "keys", "values", "feed_forward", "down"];

pub(super) fn lent(input: Input) -> String {
    format!("lent.{}", input.name())
}

pub(super) fn unit(of: &str) -> String {
    format!("unit.{of}")
}

impl Scales {
    pub fn of(layer: &Layer, exact: &Exact) -> Self {
        Self { attention: attention::Units::of(layer, exact), feed: feed::Units::of(layer, exact) }
    }

    /// What inputs lend, in the order of [`Input::ALL`].
    fn all_lent(&self) -> [&Vec<f64>; 4] {
        let ([a, b], [c, d]) = (&self.attention.lent, &self.feed.lent);
        [a, b, c, d]
    }

    /// In the order of [`UNITS`].
    fn all_units(&self) -> [f64; 7] {
        let ([x, out], [q, k, v], [fed, gated]) = (self.attention.inputs, self.attention.heads, self.feed.inputs);
        [x, out, q, k, v, fed, gated]
    }

    pub fn of_layer(layer: &Layer, arrays: &Arrays) -> Result<Self> {
        let inputs = [layer.q.inputs(), layer.o.inputs(), layer.up.inputs(), layer.down.inputs()];
        for (input, wanted) in Input::ALL.into_iter().zip(inputs) {
            let (name, found) = (lent(input), arrays.all::<f64>(&lent(input))?.len());
            ensure!(found == wanted, "array `{name}` has {found} numbers for a layer, wanted are {wanted}");
        }
        Self::of_arrays(arrays)
    }

    pub(super) fn of_arrays(arrays: &Arrays) -> Result<Self> {
        let all = |name: &str| -> Result<Vec<f64>> {
            let found = arrays.all::<f64>(name)?;
            let positive = found.iter().all(|&x| x > 0.0);
            ensure!(positive, "array `{name}` has numbers that are 0 or less, wanted are larger ones");
            Ok(found)
        };
        let mut lent = Input::ALL.into_iter().map(|input| all(&lent(input))).collect::<Result<Vec<_>>>()?.into_iter();
        let mut lent = || lent.next().unwrap_or_default();
        let units = UNITS.map(|name| all(&unit(name)).and_then(|_| arrays.one::<f64>(&unit(name))));
        let [x, out, q, k, v, fed, gated] = units;
        let heads = [q?, k?, v?];
        Ok(Self {
            attention: attention::Units { lent: [lent(), lent()], inputs: [x?, out?], heads },
            feed: feed::Units { lent: [lent(), lent()], inputs: [fed?, gated?] },
        })
    }
}

/// Arrays of a layer.
pub(super) fn arrays(layer: &Layer, exact: &Exact, settings: &Settings) -> Result<Arrays> {
    let (scales, mut all) = (Scales::of(layer, exact), Arrays::new());
    for (input, lends) in Input::ALL.into_iter().zip(scales.all_lent()) {
        all.add(lent(input), &[lends.len()], lends.iter().copied())?;
    }
    for (name, scale) in UNITS.into_iter().zip(scales.all_units()) {
        all.add(unit(name), &[], [scale])?;
    }
    all.add(BITS, &[2], [settings.count::<u8>("keys")?, settings.count("values")?])?;
    if has_thresholds(settings)? {
        let share = f64::from(settings.percent("pruned")?) / 10_000.0;
        let [_, keys, values] = scales.attention.heads;
        let of = |rows: &[Vec<f64>], unit: f64| {
            let integer = |x: &f64| (x / unit).round_ties_even().clamp(-128.0, 127.0) as i8;
            let integers: Vec<Vec<i8>> = rows.iter().map(|row| row.iter().map(integer).collect()).collect();
            threshold(&integers, share).0
        };
        all.add(THRESHOLDS, &[2], [of(&exact.keys, keys), of(&exact.values, values)])?;
    }
    Ok(all)
}

/// How a layer keeps keys and values, and how its prompt comes.
pub(super) fn kept(learnt: Learnt<'_>) -> Result<(Compression, Prompt)> {
    let pair = |name: &str| -> Result<[u8; 2]> {
        let found = learnt.arrays.all::<u8>(name)?;
        let count = found.len();
        found.try_into().map_err(|_| anyhow::anyhow!("array `{name}` has {count} numbers for a layer, wanted are 2"))
    };
    let bits = pair(BITS)?;
    let wrong = bits.iter().find(|bits| !(2..=8).contains(*bits));
    ensure!(wrong.is_none(), "array `{BITS}` has {}, allowed: 2 to 8", wrong.unwrap_or(&0));
    if has_thresholds(learnt.settings)? {
        // With thresholds nobody asks which share they reach.
        return Ok((Compression { sparsity: 0.0, bits }, Prompt::With(pair(THRESHOLDS)?)));
    }
    let sparsity = f64::from(learnt.settings.percent("pruned")?) / 10_000.0;
    Ok((Compression { sparsity, bits }, Prompt::AtOnce))
}
