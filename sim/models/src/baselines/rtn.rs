//! Round to nearest: the scheme without tuning that the papers begin with.

use std::borrow::Cow;

use anyhow::{Result, ensure};

use super::integers::{Columns, Integers};
use super::options::{activations, bits, form, form_of, group, weights};
use super::products::{Change, Exact, Form, Inputs, Rounded};
use crate::WrongRequest;
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings};

/// Weights and activations to the nearest integer.
#[derive(Clone, Copy, Debug)]
pub struct Rtn;

impl Scheme for Rtn {
    fn name(&self) -> &'static str {
        "rtn"
    }

    fn about(&self) -> &'static str {
        "weights and activations as integers to the nearest, with scales of their own values"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let about = "what shares a scale of activations: token, or tensor (all tokens of a passage)";
        let scale = Choice { name: "scale", default: "token", kind: Kind::Word(&["token", "tensor"]), about };
        vec![weights("8"), activations("8"), scale, group(), form()]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (form, group) = (form_of(settings)?, settings.count::<usize>("group")?);
        let is_tensor = settings.word("scale")? == "tensor";
        let told = || WrongRequest(format!("option `scale` is tensor, wanted is token for groups of {group}"));
        ensure!(!is_tensor || group == 0, told());
        let integers = |bits| Integers { form, ..Integers::symmetric(bits) };
        let (of_weights, of_inputs) = (integers(settings.count("weights")?), bits(settings)?.map(integers));
        let config = *bench.model.config();
        let rounded = Rounded::new(bench.model, None, |_, input| {
            let width = input.channels(&config);
            let inputs: Box<dyn Inputs> = match of_inputs {
                None => Box::new(Exact),
                Some(integers) if is_tensor => Box::new(integers),
                Some(integers) => Box::new(Columns::new(width, group, integers)),
            };
            Ok(Form { change: Change::None, inputs, outputs: Box::new(Columns::new(width, group, of_weights)) })
        })?;
        Ok(rounded.prepared(Cow::Borrowed(bench.model)))
    }
}
