//! Attention of the real model's layer 14 from the residual stream on, as one chain: norm, projections, rotary embedding, scores,
//! causal softmax, values.

use anyhow::ensure;
use golden::systems::tender_top::TenderTop;
use golden::tender::granularity::{product, relative_error};
use host::Window;
use host::tender::Caps;
use host::vector::{Epsilon, Integer};
use sim::stimulus::{Tensor, data_folder, real_numbers};

use super::builder::{Activations, Builder, Floats, Job, Keys, Weights};

/// Query head 6 with key head 2 of layer 14: the head whose weights are stored.
pub const HEAD: usize = 6;
/// What is added to the mean square of a norm.
const EPSILON: f64 = 1e-5;
/// Base of the angles.
const BASE: f64 = 100_000.0;

/// Keys and values of a head, or of several that share them.
#[derive(Clone, Debug)]
pub struct KeysValues {
    keys: Keys,
    values: Weights,
}

/// Cosine and sine of each pair of neighbours at each position: the angles that the step rotate takes.
#[must_use]
pub fn angles(positions: usize, width: usize) -> Vec<Vec<f64>> {
    let pair = |position: usize, i: usize| {
        let angle = position as f64 * BASE.powf(-((2 * i) as f64) / width as f64);
        [angle.cos(), angle.sin()]
    };
    (0..positions).map(|position| (0..width / 2).flat_map(|i| pair(position, i)).collect()).collect()
}

/// The norm ahead of a layer's attention or feed-forward network.
///
/// # Errors
/// No room; the hardware would refuse it.
pub fn norm(b: &mut Builder, x: &Floats, gains: &[f64], out: &Floats) -> anyhow::Result<()> {
    let gains = b.given(&[gains.to_vec()])?.at.address;
    let epsilon = Epsilon::new(EPSILON)?;
    b.rows(x, out, |job| job.norm_with_gains(epsilon, gains))
}

/// A projection whose heads, side by side, are turned by the angles of their tokens.
///
/// # Errors
/// The sizes do not fit; no room.
pub fn turned_projection(
    b: &mut Builder,
    name: &'static str,
    x: &Activations,
    angles: &Floats,
    weights: &[Vec<f64>],
) -> anyhow::Result<Floats> {
    let weights = b.weights(weights)?;
    let out = b.floats(name, angles.rows, angles.columns)?;
    b.multiply(x, &weights, 1.0, &out)?;
    b.rows(&out, &out, |job| job.rotate(angles.at))?;
    Ok(out)
}

impl KeysValues {
    /// Keys that were turned, and values as they left the array.
    ///
    /// # Errors
    /// No room; numbers that are not finite.
    pub fn new(b: &mut Builder, keys: &Floats, values: Weights) -> anyhow::Result<Self> {
        Ok(Self { keys: b.pack_keys("packed keys", keys)?, values })
    }
}

/// Attention of one head, causal, from queries that were turned to `out`. Returns the probabilities.
///
/// # Errors
/// The sizes do not fit; no room.
pub fn head(b: &mut Builder, q: &Floats, of: &KeysValues, out: &Floats) -> anyhow::Result<Floats> {
    let Floats { rows: tokens, columns: width, .. } = *q;
    let queries = b.pack_queries("packed queries", q, &of.keys)?;
    let p = b.floats("probabilities", tokens, tokens)?;
    b.multiply(&queries, &of.keys.columns, 1.0 / (width as f64).sqrt(), &p)?;
    b.rows(&p, &p, |job| job.causal_softmax(1))?;
    let packed = b.pack_probabilities("packed probabilities", &p)?;
    b.multiply(&packed, &of.values, 1.0, out)?;
    Ok(p)
}

/// A job, and how far its numbers are from those of float arithmetic: squared error relative to the squares, by name.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The job.
    pub job: Job,
    /// Errors.
    pub errors: Vec<(&'static str, f64)>,
}

/// Head [`HEAD`] of layer 14 for the first tokens of the text, from the residual stream on.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn real_head(
    caps: &Caps,
    window: &Window,
    golden: TenderTop,
    integer: Integer,
    tokens: usize,
) -> anyhow::Result<Measured> {
    let exact = Exact::of(tokens)?;
    let mut b = Builder::new(caps, window, golden, integer)?;
    let residual = b.given(&exact.residual)?;
    let angles = b.given(&exact.angles)?;
    let normed = b.floats("normalised", tokens, residual.columns)?;
    norm(&mut b, &residual, &exact.gains, &normed)?;
    let x = b.pack("packed tokens", &normed)?;
    let k = turned_projection(&mut b, "keys", &x, &angles, &exact.w_k)?;
    let w_v = b.weights(&exact.w_v)?;
    let values = b.multiply_transposed("values", &w_v, &x)?;
    let of = KeysValues::new(&mut b, &k, values)?;
    let q = turned_projection(&mut b, "queries", &x, &angles, &exact.w_q)?;
    let out = b.floats("attention", tokens, angles.columns)?;
    let p = head(&mut b, &q, &of, &out)?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &b.values(rows));
    let errors = vec![
        ("normalised", error(&exact.normed, &normed)),
        ("queries", error(&exact.queries, &q)),
        ("keys", error(&exact.keys, &k)),
        ("probabilities", error(&exact.probabilities, &p)),
        ("attention", error(&exact.attention, &out)),
    ];
    Ok(Measured { job: b.finish()?, errors })
}

