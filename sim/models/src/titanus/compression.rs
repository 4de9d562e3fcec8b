//! CPQ on the real keys and values: the figures in the tables of the documentation.

use golden::titanus::baseline::{Grouping, quantize, requantized_tokens};
use golden::titanus::cpq::{Config, Sequence, Work};
use golden::titanus::kv_packer::packed;
use golden::titanus::traffic::{Traffic, break_point_bits, level_number_bits};

use super::key_values::{LAYERS, key_values, prune, threshold_for};

/// So many levels that the bound does not matter.
const LEVELS: usize = 64;

/// Keys or values of a layer: (layer, "K" or "V", tokens).
pub type LayerTokens = (u32, &'static str, Vec<Vec<i8>>);

/// Keys and values of all layers.
///
/// # Errors
/// Missing data.
pub fn tensors() -> sim::Result<Vec<LayerTokens>> {
    let mut all = Vec::new();
    for layer in LAYERS {
        let both = key_values(layer)?;
        all.push((layer, "K", both.k));
        all.push((layer, "V", both.v));
    }
    Ok(all)
}

/// Levels and quantized tokens at one context length.
#[derive(Clone, Copy, Debug)]
pub struct LevelRow {
    /// Tokens.
    pub context: usize,
    /// Tokens of the prefill.
    pub prefill: usize,
    /// Mean number of levels of a channel.
    pub levels: f64,
    /// Largest number of levels of a channel.
    pub most: usize,
    /// Tokens at which any of the 64 channels opens a level, plus one for the initial level. Mean over tensors.
    pub any_channel: f64,
    /// Share of decoded elements that opened a level.
    pub opened: f64,
    /// Quantization operations of per-channel re-quantization, divided by the operations of HQE.
    pub saved: f64,
}

/// Levels per channel for each (context, prefill), without pruning.
///
/// # Errors
/// Missing data.
pub fn levels(bits: u32, contexts: &[(usize, usize)]) -> sim::Result<Vec<LevelRow>> {
    let tensors = tensors()?;
    let row = |&(context, prefill): &(usize, usize)| {
        let (mut levels, mut channels, mut most, mut opened, mut decoded) = (0, 0, 0, 0, 0);
        let mut breaks = 0;
        for (_, _, tokens) in &tensors {
            let sequence = Sequence::encode(Config { bits, max_levels: LEVELS }, &tokens[..context], prefill);
            breaks += 1 + sequence.tokens.iter().filter(|t| t.iter().any(|e| e.opened)).count();
            levels += sequence.levels();
            channels += sequence.channels.len();
            most = most.max(sequence.channels.iter().map(|c| c.levels.len()).max().unwrap_or(0));
            opened += sequence.tokens.iter().flatten().filter(|e| e.opened).count();
            decoded += sequence.tokens[prefill..].iter().flatten().filter(|e| e.index).count();
        }
        let work = requantized_tokens(context as u64, prefill as u64) as f64;
        LevelRow {
            context,
            prefill,
            any_channel: breaks as f64 / tensors.len() as f64,
            levels: levels as f64 / channels as f64,
            most,
            opened: opened as f64 / decoded as f64,
            saved: work / context as f64,
        }
    };
    Ok(contexts.iter().map(row).collect())
}

/// Zeros and bytes of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct TrafficRow {
    /// Layer of the model.
    pub layer: u32,
    /// "K" or "V".
    pub side: &'static str,
    /// Width of a quantized value.
    pub bits: u32,
    /// Pruning threshold.
    pub threshold: u32,
    /// Share of zeros after pruning, after quantization (label 0 or index 0), after dequantization.
    pub zeros: [f64; 3],
    /// Bytes of int8.
    pub plain: f64,
    /// Bytes after pruning alone.
    pub pruned: f64,
    /// Bytes of CPQ as the paper counts them: index, label, values; records of levels.
    pub cpq: f64,
    /// The part of the records.
    pub records: f64,
    /// Bytes in whole blocks, as the hardware sends them, 16 lanes.
    pub packed: f64,
    /// Bytes of level numbers, if they travelled with the elements.
    pub level_numbers: f64,
    /// Bytes of break points, if they were sent instead.
    pub break_points: f64,
    /// Operations of the dequantizer.
    pub work: Work,
}

impl TrafficRow {
    /// Share of the int8 bytes that pruning alone, CPQ, and CPQ in blocks save.
    #[must_use]
    pub fn saved(&self) -> [f64; 3] {
        [self.pruned, self.cpq, self.packed].map(|b| 1.0 - b / self.plain)
    }
}

