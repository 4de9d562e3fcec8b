//! SmoothQuant (Xiao et al. 2023): channels of activations with large values are divided, and their weights multiplied.

use std::borrow::Cow;

use anyhow::{Context, Result};

use super::integers::{Columns, Integers};
use super::options::{activations, bits, weights};
use super::products::{Change, Exact, Form, Inputs, Rounded, projections};
use crate::decoder::Model;
use crate::decoder::calibration::{Calibration, Input};
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};

/// Magnitudes below this one count as this one, as in the paper's program.
const LEAST: f64 = 1e-5;

/// Factors of channels: `max |x|^alpha / max |w|^(1 - alpha)` (equation 4), from the largest magnitudes of inputs and of
/// the weights of all projections that share them.
#[must_use]
pub fn factors(inputs: &[f64], weights: &[f64], alpha: f64) -> Vec<f64> {
    let factor = |(x, w): (&f64, &f64)| x.max(LEAST).powf(alpha) / w.max(LEAST).powf(1.0 - alpha);
    inputs.iter().zip(weights).map(factor).map(|s| s.max(LEAST)).collect()
}

/// The largest magnitude of each channel of an input on the text to learn from.
fn largest(learnt: &Calibration, layer: usize, input: Input) -> Result<Vec<f64>> {
    let extremes = (0..learnt.chunks(layer, input)).filter_map(|chunk| learnt.extremes(layer, input, chunk));
    let of = |[low, high]: &[Vec<f64>; 2]| low.iter().zip(high).map(|(l, h)| h.max(-l)).collect::<Vec<f64>>();
    let all = extremes.map(of).reduce(|a, b| a.iter().zip(b).map(|(a, b)| a.max(b)).collect());
    all.with_context(|| format!("{input:?} of layer {layer} is not calibrated"))
}

/// The largest magnitude of each channel of the weights that share an input.
fn largest_weights(model: &Model, layer: usize, input: Input) -> Result<Vec<f64>> {
    let mut all = vec![0.0_f64; input.channels(model.config())];
    for projection in projections(model, input) {
        for output in model.weight(layer, projection)?.iter() {
            all.iter_mut().zip(output).for_each(|(most, w)| *most = most.max(f64::from(w).abs()));
        }
    }
    Ok(all)
}

/// Smoothed inputs of the attention and of the feed-forward network.
#[derive(Clone, Copy, Debug)]
pub struct SmoothQuant;

impl Scheme for SmoothQuant {
    fn name(&self) -> &'static str {
        "smoothquant"
    }

    fn about(&self) -> &'static str {
        "integers to the nearest, after large channels of normed inputs are divided and their weights multiplied (SmoothQuant)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "how much of the range moves from activations to weights";
        let alpha = Choice { name: "alpha", default: "0.5", kind: Kind::Number(0.0..=1.0), about };
        let about = "what shares a scale of activations: token (O1), or tensor (O2: all tokens of a passage)";
        let scale = Choice { name: "scale", default: "token", kind: Kind::Word(&["token", "tensor"]), about };
        vec![weights("8"), activations("8"), alpha, scale]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (of_weights, of_inputs) = (settings.count("weights")?, bits(settings)?);
        let (alpha, is_tensor) = (settings.number("alpha")?, settings.word("scale")? == "tensor");
        let (model, learnt) = (bench.model, bench.calibration(0)?);
        let rounded = Rounded::new(model, None, |layer, input| {
            let width = input.channels(model.config());
            // The norm ahead of these two takes the factors in.
            let change = match input {
                Input::Attention | Input::FeedForward => {
                    let (x, w) = (largest(&learnt, layer, input)?, largest_weights(model, layer, input)?);
                    Change::Divide(factors(&x, &w, alpha))
                }
                Input::AttentionOut | Input::Down => Change::None,
            };
            let inputs: Box<dyn Inputs> = match of_inputs.map(Integers::symmetric) {
                None => Box::new(Exact),
                Some(integers) if is_tensor => Box::new(integers),
                Some(integers) => Box::new(Columns::new(width, 0, integers)),
            };
            Ok(Form { change, inputs, outputs: Box::new(Columns::new(width, 0, Integers::symmetric(of_weights))) })
        })?;
        Ok(rounded.prepared(Cow::Borrowed(model)))
    }

    fn learns(&self, _: &Settings) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel of 16 with weights of 1 is divided by 4 with alpha 0.5; with alpha 1 all of the range moves.
    #[test]
    fn factors_by_hand() {
        assert_eq!(factors(&[16.0, 1.0], &[1.0, 4.0], 0.5), [4.0, 0.5]);
        assert_eq!(factors(&[16.0, 1.0], &[1.0, 4.0], 1.0), [16.0, 1.0]);
        assert_eq!(factors(&[16.0, 1.0], &[1.0, 4.0], 0.0), [1.0, 0.25]);
        assert!(factors(&[0.0], &[0.0], 0.5)[0].is_finite());
    }
}
