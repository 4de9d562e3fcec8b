//! A point, and the names of its results.

use std::sync::OnceLock;

use serde_json::json;

#[cfg(feature = "standard")]
use super::layers::Layers;
use super::options::Options;
use super::stage::Stage;
use crate::catalogue::{Known, Params};
use crate::error::{Failure, Result};
use crate::flows::layout;
use crate::flows::liberty;
use crate::flows::lint::Sources;
use crate::flows::tools::{self, Versions};
use crate::shell::Program;

/// A point that is ready to run: its Verilog is known.
pub struct Point {
    /// Block.
    pub entry: Known,
    /// All parameters.
    pub params: Params,
    /// Settings of the work whose cycles are counted.
    pub work: Params,
    /// Verilog and name of the top module.
    pub sources: Sources,
    /// JSON description of the design.
    pub manifest: hdl::emit::Manifest,
}

impl Point {
    /// Elaborates the block. Settings of its work stand beside its parameters.
    ///
    /// # Errors
    /// Parameters that the block refuses, errors in its description.
    pub fn new(entry: &Known, params: Params) -> Result<Self> {
        let (params, work) = super::split(params);
        let design = entry.elaborate(&params)?;
        Ok(Self { entry: entry.clone(), params, work, sources: Sources::from(&design), manifest: design.manifest() })
    }

    /// Name of the block.
    #[must_use]
    pub fn block(&self) -> &'static str {
        self.entry.about().name
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

    /// The part of a language model whose cycles are counted: where its settings say one, or the block has no work of
    /// its own.
    ///
    /// # Errors
    /// A setting that is not allowed.
    #[cfg(feature = "standard")]
    pub(super) fn layers(&self) -> Result<Option<Layers>> {
        let own = self.work.is_empty() && !self.entry.work_columns().is_empty();
        if own || self.entry.counts().is_none() {
            return Ok(None);
        }
        Layers::of(&*self.entry, &self.work).map(Some).map_err(Failure::Usage)
    }

    /// Everything about the work that its cycles depend on.
    fn work_told(&self) -> Result<serde_json::Value> {
        #[cfg(feature = "standard")]
        return Ok(self.layers()?.map_or(json!(null), |layers| layers.told()));
        #[cfg(not(feature = "standard"))]
        Ok(json!(null))
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
            Stage::Layout => {
                json!({ "options": options.layout, "technology": layout::fingerprint(&options.layout.technology)? })
            }
            Stage::Cycles => {
                json!({ "block": self.block(), "parameters": self.params, "program": program()?, "work": self.work_told()? })
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
    let path = Program::this().map_err(|e| Failure::io(format!("cannot find this program: {e}"), &e))?.code;
    let mut hasher = blake3::Hasher::new();
    let read = std::fs::File::open(&path).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
    read.map_err(|e| Failure::file("read", &path, &e))?;
    Ok(HASH.get_or_init(|| hasher.finalize().to_hex().to_string()))
}

/// The code of the stages: a result holds for the scripts that made it.
const CODE: [&str; 34] = [
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
    include_str!("../flows/synth/report.rs"),
    include_str!("../flows/synth/statistics.rs"),
    include_str!("../flows/equal/miter.rs"),
    include_str!("../flows/equal/ask.rs"),
    include_str!("../flows/timing.rs"),
    include_str!("../flows/fpga.rs"),
    include_str!("../flows/layout/mod.rs"),
    include_str!("../flows/layout/checks.rs"),
    include_str!("../flows/layout/def.rs"),
    include_str!("../flows/layout/extract.rs"),
    include_str!("../flows/layout/lef.rs"),
    include_str!("../flows/layout/netlist.rs"),
    include_str!("../flows/layout/placement.rs"),
    include_str!("../flows/layout/report.rs"),
    include_str!("../flows/layout/routed.rs"),
    include_str!("../flows/layout/technology.rs"),
    include_str!("../flows/layout/tree.rs"),
    include_str!("../flows/energy/mod.rs"),
    include_str!("../flows/energy/library.rs"),
    include_str!("../flows/energy/netlist.rs"),
    include_str!("../flows/energy/activity.rs"),
    include_str!("../flows/prove.rs"),
    include_str!("../flows/yosys.rs"),
    include_str!("../flows/workspace.rs"),
];

/// The name of what this program computes without a tool, of which everything else that it depends on is told.
///
/// # Errors
/// This program cannot be read.
#[cfg(feature = "standard")]
pub(crate) fn computed(what: &str, told: &serde_json::Value) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for part in [&format!("senbazuru {what}"), program()?, &told.to_string()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}

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
