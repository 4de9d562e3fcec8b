//! A model with a sample of mutations.

use super::list::{Mutation, Mutations, Source};
use super::select::{SELECT, commands, select_width, with_faults};
use crate::broken::Judge;
use crate::lint::{folder_of, incomplete, is_verilog, open_boxes, output, yosys_in};
use crate::{Bench, BuildOptions, Cache, Design, Dir, Effort, Error, Model, Port, Result, RunOptions, SourceFile};

/// A compiled model of a design with a sample of its mutations.
#[derive(Clone, Debug)]
pub struct Mutants {
    pub(super) design: Design,
    pub(super) model: Model,
    pub(super) source: Source,
    /// The cache of models and of verdicts.
    pub(super) cache: Cache,
    pub(super) list: Vec<Mutation>,
    pub(super) available: usize,
}

impl Mutants {
    /// Runs `bench` on the unchanged design.
    ///
    /// # Errors
    /// The bench fails or compares nothing.
    pub fn effort(&self, bench: &dyn Bench, options: &RunOptions) -> Result<Effort> {
        Ok(Judge::new(bench, &self.model, options)?.effort)
    }

    /// The nearest module of the mutant at this place of the sample, or around it, that is wanted by name. None for a
    /// netlist.
    #[must_use]
    pub fn module_around(&self, at: usize, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let Source::Ir(ir) = &self.source else { return None };
        let mut level = vec![self.list.get(at)?.module.as_str()];
        while !level.is_empty() {
            if let Some(found) = level.iter().find(|module| wanted(module)) {
                return Some((*found).to_owned());
            }
            level = level.iter().flat_map(|module| ir.parents(module)).collect();
        }
        None
    }

    /// A compiled model of one module alone, with the mutants at these places of the sample, which are in it.
    ///
    /// # Errors
    /// A design that is not of the construction language or has no such module, and all errors of [`build`].
    pub fn part(&self, module: &str, which: &[usize]) -> Result<Self> {
        let part = if let Source::Ir(ir) = &self.source { ir.part(module) } else { None };
        let part = part.ok_or_else(|| Error::Unsupported(format!("no part `{module}` in `{}`", self.design.top)))?;
        let chosen: Vec<Mutation> = which.iter().map(|&at| self.list[at].clone()).collect();
        let design = open_boxes(&Design::from(&part));
        let mutations = Mutations { design, source: Source::Ir(part), available: chosen.len(), chosen };
        build(mutations, &BuildOptions { cache: self.cache.clone(), ..BuildOptions::default() })
    }
}

/// Applies all chosen mutations to one design, where an added input selects one of them, and compiles the design.
///
/// # Errors
/// [`Error::Unsupported`] when there is nothing to mutate; and all errors of Yosys and [`Model::build`].
pub fn build(mutations: Mutations, options: &BuildOptions) -> Result<Mutants> {
    let Mutations { design, source, available, chosen: list } = mutations;
    if list.is_empty() {
        return Err(Error::Unsupported(format!("design `{}` has nothing that can be mutated", design.top)));
    }
    let model = match &source {
        Source::Netlist(netlist) => {
            Model::build(&mutated_netlist(&design, netlist, &list)?, &BuildOptions { plain: true, ..options.clone() })?
        }
        Source::Ir(ir) => Model::build(&Design::from(&with_faults(ir, list.iter())), options)?,
    };
    Ok(Mutants { model, design, source, cache: options.cache.clone(), list, available })
}

/// A netlist with mutations, as a design.
fn mutated_netlist(design: &Design, netlist: &str, list: &[Mutation]) -> Result<Design> {
    let width = select_width(list.len());
    // Verilator computes wrong values if logic that reads a bit of a net drives another bit of the same net.
    let script =
        format!("read_rtlil netlist.il\n{}splitnets -driver\nwrite_verilog -noattr mutated.v\n", commands(list.iter()));
    let folder = folder_of(&[SourceFile { name: "netlist.il".into(), text: netlist.to_owned() }])?;
    yosys_in(folder.path(), &script)?;
    let text = output(&folder, "mutated.v")?;
    if !text.trim_end().ends_with("endmodule") {
        return Err(incomplete(design));
    }
    let mut mutated = design.clone();
    mutated.defines.clear();
    mutated.files.retain(|file| !is_verilog(file));
    mutated.files.push(SourceFile { name: format!("{}_mutated.v", design.top), text });
    if !mutated.ports.is_empty() {
        mutated.ports.push(Port { name: SELECT.into(), dir: Dir::Input, width, signed: false });
    }
    Ok(mutated)
}
