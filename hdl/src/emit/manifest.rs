//! The JSON manifest next to the Verilog: what a script or a testbench needs to know of a design.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lang::ir::{Direction, MemoryIr, ModuleIr};
use crate::lang::operation::Opcode;
use crate::lang::{Design, RegisterMap, Timing};

/// Description of a design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the generator and its version.
    pub generator: String,
    /// Top module.
    pub top: String,
    /// Block of the top module.
    pub block: String,
    /// Parameters of the block.
    pub parameters: serde_json::Value,
    /// Clock input of the top, if it has state.
    pub clock: Option<String>,
    /// Asynchronous active-low reset input of the top, if it has state that resets.
    pub reset: Option<String>,
    /// Cycle counts that a user plans with.
    pub timing: Timing,
    /// Ports of the top other than clock and reset.
    pub ports: Vec<ManifestPort>,
    /// Registers that a host reaches, where the design has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<RegisterMap>,
    /// Operations that a host may ask for in descriptors, if it is an accelerator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Opcode>,
    /// All modules, children before parents.
    pub modules: Vec<ManifestModule>,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestPort {
    /// Verilog name.
    pub name: String,
    /// `input` or `output`.
    pub direction: String,
    /// Width of the port in bits (of all elements together).
    pub width: u32,
    /// Two's complement (of each element).
    pub signed: bool,
    /// Number of elements when the port is an array: element i is bits `[i * width / elements +: width / elements]`.
    pub elements: Option<u32>,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub meaning: String,
    /// For outputs: the inputs that reach it within the cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// One module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestModule {
    /// Verilog name.
    pub name: String,
    /// Block it was made from.
    pub block: String,
    /// Parameters of the block.
    pub parameters: serde_json::Value,
    /// Times it is placed in the whole design (the top: 1).
    pub instances: u64,
    /// Modules placed directly in it, with how often.
    pub children: BTreeMap<String, u64>,
    /// True when synthesis knows its interface only; there may be a simulation model.
    pub black_box: bool,
    /// Memories of the module itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<ManifestMemory>,
}

/// A memory of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestMemory {
    /// Name in the module.
    pub name: String,
    /// Words.
    pub words: u32,
    /// Bits of a word.
    pub bits: u32,
    /// Bits that one bit of the write enable writes.
    pub granule: u32,
    /// Such memories in the module.
    pub copies: u64,
    /// Write ports.
    pub writes: u32,
    /// Read ports whose word comes with the next edge, as in an SRAM.
    pub reads: u32,
    /// Read ports whose word comes in the same cycle.
    pub reads_at_once: u32,
}

pub(super) fn of(design: &Design) -> Manifest {
    let top = design.top();
    Manifest {
        generator: concat!("senbazuru ", env!("CARGO_PKG_VERSION")).into(),
        top: top.name.clone(),
        block: top.block.clone(),
        parameters: top.parameters.clone(),
        clock: top.clocked.then(|| "clk_i".into()),
        reset: top.reset.then(|| "rst_ni".into()),
        timing: top.timing.clone(),
        ports: (0..top.ports.len()).map(|p| port(top, p)).collect(),
        registers: design.register_map().cloned(),
        operations: design.operations().to_vec(),
        modules: modules(design),
    }
}

fn port(module: &ModuleIr, position: usize) -> ManifestPort {
    let net = module.net(module.ports[position]);
    let name = |p: &usize| module.net(module.ports[*p]).name.clone();
    ManifestPort {
        name: net.name.clone(),
        direction: match module.direction(position) {
            Direction::Input => "input".into(),
            Direction::Output => "output".into(),
        },
        width: net.ty.width * net.array.map_or(1, |a| a.0),
        signed: net.ty.signed,
        elements: net.array.map(|a| a.0),
        meaning: net.doc.clone(),
        depends_on: module.comb[position].iter().map(name).collect(),
    }
}

fn memory(module: &ModuleIr, memory: &MemoryIr) -> ManifestMemory {
    let at_once = memory.reads.iter().filter(|read| read.enable.is_none()).count() as u32;
    ManifestMemory {
        name: memory.name.clone(),
        words: memory.depth,
        bits: memory.width,
        granule: memory.granule,
        copies: module.loops(memory.scope).iter().map(|l| u64::from(l.1)).product(),
        writes: memory.writes.len() as u32,
        reads: memory.reads.len() as u32 - at_once,
        reads_at_once: at_once,
    }
}

fn modules(design: &Design) -> Vec<ManifestModule> {
    let mut placed: BTreeMap<&str, u64> = BTreeMap::from([(design.top_name(), 1)]);
    let mut list = Vec::new();
    // Parents first, so that a child's count is complete when it is its turn.
    for module in design.modules.iter().rev() {
        let instances = placed.get(module.name.as_str()).copied().unwrap_or(0);
        let mut children: BTreeMap<String, u64> = BTreeMap::new();
        for instance in &module.instances {
            let copies: u64 = module.loops(instance.scope).iter().map(|l| u64::from(l.1)).product();
            *children.entry(instance.module.name.clone()).or_default() += copies;
            *placed.entry(&instance.module.name).or_default() += copies * instances;
        }
        list.push(ManifestModule {
            name: module.name.clone(),
            block: module.block.clone(),
            parameters: module.parameters.clone(),
            instances,
            children,
            black_box: module
                .external
                .as_ref()
                .is_some_and(|external| external.source.as_ref().is_none_or(|text| text.contains("(* blackbox *)"))),
            memories: module.memories.iter().map(|memory| self::memory(module, memory)).collect(),
        });
    }
    list.reverse();
    list
}
