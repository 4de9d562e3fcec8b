//! How the stage `layout` works, and the command.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::flows::layout;
use crate::flows::synth::PROOF_LIMIT;

/// Options of a layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct LayoutOptions {
    /// Technology: a name (osu018, osu035, osu050), or a folder as in /usr/share/qflow/tech
    #[arg(long, value_name = "TECHNOLOGY", default_value = "osu018")]
    pub technology: PathBuf,
    /// Share of the rows that cells take
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = utilisation)]
    #[serde(deserialize_with = "some_utilisation")]
    pub utilisation: f64,
    /// Height of the rows together, by their width
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = aspect)]
    #[serde(deserialize_with = "some_aspect")]
    pub aspect: f64,
    /// Seed of the placement
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=SEEDS))]
    #[serde(deserialize_with = "some_seed")]
    pub placement_seed: u64,
    /// Pins for a buffer in the trees of clock and reset, at most
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    #[serde(deserialize_with = "some_fanout")]
    pub fanout: u64,
    /// Width of the straps of the supplies in micrometres
    #[arg(long, value_name = "UM", default_value_t = 2.0, value_parser = strap)]
    #[serde(deserialize_with = "some_strap")]
    pub strap: f64,
    /// Cells of a block, at most
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_cells: u64,
}

/// graywolf keeps its seed in 31 bits.
const SEEDS: u64 = (1 << 31) - 1;

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            technology: "osu018".into(),
            utilisation: 0.8,
            aspect: 1.0,
            placement_seed: 1,
            fanout: 16,
            strap: 2.0,
            max_cells: 20_000,
        }
    }
}

impl LayoutOptions {
    /// For the flow.
    #[must_use]
    pub fn flow(&self) -> layout::Options {
        layout::Options {
            technology: self.technology.clone(),
            utilisation: self.utilisation,
            aspect: self.aspect,
            seed: self.placement_seed,
            fanout: usize::try_from(self.fanout).unwrap_or(usize::MAX),
            strap: self.strap,
            most: usize::try_from(self.max_cells).unwrap_or(usize::MAX),
            proof: PROOF_LIMIT,
            limit: LIMIT,
        }
    }

    /// The same options as words of a command line; options at their defaults are left out.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let default = Self::default();
        let own = |options: &Self| {
            [
                ("technology", options.technology.display().to_string()),
                ("utilisation", options.utilisation.to_string()),
                ("aspect", options.aspect.to_string()),
                ("placement-seed", options.placement_seed.to_string()),
                ("fanout", options.fanout.to_string()),
                ("strap", options.strap.to_string()),
                ("max-cells", options.max_cells.to_string()),
            ]
        };
        let both = own(self).into_iter().zip(own(&default));
        both.filter(|(ours, other)| ours != other).flat_map(|((name, value), _)| [format!("--{name}"), value]).collect()
    }
}

/// Time for each tool of the stage.
const LIMIT: Duration = Duration::from_secs(7200);

/// A number within bounds.
fn within(text: &str, low: f64, high: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("allowed: {low} to {high}")),
    }
}

fn utilisation(text: &str) -> Result<f64, String> {
    within(text, 0.1, 1.0)
}

fn aspect(text: &str) -> Result<f64, String> {
    within(text, 0.1, 10.0)
}

fn strap(text: &str) -> Result<f64, String> {
    within(text, 0.5, 50.0)
}

fn checked<'de, D: serde::Deserializer<'de>>(
    from: D,
    check: impl Fn(&str) -> Result<f64, String>,
) -> Result<f64, D::Error> {
    check(&f64::deserialize(from)?.to_string()).map_err(serde::de::Error::custom)
}

fn some_utilisation<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, utilisation)
}

fn some_aspect<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, aspect)
}

fn some_strap<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, strap)
}

fn whole<'de, D: serde::Deserializer<'de>>(from: D, low: u64, high: u64) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        number if (low..=high).contains(&number) => Ok(number),
        number => Err(serde::de::Error::custom(format!("{number} is not from {low} to {high}"))),
    }
}

fn some_seed<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 1, SEEDS)
}

fn some_fanout<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from, 2, 10_000)
}
