//! A slice of the feed-forward network of the real model's layer 14, with the output projection before it, as one chain.
//!
//! Stored are 64 outputs of the output, gate and down projections, and none of the up projection. So the slice begins
//! with outputs 0 to 63 of the output projection, which are added to the residual stream. Channels 0 to 63 of the gate
//! follow. The down projection takes all 1536 channels to outputs 0 to 63, with stored channels from 64 on. Its results
//! are added to the residual stream again. The up projection's results for channels 0 to 63 are computed back: the
//! stored product of both, divided by the activated gate.

use anyhow::ensure;
use golden::accelerators::tender::TenderTop;
use golden::tender::granularity::{product, relative_error};
use host::Window;
use host::tender::Caps;
use host::vector::Integer;
use sim::stimulus::real_numbers;

use super::builder::{Activations, Builder, Floats, Measured};

/// A projection whose results are added to rows; the results alone are in `product`.
///
/// # Errors
/// The sizes do not fit; no room.
pub fn add_projection(
    b: &mut Builder,
    x: &Activations,
    weights: &[Vec<f64>],
    to: &Floats,
    (product, sum): (&Floats, &Floats),
) -> anyhow::Result<()> {
    let weights = b.weights(weights)?;
    b.multiply(x, &weights, 1.0, product)?;
    b.rows(product, sum, |job| job.add_rows(to.at))
}

/// Channels of the gate, activated, times what the up projection makes of them.
///
/// # Errors
/// The sizes do not fit; no room.
pub fn gate(
    b: &mut Builder,
    x: &Activations,
    weights: &[Vec<f64>],
    up: &Floats,
    (gate, out): (&Floats, &Floats),
) -> anyhow::Result<()> {
    let weights = b.weights(weights)?;
    b.multiply(x, &weights, 1.0, gate)?;
    b.rows(gate, out, |job| job.activate().multiply_rows(up.at))
}

/// The slice for the first tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn real_slice(
    caps: &Caps,
    window: &Window,
    golden: TenderTop,
    integer: Integer,
    tokens: usize,
) -> anyhow::Result<Measured> {
    let exact = Exact::of(tokens)?;
    let width = exact.up[0].len();
    let mut b = Builder::new(caps, window, golden, integer)?;
    let residual = b.given(&exact.residual)?.slice(0, width)?;
    let attention = b.given(&exact.attention)?;
    let ffn_in = b.given(&exact.ffn_in)?;
    let up = b.given(&exact.up)?;
    let down_in = b.given(&exact.rest)?;

    let x = b.pack("packed attention", &attention)?;
    let projected = b.floats("projected", tokens, width)?;
    let hidden = b.floats("behind the attention", tokens, width)?;
    add_projection(&mut b, &x, &exact.w_o, &residual, (&projected, &hidden))?;

    let x = b.pack("packed tokens", &ffn_in)?;
    let gates = b.floats("gate", tokens, width)?;
    let gated = down_in.slice(0, width)?;
    gate(&mut b, &x, &exact.w_gate, &up, (&gates, &gated))?;
    // All rows of it: what is not the gate's must stay as it was.
    b.writes("gated", &down_in);

    let x = b.pack("packed gated", &down_in)?;
    let down = b.floats("down", tokens, width)?;
    let out = b.floats("behind the layer", tokens, width)?;
    add_projection(&mut b, &x, &exact.w_down, &hidden, (&down, &out))?;

    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &b.values(rows));
    let errors = vec![
        ("projected", error(&exact.projected, &projected)),
        ("behind the attention", error(&exact.hidden, &hidden)),
        ("gate", error(&exact.gate, &gates)),
        ("gated", error(&exact.gated, &gated)),
        ("down", error(&exact.down, &down)),
        ("behind the layer", error(&exact.out, &out)),
    ];
    Ok(Measured { job: b.finish()?, errors })
}

/// The slice in float arithmetic, on the stored parts of the model.
#[derive(Clone, Debug)]
struct Exact {
    residual: Vec<Vec<f64>>,
    attention: Vec<Vec<f64>>,
    ffn_in: Vec<Vec<f64>>,
    up: Vec<Vec<f64>>,
    /// Input of the down projection without the channels of the slice, which are 0.
    rest: Vec<Vec<f64>>,
    w_o: Vec<Vec<f64>>,
    w_gate: Vec<Vec<f64>>,
    w_down: Vec<Vec<f64>>,
    projected: Vec<Vec<f64>>,
    hidden: Vec<Vec<f64>>,
    gate: Vec<Vec<f64>>,
    gated: Vec<Vec<f64>>,
    down: Vec<Vec<f64>>,
    out: Vec<Vec<f64>>,
}

