//! A design in cells of a library, flattened, as Yosys writes it in JSON.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use serde_json::Value;
use sim::SourceFile;

use super::runs::{MAPPING, blame_library, constrain};
use crate::error::{Failure, Result};
use crate::flows::liberty::Library;
use crate::flows::lint::{ModuleSources, Sources, distinct_modules};
use crate::flows::workspace::Workspace;
use crate::flows::yosys;
use crate::parallel::while_true;

/// Flattened, then synthesised.
///
/// # Errors
/// A missing tool, a design or library that Yosys rejects.
pub fn netlist(files: &[SourceFile], top: &str, library: &Library) -> Result<Value> {
    // Other files are for the simulator.
    let files: Vec<_> = files.iter().filter(|f| f.name.ends_with(".v")).cloned().collect();
    let work = Workspace::new()?;
    constrain(library, &work)?;
    let mut script: String = files.iter().map(|f| format!("read_verilog {}\n", f.name)).collect();
    script += &format!("hierarchy -check -top {top}\nsynth -flatten -top {top}\n{MAPPING}\n");
    flattened(&work, script, &files, top).map_err(|e| blame_library(e, Some(library)))
}

/// Synthesises each module by itself, so many at a time, then flattens. That takes minutes instead of hours for an
/// accelerator. The netlist has more cells, since nothing is shared or simplified across modules.
///
/// # Errors
/// As [`netlist`].
pub fn netlist_by_modules(sources: &Sources, library: &Library, jobs: NonZeroUsize) -> Result<Value> {
    let modules = distinct_modules(std::slice::from_ref(sources))?;
    let found = Mutex::new(Vec::new());
    while_true(jobs, &modules, |module| {
        let one = module_in_cells(module, library);
        let good = one.is_ok();
        found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(one);
        good
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let files = found.into_iter().collect::<Result<Vec<_>>>()?;
    let mut script: String = files.iter().map(|f| format!("read_rtlil {}\n", f.name)).collect();
    script += &format!("hierarchy -top {0}\nflatten\n", sources.top);
    flattened(&Workspace::new()?, script, &files, &sources.top)
}

/// A module in Yosys' own language; the modules inside it are instances.
fn module_in_cells(module: &ModuleSources, library: &Library) -> Result<SourceFile> {
    let (files, name) = (module.files(), module.name());
    let work = Workspace::new()?;
    constrain(library, &work)?;
    let mut script: String = files[1..].iter().map(|f| format!("read_verilog -lib {}\n", f.name)).collect();
    script += &format!("read_verilog {}\nhierarchy -check -top {name}\nsynth -top {name}\n", files[0].name);
    script += &format!("{MAPPING}\nselect {name}\nwrite_rtlil -selected module.il\n");
    yosys::run_in(&work, &script, &files, name).map_err(|e| blame_library(e, Some(library)))?;
    Ok(SourceFile { name: format!("{name}.il"), text: work.read("module.il")? })
}

fn flattened(work: &Workspace, mut script: String, files: &[SourceFile], top: &str) -> Result<Value> {
    script += "opt_clean -purge\nwrite_json netlist.json\n";
    yosys::run_in(work, &script, files, top)?;
    serde_json::from_str(&work.read("netlist.json")?)
        .map_err(|e| Failure::NoAnswer(format!("cannot understand the netlist of Yosys: {e}")))
}
