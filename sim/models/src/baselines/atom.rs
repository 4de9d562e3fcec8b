//! Atom (Zhao et al. 2024): groups of channels with a scale each, and channels with outliers in 8 bits.

use std::borrow::Cow;

use anyhow::{Context, Result};
use golden::kllm::fp16;

use super::integers::{Columns, Integers};
use super::options::{activations, bits, clip, damping, order, solve, solver, weights};
use super::products::{Change, Exact, Form, Inputs, Rounded};
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};

/// Bits of the channels with outliers.
const OUTLIERS: u32 = 8;

/// Channels by the sum of their squares, the largest at the end (section 4.1): groups of `group` channels, and behind
/// them the `outliers` largest ones in groups of 8 bits.
#[must_use]
pub fn columns(squares: &[f64], outliers: usize, group: usize, [rest, apart]: [Integers; 2]) -> Columns {
    let mut order: Vec<usize> = (0..squares.len()).collect();
    order.sort_by(|&a, &b| squares[a].total_cmp(&squares[b]).then(a.cmp(&b)));
    let ordinary = squares.len() - outliers.min(squares.len());
    let of = |from: usize, to: usize, integers: Integers| {
        (from..to).step_by(group.max(1)).map(move |at| (at..(at + group).min(to), integers))
    };
    let groups = of(0, ordinary, rest).chain(of(ordinary, squares.len(), apart)).collect();
    Columns { order, groups }
}

/// Groups, and outlier channels in 8 bits.
#[derive(Clone, Copy, Debug)]
pub struct Atom;

impl Scheme for Atom {
    fn name(&self) -> &'static str {
        "atom"
    }

    fn about(&self) -> &'static str {
        "integers with a scale for each group of channels, and channels with outliers in 8 bits (Atom)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "share of channels in 8 bits; the paper has 128 of 4096 or more";
        let outliers = Choice { name: "outliers", default: "3.12", kind: Kind::Percent(0.0..=100.0), about };
        let about = "channels of a group";
        let group = Choice { name: "group", default: "128", kind: Kind::Count(1..=65_536), about };
        let clip_inputs = clip("clip", "0.9", "share of the range of a group of activations that is kept");
        let clip_weights = clip("clip-weights", "0.85", "share of the range of a group of weights that is kept");
        let all = [weights("4"), activations("4"), outliers, group, clip_inputs, clip_weights];
        all.into_iter().chain([solve("gptq"), damping(), order()]).collect()
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (of_weights, of_inputs) = (settings.count("weights")?, bits(settings)?);
        let (share, group) = (settings.percent("outliers")?, settings.count("group")?);
        let clips = [settings.number("clip")?, settings.number("clip-weights")?];
        let (model, learnt) = (bench.model, bench.calibration(0)?);
        let solver = match settings.word("solve")? {
            "gptq" => Some(solver(settings, bench.learning()?)?),
            _ => None,
        };
        let rounded = Rounded::new(model, solver, |layer, input| {
            let samples = learnt.samples(layer, input);
            let samples = samples.with_context(|| format!("{input:?} of layer {layer} is not calibrated"))?;
            let square = |k: usize| samples.iter().map(|row| fp16::value(row[k]).powi(2)).sum::<f64>();
            let squares: Vec<f64> = (0..input.channels(model.config())).map(square).collect();
            let outliers = (squares.len() * share as usize).div_ceil(10_000);
            let of = |bits: u32, clip: f64| {
                // Clipping is for few bits: channels of 8 bits keep their range.
                let rest = Integers { clip, ..Integers::symmetric(bits) };
                columns(&squares, outliers, group, [rest, Integers::symmetric(OUTLIERS)])
            };
            let inputs: Box<dyn Inputs> = match of_inputs {
                None => Box::new(Exact),
                Some(bits) => Box::new(of(bits, clips[0])),
            };
            Ok(Form { change: Change::None, inputs, outputs: Box::new(of(of_weights, clips[1])) })
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

    /// The channel with the largest square is apart, in 8 bits; the others are two by two.
    #[test]
    fn channels_by_hand() {
        let integers = [Integers::symmetric(2), Integers::symmetric(8)];
        let found = columns(&[4.0, 100.0, 1.0, 9.0, 2.0], 1, 2, integers);
        assert_eq!(found.order, [2, 4, 0, 3, 1]);
        let ranges: Vec<_> = found.groups.iter().map(|(range, i)| (range.clone(), i.bits)).collect();
        assert_eq!(ranges, [(0..2, 2), (2..4, 2), (4..5, 8)]);
        // Codes -1 to 1 in the groups {2, 4} and {0, 3}; the outlier is exact.
        let row = [2.0, 50.0, 1.0, -3.0, 0.4];
        assert_eq!(found.round(&row), [3.0, 50.0, 1.0, -3.0, 0.0]);
        assert_eq!(columns(&[1.0, 2.0], 5, 2, integers).groups.len(), 1);
        assert_eq!(columns(&[1.0, 2.0], 0, 128, integers).groups[0].0, 0..2);
    }
}