impl Exact {
    fn of(tokens: usize) -> anyhow::Result<Self> {
        let read = |name| -> anyhow::Result<Vec<Vec<f64>>> {
            let rows = real_numbers(name)?;
            let stored = rows.len();
            ensure!((1..=stored).contains(&tokens), "{tokens} tokens are asked for, must be 1 to {stored}");
            Ok(rows.into_iter().take(tokens).collect())
        };
        let (residual, attention) = (read("l14_attn_residual")?, read("l14_attn_out")?);
        let (ffn_in, down_in) = (read("l14_ffn_in")?, read("l14_down_in")?);
        let (w_o, w_gate, w_down) =
            (real_numbers("l14_w_o")?, real_numbers("l14_w_gate")?, real_numbers("l14_w_down")?);
        let projected = product(&attention, &w_o);
        let hidden = both(&residual, &projected, |a, b| a + b);
        let gate = product(&ffn_in, &w_gate);
        let active: Vec<Vec<f64>> =
            gate.iter().map(|row| row.iter().map(|x| x / (1.0 + (-x).exp())).collect()).collect();
        let up = both(&down_in, &active, |product, gate| product / gate);
        let gated = both(&active, &up, |a, b| a * b);
        let of_slice = |with: fn(f64) -> f64| -> Vec<Vec<f64>> {
            let row = |(row, own): (&Vec<f64>, &Vec<f64>)| {
                own.iter().map(|&x| with(x)).chain(row[own.len()..].iter().copied()).collect()
            };
            down_in.iter().zip(&gated).map(row).collect()
        };
        let rest = of_slice(|_| 0.0);
        let down = product(&of_slice(|x| x), &w_down);
        let out = both(&hidden, &down, |a, b| a + b);
        Ok(Self {
            residual,
            attention,
            ffn_in,
            up,
            rest,
            w_o,
            w_gate,
            w_down,
            projected,
            hidden,
            gate,
            gated,
            down,
            out,
        })
    }
}

/// Element by element, as far as both go.
fn both(a: &[Vec<f64>], b: &[Vec<f64>], of: impl Fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| of(a, b)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use sim::stimulus::{Tensor, data_folder};

    use super::super::builder::testing::{CAPS, WINDOW, golden};
    use super::*;

    /// Checks the reference against the stored tensors. The residual stream after the attention, times the gains of the
    /// norm, must equal the stored input of the network up to one factor for each token.
    #[test]
    fn the_float_residual_is_that_of_the_model() {
        let exact = Exact::of(64).unwrap();
        let gains = Tensor::<f32>::read(&data_folder().join("l14_ffn_norm.npy")).unwrap();
        let scaled =
            |row: &Vec<f64>| -> Vec<f64> { row.iter().zip(&gains.data).map(|(x, g)| x * f64::from(*g)).collect() };
        let stored: Vec<Vec<f64>> = exact.ffn_in.iter().map(|row| row[..64].to_vec()).collect();
        let ours: Vec<Vec<f64>> = exact.hidden.iter().map(scaled).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let fitted = |(stored, ours): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            let factor = dot(stored, ours) / dot(ours, ours);
            ours.iter().map(|x| x * factor).collect()
        };
        let ours: Vec<Vec<f64>> = stored.iter().zip(&ours).map(fitted).collect();
        let error = relative_error(&stored, &ours);
        println!("input of the network: {error:.2e}");
        assert!(error < 1e-5, "{error:.2e}");
    }

    /// What is computed back is of the size that it has in the model: no gate was too near to 0.
    #[test]
    fn the_up_projection_is_plausible() {
        let up = Exact::of(64).unwrap().up.concat();
        let most = up.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(most > 1.0 && most < 5.0, "{most}");
    }

    #[test]
    fn a_slice_is_near_the_float_one() {
        for (integer, most) in [
            (Integer::Int8, [2e-4, 1e-6, 1e-4, 2e-4, 3e-4, 2e-6]),
            (Integer::Int4, [0.06, 2e-4, 0.04, 0.05, 0.1, 6e-4]),
        ] {
            let measured = real_slice(&CAPS, &WINDOW, golden(), integer, 64).unwrap();
            println!("{integer:?}, {} descriptors: {:?}", measured.job.descriptors, measured.errors);
            assert_eq!(measured.errors.len(), most.len());
            for ((name, error), most) in measured.errors.into_iter().zip(most) {
                assert!(error > 0.0 && error < most, "{integer:?}, {name}: {error:.2e}");
            }
        }
    }
}
