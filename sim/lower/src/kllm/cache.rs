//! Cached keys and values of a head: panels that the accelerator fills itself, a token of each at a time.

use anyhow::ensure;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::quantize::QuantizedWeights;
use half::f16;
use host::kllm::{AppendJob, Bits, Codebook, Panels, Tokens};
use host::vector::Operand;

use super::builder::{Builder, Matrix, columns_of, fp16, halves, train};
use crate::chain::{Floats, Job};

/// Names of a job's results for a cache: tokens that were put into it, and their panels, constants and scales.
const TOKENS: [&str; 2] = ["tokens of keys", "tokens of values"];
const PANELS: [&str; 4] = ["cached keys", "constants of keys", "cached values", "scales of values"];
/// An index that stands where no token is yet.
const NONE: u16 = 10;

/// Codebooks and scales for keys and values. All are fixed before the first token comes.
#[derive(Clone, Debug)]
pub struct Codebooks {
    /// Of queries and keys.
    pub scores: Codebook,
    keys: GoldenCodebook,
    values: GoldenCodebook,
    /// The factor of the scales of keys, besides powers of two: the factor of scores.
    times: f32,
    /// The worth of an integer of a probability times the scale of its value: the largest of `like` becomes 127.
    pub unit: f16,
}

/// Panels of the keys and values of a head, with room for so many tokens.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Codebooks and scales.
    pub codebooks: Codebooks,
    keys: Operand,
    constants: u64,
    values: Operand,
    scales: u64,
    width: usize,
    room: usize,
    filled: usize,
}

/// Codebooks of a head, and the worth of an integer of a probability times the scale of its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfHead {
    pub queries: GoldenCodebook,
    pub keys: GoldenCodebook,
    pub values: GoldenCodebook,
    pub unit: f16,
}

impl OfHead {
    /// For queries with this codebook, and for such keys and values.
    pub fn like(queries: GoldenCodebook, like: [&[Vec<f64>]; 2]) -> anyhow::Result<Self> {
        let [keys, values] = [train(Bits::Four, like[0], 0)?, train(Bits::Four, like[1], 0)?];
        let most = like[1].iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        Ok(Self { queries, keys, values, unit: golden::kllm::fp16::half(most / 127.0) })
    }
}

impl Codebooks {
    /// For queries with this codebook, trained on keys and values that are `like` the later ones. Keys and values are
    /// weights to the lanes: they have 4 bits, and no outliers. Scores have a factor.
    ///
    /// # Errors
    /// There are no such numbers, or one is not finite.
    pub fn new(
        queries: &GoldenCodebook,
        like: [&[Vec<f64>]; 2],
        (scale, centroid_bits): (f64, u32),
    ) -> anyhow::Result<Self> {
        Self::of_head(&OfHead::like(queries.clone(), like)?, (scale, centroid_bits))
    }

    /// The same with codebooks from elsewhere.
    pub(super) fn of_head(of: &OfHead, (scale, centroid_bits): (f64, u32)) -> anyhow::Result<Self> {
        let OfHead { queries, keys, values, unit } = of;
        let scores = Codebook::new(&halves(queries), &halves(keys), centroid_bits)?;
        Ok(Self { scores, keys: keys.clone(), values: values.clone(), times: scale as f32, unit: *unit })
    }

    /// Constants of keys with these scales.
    fn constants(&self, scales: &[f16]) -> anyhow::Result<Vec<u8>> {
        let times = |scale: &f16| f16::from_f32(scale.to_f32() * self.times);
        Ok(self.scores.constants(&scales.iter().map(times).collect::<Vec<_>>())?)
    }
}

fn bytes_of(indices: &[Vec<u16>]) -> Vec<u8> {
    indices.iter().flatten().map(|&index| index as u8).collect()
}

