//! Schemes that belong to no accelerator and to no paper.

use anyhow::Result;

use super::scheme::Scheme;
use super::{Bench, Choice, Kind, Part, Prepared, Settings, Tally};
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

    fn part(&self) -> Part {
        Part::Nothing
    }

    fn choices(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn prepare<'a>(&self, _: &Settings, _: &'a Bench<'_>) -> Result<Prepared<'a>> {
        Ok(Prepared::Float)
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

    fn part(&self) -> Part {
        Part::Storage
    }

    fn choices(&self) -> Vec<Choice> {
        vec![Choice { name: "bits", default: "8", kind: Kind::Count(2..=8), about: "bits of an element" }]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (bits, width) = (settings.count::<u32>("bits")?, bench.model.config().head_width as u64);
        Ok(Prepared::cache(move |_, with| {
            with(&mut RoundedCache { bits })?;
            // A scale of a token of a head is binary16.
            Ok(vec![Tally::ratio(BYTES, [u64::from(bits) * width + 16, 8 * width], 1.0)])
        }))
    }
}

/// Name of the figure: bytes that an element of keys and values takes in a cache, with its share of scales and the like.
pub const BYTES: &str = "bytes an element";

/// Name of the figure: of all tokens of a text, the share that a query head has in its cache at the end.
pub const KEPT: &str = "tokens kept";
