//! Integers and Tender's groups as schemes.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;
use golden::tender::granularity::Granularity;

use super::groups::{ACCELERATOR, Groups};
use super::language_model::{Activations, IntegerModel};
use super::options::{bits, groups, outliers};
use crate::decoder::calibration::Calibration;
use crate::schemes::{Bench, Choice, Kind, Part, Prepared, Scheme, Settings, Tally};

/// Symmetric integers, with scales of the text that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Integers;

impl Scheme for Integers {
    fn name(&self) -> &'static str {
        "integers"
    }

    fn about(&self) -> &'static str {
        "products of all projections in symmetric integers, with scales of the text itself"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        let scale = Kind::Word(&["tensor", "row", "column", "exact"]);
        let activations = Kind::Count(0..=8);
        vec![
            bits(),
            Choice {
                name: "scale",
                default: "row",
                kind: scale,
                about: "what shares a scale of activations: tensor, row (token) or column (channel); \
                        with `exact` activations stay floats",
            },
            Choice {
                name: "activations",
                default: "0",
                kind: activations,
                about: "bits of activations, if they differ from the weights'; 0: as many",
            },
            outliers(),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let bits: u32 = settings.count("bits")?;
        let activations = match settings.count("activations")? {
            0 => bits,
            1 => anyhow::bail!("option `activations` is 1, allowed: 0, 2 to 8"),
            other => other,
        };
        let how = match settings.word("scale")? {
            "tensor" => Activations::Plain(Granularity::Tensor),
            "row" => Activations::Plain(Granularity::Row),
            "column" => Activations::Plain(Granularity::Column),
            _ => Activations::Exact,
        };
        let (weights, apart) = (bench.integers(bits)?, settings.percent("outliers")?);
        Ok(Prepared::products(Cow::Borrowed(bench.model), move |_, read| {
            read(&mut IntegerModel::new(&weights, activations, how).outliers_apart(apart))?;
            Ok(Vec::new())
        }))
    }
}

/// Channels in groups, as the accelerator has them.
#[derive(Clone, Copy, Debug)]
pub struct Tender;

impl Scheme for Tender {
    fn name(&self) -> &'static str {
        "tender"
    }

    fn about(&self) -> &'static str {
        "products of all projections in Tender's integers: channels in groups, each with half of the scale before it"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        vec![
            bits(),
            groups(),
            Choice {
                name: "ranges",
                default: "text",
                kind: Kind::Word(&["text", "itself"]),
                about: "where ranges of channels come from: the text to learn from, or the judged text itself",
            },
            outliers(),
        ]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let bits = settings.count("bits")?;
        let (groups, apart) = (settings.count("groups")?, settings.percent("outliers")?);
        let weights = bench.integers(bits)?;
        let known = match (settings.word("ranges")?, bench.given(ACCELERATOR)) {
            ("itself", _) => Known::Itself,
            (_, Some(given)) => {
                given.agrees(settings, self.shared())?;
                let groups = Groups::of_arrays(bench.model.config(), &given.settings, &given.file.arrays);
                Known::Given(given.named(groups)?)
            }
            (_, None) => Known::Learnt(bench.calibration(apart)?),
        };
        Ok(Prepared::products(Cow::Borrowed(bench.model), move |_, read| {
            let how = match &known {
                Known::Learnt(learnt) => Activations::Tender { groups, learnt },
                Known::Given(groups) => Activations::Given(groups),
                Known::Itself => Activations::TenderOnItself { groups },
            };
            let mut model = IntegerModel::new(&weights, bits, how).outliers_apart(apart);
            read(&mut model)?;
            Ok(tallies(&model))
        }))
    }

    fn calibrated_by(&self) -> Option<&'static str> {
        Some(ACCELERATOR)
    }

    fn shared(&self) -> &'static [&'static str] {
        &["bits", "groups", "outliers"]
    }

    fn learns(&self, settings: &Settings) -> bool {
        settings.word("ranges").is_ok_and(|ranges| ranges != "itself")
    }
}

/// Where groups come from.
enum Known {
    Learnt(Arc<Calibration>),
    Given(Groups),
    Itself,
}

/// Figures of a model with groups.
pub(crate) fn tallies(model: &IntegerModel<'_>) -> Vec<Tally> {
    let (used, chunks) = (model.groups.0 as u64, model.groups.1 as u64);
    vec![
        Tally::most("bits of a sum", model.largest_sum.max(1.0).log2()),
        Tally::ratio("groups used", [used, chunks], 1.0),
    ]
}
