//! Scales for a whole tensor, for each row, or for each column: Tender's comparison (section II-C, Table I).

/// Which activations share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// All activations.
    Tensor,
    /// The activations of a token.
    Row,
    /// The activations of a channel: a scale inside of the reduction, which integer hardware cannot apply.
    Column,
    /// The activations of a channel, around the middle of its range: Tender with a scale for every channel.
    ColumnBiased,
}

/// Activations after symmetric quantization to `bits` (2 to 8) and back.
#[must_use]
pub fn round_trip(rows: &[Vec<f64>], bits: u32, granularity: Granularity) -> Vec<Vec<f64>> {
    let largest = f64::from((1u32 << (bits.clamp(2, 8) - 1)) - 1);
    let channels = rows.first().map_or(0, Vec::len);
    let end = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |end: f64, x| end.max(x.abs()));
    let quantize = |x: f64, end: f64| match end {
        0.0 => 0.0,
        end => (x * largest / end).round_ties_even() * end / largest,
    };
    match granularity {
        Granularity::Tensor => {
            let end = end(&mut rows.iter().flatten().copied());
            rows.iter().map(|row| row.iter().map(|&x| quantize(x, end)).collect()).collect()
        }
        Granularity::Row => rows
            .iter()
            .map(|row| {
                let end = end(&mut row.iter().copied());
                row.iter().map(|&x| quantize(x, end)).collect()
            })
            .collect(),
        Granularity::Column | Granularity::ColumnBiased => {
            let column = |c: usize| rows.iter().map(move |row| row[c]);
            let bias = |c: usize| match granularity {
                Granularity::ColumnBiased => {
                    (column(c).fold(f64::INFINITY, f64::min) + column(c).fold(f64::NEG_INFINITY, f64::max)) / 2.0
                }
                _ => 0.0,
            };
            let biases: Vec<f64> = (0..channels).map(bias).collect();
            let ends: Vec<f64> = (0..channels).map(|c| end(&mut column(c).map(|x| x - biases[c]))).collect();
            let value = |c: usize, x: f64| quantize(x - biases[c], ends[c]) + biases[c];
            rows.iter().map(|row| row.iter().enumerate().map(|(c, &x)| value(c, x)).collect()).collect()
        }
    }
}

/// Squared error of `approximate` relative to the squares of `exact`.
#[must_use]
pub fn relative_error(exact: &[Vec<f64>], approximate: &[Vec<f64>]) -> f64 {
    let pairs = || exact.iter().flatten().zip(approximate.iter().flatten());
    let error: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
    error / exact.iter().flatten().map(|a| a * a).sum::<f64>()
}

/// The matrix product in f64.
#[must_use]
pub fn product(left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = right.first().map_or(0, Vec::len);
    let row = |row: &Vec<f64>| {
        let mut sums = vec![0.0; columns];
        for (a, weights) in row.iter().zip(right) {
            for (sum, w) in sums.iter_mut().zip(weights) {
                *sum += a * w;
            }
        }
        sums
    };
    left.iter().map(row).collect()
}
