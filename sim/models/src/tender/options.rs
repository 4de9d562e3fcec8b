//! Options of schemes and of the calibration.

use crate::schemes::{Choice, Kind};

pub(super) fn bits() -> Choice {
    let about = "bits of weights and activations; weights have a scale for each output channel";
    Choice { name: "bits", default: "8", kind: Kind::Count(2..=8), about }
}

pub(super) fn outliers() -> Choice {
    let about = "share of each row, largest and smallest values together, that is multiplied apart as it is";
    Choice { name: "outliers", default: "0", kind: Kind::Percent(0.0..=100.0), about }
}

pub(super) fn groups() -> Choice {
    Choice { name: "groups", default: "8", kind: Kind::Count(1..=32), about: "groups of channels" }
}

/// Options of the calibration.
pub(super) fn choices() -> Vec<Choice> {
    let about = "share of each row, largest and smallest values together, that does not count for ranges of channels";
    vec![bits(), groups(), Choice { about, ..outliers() }]
}
