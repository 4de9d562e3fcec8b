//! Layers, buffers and angles in memory.

use anyhow::Result;
use host::tender::Constants;
use models::decoder::arithmetic::{Norm, Projection as Name};
use models::decoder::calibration::{Extremes, Input};
use models::decoder::{Config, Family, Model, Weight};
use models::tender::learnt::{Learnt, Site};

use super::image::{Affine, Output, Packing, Placer, centred};
use super::{Buffers, Head, Layer, PROBABILITY, PackedQueries, Sizes, Steps};
use crate::layer::{Heads, Turns, padded, padded_bias, with_zeros};

/// A model, its calibration, and how wide its heads are.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub model: &'a Model,
    pub learnt: &'a Learnt,
    pub heads: Heads,
}

pub(super) fn affine(p: &mut Placer<'_>, model: &Model, layer: usize, norm: Norm) -> Result<Affine> {
    let gains = model.gain(layer, norm)?;
    let layer_norm = model.config().family == Family::Gpt;
    let row: Vec<f64> = match layer_norm {
        false => gains.iter().map(|&x| x.into()).collect(),
        true => {
            gains.iter().zip(model.shift(layer, norm)?).flat_map(|(&gain, &bias)| [gain.into(), bias.into()]).collect()
        }
    };
    Ok(Affine { at: p.floats(&[row])?.address, layer_norm })
}

/// Cosine and sine of each pair of neighbours, by position.
pub(super) fn angles(turns: &Turns, positions: usize) -> Vec<Vec<f64>> {
    (0..positions).map(|position| turns.angles(position)).collect()
}

/// Outputs of a weight with their biases.
pub(super) fn outputs<'a>(weight: &'a Weight, biases: &[f64]) -> Vec<Output<'a>> {
    let bias = |n: usize| biases.get(n).map_or(0.0, |&bias| bias as f32);
    weight.iter().enumerate().map(|(n, weights)| Output { weights, bias: bias(n) }).collect()
}

pub(super) fn layer_image(p: &mut Placer<'_>, of: Source<'_>, layer: usize, sizes: &Sizes) -> Result<Layer> {
    let Source { model, learnt, heads } = of;
    let config = model.config();
    let packing = |p: &mut Placer<'_>, extremes: &Extremes| p.packing(extremes, &vec![1.0; extremes[0].len()]);
    let input = |input| learnt.at(layer, Site::Input(input));
    let attention = packing(p, input(Input::Attention)?)?;
    let attention_out = packing(p, &by_head(input(Input::AttentionOut)?, heads))?;
    let feed_forward = packing(p, input(Input::FeedForward)?)?;
    let down = packing(p, input(Input::Down)?)?;
    let mut projection = |groups: &[&[Name]], packing: &Packing| {
        let wide = |name: &Name| -> Result<(Weight, Vec<f64>)> {
            let biases = model.bias(layer, *name).map(|bias| padded_bias(bias, *name, heads)).unwrap_or_default();
            Ok((padded(model.weight(layer, *name)?, *name, heads), biases))
        };
        let groups: Vec<Vec<_>> =
            groups.iter().map(|names| names.iter().map(wide).collect::<Result<_>>()).collect::<Result<_>>()?;
        let groups = groups.iter().map(|group| group.iter().flat_map(|(w, biases)| outputs(w, biases)).collect());
        p.projection(&groups.collect::<Vec<_>>(), packing)
    };
    let qkv = projection(&[&[Name::Q, Name::K, Name::V]], &attention)?;
    let o = projection(&[&[Name::O]], &attention_out)?;
    let into: &[&[Name]] = match config.family {
        // A share of the gate's outputs is multiplied by the same share of up.
        Family::Llama => &[&[Name::Gate], &[Name::Up]],
        Family::Gpt => &[&[Name::Up]],
    };
    let into = projection(into, &feed_forward)?;
    let back = projection(&[&[Name::Down]], &down)?;
    let mut stored = [Vec::new(), Vec::new()];
    let all = (0..heads.keys).map(|number| {
        let wide = |site| -> Result<Extremes> { Ok(by_head(learnt.at(layer, site)?, heads)) };
        let (keys, values) = (wide(Site::Keys(number))?, wide(Site::Values(number))?);
        let ((key_middles, key_scales), (middles, scales)) = (centred(&keys), centred(&values));
        let constant = |(middle, scale): (&f64, &f64)| Constants {
            scale: 1.0,
            bias: -middle as f32,
            quantizer: (1.0 / scale) as f32,
        };
        stored[0].extend(key_middles.iter().zip(&key_scales).map(constant));
        stored[1].extend(middles.iter().zip(&scales).map(constant));
        head_image(p, (&wide(Site::Queries(number))?, &key_scales), (&middles, &scales), (heads, sizes))
    });
    let all = all.collect::<Result<_>>()?;
    Ok(Layer {
        norms: [affine(p, model, layer, Norm::Attention)?, affine(p, model, layer, Norm::FeedForward)?],
        attention: attention.constants,
        attention_out: attention_out.constants,
        feed_forward: feed_forward.constants,
        down: down.constants,
        qkv,
        o,
        into,
        back,
        stored: p.constants(&stored.concat())?,
        heads: all,
    })
}

