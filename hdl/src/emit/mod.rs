//! Output: Verilog text and the JSON manifest of an elaborated design.

mod manifest;
mod native;
pub(crate) mod verilog;

pub use manifest::{Manifest, ManifestModule, ManifestPort};
pub use native::{Observed, ObservedNet, ObservedValue};
pub use verilog::Verilog;

use crate::lang::Design;
use crate::lang::ir::ModuleIr;

/// One emitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// File name without folder.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// A language modules can be printed in.
pub trait Backend {
    /// File name extension.
    fn extension(&self) -> &'static str;
    /// Prints one module.
    fn print(&self, module: &PrintModule<'_>) -> String;
}

/// A finished module, opaque to users of the crate.
#[derive(Clone, Copy)]
pub struct PrintModule<'a>(pub(crate) &'a ModuleIr);

impl std::fmt::Debug for PrintModule<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PrintModule").field(&self.0.name).finish()
    }
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
