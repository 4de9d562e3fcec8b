//! Products of tokens and weights: y_n = s_a s_w (sum of centroids) + s_w (sum of outliers times centroids). Products
//! of integers and weights scale the sum of centroids alone.

use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::kllm::fp16;
use crate::kllm::pe_lane::outlier_sum;
use crate::kllm::scaling_unit::{Scales, result};
use crate::systems::job::Codes;
use crate::systems::memory::Memory;
use crate::systems::pieces::{self, Loaded};

use super::layout::{
    CENTROIDS, CONSTANT_BYTES, Centroids, ENTRIES, HEAD_BYTES, OUTLIER_BYTES, half, index_bytes, is_centroid, nibble,
    place, word,
};
use super::{Beats, Executed, KllmTop, MatMul, Operation, Work};

/// The scale of integers: 1.
const ONE: u16 = 0x3c00;

/// The parts of a token that a product needs.
struct Token {
    scale: u16,
    /// Centroids; 0 at the positions of outliers.
    centroids: Vec<i64>,
    /// Positions and values of outliers, fp16.
    outliers: Vec<(usize, u16)>,
    repeated: u64,
}

/// Positions and values of outliers, if positions ascend and are below `inner`.
fn outliers(records: &[u8], inner: u64) -> Option<Vec<(usize, u16)>> {
    let records: Vec<_> =
        records.chunks(OUTLIER_BYTES as usize).map(|record| (usize::from(half(record, 0)), half(record, 2))).collect();
    let ascend = records.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let inside = records.last().is_none_or(|&(last, _)| (last as u64) < inner);
    (ascend && inside).then_some(records)
}

/// Positions of the outliers of a token; none if the token could not be read or is not valid.
pub(super) fn positions(operation: &MatMul, row: u64, memory: &mut dyn Memory) -> Vec<usize> {
    if operation.integers {
        return Vec::new();
    }
    let mut codes = Codes::default();
    let loaded = Loaded::row(&operation.tokens, row, memory, &mut codes);
    let none = Centroids { activations: [0; ENTRIES], weights: [0; ENTRIES] };
    let token = Token::of(operation, &loaded, &none, 1, &mut codes);
    token.into_iter().flat_map(|token| token.outliers).map(|(position, _)| position).collect()
}

impl Token {
    /// A token, if all of it could be read and is valid.
    fn of(
        operation: &MatMul,
        loaded: &Loaded,
        centroids: &Centroids,
        inputs: usize,
        codes: &mut Codes,
    ) -> Option<Self> {
        let head = loaded.get(0..HEAD_BYTES as usize)?;
        let (scale, count, bits) = (half(head, 0), u64::from(half(head, 2)), head[4]);
        if !(3..=4).contains(&bits) || count > operation.outliers {
            codes.note(code::FIELD);
            return None;
        }
        let first = (HEAD_BYTES + index_bytes(operation.inner)) as usize;
        let records = loaded.get(first..first + (OUTLIER_BYTES * count) as usize)?;
        let Some(records) = outliers(records, operation.inner) else {
            codes.note(code::FIELD);
            return None;
        };
        let indices = loaded.get(HEAD_BYTES as usize..first)?;
        let mut of_inliers: Vec<i64> =
            (0..operation.inner as usize).map(|k| centroids.activations[nibble(indices, k)]).collect();
        let mut repeated = 0;
        for (k, &(position, _)) in records.iter().enumerate() {
            of_inliers[position] = 0;
            // It is not the first outlier of its beat.
            repeated += u64::from(k > 0 && records[k - 1].0 / inputs == position / inputs);
        }
        Some(Self { scale, centroids: of_inliers, outliers: records, repeated })
    }

    /// A row of integers, if all of them could be read. An integer is 16 times the centroid of its high nibble plus the
    /// centroid of its low nibble. With the codebook 0 to 15 this sum is the integer itself.
    fn of_integers(operation: &MatMul, loaded: &Loaded, centroids: &Centroids) -> Option<Self> {
        let bytes = loaded.get(0..operation.inner as usize)?;
        let centroid = |nibble: u8| centroids.activations[usize::from(nibble)];
        let integers = bytes.iter().map(|&byte| 16 * centroid(byte >> 4) + centroid(byte & 15)).collect();
        Some(Self { scale: ONE, centroids: integers, outliers: Vec::new(), repeated: 0 })
    }

