//! Weights in memory, as columns of INT4.

use lower::layer::{Heads, padded, padded_bias};
use lower::whole::{Images, Matrices, Placer, Shape, half};
use models::calibration::Arrays;
use models::decoder::arithmetic::Projection as Name;
use models::decoder::{Family, Model, Weight};
use senbazuru::anyhow::{Context, Result, ensure};
use senbazuru_host::ALIGNMENT;
use senbazuru_host::vector::Operand;

use super::Lowering;
use super::cache::{Cache, Head, Largest};
use crate::host::Caps;
use crate::packing::Packing;

/// A model with what its heads have learnt.
pub struct Learnt<'a> {
    pub on: Lowering,
    pub arrays: &'a Arrays,
}

impl Images<Lowering> for Learnt<'_> {
    fn products(&mut self, _: &mut Placer<'_>, _: &Shape) -> Result<Lowering> {
        Ok(self.on)
    }

    fn layer(
        &mut self,
        p: &mut Placer<'_>,
        (model, number): (&Model, usize),
        Shape { config, heads, sizes, .. }: &Shape,
    ) -> Result<Matrices<Lowering>> {
        let (caps, Largest { keys, values }) = (&self.on.caps, Largest::of(&self.arrays.layer(number)?)?);
        let fits = keys.len() == heads.keys * heads.own && values.len() == heads.keys;
        ensure!(fits, "arrays of {} keys and {} values", keys.len(), values.len());
        let mut place = |groups: &[&[Name]]| {
            let all = groups.iter().map(|names| Outputs::of(model, number, names, (*heads, &keys)));
            projection(p, caps, &all.collect::<Result<Vec<_>>>()?)
        };
        let into: &[&[Name]] = match config.family {
            Family::Llama => &[&[Name::Gate], &[Name::Up]],
            Family::Gpt => &[&[Name::Up]],
        };
        let (qkv, o) = (place(&[&[Name::Q, Name::K, Name::V]])?, place(&[&[Name::O]])?);
        let (into, back) = (place(into)?, place(&[&[Name::Down]])?);
        let rows = heads.shared().max(sizes.rows);
        let head = |most| {
            let text = |_| Head::new((p, caps), most, (heads.width, sizes.room.tokens, rows));
            (0..sizes.room.texts).map(text).collect::<Result<_>>()
        };
        let cache = values.into_iter().map(head).collect::<Result<_>>()?;
        Ok(Matrices { qkv, o, into, back, cache: Cache(cache) })
    }

    fn output(&mut self, p: &mut Placer<'_>, model: &Model, shape: &Shape) -> Result<Projection> {
        let logits = Outputs::of(model, shape.config.layers, &[Name::Logits], (shape.heads, &[]))?;
        projection(p, &self.on.caps, &[logits])
    }
}

/// The right matrix of a product.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    pub weights: Operand,
    pub exponents: u64,
    pub channels: u32,
    pub columns: u32,
    pub shift: u32,
}

/// A projection: its columns, and its biases in fp16, if it has any.
#[derive(Clone, Copy, Debug)]
pub struct Projection {
    pub columns: Columns,
    pub biases: Option<Operand>,
}

/// Bytes from column to column.
pub fn stride(channels: usize) -> usize {
    channels.div_ceil(2).next_multiple_of(ALIGNMENT as usize)
}

/// The field `shift` of products with such columns.
pub fn shift(packing: &Packing) -> Result<u32> {
    packing.shift().with_context(|| format!("numbers in units of 2^{} are beyond a product's range", packing.base))
}

/// Outputs of weights side by side, each times a factor, and their biases.
pub struct Outputs {
    weights: Vec<Weight>,
    factors: Vec<f64>,
    biases: Vec<f64>,
}

/// The factor of each output: keys are divided by the largest of each pair of elements, and queries are multiplied by it.
/// Scores come with the factor of softmax.
fn factors(name: Name, outputs: usize, (heads, keys): (Heads, &[f32])) -> Vec<f64> {
    let level = |head: usize, element: usize| match element < heads.own {
        true => f64::from(keys[head * heads.own + element]),
        false => 1.0,
    };
    let factor = |n: usize| match name {
        Name::Q => heads.scale() * level(n / heads.width / heads.shared(), n % heads.width),
        Name::K => 1.0 / level(n / heads.width, n % heads.width),
        _ => 1.0,
    };
    (0..outputs).map(factor).collect()
}

