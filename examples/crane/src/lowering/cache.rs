//! Keys and values of a head: columns of INT4 that the host packs.

use lower::exact::{Exact, part};
use lower::layer::{Heads, Layer};
use lower::learn::layer_by_layer;
use lower::pass::{Rows, Shares};
use lower::whole::{Executor, Got, HEAD_UNIT, Placer, Policy, Stored, rows_from};
use models::calibration::{Arrays, Kind, Source, Wanted};
use models::decoder::Config;
use senbazuru::anyhow::{Result, ensure};
use senbazuru_host::vector::Operand;

use super::placed::{Columns, shift, stride};
use crate::host::Caps;
use crate::packing::Packing;
use crate::scheme::levels;

/// The largest magnitudes in a text: of keys, for each pair of elements of each head, and of the values of each head.
pub struct Largest {
    pub keys: Vec<f32>,
    pub values: Vec<f32>,
}

const KEYS: &str = "largest.keys";
const VALUES: &str = "largest.values";

/// So many times the largest number of a text still fits. Groups have an exponent each, so small ones keep their digits.
const MARGIN: f64 = 16.0;

impl Largest {
    pub fn wanted(config: &Config) -> Vec<Wanted> {
        let keys = [config.layers, config.kv_heads, config.head_width];
        vec![Wanted::new(KEYS, Kind::Float32, &keys), Wanted::new(VALUES, Kind::Float32, &keys[..2])]
    }

    pub fn learn(from: &Source<'_>, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        let learn = |layer: &Layer, texts: &[Rows]| -> Result<Arrays> {
            let (all, mut arrays) = (Exact::of_texts(layer, texts)?, Arrays::new());
            let Heads { keys: heads, width, own, .. } = layer.heads;
            let of_keys = |head| levels(part(&all.keys, head, width).iter().map(|row| &row[..own]), own);
            arrays.add(KEYS, &[heads, own], (0..heads).flat_map(of_keys).map(|x| x as f32))?;
            let most = |head| {
                let values = part(&all.values, head, width).into_iter().flatten();
                values.fold(0.0, |most: f64, x| most.max(x.abs())) as f32
            };
            arrays.add(VALUES, &[heads], (0..heads).map(most))?;
            Ok(arrays)
        };
        layer_by_layer(from, HEAD_UNIT, &learn, done)
    }

    /// The arrays of a layer.
    pub fn of(arrays: &Arrays) -> Result<Self> {
        let all = |name: &str, least: f32| -> Result<Vec<f32>> {
            let found = arrays.all::<f32>(name)?;
            let fits = found.iter().all(|x| (least..=65_504.0).contains(x));
            ensure!(fits, "array `{name}` has numbers that are not from {least} to 65504");
            Ok(found)
        };
        Ok(Self { keys: all(KEYS, f32::MIN_POSITIVE)?, values: all(VALUES, 0.0)? })
    }
}

/// Columns that grow with the tokens of a text.
#[derive(Clone, Debug)]
pub struct Grows {
    packing: Packing,
    /// Where they are, with as many channels and columns as there is room for.
    at: Columns,
    word: u32,
}

/// Keys and values of a layer, by key head and text.
#[derive(Clone, Debug)]
pub struct Cache(pub Vec<Vec<Head>>);

impl Cache {
    /// A head of a text.
    pub fn head(&self, head: usize, text: usize) -> &Head {
        &self.0[head][text]
    }

    /// Packs the keys and values of a pass.
    pub fn keep(&mut self, on: &mut dyn Executor, policy: Policy, rows: &Stored, shares: &Shares) -> Result<()> {
        for (head, texts) in self.0.iter_mut().enumerate() {
            for share in shares.all() {
                let token = |row| rows.read(on, row, head);
                let tokens = (share.row..share.row + share.rows).map(token).collect::<Result<Vec<_>>>()?;
                let first = if tokens.len() == 1 { texts[share.text].evict(on, policy)? } else { usize::MAX };
                texts[share.text].add(on, tokens, first)?;
            }
        }
        Ok(())
    }
}

