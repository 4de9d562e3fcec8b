//! Layers, buffers and angles in memory.

use anyhow::{Error, Result};
use golden::tender::calibration::Calibration;
use host::tender::Constants;
use models::decoder::arithmetic::{Norm, Projection as Name};
use models::decoder::calibration::Input;
use models::decoder::{Config, Family, Model, Weight};
use models::tender::groups::{self, Centred, Groups};

use super::chain::Steps;
use super::image::{Affine, Output, Packing, Placer};
use super::placed::{Buffers, Head, HeadBuffers, Layer, PROBABILITY, PackedQueries};
use crate::layer::{Heads, Turns, padded, padded_bias, with_zeros};
use crate::whole::Sizes;

/// A model, its calibration, and how wide its heads are.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub model: &'a Model,
    pub groups: &'a Groups,
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
    (0..weight.outputs).map(|number| Output { weight, number, bias: bias(number) }).collect()
}

pub(super) fn layer_image(p: &mut Placer<'_>, of: Source<'_>, layer: usize, sizes: &Sizes) -> Result<Layer> {
    let Source { model, groups, heads } = of;
    let config = model.config();
    let packing = |p: &mut Placer<'_>, calibration: Calibration| {
        let factors = vec![1.0; calibration.bias.len()];
        p.packing(calibration, &factors)
    };
    // A text has no more rows than the first chunk.
    let input = |input| groups.input(layer, input, 0).cloned();
    let attention = packing(p, input(Input::Attention)?)?;
    let attention_out = packing(p, by_head(&input(Input::AttentionOut)?, heads)?)?;
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
        let groups::Head { queries, keys, values } = groups.head(layer, number)?;
        let (keys, values) = (centred(keys, heads), centred(values, heads));
        let constant = |(middle, unit): (&f64, &f64)| Constants {
            scale: 1.0,
            bias: -middle as f32,
            quantizer: (1.0 / unit) as f32,
        };
        stored[0].extend(keys.middles.iter().zip(&keys.units).map(constant));
        stored[1].extend(values.middles.iter().zip(&values.units).map(constant));
        head_image(p, (by_head(queries, heads)?, &keys.units), &values, (heads, sizes))
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

/// The calibration of heads, side by side, that are as wide as rows have them: nothing but 0 is in the other elements.
fn by_head(of: &Calibration, heads: Heads) -> Result<Calibration> {
    if heads.width == heads.own {
        return Ok(of.clone());
    }
    // Zeros are in the group of the smallest numbers.
    let last = of.scheme().groups() - 1;
    let zeros = heads.width - heads.own;
    let bias = of.bias.chunks(heads.own).flat_map(|head| with_zeros(head, heads.width)).collect();
    let wide = |head: &[usize]| head.iter().copied().chain(vec![last; zeros]).collect::<Vec<_>>();
    let group = of.group.chunks(heads.own).flat_map(wide).collect();
    Calibration::of_parts(of.scheme(), bias, group, of.largest()).map_err(Error::msg)
}

/// The same for channels without groups.
fn centred(of: &Centred, heads: Heads) -> Centred {
    let mut units = of.units.clone();
    units.resize(heads.width, 1.0);
    Centred { middles: with_zeros(&of.middles, heads.width), units }
}

/// Queries have no bias. A number that is subtracted from a channel of all keys changes all scores of a query by the
/// same amount, and does not change softmax. So nothing is added back. The unit of a key's channel is a factor of the
/// queries. Biases of values are added back, because probabilities sum to 1.
fn head_image(
    p: &mut Placer<'_>,
    (queries, key_units): (Calibration, &[f64]),
    Centred { middles, units }: &Centred,
    (heads, sizes): (Heads, &Sizes),
) -> Result<Head> {
    let packing = p.packing(queries, key_units)?;
    let last = packing.calibration.scales[packing.calibration.scales.len() - 1];
    let one = Constants { scale: (last * heads.scale()) as f32, ..Constants::default() };
    let value = |(middle, unit): (&f64, &f64)| Constants {
        scale: (unit / PROBABILITY) as f32,
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
        value_constants: p.constants(&middles.iter().zip(units).map(value).collect::<Vec<_>>())?,
    })
}

/// Two heads have the same buffers where operations follow each other.
pub(super) fn buffers(
    p: &mut Placer<'_>,
    (c, heads): (&Config, Heads),
    sizes: &Sizes,
    overlaps: bool,
) -> Result<Buffers> {
    let (rows, context) = (sizes.rows, sizes.room.tokens);
    let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
    // Queries of a head for some tokens, or of heads that share keys for one token.
    let lines = heads.shared().max(rows);
    let parts = p.memory.parts();
    let mut head = || -> Result<HeadBuffers> {
        Ok(HeadBuffers {
            queries: p.left(lines, heads.width)?,
            scores: p.rows(heads.queries.max(rows), context)?,
            probabilities: p.rows(heads.queries.max(rows), context)?,
            weights: p.left(lines, context)?,
        })
    };
    let first = head()?;
    let turns = [first, if overlaps { head()? } else { first }];
    let longest = c.vocabulary.max(c.ffn_width).max(queries + 2 * stored).max(c.width);
    Ok(Buffers {
        x: p.rows(rows, c.width)?,
        hidden: p.rows(rows, c.width)?,
        normed: p.rows(rows, c.width)?,
        qkv: p.rows(rows, queries + 2 * stored)?,
        turned: p.rows(rows, queries + 2 * stored)?,
        attention: p.rows(rows, queries)?,
        added: p.rows(rows, c.width)?,
        into: p.rows(rows, 2 * c.ffn_width)?,
        gated: p.rows(rows, c.ffn_width)?,
        logits: p.rows(sizes.room.texts, c.vocabulary)?,
        left: p.left(rows, queries.max(c.width).max(c.ffn_width))?,
        stored: p.left(rows, 2 * stored)?,
        turns,
        job: p.room(Steps::most())?,
        share: p.rows(rows.max(sizes.room.texts), if parts > 1 { longest / parts } else { 1 })?,
    })
}
