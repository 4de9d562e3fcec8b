//! Bias, groups and scales of a chunk of rows: they give each channel its scale (section III-B), offline.
//!
//! Arithmetic is f64. For activations in binary16 everything here is exact except the stored scales. Sums, differences
//! and power-of-two thresholds of binary16 values fit 42 bits. The one division of a quantization rounds to the same
//! integer as the exact quotient (see [`Calibration::quantize`]).

/// Rows that are calibrated together, at most.
pub const CHUNK_ROWS: usize = 256;

/// The sign of quantized activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Two's complement, around the bias of the channel.
    Signed,
    /// From 0 to 2^b - 1 without a bias: attention scores, activations after a ReLU.
    Unsigned,
}

/// Parameters of the quantization of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    bits: u32,
    groups: usize,
    sign: Sign,
}

impl Scheme {
    /// `bits` from 2 to 8; `groups` from 1 to 32, each with half of the scale of the group before.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn new(bits: u32, groups: usize, sign: Sign) -> Result<Self, String> {
        if !(2..=8).contains(&bits) {
            return Err(format!("bits is {bits}, allowed: 2 to 8"));
        }
        if !(1..=32).contains(&groups) {
            return Err(format!("groups is {groups}, allowed: 1 to 32"));
        }
        Ok(Self { bits, groups, sign })
    }

    /// Smallest and largest quantized value.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        match self.sign {
            Sign::Signed => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            Sign::Unsigned => (0, (1 << self.bits) - 1),
        }
    }

    /// Width of a quantized value in bits.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Groups of channels, at most.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }
}

/// The calibration of a chunk, before it is multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    scheme: Scheme,
    /// For each channel: the middle of its range, which is subtracted first.
    pub bias: Vec<f64>,
    /// For each channel: its group, from 0 (the largest scale).
    pub group: Vec<usize>,
    /// For each group: the value of one step of a quantized value. The last group here is the last one with a channel.
    pub scales: Vec<f64>,
    /// Largest absolute value after the bias.
    t_max: f64,
}

impl Calibration {
    /// Calibrates one chunk: `rows` of equal length.
    ///
    /// # Errors
    /// There are no rows or more than [`CHUNK_ROWS`], rows have different lengths, values are not finite, or values are
    /// negative with [`Sign::Unsigned`].
    pub fn of(rows: &[Vec<f64>], scheme: Scheme) -> Result<Self, String> {
        if !(1..=CHUNK_ROWS).contains(&rows.len()) {
            return Err(format!("rows of a chunk are {}, allowed: 1 to {CHUNK_ROWS}", rows.len()));
        }
        let channels = rows[0].len();
        if channels == 0 || rows.iter().any(|row| row.len() != channels) {
            return Err("rows of a chunk must have the same length, at least 1".into());
        }
        let floor = if scheme.sign == Sign::Unsigned { 0.0 } else { f64::MIN };
        if let Some(bad) = rows.iter().flatten().find(|x| !x.is_finite() || **x < floor) {
            return Err(format!("activation {bad} cannot be quantized as {:?}", scheme.sign));
        }
        let ends = |c: usize| {
            rows.iter()
                .map(|row| row[c])
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
        };
        let bias: Vec<f64> = (0..channels)
            .map(|c| match (scheme.sign, ends(c)) {
                (Sign::Signed, (low, high)) => (low + high) / 2.0,
                (Sign::Unsigned, _) => 0.0,
            })
            .collect();
        let c_max: Vec<f64> =
            (0..channels).map(|c| rows.iter().map(|row| (row[c] - bias[c]).abs()).fold(0.0, f64::max)).collect();
        let t_max = c_max.iter().copied().fold(0.0, f64::max);
        // Group g: t_max / 2^(g+1) < c_max <= t_max / 2^g. The last group takes the rest, including all channels of a
        // chunk of zeros.
        let group: Vec<usize> = c_max
            .iter()
            .map(|&c| (0..scheme.groups - 1).find(|&g| c > t_max / exp2(g + 1)).unwrap_or(scheme.groups - 1))
            .collect();
        Ok(Self::with(scheme, bias, group, t_max))
    }

    /// A calibration that is known: for each channel its middle and its group, and the largest absolute value after the
    /// bias.
    ///
    /// # Errors
    /// There is no channel, or not the same number of them; a group is not one of the scheme; a number is not finite, or
    /// the largest value is negative.
    pub fn of_parts(scheme: Scheme, bias: Vec<f64>, group: Vec<usize>, t_max: f64) -> Result<Self, String> {
        if bias.is_empty() || bias.len() != group.len() {
            return Err(format!("{} biases and {} groups of channels", bias.len(), group.len()));
        }
        if let Some(group) = group.iter().find(|&&group| group >= scheme.groups) {
            return Err(format!("group is {group}, allowed: 0 to {}", scheme.groups - 1));
        }
        if let Some(bad) = bias.iter().find(|x| !x.is_finite()) {
            return Err(format!("bias is {bad}, allowed: finite numbers"));
        }
        if !t_max.is_finite() || t_max < 0.0 {
            return Err(format!("largest value is {t_max}, allowed: finite numbers from 0 on"));
        }
        Ok(Self::with(scheme, bias, group, t_max))
    }

