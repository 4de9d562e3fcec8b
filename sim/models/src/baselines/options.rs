//! Options that these schemes share.

use anyhow::Result;

use super::integers::{Columns, Form, Integers};
use super::products::{Exact, Inputs, Solver};
use crate::schemes::{Choice, Kind, Learning, Settings};

/// Bits of weights.
pub(super) fn weights(default: &'static str) -> Choice {
    Choice { name: "weights", default, kind: Kind::Count(2..=8), about: "bits of a weight" }
}

/// Bits of activations.
pub(super) fn activations(default: &'static str) -> Choice {
    let kind = Kind::Or(Box::new(Kind::Count(2..=8)), "exact");
    Choice { name: "activations", default, kind, about: "bits of an activation; with `exact` activations stay floats" }
}

/// Channels that share a scale.
pub(super) fn group() -> Choice {
    let about = "neighbouring inputs of an output that share a scale; 0: all";
    Choice { name: "group", default: "0", kind: Kind::Count(0..=65_536), about }
}

/// Where codes are.
pub(super) fn form() -> Choice {
    let about = "codes around 0 (symmetric), or from the smallest to the largest value (zero-point)";
    Choice { name: "form", default: "symmetric", kind: Kind::Word(&["symmetric", "zero-point"]), about }
}

pub(super) fn form_of(settings: &Settings) -> Result<Form> {
    Ok(if settings.word("form")? == "symmetric" { Form::Symmetric } else { Form::ZeroPoint })
}

/// GPTQ's damping.
pub(super) fn damping() -> Choice {
    let about = "GPTQ: share of the inputs' mean square that is added to each of them";
    Choice { name: "damping", default: "0.01", kind: Kind::Number(0.0..=10.0), about }
}

/// GPTQ's order.
pub(super) fn order() -> Choice {
    let about = "GPTQ: the order of channels, as they are or by the square of their inputs, the largest first";
    Choice { name: "order", default: "channels", kind: Kind::Word(&["channels", "squares"]), about }
}

/// How weights are rounded.
pub(super) fn solve(default: &'static str) -> Choice {
    let about = "how weights are rounded: to the nearest, or by GPTQ";
    Choice { name: "solve", default, kind: Kind::Word(&["nearest", "gptq"]), about }
}

/// Share of ranges that is kept.
pub(super) fn clip(name: &'static str, default: &'static str, about: &'static str) -> Choice {
    Choice { name, default, kind: Kind::Number(0.1..=1.0), about }
}

/// GPTQ with these settings.
pub(super) fn solver<'a>(settings: &Settings, learning: &'a Learning) -> Result<Solver<'a>> {
    let (damping, by_square) = (settings.number("damping")?, settings.word("order")? == "squares");
    Ok(Solver { windows: &learning.windows, damping, by_square })
}

/// Activations as `activations` says, symmetric, with a scale for each `group` channels of a token.
pub(super) fn inputs(settings: &Settings, width: usize, group: usize, clip: f64) -> Result<Box<dyn Inputs>> {
    Ok(match bits(settings)? {
        None => Box::new(Exact),
        Some(bits) => Box::new(Columns::new(width, group, Integers { clip, ..Integers::symmetric(bits) })),
    })
}

/// Bits of activations, if these are rounded.
pub(super) fn bits(settings: &Settings) -> Result<Option<u32>> {
    if settings.word("activations")? == "exact" { Ok(None) } else { settings.count("activations").map(Some) }
}

/// Activations of 4 bits, or exact ones.
pub(super) fn activations_of_four() -> Choice {
    let about = "bits of an activation, as of a weight; with `exact` activations stay floats";
    Choice { name: "activations", default: "4", kind: Kind::Word(&["4", "exact"]), about }
}
