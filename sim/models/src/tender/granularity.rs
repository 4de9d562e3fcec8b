//! Errors of the real model's projections by granularity of the activations' scales. Table I of the paper shows this as
//! perplexity. Weights are exact here, so that only the activations make an error.

use golden::tender::calibration::{CHUNK_ROWS, Scheme, Sign, calibrate};
use golden::tender::granularity::{Granularity, product, relative_error, round_trip};

use super::projection::projections;

/// Numbers of groups in the table.
pub const GROUPS: [usize; 5] = [1, 2, 4, 8, 14];

/// One projection at one width.
#[derive(Clone, Debug)]
pub struct Line {
    /// Layer and projection.
    pub name: &'static str,
    /// Bits of an activation.
    pub bits: u32,
    /// Error with a scale for the tensor, each row, each column, each column around its middle.
    pub baselines: [f64; 4],
    /// Error of Tender, by [`GROUPS`].
    pub tender: [f64; 5],
    /// Groups up to the last one that has a channel, for the largest number of groups.
    pub used: usize,
}

/// All projections at 4 and at 8 bits.
///
/// # Errors
/// A tensor is missing or cannot be quantized.
pub fn table() -> sim::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for projection in projections()? {
        let exact = product(&projection.x, &projection.w);
        let error = |x: &[Vec<f64>]| relative_error(&exact, &product(x, &projection.w));
        for bits in [4, 8] {
            use Granularity::{Column, ColumnBiased, Row, Tensor};
            let baselines = [Tensor, Row, Column, ColumnBiased].map(|g| error(&round_trip(&projection.x, bits, g)));
            let (mut tender, mut used) = ([0.0; 5], 0);
            for (result, groups) in tender.iter_mut().zip(GROUPS) {
                let bad = sim::Error::Unsupported;
                let scheme = Scheme::new(bits, groups, Sign::Signed).map_err(bad)?;
                let chunks = calibrate(&projection.x, CHUNK_ROWS, scheme).map_err(bad)?;
                let mut x = Vec::new();
                for (chunk, rows) in chunks.iter().zip(projection.x.chunks(CHUNK_ROWS)) {
                    x.extend(rows.iter().map(|row| chunk.dequantize(&chunk.quantize(row))));
                    used = chunk.scales.len();
                }
                *result = error(&x);
            }
            lines.push(Line { name: projection.name, bits, baselines, tender, used });
        }
    }
    Ok(lines)
}
