//! How a block is laid out, and what the layout is like.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::flows::equal::How;
use crate::flows::timing::Paths;

/// How to lay a block out.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Technology: a name, or a folder as qflow has them.
    pub technology: PathBuf,
    /// Share of the rows that cells take.
    pub utilisation: f64,
    /// Height of the rows together, by their width.
    pub aspect: f64,
    /// Seed of the placement.
    pub seed: u64,
    /// Pins for a buffer of the clock or the reset, at most.
    pub fanout: usize,
    /// Width of the straps of the supplies in micrometres.
    pub strap: f64,
    /// Cells, at most.
    pub most: usize,
    /// Time for each question of the proof.
    pub proof: Duration,
    /// Time for each of the tools.
    pub limit: Duration,
}

/// What the layout is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Technology.
    pub technology: String,
    /// Cells, without the ones that fill gaps.
    pub cells: usize,
    /// Buffers of the trees of clock and reset among them.
    pub tree_buffers: usize,
    /// Cells that fill gaps.
    pub fill_cells: usize,
    /// Area of the cells.
    pub cell_area_um2: f64,
    /// Width and height of the rows together.
    pub core_um: (f64, f64),
    /// Their area.
    pub core_area_um2: f64,
    /// Width and height with straps and pins.
    pub die_um: (f64, f64),
    /// Their area.
    pub die_area_um2: f64,
    /// Share of the core that cells take.
    pub utilisation: f64,
    /// Rows.
    pub rows: usize,
    /// Nets that were routed.
    pub nets: usize,
    /// Length of all wires.
    pub wire_um: f64,
    /// Vias.
    pub vias: usize,
    /// Capacitance of all wires.
    pub wire_pf: f64,
    /// Paths without wires, of the netlist that synthesis left.
    pub without_wires: Paths,
    /// Paths with wires.
    pub with_wires: Paths,
    /// Places that break a rule of the technology.
    pub drc_violations: usize,
    /// The rules that they break.
    pub drc_rules: BTreeMap<String, usize>,
    /// Whether the GDS file has the drawn cells, and not only what the LEF file knows of them.
    pub drawn_cells: bool,
    /// Whether layout and netlist are the same for netgen.
    pub lvs_equal: bool,
    /// How the netlist was proved to do the same as the source.
    pub proved: How,
}

impl Report {
    /// Clock frequency of a period in ns.
    #[must_use]
    pub fn mhz(period_ns: f64) -> f64 {
        1000.0 / period_ns
    }

    /// What is wrong with the layout; none for a good one.
    #[must_use]
    pub fn faults(&self) -> Option<String> {
        let rules = (self.drc_violations > 0).then(|| format!("{} places break a design rule", self.drc_violations));
        let same = (!self.lvs_equal).then(|| "netgen finds another netlist in the layout".to_owned());
        let faults: Vec<_> = rules.into_iter().chain(same).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

/// A layout: figures, and files by name.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Figures.
    pub report: Report,
    /// Files.
    pub files: Vec<(&'static str, Vec<u8>)>,
}