/// One row for each tensor: pruned to `share` zeros, quantized to `bits` (keys, values), half of the text as prefill.
///
/// # Errors
/// Missing data.
pub fn traffic(share: f64, bits: [u32; 2]) -> sim::Result<Vec<TrafficRow>> {
    let row = |(layer, side, tokens): (u32, &'static str, Vec<Vec<i8>>)| {
        let bits = bits[usize::from(side == "V")];
        let threshold = threshold_for(&tokens, share);
        let tokens = prune(&tokens, threshold);
        let sequence = Sequence::encode(Config { bits, max_levels: LEVELS }, &tokens, tokens.len() / 2);
        let count = tokens.iter().flatten().count() as f64;
        let zeros = |n: usize| n as f64 / count;
        let elements = || sequence.tokens.iter().flatten();
        let bytes = |bits: u64| bits as f64 / 8.0;
        let cpq = Traffic::cpq(&sequence);
        TrafficRow {
            layer,
            side,
            bits,
            threshold,
            zeros: [
                zeros(tokens.iter().flatten().filter(|&&x| x == 0).count()),
                zeros(elements().filter(|e| !e.label).count()),
                zeros(sequence.decode().iter().flatten().filter(|&&x| x == 0).count()),
            ],
            plain: bytes(Traffic::plain(count as u64).total()),
            pruned: bytes(Traffic::pruned(&tokens).total()),
            cpq: bytes(cpq.total()),
            records: bytes(cpq.records),
            packed: packed(&sequence, 16, 64).len() as f64,
            level_numbers: bytes(level_number_bits(&sequence)),
            break_points: bytes(break_point_bits(&sequence)),
            work: sequence.dequantizer_work(),
        }
    };
    Ok(tensors()?.into_iter().map(row).collect())
}

/// Error and size of one way to share levels.
#[derive(Clone, Debug)]
pub struct ErrorRow {
    /// Name of the way.
    pub way: String,
    /// Root mean square error of all elements, in units of the root mean square of the tensor, averaged over tensors.
    pub error: f64,
    /// Bits an element, records included.
    pub bits: f64,
    /// The part of the records.
    pub records: f64,
}

/// HQE next to quantization that knows all tokens: per channel, group-wise per channel, per token.
///
/// # Errors
/// Missing data.
pub fn errors(bits: u32, share: f64) -> sim::Result<Vec<ErrorRow>> {
    let groupings = [
        ("per channel, all tokens known", Grouping::Channel),
        ("per channel, groups of 32 tokens", Grouping::ChannelGroup(32)),
        ("per token, all 64 channels", Grouping::TokenGroup(64)),
        ("per token, groups of 32 channels", Grouping::TokenGroup(32)),
    ];
    let mut rows: Vec<ErrorRow> = std::iter::once("HQE, prefill of one half")
        .chain(groupings.iter().map(|g| g.0))
        .map(|way| ErrorRow { way: way.into(), error: 0.0, bits: 0.0, records: 0.0 })
        .collect();
    let tensors = tensors()?;
    let parts = tensors.len() as f64;
    for (_, _, tokens) in &tensors {
        let tokens = prune(tokens, threshold_for(tokens, share));
        let count = tokens.iter().flatten().count() as f64;
        let sequence = Sequence::encode(Config { bits, max_levels: LEVELS }, &tokens, tokens.len() / 2);
        let mut results = vec![(sequence.decode(), Traffic::cpq(&sequence))];
        for (_, grouping) in groupings {
            let quantized = quantize(&tokens, bits, grouping);
            let traffic = Traffic::grouped(&quantized);
            results.push((quantized.decoded, traffic));
        }
        for (row, (decoded, traffic)) in rows.iter_mut().zip(results) {
            row.error += relative_error(&tokens, &decoded) / parts;
            row.bits += traffic.total() as f64 / count / parts;
            row.records += traffic.records as f64 / count / parts;
        }
    }
    Ok(rows)
}

fn relative_error(tokens: &[Vec<i8>], decoded: &[Vec<i8>]) -> f64 {
    let pairs = || tokens.iter().flatten().zip(decoded.iter().flatten());
    let squares = pairs().map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>();
    let power = pairs().map(|(&a, _)| f64::from(a).powi(2)).sum::<f64>();
    (squares / power).sqrt()
}
