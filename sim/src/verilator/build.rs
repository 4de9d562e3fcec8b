//! From Verilog to a shared object: verilate, compile, link.
//!
//! Generated files are compiled in few translation units. A small model is one unit, because parsing Verilator's
//! headers costs more than the model. A large model is cut into units that compile side by side, with code that rarely
//! runs unoptimised.

use std::fs;
use std::path::{Path, PathBuf};

use super::design::Design;
use super::options::{BuildOptions, Opt, Trace};
use super::ports::{self, Member};
use super::toolchain::{Key, Slot, Toolchain, check_compiled, compile_all, write};
use crate::process::Tool;
use crate::{Error, Result};

const SHIM: &str = include_str!("shim.cpp");

/// All other symbols are local, also symbols of inline code of the C++ library: models in one process must not share
/// symbols.
const EXPORTS: &str = "{ global: senbazuru_api; local: *; };\n";

/// Generated C++ below this size is one translation unit. A unit costs 0.4 s for the headers, 300 KB about as much
/// again.
const ONE_UNIT: u64 = 300_000;

/// Size at which a unit of a large model is closed.
const UNIT: u64 = 700_000;

/// A finished build in the cache.
pub(super) struct Built {
    pub library: PathBuf,
    pub members: Vec<Member>,
    /// Verilator's warnings, empty when there were none.
    pub warnings: String,
}

/// Builds `design`, or finds it in the cache.
pub(super) fn build(design: &Design, options: &BuildOptions) -> Result<Built> {
    check_names(design)?;
    let toolchain = Toolchain::detect()?;
    let verilator = verilator_call(design, options);
    let mut key = Key::new("model");
    key.add(&toolchain.versions).add(&verilator.command_line()).add(&toolchain.compiler(options).command_line());
    key.add(&options.opt.flags().join(" ")).add(SHIM).add(EXPORTS).add(design.clock.as_deref().unwrap_or("(none)"));
    for file in &design.files {
        key.add(&file.name).add(&file.text);
    }
    let folder = options
        .cache
        .entry("models", &key.finish(), |folder| compile(design, options, &toolchain, &verilator, folder))?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(Error::io(path))
    };
    let members = serde_json::from_str(&read("ports.json")?)
        .map_err(|e| Error::Data { path: folder.join("ports.json"), problem: e.to_string() })?;
    Ok(Built { library: folder.join("model.so"), members, warnings: read("warnings.txt")? })
}

/// Modules of a design that is built for its size.
const LARGE: usize = 60;

fn verilator_call(design: &Design, options: &BuildOptions) -> Tool {
    // Unknown and uninitialised values are set at run time, so that a test can run with random ones. Warnings do not
    // stop a build (`-Wno-fatal`): netlists of Yosys and designs of users have some. They are kept with the model, and
    // `lint` judges the Verilog.
    //
    // Verilator 5.006 (Debian 12) folds trees of one-bit operators wrongly. Netlists of `tender_pe` computed other sums
    // than the same files in Icarus, in Yosys, and in Verilator without that optimisation.
    let mut call = Tool::new("verilator")
        .args([
            "--cc",
            "-O3",
            "-fno-const-bit-op-tree",
            "--prefix",
            "Vmodel",
            "--Mdir",
            "obj",
            "--top-module",
            &design.top,
        ])
        .args(["--no-timing", "--timescale", "1ns/1ns", "--x-assign", "unique", "--x-initial", "unique"])
        .args(["--assert", "-Wno-fatal", "--output-split", "20000"]);
    call = match options.trace {
        Trace::Off => call,
        Trace::Vcd => call.arg("--trace"),
        Trace::Fst => call.arg("--trace-fst"),
    };
    if options.trace != Trace::Off {
        // The default limits would leave our wide ports and arrays of nets out of the waveform.
        call = call.args(["--trace-max-width", "65536", "--trace-max-array", "4096"]);
    }
    if options.coverage {
        call = call.args(["--coverage-line", "--coverage-toggle", "--coverage-max-width", "4096"]);
    }
    if options.plain {
        call = call.arg("-fno-dfg");
    }
    // Copies of small modules in their parents are half of the C++ text of an accelerator, and make it no faster.
    if design.files.len() >= LARGE {
        call = call.args(["--inline-mult", "1"]);
    }
    call.args(design.defines.iter().map(|d| format!("-D{d}"))).args(design.files.iter().map(|f| f.name.as_str()))
}

