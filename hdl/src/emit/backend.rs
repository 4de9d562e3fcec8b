//! What a back end is.

use crate::lang::ir::ModuleIr;

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
