//! Schemes that belong to no accelerator.

use anyhow::Result;

use super::scheme::{Reader, Scheme, by_arithmetic};
use super::{Bench, Choice, Kind, Settings};
use crate::decoder::Float;
use crate::decoder::key_values::RoundedCache;

/// Everything in floats.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Scheme for Plain {
    fn name(&self) -> &'static str {
        "float"
    }

    fn about(&self) -> &'static str {
        "everything in floats of 64 bits, with weights rounded to binary16"
    }

    fn choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn prepare<'a>(&self, _: &Settings, bench: &'a Bench<'_>) -> Result<Box<dyn Reader + 'a>> {
        Ok(by_arithmetic(bench.model, |_, read| {
            read(&mut Float)?;
            Ok(Vec::new())
        }))
    }
}

/// Keys and values as symmetric integers.
#[derive(Clone, Copy, Debug)]
pub struct Cache;

impl Scheme for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn about(&self) -> &'static str {
        "keys and values as integers to the nearest, a scale a token of a head"
    }

    fn choices(&self) -> Vec<Choice> {
        vec![Choice { name: "bits", default: "8", kind: Kind::Count(2..=8), about: "bits of an element" }]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Box<dyn Reader + 'a>> {
        let bits = settings.count("bits")?;
        Ok(by_arithmetic(bench.model, move |_, read| {
            read(&mut RoundedCache { bits })?;
            Ok(Vec::new())
        }))
    }
}