impl Cache {
    /// A cache with room for so many tokens. A host has put the first ones there: rotated `keys`, and `values`.
    ///
    /// # Errors
    /// More keys than values, or than there is room for; the memory has no room.
    pub fn new(
        b: &mut Builder<'_>,
        codebooks: Codebooks,
        [keys, values]: [&[Vec<f64>]; 2],
        (width, room): (usize, usize),
    ) -> anyhow::Result<Self> {
        let filled = keys.len();
        ensure!(values.len() == filled && filled <= room, "{filled} keys, {} values, room for {room}", values.len());
        let quantized = |rows: &[Vec<f64>], codebook: &GoldenCodebook| -> anyhow::Result<_> {
            let mut of = QuantizedWeights::new(&fp16(rows), codebook)?;
            of.columns.resize(room, vec![NONE; width]);
            Ok((of.columns, of.scales.iter().map(|&scale| f16::from_bits(scale as u16)).collect::<Vec<_>>()))
        };
        let (key_indices, key_scales) = quantized(keys, &codebooks.keys)?;
        let (value_indices, value_scales) = quantized(values, &codebooks.values)?;
        let (k_panels, v_panels) = (Panels::new(b.caps, room, width)?, Panels::new(b.caps, width, room)?);
        let constants = codebooks.constants(&key_scales)?;
        let scales: Vec<u8> = value_scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        // No number that a token leaves there by chance, as far as the last line.
        let rest = |mut bytes: Vec<u8>, each: usize| {
            bytes.resize((each * room).next_multiple_of(64), 0xa5);
            bytes
        };
        let of_keys = b.b.changed(PANELS[0], k_panels.pack(&bytes_of(&key_indices))?)?;
        let constants = b.b.changed(PANELS[1], rest(constants, 8))?;
        let of_values = b.b.changed(PANELS[2], v_panels.pack(&bytes_of(&columns_of(&value_indices)))?)?;
        let scales = b.b.changed(PANELS[3], rest(scales, 2))?;
        Ok(Self {
            codebooks,
            keys: Operand { address: of_keys, stride: k_panels.stride() as u32 },
            constants,
            values: Operand { address: of_values, stride: v_panels.stride() as u32 },
            scales,
            width,
            room,
            filled,
        })
    }

    /// Adds rotated keys and values after the cached tokens: all become tokens, and then each goes to its place.
    ///
    /// # Errors
    /// More keys than values, or than there is room for; the memory has no room.
    pub fn append(&mut self, b: &mut Builder<'_>, keys: &Floats, values: &Floats) -> anyhow::Result<()> {
        let (count, room) = (keys.rows, self.room - self.filled);
        ensure!(count <= room && values.rows == count, "{count} keys and {} values, room for {room}", values.rows);
        let books = self.codebooks.clone();
        let of_keys = b.quantize_with(TOKENS[0], keys, (Bits::Four, 0), books.keys)?.at;
        let of_values = b.quantize_with(TOKENS[1], values, (Bits::Four, 0), books.values)?.at;
        let factors = books.scores.factors(books.times);
        for token in 0..count {
            let at = |rows: Operand| rows.address + token as u64 * u64::from(rows.stride);
            let size = (self.filled, self.width as u32);
            let key = AppendJob::channel(size, at(of_keys), self.keys, self.constants, factors);
            let value = AppendJob::position(size, at(of_values), self.values, self.scales);
            for descriptor in [key.build(b.caps, &b.b.window)?, value.build(b.caps, &b.b.window)?] {
                b.b.then(descriptor)?;
            }
            self.filled += 1;
        }
        Ok(())
    }

    /// Tokens that are there.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.filled
    }

    /// Keys of the tokens that are there, and their constants.
    #[must_use]
    pub fn keys(&self) -> (Matrix, u64) {
        let codebook = self.codebooks.keys.clone();
        (Matrix { panels: self.keys, channels: self.filled, inner: self.width, codebook }, self.constants)
    }

    /// Values of the tokens that are there, and their scales: the row stands for each query.
    #[must_use]
    pub fn values(&self) -> (Matrix, Operand) {
        let codebook = self.codebooks.values.clone();
        let scales = Operand { address: self.scales, stride: 0 };
        (Matrix { panels: self.values, channels: self.width, inner: self.filled, codebook }, scales)
    }

    /// The bytes that a host makes of all tokens of a job that found this cache empty: name, and bytes up to the last
    /// token.
    ///
    /// # Errors
    /// The job has no such results.
    pub fn by_host(&self, b: &Builder<'_>, job: &Job) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
        let layout = Tokens::new(self.room, self.width, 0)?;
        let [keys, values] = [layout.unpack(job.results(TOKENS[0])?)?, layout.unpack(job.results(TOKENS[1])?)?];
        let scales = |tokens: &[host::kllm::Token]| -> Vec<f16> { tokens.iter().map(|token| token.scale).collect() };
        let of_keys: Vec<u8> = keys.iter().flat_map(|token| token.indices.clone()).collect();
        let of_values: Vec<u8> =
            (0..self.width).flat_map(|n| values.iter().map(move |token| token.indices[n])).collect();
        let (k_panels, v_panels) =
            (Panels::new(b.caps, self.room, self.width)?, Panels::new(b.caps, self.width, self.room)?);
        Ok(vec![
            (PANELS[0], k_panels.pack(&of_keys)?),
            (PANELS[1], self.codebooks.constants(&scales(&keys))?),
            (PANELS[2], v_panels.pack(&of_values)?),
            (PANELS[3], scales(&values).iter().flat_map(|scale| scale.to_le_bytes()).collect()),
        ])
    }
}
