//! Weights in memory, as columns of INT4.

use lower::layer::Heads;
use lower::whole::{Images, Matrices, Output, Outputs, Placer, Shape, half};
use models::calibration::Arrays;
use models::decoder::Model;
use models::decoder::arithmetic::Projection as Name;
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
        Shape { heads, sizes, .. }: &Shape,
    ) -> Result<Matrices<Lowering>> {
        let (caps, Largest { keys, values }) = (&self.on.caps, Largest::of(&self.arrays.layer(number)?)?);
        let fits = keys.len() == heads.keys * heads.own && values.len() == heads.keys;
        ensure!(fits, "arrays of {} keys and {} values", keys.len(), values.len());
        let factor = |output: &Output<'_>| factor(output, (*heads, &keys));
        let mut place = |outputs: &Outputs<'_>| projection(p, caps, outputs, &factor);
        let [qkv, o, into, back] = Outputs::of_layer(model, number, *heads)?;
        let (qkv, o, into, back) = (place(&qkv)?, place(&o)?, place(&into)?, place(&back)?);
        let rows = heads.shared().max(sizes.rows);
        let head = |most| {
            let text = |_| Head::new((p, caps), most, (heads.width, sizes.room.tokens, rows));
            (0..sizes.room.texts).map(text).collect::<Result<_>>()
        };
        let cache = values.into_iter().map(head).collect::<Result<_>>()?;
        Ok(Matrices { qkv, o, into, back, cache: Cache(cache) })
    }

    fn output(&mut self, p: &mut Placer<'_>, model: &Model, shape: &Shape) -> Result<Projection> {
        projection(p, &self.on.caps, &Outputs::of_logits(model, shape.heads)?, &|_| 1.0)
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

/// The factor of an output: keys are divided by the largest of each pair of elements, and queries are multiplied by it.
/// Scores come with the factor of softmax.
fn factor(output: &Output<'_>, (heads, keys): (Heads, &[f32])) -> f64 {
    let level = |head: usize| match output.number % heads.width {
        element if element < heads.own => f64::from(keys[head * heads.own + element]),
        _ => 1.0,
    };
    let head = output.number / heads.width;
    match output.name {
        Name::Q => heads.scale() * level(head / heads.shared()),
        Name::K => 1.0 / level(head),
        _ => 1.0,
    }
}

/// Weights that share an input, side by side, each output times its factor. Accelerators side by side have their shares at
/// the same place.
fn projection(
    p: &mut Placer<'_>,
    caps: &Caps,
    of: &Outputs<'_>,
    factor: &dyn Fn(&Output<'_>) -> f64,
) -> Result<Projection> {
    let (parts, channels) = (p.memory.parts(), of.inputs());
    let (outputs, stride) = (of.share(0, parts)?.len(), stride(channels));
    let of_groups = caps.exponent_bytes(channels.try_into()?) as usize;
    let column = |output: &Output<'_>| -> Vec<f64> {
        output.weight.output(output.number).into_iter().map(|w| factor(output) * f64::from(w)).collect()
    };
    let most = of.share(0, 1)?.iter().flat_map(&column).fold(0.0, |most: f64, w| most.max(w.abs()));
    let packing = Packing::of(&[most], caps.group as usize);
    let (weights, exponents) = (p.take(outputs * stride)?, p.take(outputs * of_groups)?);
    let biases = if of.is_biased() { Some(Operand { stride: 0, ..p.rows(1, outputs)? }) } else { None };
    for part in 0..parts {
        let (mut at, mut exponent_bytes, mut bias_bytes) = (weights, Vec::new(), Vec::new());
        // Some columns at a time: whole matrices would be gigabytes.
        for outputs in of.share(part, parts)?.chunks(256) {
            let mut bytes = Vec::with_capacity(256 * stride);
            for output in outputs {
                let [column, exponents] = packing.bytes(&column(output), caps.word as usize);
                bytes.extend(&column);
                bytes.resize(bytes.len().next_multiple_of(stride), 0);
                exponent_bytes.extend(exponents);
                bias_bytes.extend(half(factor(output) * output.bias).to_le_bytes());
            }
            p.memory.write_part(part, at, &bytes)?;
            at += bytes.len() as u64;
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
