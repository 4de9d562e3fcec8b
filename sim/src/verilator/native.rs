//! The native engine: `hdl` prints a design as C, which the machine's C compiler compiles.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::source_file::SourceFile;
use super::toolchain::Key;
use super::wave::Nets;

/// A design of the construction language, and the fingerprint of its Verilog. It is not used if the Verilog was
/// changed.
#[derive(Clone)]
pub struct Native {
    design: hdl::lang::Design,
    verilog: String,
    /// C of the design, once it was requested. `None`: the design has no C.
    c: Arc<OnceLock<Option<Vec<SourceFile>>>>,
}

impl Native {
    /// A design that does the same as these files of Verilog.
    pub(crate) fn new(design: hdl::lang::Design, verilog: &[SourceFile]) -> Self {
        Self { design, verilog: fingerprint(verilog), c: Arc::default() }
    }

    /// C of the design, if it has any.
    pub(super) fn c(&self) -> Option<&[SourceFile]> {
        let c = || self.design.native().ok().map(|files| files.into_iter().map(file).collect());
        self.c.get_or_init(c).as_deref()
    }

    /// C that has a place for every net, and the nets.
    pub(super) fn observed(&self) -> Option<(Vec<SourceFile>, Nets)> {
        let (files, nets) = self.design.native_observed().ok()?;
        Some((files.into_iter().map(file).collect(), Nets::new(nets)))
    }

    /// The same design with other C: printed in another way, or wrong, for tests that must notice wrong C.
    #[doc(hidden)]
    #[must_use]
    pub fn with_c(&self, files: Vec<hdl::emit::SourceFile>) -> Self {
        Self { c: Arc::new(OnceLock::from(Some(files.into_iter().map(file).collect()))), ..self.clone() }
    }

    /// The elaborated design, if it has C.
    pub(crate) fn elaborated(&self) -> Option<&hdl::lang::Design> {
        self.c().map(|_| &self.design)
    }

    /// Whether this is the design of these files.
    pub(super) fn is_of(&self, verilog: &[SourceFile]) -> bool {
        self.verilog == fingerprint(verilog)
    }
}

impl PartialEq for Native {
    fn eq(&self, other: &Self) -> bool {
        self.verilog == other.verilog
    }
}

impl Eq for Native {}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("design", &self.design).finish_non_exhaustive()
    }
}

fn file(emitted: hdl::emit::SourceFile) -> SourceFile {
    SourceFile { name: emitted.name, text: emitted.text }
}

fn fingerprint(files: &[SourceFile]) -> String {
    let mut key = Key::new("verilog");
    files.iter().for_each(|file| {
        key.add(&file.name).add(&file.text);
    });
    key.finish()
}