/// Extremes of heads, side by side, that are as wide as rows have them: nothing but 0 is in the other elements.
fn by_head(extremes: &Extremes, heads: Heads) -> Extremes {
    extremes.each_ref().map(|row| row.chunks(heads.own).flat_map(|head| with_zeros(head, heads.width)).collect())
}

/// Queries have no bias. A number that is subtracted from a channel of all keys changes all scores of a query by the
/// same amount, and does not change softmax. So nothing is added back. The scale of a key's channel is a factor of the
/// queries. Biases of values are added back, because probabilities sum to 1.
fn head_image(
    p: &mut Placer<'_>,
    ([low, high], key_scales): (&[Vec<f64>; 2], &[f64]),
    (middles, scales): (&[f64], &[f64]),
    (heads, sizes): (Heads, &Sizes),
) -> Result<Head> {
    let most: Vec<f64> = low.iter().zip(high).zip(key_scales).map(|((a, b), s)| a.abs().max(b.abs()) * s).collect();
    let least = most.iter().map(|x| -x).collect();
    let packing = p.packing(&[least, most], key_scales)?;
    let last = packing.calibration.scales[packing.calibration.scales.len() - 1];
    let one = Constants { scale: (last * heads.scale()) as f32, ..Constants::default() };
    let value = |(middle, scale): (&f64, &f64)| Constants {
        scale: (scale / PROBABILITY) as f32,
        bias: *middle as f32,
        quantizer: 1.0,
    };
    let queries = PackedQueries {
        constants: packing.constants,
        table: packing.table,
        scores: p.constants(&vec![one; heads.shared().max(sizes.rows)])?,
    };
    let texts = 0..sizes.room.texts;
    Ok(Head {
        queries,
        keys: texts.clone().map(|_| p.right(sizes.room.tokens, heads.width)).collect::<Result<_>>()?,
        values: texts.map(|_| p.right(heads.width, sizes.room.tokens)).collect::<Result<_>>()?,
        value_constants: p.constants(&middles.iter().zip(scales).map(value).collect::<Vec<_>>())?,
    })
}

pub(super) fn buffers(p: &mut Placer<'_>, c: &Config, heads: Heads, sizes: &Sizes) -> Result<Buffers> {
    let (rows, context) = (sizes.rows, sizes.room.tokens);
    let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
    // Queries of a head for some tokens, or of heads that share keys for one token.
    let lines = heads.shared().max(rows);
    let parts = p.memory.parts();
    let longest = c.vocabulary.max(c.ffn_width).max(queries + 2 * stored).max(c.width);
    Ok(Buffers {
        x: p.rows(rows, c.width)?,
        hidden: p.rows(rows, c.width)?,
        normed: p.rows(rows, c.width)?,
        qkv: p.rows(rows, queries + 2 * stored)?,
        turned: p.rows(rows, queries + 2 * stored)?,
        scores: p.rows(heads.queries.max(rows), context)?,
        probabilities: p.rows(heads.queries.max(rows), context)?,
        attention: p.rows(rows, queries)?,
        added: p.rows(rows, c.width)?,
        into: p.rows(rows, 2 * c.ffn_width)?,
        gated: p.rows(rows, c.ffn_width)?,
        logits: p.rows(sizes.room.texts, c.vocabulary)?,
        left: p.left(rows, queries.max(c.width).max(c.ffn_width))?,
        stored: p.left(rows, 2 * stored)?,
        queries: p.left(lines, heads.width)?,
        weights: p.left(lines, context)?,
        job: p.room(Steps::most())?,
        share: p.rows(rows.max(sizes.room.texts), if parts > 1 { longest / parts } else { 1 })?,
    })
}