    /// A result before the addition.
    fn element(&self, weights: &[i64], (dense, sparse): (u32, u32)) -> u16 {
        let inliers: i64 = self.centroids.iter().zip(weights).map(|(a, w)| a * w).sum();
        let outliers = outlier_sum(self.outliers.iter().map(|&(position, value)| (value, weights[position])));
        result(inliers.into(), outliers, Scales { token: self.scale, dense, sparse })
    }
}

impl KllmTop {
    /// A product. It goes on after an error, to find all errors.
    pub(super) fn multiply(&self, operation: MatMul, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let shape = &self.shape;
        let inputs = shape.inputs as usize;
        let codebook = Loaded::row(&operation.codebook, 0, memory, &mut codes);
        // The centroids that came are checked, even if other parts of the codebook are missing.
        let wrong = |at: usize| codebook.get(at..at + 2).is_some_and(|n| !is_centroid(n, 0, shape.centroid_bits));
        if CENTROIDS.step_by(2).any(wrong) {
            codes.note(code::FIELD);
        }
        let centroids = codebook.whole().and_then(|bytes| Centroids::of(bytes, shape.centroid_bits));
        // Heads are checked even without centroids.
        let known = centroids.is_some();
        let centroids = centroids.unwrap_or(Centroids { activations: [0; ENTRIES], weights: [0; ENTRIES] });
        let weights = self.weights(&operation, &centroids, memory, &mut codes);
        let constants = Loaded::row(&operation.constants, 0, memory, &mut codes);
        let (mut overflows, mut beats) = (0, Beats::default());
        for row in 0..operation.tokens.rows {
            let loaded = Loaded::row(&operation.tokens, row, memory, &mut codes);
            let addends = operation.addends.as_ref().map(|rows| Loaded::row(rows, row, memory, &mut codes));
            let token = match operation.integers {
                false => Token::of(&operation, &loaded, &centroids, inputs, &mut codes),
                true => Token::of_integers(&operation, &loaded, &centroids),
            };
            let Some(token) = token else { continue };
            let each = if operation.integers { 2 } else { 1 };
            let in_panel = each * operation.inner.div_ceil(inputs as u64) + token.repeated;
            beats.taken += operation.passes * in_panel;
            beats.repeated += operation.passes * token.repeated;
            let result = |channel: usize| -> Option<u16> {
                let record =
                    constants.get(CONSTANT_BYTES as usize * channel..CONSTANT_BYTES as usize * (channel + 1))?;
                // Integers have no outliers, and thus no factor for them.
                let sparse = if operation.integers { 0 } else { word(record, 4) };
                let y = token.element(weights[channel].as_ref()?, (word(record, 0), sparse));
                let Some(addends) = &addends else { return Some(y) };
                let addend = half(addends.get(2 * channel..2 * channel + 2)?, 0);
                Some(fp16::add(y.into(), addend.into()) as u16)
            };
            let results: Vec<Option<u16>> =
                if known { (0..operation.channels as usize).map(result).collect() } else { Vec::new() };
            let special = results.iter().flatten().filter(|&&y| is_special(y)).count();
            overflows += special as u64;
            if special > 0 && operation.exact {
                codes.note(code::OVERFLOW);
            }
            if results.iter().any(Option::is_some) {
                let bytes: Vec<u8> = results.iter().flat_map(|y| y.unwrap_or(0).to_le_bytes()).collect();
                pieces::store(&operation.out, row, &bytes, memory, &mut codes);
            }
        }
        let codes = codes.all();
        let (defined, certain) = (codes.is_empty() && operation.is_defined(), operation.is_certain());
        let operation = Work { operation: Operation::MatMul(operation), beats };
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }

    /// The weights of each channel as centroids; `None` if they could not be read.
    fn weights(
        &self,
        operation: &MatMul,
        centroids: &Centroids,
        memory: &mut dyn Memory,
        codes: &mut Codes,
    ) -> Vec<Option<Vec<i64>>> {
        let shape = &self.shape.group();
        let in_panel = shape.channels();
        let mut weights = Vec::new();
        for panel in 0..operation.panels.rows {
            let loaded = Loaded::row(&operation.panels, panel, memory, codes);
            let here = in_panel.min(operation.channels.saturating_sub(panel * in_panel));
            let channel = |channel: usize| {
                let bytes = loaded.whole()?;
                let index = |k| nibble(bytes, place(shape, channel, k));
                Some((0..operation.inner as usize).map(|k| centroids.weights[index(k)]).collect())
            };
            weights.extend((0..here as usize).map(channel));
        }
        weights
    }
}
