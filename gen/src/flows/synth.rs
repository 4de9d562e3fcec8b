//! Synthesis with Yosys: cells, flip-flops, AND nodes and levels, area.
//!
//! The figures of two designs compare only under one script, so there is one for all blocks:
//! - cells: `synth -flatten` to Yosys' gate library, `stat`;
//! - AND nodes and levels: then `dffunmap; aigmap; write_aiger`, and in ABC `strash`, and `dc2` three times. Levels are
//!   counted between registers and ports. An asynchronous reset is part of the flip-flop and counts nothing; enables and
//!   synchronous resets are logic in front of it and count;
//! - area and delay: `dfflibmap; abc -liberty; stat -liberty` on the same gates, in the unit of the library. The delay
//!   is ABC's estimate of the longest path between registers and ports, after buffering and sizing. It sums pin-to-pin
//!   delays. Every output has a load of 10 fF, and the library's weakest buffer drives the inputs, unless a profile says
//!   otherwise. Wires, set-up and clock-to-output times are not included.
//!
//! Memories are mapped to flip-flops, and their bits are counted apart. An option leaves out modules with a memory and
//! counts only their bits. Black boxes count as cells of their own.

use std::collections::BTreeMap;

use hdl::emit::{Manifest, ManifestModule};

use crate::error::{Failure, Result};
use crate::flows::liberty;
use crate::flows::lint::Sources;
use crate::flows::timing;
use statistics::{bits, counts};

mod checked;
mod netlist;
mod options;
mod report;
mod runs;
mod statistics;

pub use checked::prove as prove_netlist;
pub use netlist::{netlist, netlist_by_modules};
pub use options::{Memories, Options, PROOF_LIMIT};
pub use report::{Aig, Counts, Graph, Mapped, ModuleReport, Report};

/// Synthesises a design.
///
/// # Errors
/// A missing tool, an unreadable library, a design or library that Yosys rejects.
pub fn synthesise(sources: &Sources, manifest: &Manifest, options: &Options) -> Result<Report> {
    let liberty = (!options.liberty.is_empty()).then(|| liberty::open(&options.liberty)).transpose()?;
    let by = liberty.as_ref();
    let checked = options.prove.is_some() || options.period.is_some();
    if checked && (options.hierarchical || by.is_none() || options.memories == Memories::Bits) {
        return Err(Failure::Usage(
            "a netlist that is proved or timed is one of a flattened design in cells of a library, with its memories: \
             leave out --hierarchical, --memories bits and --liberty none"
                .into(),
        ));
    }
    if let Some(module) = manifest.modules.iter().find(|m| m.black_box && checked) {
        return Err(Failure::Usage(format!("{} is a black box, so nothing is known of its netlist", module.name)));
    }
    let found = if options.hierarchical {
        runs::apart(sources, manifest, options, by)?
    } else {
        runs::whole(sources, options, by)?
    };
    let (memories, cells) = (&found.memories, &found.cells);
    let mut modules = Vec::new();
    let mut total = Counts::default();
    let mut mapped = liberty.as_ref().map(|_| Mapped::default());
    let kept_as_bits = |m: &ManifestModule| {
        options.memories == Memories::Bits && m.name != sources.top && bits(memories.get(&m.name)) > 0
    };
    // In a flattened design only the top is left, and the memories that are not mapped.
    for module in manifest.modules.iter().filter(|m| cells.contains_key(&m.name) || kept_as_bits(m)) {
        let own = match cells.get(&module.name).filter(|_| !kept_as_bits(module)) {
            Some(cells) => counts(cells, memories.get(&module.name), manifest),
            None => Counts { memory_bits: bits(memories.get(&module.name)), ..Counts::default() },
        };
        let instances = if options.hierarchical || kept_as_bits(module) { module.instances } else { 1 };
        total.add(&own, instances);
        let part = liberty.as_ref().map(|l| found.library.module(&module.name, l, manifest));
        if let (Some(whole), Some(part)) = (&mut mapped, &part) {
            whole.add(part, instances);
        }
        modules.push(ModuleReport { name: module.name.clone(), instances, own, mapped: part, share: None });
    }
    let expected = |m: &&ManifestModule| !m.black_box && (options.hierarchical || m.name == manifest.top);
    let missing = |m: &&ManifestModule| !modules.iter().any(|known| known.name == m.name);
    if let Some(module) = manifest.modules.iter().filter(expected).find(missing) {
        return Err(Failure::NoAnswer(format!(
            "Yosys reports nothing of the module {} of {}",
            module.name, sources.top
        )));
    }
    if options.hierarchical {
        shares(&mut modules, manifest);
    }
    let netlist = found.library.netlist;
    let (mut proved, mut found_timing) = (None, None);
    if let (true, Some(library), Some(netlist)) = (checked, &liberty, &netlist) {
        let (clock, reset) = (manifest.clock.as_deref(), manifest.reset.as_deref());
        proved = Some(checked::prove(sources, reset, netlist, library, options.prove.unwrap_or(PROOF_LIMIT))?);
        if let Some(period) = options.period {
            let question = timing::Question { netlist, top: &sources.top, clock, reset, period };
            found_timing = Some(timing::timing(&question, library)?);
        }
    }
    let (top, library) = (sources.top.clone(), liberty.map(|l| l.name));
    Ok(Report { top, modules, total, aig: found.aig, library, mapped, proved, timing: found_timing, netlist })
}

/// Area of each module with all modules inside it, times its instances, as a share of the top's area.
fn shares(modules: &mut [ModuleReport], manifest: &Manifest) {
    let mut areas: BTreeMap<&str, f64> = BTreeMap::new();
    // Children come before their parents.
    for module in &manifest.modules {
        let own =
            modules.iter().find(|m| m.name == module.name).and_then(|m| m.mapped.as_ref()).map_or(0.0, |m| m.area);
        let inside: f64 =
            module.children.iter().map(|(child, n)| *n as f64 * areas.get(child.as_str()).unwrap_or(&0.0)).sum();
        areas.insert(&module.name, own + inside);
    }
    let whole = areas.get(manifest.top.as_str()).copied().unwrap_or(0.0);
    for module in modules.iter_mut().filter(|m| m.mapped.is_some() && whole > 0.0) {
        module.share = Some(module.instances as f64 * areas[module.name.as_str()] / whole);
    }
}

#[cfg(test)]
mod tests {
    use super::statistics::{is_flip_flop, stats_line};
    use super::*;

    #[test]
    fn flip_flops_are_known() {
        for name in ["$_DFF_P_", "$_SDFFE_PN0P_", "$_ALDFF_PN_", "$_DLATCH_P_"] {
            assert!(is_flip_flop(name), "{name}");
        }
        for name in ["$_ANDNOT_", "ODFFICULT", "$_MUX_"] {
            assert!(!is_flip_flop(name), "{name}");
        }
    }

    #[test]
    fn abc_line() {
        let line = "\u{1b}[1;37mx  :\u{1b}[0m i/o =   19/   49  lat =   49  and =   1043  lev = 49";
        assert_eq!(stats_line(line), Some(Graph { and_nodes: 1043, levels: 49 }));
        assert_eq!(stats_line("ABC command line"), None);
    }
}
