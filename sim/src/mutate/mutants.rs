//! A model with a sample of mutations.

use super::list::{Mutation, Mutations, Source};
use super::select::{SELECT, commands, select_width, with_faults};
use crate::broken::Judge;
use crate::lint::{folder_of, incomplete, is_verilog, output, yosys_in};
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
