//! Output: Verilog text and the JSON manifest of an elaborated design.

mod backend;
mod manifest;
mod native;
pub(crate) mod verilog;

pub use backend::{Backend, PrintModule};
pub use manifest::{Manifest, ManifestMemory, ManifestModule, ManifestPort};
pub use native::{Observed, ObservedNet, ObservedValue};
pub use verilog::Verilog;

use crate::lang::Design;

/// One emitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// File name without folder.
    pub name: String,
    /// Contents.
    pub text: String,
}

impl Design {
    /// Prints every module with `backend`: one file a module, children before parents, the top last. External modules
    /// appear with the text they came with, or not at all when they are black boxes.
    #[must_use]
    pub fn print(&self, backend: &dyn Backend) -> Vec<SourceFile> {
        let mut files = Vec::new();
        for module in &self.modules {
            let text = match &module.external {
                Some(external) => match &external.source {
                    Some(source) => source.clone(),
                    None => continue,
                },
                None => backend.print(&PrintModule(module)),
            };
            files.push(SourceFile { name: format!("{}.{}", module.name, backend.extension()), text });
        }
        files
    }

    /// Verilog-2005 of every module.
    #[must_use]
    pub fn verilog(&self) -> Vec<SourceFile> {
        self.print(&Verilog)
    }

    /// Ports, parameters and latency of the top, and what each module holds.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        manifest::of(self)
    }
}
