//! Products of tokens and weights: y_n = s_a s_w (sum of centroids) + s_w (sum of outliers times centroids). Products
//! of integers and weights scale the sum of centroids alone.

use crate::accelerators::columns::by_column;
use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::float::binary16;
use crate::common::inner_product::{inner_product, terms};
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::kllm::pe_lane::outlier_sum;
use crate::kllm::scaling_unit::{Scales, result};

use super::layout::{
    CENTROIDS, CONSTANT_BYTES, Centroids, ENTRIES, HEAD_BYTES, OUTLIER_BYTES, channel_bytes, half, index_bytes,
    is_centroid, nibble, word,
};
use super::{Beats, Executed, KllmTop, MatMul, Operation, Work};

/// The scale of integers: 1.
const ONE: u16 = 0x3c00;

/// The parts of a token that a product needs.
struct Token {
    scale: u16,
    /// Centroids; 0 at the positions of outliers.
    centroids: Factors,
    /// Positions and values of outliers, fp16.
    outliers: Vec<(usize, u16)>,
    repeated: u64,
}

/// The left factors of a product.
enum Factors {
    /// Numbers of 16 bits, and how many products with a weight have a sum of 32 bits.
    Narrow(Vec<i16>, usize),
    Wide(Vec<i32>),
}

impl Factors {
    /// Factors of weights up to this magnitude.
    fn new(factors: Vec<i32>, weight: u32) -> Self {
        let most = factors.iter().map(|factor| factor.unsigned_abs()).max().unwrap_or(0);
        match terms(most, weight) {
            // As fast, and any number fits.
            ..64 => Self::Wide(factors),
            _ if most > i16::MAX as u32 => Self::Wide(factors),
            terms => Self::Narrow(factors.into_iter().map(|factor| factor as i16).collect(), terms),
        }
    }

    fn times(&self, weights: &[i16]) -> i64 {
        match self {
            Self::Narrow(factors, terms) => inner_product(factors, weights, *terms),
            Self::Wide(factors) => factors.iter().zip(weights).map(|(&a, &w)| i64::from(a) * i64::from(w)).sum(),
        }
    }
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
        let mut of_inliers: Vec<i32> =
            (0..operation.inner as usize).map(|k| centroids.activations[nibble(indices, k)]).collect();
        let mut repeated = 0;
        for (k, &(position, _)) in records.iter().enumerate() {
            of_inliers[position] = 0;
            // It is not the first outlier of its beat.
            repeated += u64::from(k > 0 && records[k - 1].0 / inputs == position / inputs);
        }
        let centroids = Factors::new(of_inliers, centroids.largest_weight());
        Some(Self { scale, centroids, outliers: records, repeated })
    }

    /// A row of integers, if all of them could be read. An integer is 16 times the centroid of its high nibble plus the
    /// centroid of its low nibble. With the codebook 0 to 15 this sum is the integer itself.
    fn of_integers(operation: &MatMul, loaded: &Loaded, centroids: &Centroids) -> Option<Self> {
        let bytes = loaded.get(0..operation.inner as usize)?;
        let centroid = |nibble: u8| centroids.activations[usize::from(nibble)];
        let integers = bytes.iter().map(|&byte| 16 * centroid(byte >> 4) + centroid(byte & 15)).collect();
        let centroids = Factors::new(integers, centroids.largest_weight());
        Some(Self { scale: ONE, centroids, outliers: Vec::new(), repeated: 0 })
    }

    /// A result before the addition.
    fn element(&self, weights: &[i16], (dense, sparse): (u32, u32)) -> u16 {
        let inliers = self.centroids.times(weights);
        let outliers = outlier_sum(self.outliers.iter().map(|&(position, value)| (value, weights[position].into())));
        result(inliers.into(), outliers, Scales { token: self.scale, dense, sparse })
    }
}

/// A row of tokens, its addends, and what is wrong with them.
struct Row {
    codes: Codes,
    token: Option<Token>,
    addends: Option<Loaded>,
}

