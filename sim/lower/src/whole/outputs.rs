//! Outputs of projections that share an input, side by side.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use models::decoder::arithmetic::Projection as Name;
use models::decoder::{Family, Model, Weight};

use crate::layer::{Heads, padded, padded_bias};

/// Projections that share an input, in groups. Accelerators side by side each have an equal share of each group, so what
/// is multiplied element by element meets on the same accelerator.
#[derive(Clone, Debug)]
pub struct Outputs<'a> {
    groups: Vec<Vec<Named<'a>>>,
}

#[derive(Clone, Debug)]
struct Named<'a> {
    name: Name,
    weight: Cow<'a, Weight>,
    /// None, or one for each output.
    biases: Vec<f64>,
}

/// An output of a projection.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// The projection.
    pub name: Name,
    /// Its weights.
    pub weight: &'a Weight,
    /// The output's number in them.
    pub number: usize,
    /// What is added to it.
    pub bias: f64,
}

impl<'a> Outputs<'a> {
    /// Projections of a layer.
    ///
    /// # Errors
    /// The model has no such layer.
    pub fn of(model: &'a Model, layer: usize, groups: &[&[Name]], heads: Heads) -> Result<Self> {
        let named = |&name: &Name| -> Result<Named<'a>> {
            let biases = model.bias(layer, name).map(|bias| padded_bias(bias, name, heads)).unwrap_or_default();
            Ok(Named { name, weight: padded(model.weight(layer, name)?, name, heads), biases })
        };
        let groups = groups.iter().map(|names| names.iter().map(named).collect());
        Ok(Self { groups: groups.collect::<Result<_>>()? })
    }

    /// The four products of a layer: queries, keys and values; attention's output; into the feed-forward layer; out of it.
    ///
    /// # Errors
    /// The model has no such layer.
    pub fn of_layer(model: &'a Model, layer: usize, heads: Heads) -> Result<[Self; 4]> {
        let into: &[&[Name]] = match model.config().family {
            // A share of the gate's outputs is multiplied by the same share of up.
            Family::Llama => &[&[Name::Gate], &[Name::Up]],
            Family::Gpt => &[&[Name::Up]],
        };
        let of = |groups: &[&[Name]]| Self::of(model, layer, groups, heads);
        Ok([of(&[&[Name::Q, Name::K, Name::V]])?, of(&[&[Name::O]])?, of(into)?, of(&[&[Name::Down]])?])
    }

    /// The last product: a logit for each token of the vocabulary.
    ///
    /// # Errors
    /// The model has no such product.
    pub fn of_logits(model: &'a Model, heads: Heads) -> Result<Self> {
        Self::of(model, model.config().layers, &[&[Name::Logits]], heads)
    }

    /// Inputs of each output.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.groups.iter().flatten().next().map_or(0, |first| first.weight.inputs)
    }

    /// Whether something is added to an output.
    #[must_use]
    pub fn is_biased(&self) -> bool {
        self.groups.iter().flatten().any(|named| !named.biases.is_empty())
    }

    /// The outputs of one of so many accelerators side by side, group after group.
    ///
    /// # Errors
    /// A group has no equal shares.
    pub fn share(&self, part: usize, parts: usize) -> Result<Vec<Output<'_>>> {
        let mut share = Vec::new();
        for group in &self.groups {
            let all: Vec<Output<'_>> = group.iter().flat_map(Named::outputs).collect();
            let count = all.len();
            ensure!(count.is_multiple_of(parts), "{count} outputs have no {parts} equal shares");
            share.extend(&all[part * count / parts..][..count / parts]);
        }
        Ok(share)
    }
}

impl Named<'_> {
    fn outputs(&self) -> impl Iterator<Item = Output<'_>> {
        let Self { name, ref weight, ref biases } = *self;
        let bias = |number: usize| biases.get(number).copied().unwrap_or_default();
        (0..weight.outputs).map(move |number| Output { name, weight, number, bias: bias(number) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two accelerators: each has half of the gates, and the same half of what they are multiplied by.
    #[test]
    fn shares_of_each_group() {
        let named = |name, outputs: usize, biases: &[f64]| {
            let weight = Weight::new([outputs, 2], &vec![1.0; 2 * outputs]);
            Named { name, weight: Cow::Owned(weight), biases: biases.to_vec() }
        };
        let pair = vec![named(Name::K, 1, &[]), named(Name::V, 3, &[5.0, 6.0, 7.0])];
        let outputs = Outputs { groups: vec![vec![named(Name::Gate, 4, &[])], pair] };
        let second = outputs.share(1, 2).unwrap();
        let told: Vec<_> = second.iter().map(|one| (one.name, one.number, one.bias)).collect();
        let wanted = [(Name::Gate, 2, 0.0), (Name::Gate, 3, 0.0), (Name::V, 1, 6.0), (Name::V, 2, 7.0)];
        assert_eq!((told, outputs.inputs(), outputs.is_biased()), (wanted.to_vec(), 2, true));
        assert_eq!(outputs.share(0, 1).unwrap().len(), 8);
        let told = outputs.share(0, 3).unwrap_err().to_string();
        assert_eq!(told, "4 outputs have no 3 equal shares");
    }
}
