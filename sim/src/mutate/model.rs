//! One model with all mutations in it.

use crate::lint::{folder_of, yosys_in};
use crate::variants::{Variants, select_width};
use crate::{Bench, BuildOptions, Design, Effort, Error, Result, RunOptions, SELECT, SourceFile};

use super::list::{Mutation, Mutations, incomplete, read};

/// A compiled model of a design with a sample of its mutations.
#[derive(Clone, Debug)]
pub struct Mutants {
    pub(super) design: Design,
    pub(super) variants: Variants,
    /// The netlist with the hidden input.
    pub(super) netlist: String,
    pub(super) list: Vec<Mutation>,
    /// Number of mutations that the design has.
    pub available: usize,
}

impl Mutants {
    /// The mutations, in the order of their numbers.
    pub fn mutations(&self) -> &[Mutation] {
        &self.list
    }

    /// Runs `bench` on the design as it is.
    ///
    /// # Errors
    /// The bench fails, or compares nothing.
    pub fn effort(&self, bench: &dyn Bench, options: &RunOptions) -> Result<Effort> {
        Ok(self.variants.right(bench, options)?.0)
    }
}

/// Applies all chosen mutations to one netlist, each behind a value of a hidden input, and compiles it.
///
/// # Errors
/// [`Error::Unsupported`] when there is nothing to mutate; whatever Yosys and [`crate::Model::build`] say.
pub fn build(mutations: Mutations, options: &BuildOptions) -> Result<Mutants> {
    let Mutations { design, netlist, available, chosen } = mutations;
    if chosen.is_empty() {
        return Err(Error::Unsupported(format!("design `{}` has nothing that can be mutated", design.top)));
    }
    let width = select_width(chosen.len());
    let mut script = String::from("read_rtlil netlist.il\n");
    for (index, mutation) in chosen.iter().enumerate() {
        script += &format!("mutate -ctrl {SELECT} {width} {} {}\n", index + 1, mutation.options);
    }
    script += "write_rtlil mutated.il\nwrite_verilog -noattr mutated.v\n";
    let folder = folder_of(&[SourceFile { name: "netlist.il".into(), text: netlist }])?;
    yosys_in(folder.path(), &script)?;
    let text = read(&folder.path().join("mutated.v"))?;
    let netlist = read(&folder.path().join("mutated.il"))?;
    if !text.trim_end().ends_with("endmodule") || !netlist.trim_end().ends_with("end") {
        return Err(incomplete(&design, "Verilog"));
    }
    let variants = Variants::build(&design, text, chosen.len(), options)?;
    Ok(Mutants { design, variants, netlist, list: chosen, available })
}
