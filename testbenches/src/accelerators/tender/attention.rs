//! Attention of the real model's layer 14 from the residual stream on, as one chain: norm, projections, rotary embedding, scores,
//! causal softmax, values.

use golden::accelerators::tender::TenderTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::tender::Caps;
use host::vector::Integer;

use super::super::float_head::Exact;
use super::builder::{Activations, Builder, Floats, Keys, Measured, Seen, Weights};

/// Keys and values of a head, or of several that share them.
#[derive(Clone, Debug)]
pub struct KeysValues {
    keys: Keys,
    values: Weights,
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

/// Attention of one head from queries, turned if they have to be, to `out`. Returns the probabilities.
///
/// # Errors
/// The sizes do not fit; no room.
pub fn head(b: &mut Builder, q: &Floats, of: &KeysValues, seen: Seen, out: &Floats) -> anyhow::Result<Floats> {
    let Floats { rows: tokens, columns: width, .. } = *q;
    let queries = b.pack_queries("packed queries", q, &of.keys)?;
    let p = b.floats("probabilities", tokens, tokens)?;
    b.multiply(&queries, &of.keys.columns, 1.0 / (width as f64).sqrt(), &p)?;
    b.rows(&p, &p, |job| seen.softmax(job, [tokens; 2]))?;
    let packed = b.pack_probabilities("packed probabilities", &p)?;
    b.multiply(&packed, &of.values, 1.0, out)?;
    Ok(p)
}

/// Head [`HEAD`](crate::accelerators::float_head::HEAD) of layer 14 for the first tokens of the text, from the residual stream on.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
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
    let normed = b.norm("normalised", &residual, (&exact.norm, exact.epsilon))?;
    let x = b.pack("packed tokens", &normed)?;
    let k = turned_projection(&mut b, "keys", &x, &angles, &exact.w_k)?;
    let w_v = b.weights(&exact.w_v)?;
    let values = b.multiply_transposed("values", &w_v, &x)?;
    let of = KeysValues::new(&mut b, &k, values)?;
    let q = turned_projection(&mut b, "queries", &x, &angles, &exact.w_q)?;
    let out = b.floats("attention", tokens, angles.columns)?;
    let p = head(&mut b, &q, &of, Seen::Before, &out)?;
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

#[cfg(test)]
mod tests {
    use super::super::builder::testing::{CAPS, WINDOW, golden};
    use super::*;

    /// The errors of INT4 are large: values and probabilities have 4 bits. The head's results are means, several times
    /// smaller than the values, so their relative error is larger.
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