impl Row {
    fn of(operation: &MatMul, row: u64, (centroids, inputs): (&Centroids, usize), memory: &mut dyn Memory) -> Self {
        let mut codes = Codes::default();
        let loaded = Loaded::row(&operation.tokens, row, memory, &mut codes);
        let addends = operation.addends.as_ref().map(|rows| Loaded::row(rows, row, memory, &mut codes));
        let token = match operation.integers {
            false => Token::of(operation, &loaded, centroids, inputs, &mut codes),
            true => Token::of_integers(operation, &loaded, centroids),
        };
        Self { codes, token, addends }
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
        let panels: Vec<Loaded> =
            (0..operation.panels.rows).map(|panel| Loaded::row(&operation.panels, panel, memory, &mut codes)).collect();
        let constants = Loaded::row(&operation.constants, 0, memory, &mut codes);
        let (mut overflows, mut beats) = (0, Beats::default());
        let rows = operation.tokens.rows;
        // Rows may depend on the results of rows before them where results overwrite operands.
        let at_once = if operation.is_defined() { rows } else { 1 };
        for first in (0..rows).step_by(at_once as usize) {
            let here = first..rows.min(first + at_once);
            let loaded: Vec<Row> = here.map(|row| Row::of(&operation, row, (&centroids, inputs), memory)).collect();
            // Nothing is known without centroids.
            let known = if known { &loaded[..] } else { &[] };
            let mut results = self.results(&operation, known, (&panels, &constants, &centroids)).into_iter();
            for (row, Row { codes: found, token, .. }) in (first..).zip(loaded) {
                codes.join(found);
                let results = results.next().unwrap_or_default();
                let Some(token) = token else { continue };
                let each = if operation.integers { 2 } else { 1 };
                let in_panel = each * operation.inner.div_ceil(inputs as u64) + token.repeated;
                beats.taken += operation.passes * in_panel;
                beats.repeated += operation.passes * token.repeated;
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
        }
        let codes = codes.all();
        let (defined, certain) = (codes.is_empty() && operation.is_defined(), operation.is_certain());
        let operation = Work { operation: Operation::MatMul(operation), beats };
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }

    /// The results of rows, by channel; `None` for a result that depends on bytes which could not be read.
    fn results(
        &self,
        operation: &MatMul,
        rows: &[Row],
        (panels, constants, centroids): (&[Loaded], &Loaded, &Centroids),
    ) -> Vec<Vec<Option<u16>>> {
        let shape = &self.shape.group();
        let (channels, inner) = (shape.channels() as usize, operation.inner as usize);
        let inputs = shape.inputs as usize;
        let pairs = centroids.weight_pairs();
        let decode = |channel: usize, weights: &mut Vec<i16>| {
            let Some(bytes) = panels[channel / channels].whole() else { return false };
            weights.resize(inner.next_multiple_of(inputs), 0);
            for (beat, bytes) in weights.chunks_exact_mut(inputs).zip(channel_bytes(shape, bytes, channel % channels)) {
                let (beat, _) = beat.as_chunks_mut();
                beat.iter_mut().zip(bytes).for_each(|(pair, &byte)| *pair = pairs[usize::from(byte)]);
            }
            weights.truncate(inner);
            true
        };
        let result = |row: usize, channel: usize, weights: &Vec<i16>| {
            let at = CONSTANT_BYTES as usize * channel;
            let record = constants.get(at..at + CONSTANT_BYTES as usize)?;
            // Integers have no outliers, and thus no factor for them.
            let sparse = if operation.integers { 0 } else { word(record, 4) };
            let y = rows[row].token.as_ref()?.element(weights, (word(record, 0), sparse));
            let Some(addends) = &rows[row].addends else { return Some(y) };
            let addend = half(addends.get(2 * channel..2 * channel + 2)?, 0);
            Some(binary16::add(y, addend))
        };
        by_column([rows.len(), operation.channels as usize, inner], decode, result)
    }
}