fn compile(
    design: &Design,
    options: &BuildOptions,
    toolchain: &Toolchain,
    verilator: &Tool,
    folder: &Path,
) -> Result<()> {
    for file in &design.files {
        write(&folder.join(&file.name), &file.text)?;
    }
    let log = {
        let _slot = Slot::take();
        let output = verilator.clone().dir(folder).run()?;
        if !output.success() {
            return Err(Error::Verilog { top: design.top.clone(), log: tidy_log(&output.log()) });
        }
        tidy_log(&output.log())
    };
    let objects = folder.join("obj");
    let header_path = objects.join("Vmodel.h");
    let header = fs::read_to_string(&header_path).map_err(Error::io(&header_path))?;
    // Verilator does not notice when the disk is full. Half a header must not be taken for a design with other ports.
    if !header.lines().last().is_some_and(|line| line.starts_with("#endif")) {
        let log = format!("Verilator left {} incomplete: is the disk full?", header_path.display());
        return Err(Error::Compile { top: design.top.clone(), log });
    }
    let members = ports::parse_header(design, &header)?;
    write_shim(design, &members, &objects)?;
    let units = write_units(&objects)?;
    let jobs = units.iter().map(|unit| {
        let opt = if unit.slow { Opt::O0 } else { options.opt };
        let call = toolchain.unit(options, opt.flags())?.dir(&objects).arg("-c");
        Ok(call.args([&unit.file, "-o", &format!("{}.o", unit.file)]))
    });
    compile_all(&design.top, jobs.collect::<Result<_>>()?)?;
    let runtime = toolchain.runtime(options, &runtime_sources(&objects)?)?;
    write(&objects.join("exports.map"), EXPORTS)?;
    let link = Tool::new("g++")
        .args(["-shared", "-s", "-pthread", "-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,--version-script=exports.map"])
        .args(["-Wl,-z,defs", "-o", "../model.so"])
        .args(units.iter().map(|unit| format!("{}.o", unit.file)))
        .arg(runtime)
        .args((options.trace == Trace::Fst).then_some("-lz"))
        .dir(&objects)
        .run()?;
    check_compiled(&design.top, &link)?;
    let list = serde_json::to_string(&members).map_err(|e| Error::Unsupported(e.to_string()))?;
    write(&folder.join("ports.json"), &list)?;
    write(&folder.join("warnings.txt"), &log)?;
    fs::remove_dir_all(&objects).map_err(Error::io(&objects))
}

/// The fixed shim needs only the list of ports and the clock.
fn write_shim(design: &Design, members: &[Member], objects: &Path) -> Result<()> {
    let list: String = members.iter().map(|m| format!(" X({})", m.member)).collect();
    let clock = design.clock.as_ref().and_then(|name| members.iter().find(|m| m.name == *name));
    let clock = clock.map_or(String::new(), |m| format!("#define SNB_CLOCK {}\n", m.member));
    write(&objects.join("shim.cc"), &format!("#define SNB_PORTS(X){list}\n{clock}{SHIM}"))
}

struct Unit {
    file: String,
    slow: bool,
}

/// Distributes the generated files over translation units that include them.
fn write_units(objects: &Path) -> Result<Vec<Unit>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(objects).map_err(Error::io(objects))? {
        let entry = entry.map_err(Error::io(objects))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cpp") {
            files.push((name, entry.metadata().map_err(Error::io(entry.path()))?.len()));
        }
    }
    files.sort();
    let total: u64 = files.iter().map(|(_, size)| size).sum();
    let mut units: Vec<(bool, u64, String)> = vec![(false, 0, "#include \"shim.cc\"\n".to_owned())];
    for (name, size) in files {
        let slow = total > ONE_UNIT && (name.contains("Slow") || name.ends_with("__Syms.cpp"));
        let fits = |unit: &&mut (bool, u64, String)| unit.0 == slow && unit.1 + size <= UNIT.max(size);
        let line = format!("#include \"{name}\"\n");
        match units.iter_mut().find(fits) {
            Some(unit) => {
                unit.1 += size;
                unit.2.push_str(&line);
            }
            None => units.push((slow, size, line)),
        }
    }
    let write_unit = |(i, (slow, _, text)): (usize, (bool, u64, String))| {
        let file = format!("unit{i}.cc");
        write(&objects.join(&file), &text)?;
        Ok(Unit { file, slow })
    };
    units.into_iter().enumerate().map(write_unit).collect()
}

/// The runtime sources that this model needs, from Verilator's makefile. They differ between versions.
fn runtime_sources(objects: &Path) -> Result<Vec<String>> {
    let path = objects.join("Vmodel_classes.mk");
    let text = fs::read_to_string(&path).map_err(Error::io(path))?;
    let mut names = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("VM_GLOBAL_") {
            inside = true;
        } else if inside {
            names.extend(line.trim_end_matches('\\').split_whitespace().map(str::to_owned));
            inside = line.ends_with('\\');
        }
    }
    names.sort();
    Ok(names)
}

/// Verilator ends each message with the same advice. The first lines tell the problem.
fn tidy_log(log: &str) -> String {
    let advice =
        ["... For warning description", "... Use \"/* verilator", "%Error: Exiting due to", "... See the manual"];
    let keep = |line: &&str| !advice.iter().any(|a| line.contains(a));
    let lines: Vec<&str> = log.lines().filter(keep).collect();
    let cut = lines.len().saturating_sub(60);
    let mut text = lines[..lines.len() - cut].join("\n");
    if cut > 0 {
        text.push_str(&format!("\n... {cut} more lines"));
    }
    text
}

fn check_names(design: &Design) -> Result<()> {
    let bad = |problem: String| Err(Error::Design { top: design.top.clone(), problem });
    if design.files.is_empty() {
        return bad("no source file".into());
    }
    for (i, file) in design.files.iter().enumerate() {
        let plain = !file.name.is_empty() && !file.name.starts_with(['-', '.']) && !file.name.contains(['/', '\\']);
        if !plain {
            return bad(format!("source file name `{}`: give a plain file name without folders", file.name));
        }
        if design.files[..i].iter().any(|other| other.name == file.name) {
            return bad(format!("two source files are named `{}`", file.name));
        }
    }
    Ok(())
}
