//! How the stages work.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::LayoutOptions;
use super::stage::Stage;
use crate::error::{Failure, Result};
use crate::flows::fpga::Device;
use crate::flows::liberty;
use crate::flows::synth::Memories;
use crate::output::Package;

/// Options of the stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Test vectors of a co-simulation
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    #[serde(deserialize_with = "positive")]
    pub vectors: u64,
    /// Seed of a co-simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Synthesise modules apart, each once, also for an FPGA
    #[arg(long)]
    pub hierarchical: bool,
    /// Synthesis maps memories to flip-flops, or leaves modules that have one out and counts their bits
    #[arg(long, value_enum, default_value_t)]
    pub memories: Memories,
    /// Cell library for area and delay: a name (osu018, osu035, osu050), a Liberty file, several that make one, or none
    #[arg(long, value_name = "LIBRARY")]
    #[serde(deserialize_with = "one_or_more")]
    pub liberty: Vec<PathBuf>,
    /// Clock period in ns for which synthesis leaves slack; the netlist is proved first
    #[arg(long, value_name = "NS", value_parser = period)]
    #[serde(deserialize_with = "some_period")]
    pub period: Option<f64>,
    /// FPGA
    #[arg(long, value_enum, default_value_t)]
    pub device: Device,
    /// FPGA: the block without registers at its ports, whose paths are not looked at
    #[arg(long)]
    pub out_of_context: bool,
    /// Cycles of a bounded proof
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=MOST_CYCLES))]
    #[serde(deserialize_with = "cycles")]
    pub depth: u32,
    /// Cycles of a proof within which covers must be reached
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=MOST_CYCLES))]
    #[serde(deserialize_with = "cycles")]
    pub cover_depth: u32,
    /// A layout
    #[command(flatten)]
    pub layout: LayoutOptions,
}

/// Cycles of a proof, at most.
pub const MOST_CYCLES: i64 = 100_000;

/// A number from 1 on, as the command line has it.
fn positive<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        0 => Err(serde::de::Error::custom("0 is too small, allowed: from 1")),
        number => Ok(number),
    }
}

/// A clock period in ns.
pub(crate) fn period(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(period) if Package::PERIODS.contains(&period) => Ok(period),
        _ => Err(format!("allowed: {} to {} ns", Package::PERIODS.start(), Package::PERIODS.end())),
    }
}

fn some_period<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(from)?;
    period(&number.to_string()).map(Some).map_err(serde::de::Error::custom)
}

/// A library, or the parts of one.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(PathBuf),
        More(Vec<PathBuf>),
    }
    Ok(match Names::deserialize(from)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}

/// A number of cycles, as the command line has it.
pub(super) fn cycles<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        number if (1..=MOST_CYCLES).contains(&i64::from(number)) => Ok(number),
        number => Err(serde::de::Error::custom(format!("{number} is not from 1 to {MOST_CYCLES}"))),
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            vectors: 100,
            seed: 1,
            hierarchical: false,
            memories: Memories::FlipFlops,
            liberty: Vec::new(),
            period: None,
            device: Device::default(),
            out_of_context: false,
            depth: 8,
            cover_depth: 40,
            layout: LayoutOptions::default(),
        }
    }
}

impl Options {
    /// Takes `none` as other commands do: no library.
    ///
    /// # Errors
    /// A stage that cannot do without; a device that does not go with the rest.
    pub fn checked(self, stages: &[Stage]) -> Result<Self> {
        if stages.contains(&Stage::Fpga) && self.out_of_context {
            self.device.out_of_context()?;
        }
        if !self.liberty.iter().any(|library| library == Path::new("none")) {
            return Ok(self);
        }
        if self.liberty.len() > 1 {
            return Err(Failure::Usage("a cell library is either `none` or files, not both".into()));
        }
        if stages.contains(&Stage::Energy) {
            return Err(Failure::Usage(format!(
                "the stage energy needs a cell library, not `none`: a Liberty file, or {}",
                liberty::NAMED.join(", ")
            )));
        }
        Ok(Self { liberty: Vec::new(), ..self })
    }

    /// The library of stages that cannot do without.
    pub(crate) fn library(&self) -> Vec<PathBuf> {
        if self.liberty.is_empty() { vec!["osu018".into()] } else { self.liberty.clone() }
    }

    /// The same options as words of a command line; options at their defaults are left out.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let default = Self::default();
        let mut words = Vec::new();
        let mut number = |name: &str, value: u64, default: u64| {
            if value != default {
                words.extend([format!("--{name}"), value.to_string()]);
            }
        };
        number("vectors", self.vectors, default.vectors);
        number("seed", self.seed, default.seed);
        number("depth", self.depth.into(), default.depth.into());
        number("cover-depth", self.cover_depth.into(), default.cover_depth.into());
        if self.hierarchical {
            words.push("--hierarchical".into());
        }
        if self.memories == Memories::Bits {
            words.extend(["--memories".into(), "bits".into()]);
        }
        if let Some(period) = self.period {
            words.extend(["--period".into(), period.to_string()]);
        }
        if self.device != default.device {
            words.extend(["--device".into(), self.device.name().into()]);
        }
        if self.out_of_context {
            words.push("--out-of-context".into());
        }
        for library in &self.liberty {
            words.extend(["--liberty".into(), library.display().to_string()]);
        }
        words.extend(self.layout.arguments());
        words
    }
}
