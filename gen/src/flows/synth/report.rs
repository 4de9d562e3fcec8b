//! What synthesis finds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::flows::equal::How;
use crate::flows::timing::Timing;

/// The results of a synthesis.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Top module.
    pub top: String,
    /// One line a module when they were kept apart, otherwise the whole design; the top is last.
    pub modules: Vec<ModuleReport>,
    /// The whole design: each module times its instances.
    pub total: Counts,
    /// The whole design as an and-inverter graph; absent when modules were kept apart.
    pub aig: Option<Aig>,
    /// Name of the library in its file, when one was given.
    pub library: Option<String>,
    /// The whole design in cells of the library. Modules that were kept apart: the longest path inside of any of them.
    pub mapped: Option<Mapped>,
    /// How the netlist was proved to do the same as the source; none if nobody asked for a proof.
    pub proved: Option<How>,
    /// Static timing, where it was asked for.
    pub timing: Option<Timing>,
    /// The netlist of a flattened design, in Verilog.
    #[serde(skip)]
    pub netlist: Option<String>,
}

/// One module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleReport {
    /// Verilog name.
    pub name: String,
    /// Times it is placed in the whole design.
    pub instances: u64,
    /// Its own logic, without the modules inside it.
    pub own: Counts,
    /// Its own logic in cells of the library, when one was given.
    pub mapped: Option<Mapped>,
    /// All its instances with the modules inside them, as a share of the area of the whole; where modules were kept apart.
    pub share: Option<f64>,
}

/// Numbers of Yosys' generic cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Cells of all types but flip-flops.
    pub gates: u64,
    /// Flip-flops, including the ones of memories.
    pub flip_flops: u64,
    /// Bits of memories.
    pub memory_bits: u64,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
}

/// Logic in the cells of a library.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mapped {
    /// Area in the unit of the library.
    pub area: f64,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
    /// How many of the cells keep a state.
    pub sequential: u64,
    /// Longest combinational path in picoseconds; none where there is no logic.
    pub delay_ps: Option<f64>,
}

/// Size and depth of the and-inverter graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aig {
    /// After structural hashing.
    pub strash: Graph,
    /// After `dc2` three times.
    pub dc2: Graph,
}

/// One graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// Two-input AND nodes.
    pub and_nodes: u64,
    /// Nodes on the longest path.
    pub levels: u64,
}

impl Mapped {
    pub(super) fn add(&mut self, other: &Self, times: u64) {
        self.area += times as f64 * other.area;
        self.sequential += times * other.sequential;
        self.delay_ps = [self.delay_ps, other.delay_ps].into_iter().flatten().reduce(f64::max);
        for (name, number) in &other.cells {
            *self.cells.entry(name.clone()).or_default() += times * number;
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self, times: u64) {
        self.gates += times * other.gates;
        self.flip_flops += times * other.flip_flops;
        self.memory_bits += times * other.memory_bits;
        for (name, number) in &other.cells {
            *self.cells.entry(name.clone()).or_default() += times * number;
        }
    }
}
