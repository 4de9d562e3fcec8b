//! Layers, buffers and angles in memory.

use anyhow::Result;
use host::tender::Constants;

use super::image::{Packing, Placer, centred};
use super::learnt::{Learnt, Site};
use super::{Buffers, Head, Layer, PROBABILITY, PackedQueries, Steps};
use crate::decoder::Config;
use crate::decoder::arithmetic::{Norm, Projection as Name};
use crate::decoder::calibration::Input;
use crate::decoder::{Matrix, Model, Weight, arithmetic};

pub(super) fn gain(p: &mut Placer<'_>, model: &Model, layer: usize, norm: Norm) -> Result<u64> {
    let gains = model.gain(layer, norm)?.iter().map(|&x| x.into()).collect();
    Ok(p.floats(&[gains])?.address)
}

/// Cosine and sine of each pair of neighbours, by position.
pub(super) fn angles(model: &Model, positions: usize) -> Vec<Vec<f64>> {
    // The rotation of (1, 0) gives them.
    let mut turned = Matrix::zeros(positions, model.config().head_width);
    turned.iter_mut().for_each(|row| row.iter_mut().step_by(2).for_each(|x| *x = 1.0));
    arithmetic::rotate(&mut turned, model.rotation(0));
    turned.iter().map(<[f64]>::to_vec).collect()
}

pub(super) fn layer_image(
    p: &mut Placer<'_>,
    (model, learnt): (&Model, &Learnt),
    layer: usize,
    context: usize,
) -> Result<Layer> {
    let config = model.config();
    let packing = |p: &mut Placer<'_>, input: Input, channels: usize| {
        p.packing(learnt.at(layer, Site::Input(input))?, &vec![1.0; channels])
    };
    let attention = packing(p, Input::Attention, config.width)?;
    let attention_out = packing(p, Input::AttentionOut, config.width)?;
    let feed_forward = packing(p, Input::FeedForward, config.width)?;
    let down = packing(p, Input::Down, config.ffn_width)?;
    let mut projection = |groups: &[&[Name]], packing: &Packing| {
        let outputs = |names: &&[Name]| -> Result<Vec<&[f32]>> {
            let weights = names.iter().map(|&name| model.weight(layer, name)).collect::<Result<Vec<_>>>()?;
            Ok(weights.into_iter().flat_map(Weight::iter).collect())
        };
        p.projection(&groups.iter().map(outputs).collect::<Result<Vec<_>>>()?, packing)
    };
    let qkv = projection(&[&[Name::Q, Name::K, Name::V]], &attention)?;
    let o = projection(&[&[Name::O]], &attention_out)?;
    // A share of the gate's outputs is multiplied by the same share of up.
    let gate_up = projection(&[&[Name::Gate], &[Name::Up]], &feed_forward)?;
    let back = projection(&[&[Name::Down]], &down)?;
    let mut stored = [Vec::new(), Vec::new()];
    let heads = (0..config.kv_heads).map(|number| {
        let (keys, values) = (learnt.at(layer, Site::Keys(number))?, learnt.at(layer, Site::Values(number))?);
        let ((key_middles, key_scales), (middles, scales)) = (centred(keys), centred(values));
        let constant = |(middle, scale): (&f64, &f64)| Constants {
            scale: 1.0,
            bias: -middle as f32,
            quantizer: (1.0 / scale) as f32,
        };
        stored[0].extend(key_middles.iter().zip(&key_scales).map(constant));
        stored[1].extend(middles.iter().zip(&scales).map(constant));
        head_image(p, (learnt.at(layer, Site::Queries(number))?, &key_scales), (&middles, &scales), (config, context))
    });
    let heads = heads.collect::<Result<_>>()?;
    Ok(Layer {
        gains: [gain(p, model, layer, Norm::Attention)?, gain(p, model, layer, Norm::FeedForward)?],
        attention: attention.constants,
        attention_out: attention_out.constants,
        feed_forward: feed_forward.constants,
        down: down.constants,
        qkv,
        o,
        gate_up,
        back,
        stored: p.constants(&stored.concat())?,
        heads,
    })
}

/// Queries have no bias. A number that is subtracted from a channel of all keys changes all scores of a query by the
/// same amount, and does not change softmax. So nothing is added back. The scale of a key's channel is a factor of the
/// queries. Biases of values are added back, because probabilities sum to 1.
fn head_image(
    p: &mut Placer<'_>,
    ([low, high], key_scales): (&[Vec<f64>; 2], &[f64]),
    (middles, scales): (&[f64], &[f64]),
    (config, context): (&Config, usize),
) -> Result<Head> {
    let most: Vec<f64> = low.iter().zip(high).zip(key_scales).map(|((a, b), s)| a.abs().max(b.abs()) * s).collect();
    let least = most.iter().map(|x| -x).collect();
    let packing = p.packing(&[least, most], key_scales)?;
    let last = packing.calibration.scales[packing.calibration.scales.len() - 1];
    let factor = last / (config.head_width as f64).sqrt();
    let one = Constants { scale: factor as f32, ..Constants::default() };
    let value = |(middle, scale): (&f64, &f64)| Constants {
        scale: (scale / PROBABILITY) as f32,
        bias: *middle as f32,
        quantizer: 1.0,
    };
    let queries = PackedQueries {
        constants: packing.constants,
        table: packing.table,
        scores: p.constants(&vec![one; config.heads / config.kv_heads])?,
    };
    Ok(Head {
        queries,
        keys: p.right(context, config.head_width)?,
        values: p.right(config.head_width, context)?,
        value_constants: p.constants(&middles.iter().zip(scales).map(value).collect::<Vec<_>>())?,
    })
}

pub(super) fn buffers(p: &mut Placer<'_>, c: &Config, context: usize) -> Result<Buffers> {
    let shared = c.heads / c.kv_heads;
    let (width, stored) = (c.width, c.kv_heads * c.head_width);
    let parts = p.memory.parts();
    let longest = c.vocabulary.max(c.ffn_width).max(width + 2 * stored);
    Ok(Buffers {
        x: p.rows(1, width)?,
        hidden: p.rows(1, width)?,
        normed: p.rows(1, width)?,
        qkv: p.rows(1, width + 2 * stored)?,
        turned: p.rows(1, width + 2 * stored)?,
        scores: p.rows(c.heads, context)?,
        probabilities: p.rows(c.heads, context)?,
        attention: p.rows(1, width)?,
        added: p.rows(1, width)?,
        gate_up: p.rows(1, 2 * c.ffn_width)?,
        gated: p.rows(1, c.ffn_width)?,
        logits: p.rows(1, c.vocabulary)?,
        left: p.left(1, width.max(c.ffn_width))?,
        stored: p.left(1, 2 * stored)?,
        queries: p.left(shared, c.head_width)?,
        weights: p.left(shared, context)?,
        job: p.room(Steps::most())?,
        share: p.rows(1, if parts > 1 { longest / parts } else { 1 })?,
    })
}