impl Outputs {
    /// Projections of a layer, whose keys are as large as these.
    pub fn of(model: &Model, layer: usize, names: &[Name], (heads, keys): (Heads, &[f32])) -> Result<Self> {
        let (mut weights, mut all, mut biases, mut is_biased) = (Vec::new(), Vec::new(), Vec::new(), false);
        for &name in names {
            let weight = padded(model.weight(layer, name)?, name, heads);
            let factors = factors(name, weight.outputs, (heads, keys));
            let bias = model.bias(layer, name).map(|bias| padded_bias(bias, name, heads));
            is_biased |= bias.is_some();
            let bias = bias.unwrap_or(vec![0.0; weight.outputs]);
            biases.extend(bias.into_iter().zip(&factors).map(|(bias, factor)| factor * bias));
            all.extend(factors);
            weights.push(weight);
        }
        Ok(Self { weights, factors: all, biases: if is_biased { biases } else { Vec::new() } })
    }

    fn count(&self) -> usize {
        self.factors.len()
    }

    fn column(&self, number: usize) -> Vec<f64> {
        let (mut at, factor) = (number, self.factors[number]);
        let mut weights = self.weights.iter();
        let weight = loop {
            match weights.next().expect("an output of these") {
                weight if at >= weight.outputs => at -= weight.outputs,
                weight => break weight,
            }
        };
        weight.output(at).into_iter().map(|w| factor * f64::from(w)).collect()
    }
}

/// Weights that share an input, side by side. Accelerators side by side have an equal share of each group of outputs, at
/// the same place.
pub fn projection(p: &mut Placer<'_>, caps: &Caps, all: &[Outputs]) -> Result<Projection> {
    let parts = p.memory.parts();
    let (channels, outputs) = (all[0].weights[0].inputs, all.iter().map(|one| one.count() / parts).sum::<usize>());
    ensure!(all.iter().all(|one| one.count().is_multiple_of(parts)), "{outputs} outputs have no {parts} equal shares");
    let most = |one: &Outputs| {
        let columns = (0..one.count()).flat_map(|number| one.column(number));
        columns.fold(0.0, |most: f64, w| most.max(w.abs()))
    };
    let packing = Packing::of(&all.iter().map(most).collect::<Vec<_>>(), caps.group as usize);
    let (stride, of_groups) = (stride(channels), caps.exponent_bytes(channels.try_into()?) as usize);
    let (weights, exponents) = (p.take(outputs * stride)?, p.take(outputs * of_groups)?);
    let is_biased = all.iter().any(|one| !one.biases.is_empty());
    let biases = if is_biased { Some(Operand { stride: 0, ..p.rows(1, outputs)? }) } else { None };
    for part in 0..parts {
        let (mut at, mut exponent_bytes, mut bias_bytes) = (weights, Vec::new(), Vec::new());
        for one in all {
            let share = one.count() / parts;
            // Some columns at a time: whole matrices would be gigabytes.
            for first in (0..share).step_by(256) {
                let mut bytes = Vec::with_capacity(256 * stride);
                for number in first..share.min(first + 256) {
                    let [column, exponents] = packing.bytes(&one.column(part * share + number), caps.word as usize);
                    bytes.extend(&column);
                    bytes.resize(bytes.len().next_multiple_of(stride), 0);
                    exponent_bytes.extend(exponents);
                    bias_bytes
                        .extend(half(one.biases.get(part * share + number).copied().unwrap_or_default()).to_le_bytes());
                }
                p.memory.write_part(part, at, &bytes)?;
                at += bytes.len() as u64;
            }
        }
        p.memory.write_part(part, exponents, &exponent_bytes)?;
        if let Some(biases) = biases {
            p.memory.write_part(part, biases.address, &bias_bytes)?;
        }
    }
    let weights = Operand { address: weights, stride: stride.try_into()? };
    let (channels, columns) = (channels.try_into()?, outputs.try_into()?);
    Ok(Projection { columns: Columns { weights, exponents, channels, columns, shift: shift(&packing)? }, biases })
}