    fn with(scheme: Scheme, bias: Vec<f64>, group: Vec<usize>, t_max: f64) -> Self {
        // Groups after the last one with a channel would only cost accumulator bits.
        let used = group.iter().max().map_or(1, |last| last + 1);
        let largest = scheme.range().1 as f64;
        let scale = |g: usize| match t_max {
            // All values are zero, so any scale is right. The last scale is 1.
            0.0 => exp2(used - 1 - g),
            t_max => t_max / (exp2(g) * largest),
        };
        Self { scheme, bias, group, scales: (0..used).map(scale).collect(), t_max }
    }

    /// Largest absolute value after the bias.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.t_max
    }

    /// The parameters of the quantization.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Channels in the order in which they are multiplied: by group, within a group by index.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.group.len()).collect();
        order.sort_by_key(|&channel| self.group[channel]);
        order
    }

    /// Channels of each group.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        (0..self.scales.len()).map(|g| self.group.iter().filter(|&&group| group == g).count()).collect()
    }

    /// A row of activations as integers, ties to even.
    ///
    /// For binary16 inputs the result is the exactly rounded quotient: numerator and denominator are integers of less
    /// than 2^50 and 2^42 in a common unit, so a quotient that is not a tie is at least 2^-43 away from one, and the
    /// error of the division is below 2^-45.
    ///
    /// # Panics
    /// The row has another length than the calibrated chunk.
    #[must_use]
    pub fn quantize(&self, row: &[f64]) -> Vec<i64> {
        assert_eq!(row.len(), self.group.len(), "channels of the row");
        let (low, high) = self.scheme.range();
        let value = |(channel, x): (usize, &f64)| {
            if self.t_max == 0.0 {
                return 0;
            }
            let steps = (x - self.bias[channel]) * (high as f64) * exp2(self.group[channel]) / self.t_max;
            (steps.round_ties_even().clamp(low as f64, high as f64)) as i64
        };
        row.iter().enumerate().map(value).collect()
    }

    /// The numbers that the integers of a row stand for.
    #[must_use]
    pub fn dequantize(&self, row: &[i64]) -> Vec<f64> {
        let value = |(channel, q): (usize, &i64)| *q as f64 * self.scales[self.group[channel]] + self.bias[channel];
        row.iter().enumerate().map(value).collect()
    }
}

/// Calibrates all rows, in chunks of `chunk_rows`. The last chunk has the remaining rows.
///
/// # Errors
/// As [`Calibration::of`].
pub fn calibrate(rows: &[Vec<f64>], chunk_rows: usize, scheme: Scheme) -> Result<Vec<Calibration>, String> {
    if !(1..=CHUNK_ROWS).contains(&chunk_rows) {
        return Err(format!("rows of a chunk are {chunk_rows}, allowed: 1 to {CHUNK_ROWS}"));
    }
    rows.chunks(chunk_rows).map(|chunk| Calibration::of(chunk, scheme)).collect()
}

/// Weights as integers, with one scale a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// [in, out].
    pub values: Vec<Vec<i64>>,
    /// Scale of each column.
    pub scales: Vec<f64>,
}

impl Weights {
    /// Symmetric quantization to `bits`, one scale for each column of `weights` ([in, out]).
    ///
    /// # Errors
    /// `bits` is outside of 2 to 8, rows have different lengths, or values are not finite.
    pub fn quantize(weights: &[Vec<f64>], bits: u32) -> Result<Self, String> {
        let largest = Scheme::new(bits, 1, Sign::Signed)?.range().1 as f64;
        let columns = weights.first().map_or(0, Vec::len);
        if weights.iter().any(|row| row.len() != columns) || weights.iter().flatten().any(|w| !w.is_finite()) {
            return Err("weights must be finite, in rows of the same length".into());
        }
        let ends: Vec<f64> = (0..columns).map(|c| weights.iter().map(|row| row[c].abs()).fold(0.0, f64::max)).collect();
        let value = |(w, &end): (&f64, &f64)| match end {
            0.0 => 0,
            end => (w * largest / end).round_ties_even() as i64,
        };
        let values = weights.iter().map(|row| row.iter().zip(&ends).map(value).collect()).collect();
        Ok(Self { values, scales: ends.iter().map(|&end| if end == 0.0 { 1.0 } else { end / largest }).collect() })
    }

    /// The numbers that the integers stand for.
    #[must_use]
    pub fn dequantize(&self) -> Vec<Vec<f64>> {
        self.values.iter().map(|row| row.iter().zip(&self.scales).map(|(q, s)| *q as f64 * s).collect()).collect()
    }
}

pub(super) fn exp2(n: usize) -> f64 {
    (1u64 << n) as f64
}
