//! Matrices and packed rows in memory.

use anyhow::{Error, Result};
use golden::tender::calibration::Calibration;
use host::tender::{Caps, Constants, Table};
use models::decoder::Model;
use models::decoder::calibration::Input;
use models::tender::groups::{self, Centred, Groups};

use super::image::{Packing, Placer};
use super::placed::{Cache, Head, HeadBuffers, PROBABILITY, PackedQueries, Weights};
use super::products::OfTender;
use crate::layer::{Heads, with_zeros};
use crate::whole::{self, Images, Matrices, Outputs, Shape, Sizes};

/// Groups of a model's channels, and the accelerator that they go to.
pub(super) struct ByGroups<'a> {
    pub groups: &'a Groups,
    pub caps: &'a Caps,
    pub overlaps: bool,
}

impl Images<OfTender> for ByGroups<'_> {
    fn products(&mut self, base: &mut whole::Placer<'_>, shape: &Shape) -> Result<OfTender> {
        let mut p = Placer { caps: *self.caps, base };
        let Shape { config, heads, sizes, parts } = shape;
        let (rows, tokens) = (sizes.rows, sizes.room.tokens);
        let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
        // Queries of a head for some tokens, or of heads that share keys for one token.
        let lines = heads.shared().max(rows);
        let mut head = || -> Result<HeadBuffers> {
            Ok(HeadBuffers { queries: p.left(lines, heads.width)?, weights: p.left(lines, tokens)? })
        };
        let first = head()?;
        let turns = [first, if self.overlaps { head()? } else { first }];
        let probability = Constants { quantizer: PROBABILITY as f32, ..Constants::default() };
        Ok(OfTender {
            caps: *self.caps,
            overlaps: self.overlaps,
            parts: *parts,
            left: p.left(rows, queries.max(config.width).max(config.ffn_width))?,
            stored: p.left(rows, 2 * stored)?,
            probabilities: p.constants(&vec![probability; tokens])?,
            positions: p.base.store(&Table::of_passes(&[(0..tokens).collect()])?.bytes())?,
            turns,
        })
    }

    fn layer(
        &mut self,
        base: &mut whole::Placer<'_>,
        (model, number): (&Model, usize),
        shape: &Shape,
    ) -> Result<Matrices<OfTender>> {
        layer_image(&mut Placer { caps: *self.caps, base }, self.groups, (model, number), shape)
    }

    fn output(&mut self, base: &mut whole::Placer<'_>, model: &Model, shape: &Shape) -> Result<Weights> {
        let (mut p, config) = (Placer { caps: *self.caps, base }, &shape.config);
        let packing = p.packing(self.groups.output().clone(), &vec![1.0; config.width])?;
        let logits = Outputs::of_logits(model, shape.heads)?;
        Ok(Weights { projection: p.projection(&logits, &packing)?, packing: packing.constants })
    }
}

fn layer_image(
    p: &mut Placer<'_, '_>,
    groups: &Groups,
    (model, layer): (&Model, usize),
    Shape { heads, sizes, .. }: &Shape,
) -> Result<Matrices<OfTender>> {
    let heads = *heads;
    let packing = |p: &mut Placer<'_, '_>, calibration: Calibration| {
        let factors = vec![1.0; calibration.bias.len()];
        p.packing(calibration, &factors)
    };
    // A text has no more rows than the first chunk.
    let input = |input| groups.input(layer, input, 0).cloned();
    let attention = packing(p, input(Input::Attention)?)?;
    let attention_out = packing(p, by_head(&input(Input::AttentionOut)?, heads)?)?;
    let feed_forward = packing(p, input(Input::FeedForward)?)?;
    let down = packing(p, input(Input::Down)?)?;
    let [qkv, o, into, back] = Outputs::of_layer(model, layer, heads)?;
    let (qkv, o) = (p.projection(&qkv, &attention)?, p.projection(&o, &attention_out)?);
    let (into, back) = (p.projection(&into, &feed_forward)?, p.projection(&back, &down)?);
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
    let of = |packing: Packing, projection| Weights { packing: packing.constants, projection };
    Ok(Matrices {
        qkv: of(attention, qkv),
        o: of(attention_out, o),
        into: of(feed_forward, into),
        back: of(down, back),
        cache: Cache { width: heads.width, packing: p.constants(&stored.concat())?, heads: all },
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
    p: &mut Placer<'_, '_>,
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
