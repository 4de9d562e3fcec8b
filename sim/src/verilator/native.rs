//! The native engine: the C that `hdl` prints of a design, compiled with the machine's C compiler.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::toolchain::{Key, check_compiled, compile_all, write};
use super::{BuildOptions, Design, SourceFile};
use crate::process::Tool;
use crate::{Error, Result};

/// C of a design, and of which Verilog it is the equal: where somebody has changed the Verilog, it counts no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    files: Vec<SourceFile>,
    verilog: String,
}

impl Native {
    /// C files that do what these files of Verilog do.
    pub(crate) fn new(files: Vec<SourceFile>, verilog: &[SourceFile]) -> Self {
        Self { files, verilog: fingerprint(verilog) }
    }

    /// The same C for other files that do the same.
    pub(crate) fn also_of(self, verilog: &[SourceFile]) -> Self {
        Self { verilog: fingerprint(verilog), ..self }
    }

    /// Whether the C stands for the Verilog of the design as it is now.
    pub(crate) fn is_of(&self, design: &Design) -> bool {
        design.defines.is_empty() && self.verilog == fingerprint(&design.files)
    }
}

fn fingerprint(files: &[SourceFile]) -> String {
    let mut key = Key::new("verilog");
    files.iter().for_each(|file| {
        key.add(&file.name).add(&file.text);
    });
    key.finish()
}

/// Flags of every file: vectors of the machine it runs on. The cache keeps models of other machines apart.
const FLAGS: [&str; 7] = ["-std=gnu11", "-O1", "-march=native", "-fPIC", "-fvisibility=hidden", "-w", "-pipe"];

/// Builds the shared object of a design, or finds it in the cache.
pub(super) fn build(design: &Design, native: &Native, options: &BuildOptions) -> Result<PathBuf> {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = match VERSION.get() {
        Some(version) => version,
        None => {
            let output = Tool::new("cc").arg("--version").run()?;
            VERSION.get_or_init(|| output.stdout.lines().next().unwrap_or_default().to_owned())
        }
    };
    let compiler = Tool::new("cc").args(FLAGS);
    let mut key = Key::new("native");
    key.add(version).add(&compiler.command_line()).add(&machine());
    for file in &native.files {
        key.add(&file.name).add(&file.text);
    }
    let folder = options.cache.entry("models", &key.finish(), |folder| {
        for file in &native.files {
            write(&folder.join(&file.name), &file.text)?;
        }
        let sources: Vec<&str> = native.files.iter().map(|f| f.name.as_str()).filter(|n| n.ends_with(".c")).collect();
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

/// What the compiler takes from the machine: its kind of processor and the instructions it has.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    format!("{}\n{}", of("model name"), of("flags")) + std::env::consts::ARCH
}
