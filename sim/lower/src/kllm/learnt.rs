//! What the accelerator learns: codebooks of weights, tokens, queries, keys and values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use golden::kllm::codebook::Codebook;
use half::f16;
use host::kllm::Bits;
use models::calibration::Arrays;
use models::decoder::arithmetic::Projection as Name;
use models::decoder::calibration::Input;
use models::kllm::calibration::{WEIGHT_BITS, codebook, halves, tokens, weights};
use models::schemes::Settings;

use super::builder::{book_of, outliers, train};
use super::cache::OfHead;
use crate::exact::{Exact, part};
use crate::layer::{Activation, Heads, Layer, Linear};

/// Arrays of a head, and of the worth of an integer of a probability times the scale of its value.
pub(super) const HEADS: [&str; 3] = ["queries", "keys", "values"];
pub(super) const UNIT: &str = "unit";

/// The weights of a projection that the model has: without the zeros between heads.
fn own(of: &Linear, name: Name, heads: Heads) -> Cow<'_, Linear> {
    let is_own = |n: usize| n % heads.width < heads.own;
    match name {
        _ if heads.width == heads.own => Cow::Borrowed(of),
        Name::Q | Name::K | Name::V => {
            let row = |row: &Vec<f64>| row.iter().enumerate().filter(|(n, _)| is_own(*n)).map(|(_, &w)| w).collect();
            Cow::Owned(Linear::new(of.weights().iter().map(row).collect()))
        }
        Name::O => {
            let rows = of.weights();
            let rows = rows.iter().enumerate().filter(|(n, _)| is_own(*n));
            Cow::Owned(Linear::new(rows.map(|(_, row)| row.clone()).collect()))
        }
        Name::Gate | Name::Up | Name::Down | Name::Logits => Cow::Borrowed(of),
    }
}

/// Codebooks of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Books {
    weights: BTreeMap<Name, Codebook>,
    /// Of inputs, in the order of [`Input::ALL`].
    pub tokens: [Codebook; 4],
    /// Of each key head.
    pub heads: Vec<OfHead>,
}

impl Books {
    /// For numbers like those of the float layer. Codebooks of weights are trained on about so many outputs.
    pub fn of(layer: &Layer, like: &Exact, (bits, share): (Bits, u32), training: usize) -> Result<Self> {
        let gate = match &layer.activation {
            Activation::GatedSilu(gate) => Some((Name::Gate, gate)),
            _ => None,
        };
        let all = [(Name::Q, &layer.q), (Name::K, &layer.k), (Name::V, &layer.v), (Name::O, &layer.o)];
        let all = all.into_iter().chain(gate).chain([(Name::Up, &layer.up), (Name::Down, &layer.down)]);
        let weight = |(name, of)| Ok((name, book_of(&own(of, name, layer.heads), training)?));
        let weights = all.map(weight).collect::<Result<_>>()?;
        let book = |like: &[Vec<f64>]| train(bits, like, outliers(like.first().map_or(0, Vec::len), share)?);
        let tokens = [book(&like.attended)?, book(&like.attention)?, book(&like.normed)?, book(&like.gated)?];
        let heads = layer.heads;
        let of = |rows: &[Vec<f64>], head: usize| part(rows, head, heads.width);
        let head = |number: usize| {
            let shared = number * heads.shared()..(number + 1) * heads.shared();
            let queries: Vec<Vec<f64>> = shared.flat_map(|head| of(&like.queries, head)).collect();
            let queries = train(bits, &queries, outliers(heads.width, share)?)?;
            OfHead::like(queries, [&of(&like.keys, number), &of(&like.values, number)])
        };
        Ok(Self { weights, tokens, heads: (0..heads.keys).map(head).collect::<Result<_>>()? })
    }

    pub fn weight(&self, name: Name) -> Result<&Codebook> {
        self.weights.get(&name).with_context(|| format!("no codebook of {name:?}"))
    }

    pub fn arrays(&self) -> Result<Arrays> {
        let mut all = Arrays::new();
        let mut add = |name: String, book: &Codebook| {
            let values = halves(book);
            all.add(name, &[values.len()], values)
        };
        self.weights.iter().try_for_each(|(&name, book)| add(weights(name), book))?;
        Input::ALL.into_iter().zip(&self.tokens).try_for_each(|(input, book)| add(tokens(input), book))?;
        let of: [fn(&OfHead) -> &Codebook; 3] = [|head| &head.queries, |head| &head.keys, |head| &head.values];
        for (name, of) in HEADS.into_iter().zip(of) {
            let values: Vec<Vec<f16>> = self.heads.iter().map(|head| halves(of(head))).collect();
            let length = values.first().map_or(0, Vec::len);
            all.add(name, &[values.len(), length], values.concat())?;
        }
        all.add(UNIT, &[self.heads.len()], self.heads.iter().map(|head| head.unit))?;
        Ok(all)
    }

    /// The codebooks in the arrays of a layer, with tokens of so many bits.
    pub fn of_arrays(arrays: &Arrays, bits: Bits) -> Result<Self> {
        let bits = count(bits);
        let known = [Name::Q, Name::K, Name::V, Name::O, Name::Gate, Name::Up, Name::Down];
        let there = known.into_iter().filter(|&name| arrays.get(&weights(name)).is_ok());
        let of_weights = there.map(|name| Ok((name, codebook(arrays, &weights(name), WEIGHT_BITS)?)));
        let [a, b, c, d] = Input::ALL.map(|input| codebook(arrays, &tokens(input), bits));
        let units = arrays.all::<f16>(UNIT)?;
        let head = |(number, unit): (usize, f16)| -> Result<OfHead> {
            let book = |name: &str, bits| -> Result<Codebook> {
                let mut one = Arrays::new();
                one.set(name, arrays.get(name)?.part(number).with_context(|| format!("array `{name}`"))?);
                codebook(&one, name, bits)
            };
            let [queries, keys, values] = HEADS;
            ensure!(unit >= f16::ZERO, "array `{UNIT}` has {unit}, wanted is 0 or more");
            Ok(OfHead {
                queries: book(queries, bits)?,
                keys: book(keys, WEIGHT_BITS)?,
                values: book(values, WEIGHT_BITS)?,
                unit,
            })
        };
        let heads = units.into_iter().enumerate().map(head).collect::<Result<_>>()?;
        Ok(Self { weights: of_weights.collect::<Result<_>>()?, tokens: [a?, b?, c?, d?], heads })
    }
}

/// Bits of an activation, of those that the accelerator has.
///
/// # Errors
/// It has others.
pub fn bits_of(settings: &Settings) -> Result<Bits> {
    match settings.count::<u32>("activations")? {
        3 => Ok(Bits::Three),
        4 => Ok(Bits::Four),
        other => bail!("option `activations` is {other}, wanted is 3 or 4: indices that the accelerator has"),
    }
}

pub(super) fn count(bits: Bits) -> u32 {
    match bits {
        Bits::Three => 3,
        Bits::Four => 4,
    }
}