/// A head of a text.
#[derive(Clone, Debug)]
pub struct Head {
    /// A column for each token.
    keys: Grows,
    /// A column for each element of a head, whose channels are tokens.
    values: Grows,
    /// Keys and values that it has, token by token: groups of tokens are packed anew when they grow.
    kept: Vec<[Vec<f64>; 2]>,
    /// Exponents of the groups of each element.
    exponents: Vec<Vec<u8>>,
    /// What the tokens got of all probabilities.
    pub got: Got,
}

impl Head {
    /// A head of so many elements, with room for so many tokens, and so many rows of queries at a time.
    pub fn new(
        (p, caps): (&mut Placer<'_>, &Caps),
        values: f32,
        (width, tokens, rows): (usize, usize, usize),
    ) -> Result<Self> {
        let mut grows = |most: f32, channels: usize, columns: usize| -> Result<Grows> {
            let packing = Packing::of(&[MARGIN * f64::from(most)], caps.group as usize);
            let at = Columns {
                weights: Operand { address: p.room(columns * stride(channels))?, stride: stride(channels).try_into()? },
                exponents: p.room(columns * caps.exponent_bytes(channels.try_into()?) as usize)?,
                channels: channels.try_into()?,
                columns: columns.try_into()?,
                shift: shift(&packing)?,
            };
            Ok(Grows { packing, at, word: caps.word })
        };
        // Keys are divided by the largest.
        let (keys, values) = (grows(1.0, width, tokens)?, grows(values, tokens, width)?);
        let got = Got { at: p.rows(rows, tokens)?, rows };
        Ok(Self { keys, values, kept: Vec::new(), exponents: vec![Vec::new(); width], got })
    }

    /// Tokens that it has.
    pub fn tokens(&self) -> usize {
        self.kept.len()
    }

    /// The keys, as columns.
    pub fn keys(&self) -> Columns {
        Columns { columns: self.kept.len() as u32, ..self.keys.at }
    }

    /// The values, whose channels are tokens.
    pub fn values(&self) -> Columns {
        Columns { channels: self.kept.len() as u32, ..self.values.at }
    }

    /// Makes room for a token. Returns the first token that is another one now.
    fn evict(&mut self, on: &mut dyn Executor, policy: Policy) -> Result<usize> {
        let leaving = self.got.leave(on, policy, self.kept.len())?;
        leaving.iter().rev().for_each(|&token| drop(self.kept.remove(token)));
        Ok(leaving.first().copied().unwrap_or(self.kept.len()))
    }

    /// Packs keys and values from a token on, and the next tokens.
    fn add(&mut self, on: &mut dyn Executor, tokens: Vec<[Vec<f64>; 2]>, first: usize) -> Result<()> {
        let (group, first) = (self.keys.packing.group, first.min(self.kept.len()));
        self.kept.extend(tokens);
        let Grows { packing, at, word } = &self.keys;
        for (number, [key, _]) in self.kept.iter().enumerate().skip(first) {
            let [weights, exponents] = packing.bytes(key, *word as usize);
            on.write(rows_from(at.weights, number).address, &weights)?;
            on.write(at.exponents + (number * exponents.len()) as u64, &exponents)?;
        }
        let Grows { packing, at, word } = &self.values;
        // From the first group that has changed: it begins at a byte.
        let from = first / group * group;
        let mut all = Vec::new();
        for (element, exponents) in self.exponents.iter_mut().enumerate() {
            let column: Vec<f64> = self.kept[from..].iter().map(|[_, value]| value[element]).collect();
            let [weights, _] = packing.bytes(&column, *word as usize);
            on.write(rows_from(at.weights, element).address + from as u64 / 2, &weights)?;
            exponents.truncate(from / group);
            exponents.extend(column.chunks(group).map(|values| packing.group(values).1 as u8));
            // Two in a byte, in whole words.
            let mut bytes = exponents.clone();
            bytes.resize(self.kept.len().div_ceil(*word as usize) * (*word as usize / group), 0);
            all.extend(bytes.chunks(2).map(|pair| pair[0] | pair[1] << 4));
        }
        on.write(at.exponents, &all)
    }
}
