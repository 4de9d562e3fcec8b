//! The native engine: `hdl` prints a design as C, which the machine's C compiler compiles.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::toolchain::{Key, check_compiled, compile_all, write};
use super::wave::Nets;
use super::{BuildOptions, Design, Opt, SourceFile, Trace};
use crate::process::Tool;
use crate::{Error, Result};

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

    /// C of the design, if it has any and the Verilog was not changed.
    pub(super) fn c(&self, of: &Design) -> Option<&[SourceFile]> {
        let c = || self.design.native().ok().map(|files| files.into_iter().map(file).collect());
        self.stands_for(of).then(|| self.c.get_or_init(c).as_deref()).flatten()
    }

    /// C that has a place for every net, and the nets.
    pub(super) fn observed(&self, of: &Design) -> Option<(Vec<SourceFile>, Nets)> {
        let (files, nets) = self.stands_for(of).then(|| self.design.native_observed().ok()).flatten()?;
        Some((files.into_iter().map(file).collect(), Nets::new(nets)))
    }

    /// The same design with other C: printed in another way, or wrong, for tests that must notice wrong C.
    #[doc(hidden)]
    #[must_use]
    pub fn with_c(&self, files: Vec<hdl::emit::SourceFile>) -> Self {
        Self { c: Arc::new(OnceLock::from(Some(files.into_iter().map(file).collect()))), ..self.clone() }
    }

    /// The elaborated design, if it has C and the Verilog was not changed.
    pub(crate) fn elaborated(&self, of: &Design) -> Option<&hdl::lang::Design> {
        self.c(of).map(|_| &self.design)
    }

    fn stands_for(&self, design: &Design) -> bool {
        design.defines.is_empty() && self.verilog == fingerprint(&design.files)
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

/// Flags of every file: vectors of the machine it runs on. The cache keeps models of other machines apart.
const FLAGS: [&str; 6] = ["-std=gnu11", "-march=native", "-fPIC", "-fvisibility=hidden", "-w", "-pipe"];

/// The shared object of a design and the nets in its waveforms. `None`: the design has no C.
pub(super) fn model(
    design: &Design,
    native: &Native,
    options: &BuildOptions,
) -> Result<Option<(PathBuf, Option<Nets>)>> {
    Ok(match options.trace {
        Trace::Off => match native.c(design) {
            Some(c) => Some((build(design, c, options)?, None)),
            None => None,
        },
        Trace::Vcd | Trace::Fst => match native.observed(design) {
            Some((c, nets)) => Some((build(design, &c, options)?, Some(nets))),
            None => None,
        },
    })
}

/// Builds the shared object of a design, or finds it in the cache.
fn build(design: &Design, c: &[SourceFile], options: &BuildOptions) -> Result<PathBuf> {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = match VERSION.get() {
        Some(version) => version,
        None => {
            let output = Tool::new("cc").arg("--version").run()?;
            VERSION.get_or_init(|| output.stdout.lines().next().unwrap_or_default().to_owned())
        }
    };
    // Long runs gain a tenth with `-O2`, which compiles half as long again.
    let compiler = Tool::new("cc").args(FLAGS).arg(if options.opt == Opt::O3 { "-O2" } else { "-O1" });
    let mut key = Key::new("native");
    key.add(version).add(&compiler.command_line()).add(&machine());
    for file in c {
        key.add(&file.name).add(&file.text);
    }
    let folder = options.cache.entry("models", &key.finish(), |folder| {
        for file in c {
            write(&folder.join(&file.name), &file.text)?;
        }
        let sources: Vec<&str> = c.iter().map(|f| f.name.as_str()).filter(|n| n.ends_with(".c")).collect();
        let object = |name: &str| format!("{name}.o");
        let jobs = sources.iter().map(|name| compiler.clone().args(["-c", name, "-o", &object(name)]).dir(folder));
        compile_all(&design.top, jobs.collect())?;
        let objects = sources.iter().map(|name| object(name));
        let link = Tool::new("cc").args(["-shared", "-o", "model.so"]).args(objects.clone()).dir(folder).run()?;
        check_compiled(&design.top, &link)?;
        objects.map(|name| folder.join(name)).try_for_each(|path| fs::remove_file(&path).map_err(Error::io(path)))
    })?;
    Ok(folder.join("model.so"))
}

/// The properties of the machine that the compiler uses: kind of processor and instructions.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    format!("{}\n{}", of("model name"), of("flags")) + std::env::consts::ARCH
}
