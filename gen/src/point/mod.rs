//! One point of a sweep: a block, its parameters, the stages to run on it.
//!
//! A stage is a pure function of the Verilog, its options and the tools. Its result is stored under a hash of these. A
//! later request gets the stored answer, whichever sweep or machine made it.

mod stages;
mod store;

pub use store::{STORE, STORE_LIMIT, StageResult, Status, Store};

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::catalogue::{Known, Params};
use crate::error::{Failure, Result};
use crate::flows::fpga::Device;
use crate::flows::liberty;
use crate::flows::lint::Sources;
use crate::flows::synth::Memories;
use crate::flows::tools::{self, Versions};
use crate::output::Package;

/// A stage of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Verilog: its size, its latency
    Gen,
    /// The three checkers
    Lint,
    /// Co-simulation with the golden model
    Sim,
    /// Synthesis
    Synth,
    /// Cycles of a fixed piece of work, by the block's recurrence
    Cycles,
    /// Lookup tables and clock on an FPGA
    Fpga,
    /// Energy of the testbench's run in cells of a library
    Energy,
    /// The properties of the block, bounded
    Prove,
}

impl Stage {
    /// All stages, in the order in which they run.
    pub const ALL: [Self; 8] =
        [Self::Gen, Self::Lint, Self::Sim, Self::Cycles, Self::Synth, Self::Fpga, Self::Energy, Self::Prove];

    /// Name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gen => "gen",
            Self::Lint => "lint",
            Self::Sim => "sim",
            Self::Synth => "synth",
            Self::Cycles => "cycles",
            Self::Fpga => "fpga",
            Self::Energy => "energy",
            Self::Prove => "prove",
        }
    }

    /// The tools whose versions matter to the result.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Gen | Self::Cycles => &[],
            Self::Lint => &["verilator", "iverilog", "yosys"],
            // The tools of the engine: see `Point::engine_tools`.
            Self::Sim => &[],
            // The place-and-route tool depends on the device, and the timer on an option.
            Self::Synth | Self::Fpga => &["yosys"],
            Self::Energy => &["yosys", "verilator", "g++"],
            Self::Prove => &["yosys", "z3"],
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
fn cycles<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
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
        words
    }
}

/// A point that is ready to run: its Verilog is known.
pub struct Point {
    /// Block.
    pub entry: Known,
    /// All parameters.
    pub params: Params,
    /// Verilog and name of the top module.
    pub sources: Sources,
    /// JSON description of the design.
    pub manifest: hdl::emit::Manifest,
}

impl Point {
    /// Elaborates the block.
    ///
    /// # Errors
    /// Parameters that the block refuses, errors in its description.
    pub fn new(entry: &Known, params: Params) -> Result<Self> {
        let design = entry.elaborate(&params)?;
        Ok(Self { entry: entry.clone(), params, sources: Sources::from(&design), manifest: design.manifest() })
    }

    /// Name of the block.
    #[must_use]
    pub fn block(&self) -> &'static str {
        self.entry.about().name
    }

    /// The names of the numbers that the stages leave at this point, when they pass.
    #[must_use]
    pub fn numbers(&self, stages: &[Stage], options: &Options) -> Vec<String> {
        stages.iter().flat_map(|&stage| stages::names(stage, self, options)).collect()
    }

    /// Tools of the engine that simulates the design: Verilog from outside needs Verilator.
    fn engine_tools(&self) -> Result<&'static [&'static str]> {
        let from_outside = self.manifest.modules.iter().any(|module| module.black_box);
        Ok(match sim::Engine::usual()? {
            sim::Engine::Native if from_outside => &["cc", "verilator", "g++"],
            sim::Engine::Native => &["cc"],
            sim::Engine::Verilator => &["verilator", "g++"],
        })
    }

    /// The key of a stage's result.
    ///
    /// # Errors
    /// A tool of the stage is not installed; an unreadable library.
    pub fn key(&self, stage: Stage, options: &Options) -> Result<Key> {
        let mut tools = tools::versions(stage.tools())?;
        match stage {
            Stage::Fpga => tools.extend(tools::versions(&[options.device.program()?])?),
            Stage::Sim => tools.extend(tools::versions(self.engine_tools()?)?),
            Stage::Synth if options.period.is_some() => tools.extend(tools::versions(&["sta"])?),
            _ => {}
        }
        let options = match stage {
            Stage::Gen | Stage::Lint => json!(null),
            Stage::Fpga => json!({
                "device": options.device, "seed": options.seed, "out_of_context": options.out_of_context,
                "hierarchical": options.hierarchical,
            }),
            // A bench sees the parameters, and is code that may change, in any crate that is linked here.
            Stage::Sim | Stage::Energy => {
                let library = match stage {
                    Stage::Energy => Some(liberty::fingerprint(&options.library())?),
                    _ => None,
                };
                json!({
                    "block": self.block(), "parameters": self.params, "vectors": options.vectors, "seed": options.seed,
                    "program": program()?, "library": library,
                })
            }
            Stage::Synth => {
                let library = (!options.liberty.is_empty()).then(|| liberty::fingerprint(&options.liberty));
                let library = library.transpose()?;
                json!({ "hierarchical": options.hierarchical, "memories": options.memories, "library": library, "period": options.period })
            }
            Stage::Cycles => {
                json!({ "block": self.block(), "parameters": self.params, "program": program()? })
            }
            Stage::Prove => json!({ "depth": options.depth, "cover_depth": options.cover_depth }),
        };
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            // Lengths keep neighbours apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(&format!("senbazuru {} stage {stage}", env!("CARGO_PKG_VERSION")));
        CODE.iter().for_each(|text| add(text));
        add(&options.to_string());
        for (tool, version) in &tools {
            add(tool);
            add(version);
        }
        for file in &self.sources.files {
            add(&file.name);
            add(&file.text);
        }
        Ok(Key { stage, hash: hasher.finalize().to_hex()[..32].to_owned(), tools })
    }
}