/// The head in float arithmetic, on what is stored of the model.
#[derive(Clone, Debug)]
struct Exact {
    residual: Vec<Vec<f64>>,
    gains: Vec<f64>,
    angles: Vec<Vec<f64>>,
    w_q: Vec<Vec<f64>>,
    w_k: Vec<Vec<f64>>,
    w_v: Vec<Vec<f64>>,
    normed: Vec<Vec<f64>>,
    queries: Vec<Vec<f64>>,
    keys: Vec<Vec<f64>>,
    probabilities: Vec<Vec<f64>>,
    attention: Vec<Vec<f64>>,
}

impl Exact {
    fn of(tokens: usize) -> anyhow::Result<Self> {
        let mut residual = real_numbers("l14_attn_residual")?;
        let stored = residual.len();
        ensure!((1..=stored).contains(&tokens), "{tokens} tokens are asked for, must be 1 to {stored}");
        residual.truncate(tokens);
        let gains = Tensor::<f32>::read(&data_folder().join("l14_attn_norm.npy"))?;
        let gains: Vec<f64> = gains.data.into_iter().map(f64::from).collect();
        let [w_q, w_k, w_v] = [real_numbers("l14_w_q")?, real_numbers("l14_w_k")?, real_numbers("l14_w_v")?];
        let normed: Vec<Vec<f64>> = residual.iter().map(|row| rms_norm(row, &gains)).collect();
        let angles = angles(tokens, w_q[0].len());
        let turn = |rows: Vec<Vec<f64>>| rows.iter().zip(&angles).map(|(row, by)| turned(row, by)).collect();
        let queries: Vec<Vec<f64>> = turn(product(&normed, &w_q));
        let keys: Vec<Vec<f64>> = turn(product(&normed, &w_k));
        let probabilities: Vec<Vec<f64>> =
            (0..tokens).map(|t| probabilities(&queries[t], &keys[..=t], tokens)).collect();
        let attention = product(&probabilities, &product(&normed, &w_v));
        Ok(Self { residual, gains, angles, w_q, w_k, w_v, normed, queries, keys, probabilities, attention })
    }
}

pub(super) fn rms_norm(row: &[f64], gains: &[f64]) -> Vec<f64> {
    let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
    let factor = 1.0 / (mean + EPSILON).sqrt();
    row.iter().zip(gains).map(|(x, gain)| x * factor * gain).collect()
}

pub(super) fn turned(row: &[f64], angles: &[f64]) -> Vec<f64> {
    let pair = |(x, by): (&[f64], &[f64])| [x[0] * by[0] - x[1] * by[1], x[1] * by[0] + x[0] * by[1]];
    row.chunks(2).zip(angles.chunks(2)).flat_map(pair).collect()
}

/// Softmax of a query's scores with the keys that it sees, then zeros.
pub(super) fn probabilities(query: &[f64], keys: &[Vec<f64>], tokens: usize) -> Vec<f64> {
    let score = |key: &Vec<f64>| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() / (query.len() as f64).sqrt();
    let scores: Vec<f64> = keys.iter().map(score).collect();
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|x| x / sum).chain(std::iter::repeat(0.0)).take(tokens).collect()
}

#[cfg(test)]
mod tests {
    use super::super::builder::testing::{CAPS, WINDOW, golden};
    use super::*;

    /// The judge itself: stored results of the model, rounded to fp16, are within that rounding.
    #[test]
    fn the_float_head_is_that_of_the_model() {
        let exact = Exact::of(64).unwrap();
        let own = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.into_iter().map(|row| row[HEAD * 64..(HEAD + 1) * 64].to_vec()).collect()
        };
        let of_head = |name: &str, head: usize| real_numbers(name).unwrap()[head * 64..(head + 1) * 64].to_vec();
        for (name, stored, exact) in [
            ("normalised", real_numbers("l14_attn_in").unwrap(), &exact.normed),
            ("queries", of_head("l14_q", HEAD), &exact.queries),
            ("keys", of_head("l14_k", HEAD / 3), &exact.keys),
            ("attention", own(real_numbers("l14_attn_out").unwrap()), &exact.attention),
        ] {
            let error = relative_error(&stored, exact);
            println!("{name}: {error:.2e}");
            assert!(error < 1e-5, "{name}: {error:.2e}");
        }
    }

    /// What INT4 leaves of it: values and probabilities of 4 bits are as far from the float ones as such numbers are, and the head's
    /// results are several times smaller than the values that they are means of.
    #[test]
    fn a_head_is_near_the_float_one() {
        for (integer, most) in
            [(Integer::Int8, [1e-7, 1e-4, 1e-4, 4e-4, 3e-3]), (Integer::Int4, [1e-7, 0.03, 0.03, 0.2, 0.8])]
        {
            let measured = real_head(&CAPS, &WINDOW, golden(), integer, 64).unwrap();
            println!("{integer:?}, {} descriptors: {:?}", measured.job.descriptors, measured.errors);
            assert_eq!(measured.errors.len(), most.len());
            for ((name, error), most) in measured.errors.into_iter().zip(most) {
                assert!(error > 0.0 && error < most, "{integer:?}, {name}: {error:.2e}");
            }
        }
    }

    #[test]
    fn tokens_that_are_not_stored() {
        for tokens in [0, 65] {
            let said = real_head(&CAPS, &WINDOW, golden(), Integer::Int8, tokens).unwrap_err().to_string();
            assert_eq!(said, format!("{tokens} tokens are asked for, must be 1 to 64"));
        }
    }
}
