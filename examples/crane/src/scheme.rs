//! The numbers of the crane as schemes of `eval`: products of rows of INT8 and columns of INT4, both in groups that
//! share an exponent; and keys and values as such columns.

use std::borrow::Cow;

use models::baselines::products::{Change, Exact, Form, Inputs, Outputs, Rounded};
use models::decoder::Matrix;
use models::decoder::key_values::{Cached, KeyValues};
use models::schemes::{BYTES, Bench, Choice, Kind, Part, Prepared, Scheme, Settings, Tally};
use senbazuru::anyhow::Result;

use crate::packing::Packing;

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct CraneScheme;

/// Columns of weights.
struct Columns(usize);

impl Outputs for Columns {
    fn round(&self, weights: &Matrix) -> Matrix {
        let packing = Packing::of(&weights.values, self.0);
        Matrix { columns: weights.columns, values: weights.iter().flat_map(|row| packing.rounded(row)).collect() }
    }
}

/// Rows of activations. They come as fp16, and those beyond it become its largest number.
struct Rows(usize);

impl Inputs for Rows {
    fn round(&self, x: &Matrix) -> Matrix {
        let row = |row: &[f64]| row.chunks(self.0).flat_map(rounded).collect::<Vec<f64>>();
        Matrix { columns: x.columns, values: x.iter().flat_map(row).collect() }
    }
}

/// The numbers of a group. In its largest number's unit magnitudes are 127 at most; the unit is 2^-15 at least.
fn rounded(group: &[f64]) -> Vec<f64> {
    let values = group.iter().map(|x| x.clamp(-65_504.0, 65_504.0));
    let most = values.clone().fold(0.0, |most: f64, x| most.max(x.abs()));
    // The exponent of the largest number, as fp16 has it.
    let exponent = if most > 0.0 { most.log2().floor() as i32 } else { -14 };
    let unit = 2f64.powi((exponent - 6).max(-15));
    values.map(|x| (x / unit).round_ties_even().clamp(-127.0, 127.0) * unit).collect()
}

impl Scheme for CraneScheme {
    fn name(&self) -> &'static str {
        "crane"
    }

    fn about(&self) -> &'static str {
        "weights of INT4 and activations of INT8, in groups that share an exponent"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "channels that share an exponent";
        let group = Choice { name: "group", default: "32", kind: Kind::Count(2..=64), about };
        let about = "whether activations stay floats";
        let activations = Choice { name: "activations", default: "int8", kind: Kind::Word(&["int8", "exact"]), about };
        vec![group, activations]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (group, exact) = (settings.count("group")?, settings.word("activations")? == "exact");
        let prepared = Rounded::new(bench.model, None, |_, _| {
            let inputs: Box<dyn Inputs> = if exact { Box::new(Exact) } else { Box::new(Rows(group)) };
            Ok(Form { change: Change::None, inputs, outputs: Box::new(Columns(group)) })
        })?;
        Ok(prepared.prepared(Cow::Borrowed(bench.model)))
    }
}

/// The scheme of keys and values.
#[derive(Clone, Copy, Debug)]
pub struct CraneCache;

/// Keys are columns of a product whose channels are elements of a head. Values are columns whose channels are tokens.
struct Packed {
    group: usize,
    levels: bool,
}

/// The largest magnitude of each pair of elements, which a position turns together, over all rows.
pub fn levels<'a>(rows: impl Iterator<Item = &'a [f64]>, width: usize) -> Vec<f64> {
    let mut most = vec![0.0; width];
    for pairs in rows.map(|row| row.chunks(2)) {
        for (most, pair) in most.chunks_mut(2).zip(pairs) {
            let all = pair.iter().fold(most[0], |most: f64, x| most.max(x.abs()));
            most.fill(all);
        }
    }
    most.into_iter().map(|most| if most > 0.0 { most } else { 1.0 }).collect()
}

impl KeyValues for Packed {
    fn store<'a>(&mut self, cached: Cached<'a>) -> Result<Cached<'a>> {
        let (stored, columns) = (&cached.keys.stored, Columns(self.group));
        let levels = if self.levels { levels(stored.iter(), stored.columns) } else { vec![1.0; stored.columns] };
        let by_level = |keys: &Matrix, of: fn(f64, f64) -> f64| {
            let values = keys.values.iter().zip(levels.iter().cycle()).map(|(&x, &level)| of(x, level)).collect();
            Matrix { columns: keys.columns, values }
        };
        let keys = by_level(&columns.round(&by_level(stored, |x, level| x / level)), |x, level| x * level);
        let values = columns.round(&cached.values.stored.transposed()).transposed();
        Ok(cached.replaced([keys, values]))
    }
}

impl Scheme for CraneCache {
    fn name(&self) -> &'static str {
        "crane-cache"
    }

    fn about(&self) -> &'static str {
        "keys and values of INT4 in groups that share an exponent: of elements of a key, of tokens of a value's element"
    }

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "elements or tokens that share an exponent";
        let group = Choice { name: "group", default: "32", kind: Kind::Count(2..=64), about };
        let about =
            "whether keys are divided by the largest one of each pair of elements, by which queries are multiplied";
        vec![group, Choice { name: "levels", default: "yes", kind: Kind::Word(&["yes", "no"]), about }]
    }

    fn prepare<'a>(&self, settings: &Settings, _: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (group, levels) = (settings.count::<u64>("group")?, settings.word("levels")? == "yes");
        Ok(Prepared::cache(move |_, with| {
            with(&mut Packed { group: group as usize, levels })?;
            Ok(vec![Tally::ratio(BYTES, [4 * group + 4, 8 * group], 1.0)])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the golden model of the hardware rounds fp16.
    #[test]
    fn rows_are_those_of_the_golden_model() {
        let bits = [0x3c00u16, 0x2900, 0x3fff, 0x0001, 0xbc01, 0x0400, 0x7bff, 0x8001];
        for group in [2, 4, 8] {
            let golden = senbazuru::standard::group_rounder::rounded(&bits, group, 8);
            let units = (0..).map(|k| 2f64.powi(golden.exponents[k / group] as i32 - 15));
            let expected: Vec<f64> = golden.integers.iter().zip(units).map(|(&n, unit)| n as f64 * unit).collect();
            let values: Vec<f64> = bits.iter().map(|&bits| half::f16::from_bits(bits).to_f64()).collect();
            let found: Vec<f64> = values.chunks(group).flat_map(rounded).collect();
            assert_eq!(found, expected, "groups of {group}");
        }
    }
}
