//! Compiles the C of a design with the C compiler of the machine.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::design::Design;
use super::options::{BuildOptions, Opt, Trace};
use super::source_file::SourceFile;
use super::toolchain::{Key, check_compiled, compile_all, write};
use super::wave::Nets;
use crate::process::Tool;
use crate::{Error, Result};

/// Flags of every file: vectors of the machine it runs on. The cache keeps models of other machines apart.
const FLAGS: [&str; 6] = ["-std=gnu11", "-march=native", "-fPIC", "-fvisibility=hidden", "-w", "-pipe"];

/// The shared object of a design and the nets in its waveforms. `None`: the design has no C.
pub(super) fn model(design: &Design, options: &BuildOptions) -> Result<Option<(PathBuf, Option<Nets>)>> {
    let Some(native) = design.unchanged() else { return Ok(None) };
    Ok(match options.trace {
        Trace::Off => match native.c() {
            Some(c) => Some((build(design, c, options)?, None)),
            None => None,
        },
        Trace::Vcd | Trace::Fst => match native.observed() {
            Some((c, nets)) => Some((build(design, &c, options)?, Some(nets))),
            None => None,
        },
    })
}

/// Builds the shared object of a design, or finds it in the cache.
pub(super) fn build(design: &Design, c: &[SourceFile], options: &BuildOptions) -> Result<PathBuf> {
    static VERSION: OnceLock<String> = OnceLock::new();
    let version = match VERSION.get() {
        Some(version) => version,
        None => {
            let output = Tool::new("cc").arg("--version").run()?;
            VERSION.get_or_init(|| output.stdout.lines().next().unwrap_or_default().to_owned())
        }
    };
    // Long runs gain a tenth with `-O2`, which compiles half as long again.
    let opt: &[&str] = match options.opt {
        // `-O0` compiles in half of the time of `-Og`, and what it compiles takes twice as long.
        Opt::O0 | Opt::Short => &["-Og", "-DVECTORS=PLAIN"],
        Opt::O1 => &["-O1"],
        Opt::O3 => &["-O2"],
    };
    let compiler = Tool::new("cc").args(FLAGS).args(opt);
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