/// A hash of this program, with all benches and golden models in it.
fn program() -> Result<&'static str> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(hash) = HASH.get() {
        return Ok(hash);
    }
    let path = std::env::current_exe().map_err(|e| Failure::io(format!("cannot find this program: {e}"), &e))?;
    let mut hasher = blake3::Hasher::new();
    let read = std::fs::File::open(&path).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
    read.map_err(|e| Failure::file("read", &path, &e))?;
    Ok(HASH.get_or_init(|| hasher.finalize().to_hex().to_string()))
}

/// The code of the stages: a result holds for the scripts that made it.
const CODE: [&str; 21] = [
    include_str!("stages.rs"),
    include_str!("../flows/lint.rs"),
    include_str!("../flows/synth.rs"),
    include_str!("../flows/liberty/mod.rs"),
    include_str!("../flows/liberty/ast.rs"),
    include_str!("../flows/liberty/function.rs"),
    include_str!("../flows/liberty/join.rs"),
    include_str!("../flows/liberty/models.rs"),
    include_str!("../flows/synth/runs.rs"),
    include_str!("../flows/synth/checked.rs"),
    include_str!("../flows/equal/miter.rs"),
    include_str!("../flows/equal/ask.rs"),
    include_str!("../flows/timing.rs"),
    include_str!("../flows/fpga.rs"),
    include_str!("../flows/energy/mod.rs"),
    include_str!("../flows/energy/library.rs"),
    include_str!("../flows/energy/netlist.rs"),
    include_str!("../flows/energy/activity.rs"),
    include_str!("../flows/prove.rs"),
    include_str!("../flows/yosys.rs"),
    include_str!("../flows/workspace.rs"),
];

/// The name of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Stage.
    pub stage: Stage,
    /// Hash of everything that the result depends on.
    pub hash: String,
    /// The tools that make it.
    pub tools: Versions,
}

/// Runs the stages on a point whose results are not in the store yet. A failed stage does not stop the others: a design
/// with a lint message can still be synthesised. A stage without an answer does not stop them either.
///
/// # Errors
/// A missing tool, a stage without an answer, a store that cannot be written: nothing that would be a result.
pub fn run(point: &Point, stages: &[Stage], options: &Options, store: &Store) -> Result<Vec<StageResult>> {
    let mut results = Vec::new();
    let mut unanswered = Vec::new();
    for &stage in stages {
        let key = point.key(stage, options)?;
        if let Some(found) = store.get(&key)? {
            results.push(found);
            continue;
        }
        match stages::run(point, &key, options) {
            Ok(result) => {
                store.put(&result)?;
                results.push(result);
            }
            Err(Failure::NoAnswer(text)) => unanswered.push(format!("{stage}: {text}")),
            Err(other) => return Err(other),
        }
    }
    if unanswered.is_empty() { Ok(results) } else { Err(Failure::NoAnswer(unanswered.join("\n"))) }
}

/// The stages of a list like `gen,synth`, in running order.
///
/// # Errors
/// No stage at all, or one twice.
pub fn in_order(stages: &[Stage]) -> Result<Vec<Stage>> {
    let mut sorted = stages.to_vec();
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
        return Err(Failure::Usage(format!("stage `{}` is listed twice", twice[0])));
    }
    if sorted.is_empty() {
        let names = Stage::ALL.map(Stage::name).join(", ");
        return Err(Failure::Usage(format!("no stage to run; the stages are {names}")));
    }
    Ok(sorted)
}
