//! The installed Verilator and C++ compiler, and Verilator's runtime library compiled once for each set of flags.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, OnceLock};

use super::options::{BuildOptions, Opt, Trace};
use crate::process::{Output, Tool};
use crate::{Error, Result};

/// Flags of every C++ compilation: position independent, nothing exported, no vendor-specific instructions.
const CXX_FLAGS: [&str; 7] = [
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fcf-protection=none",
    "-faligned-new",
    "-w",
];

/// Replaces the runtime's call-backs by the shim's, and its standard output by the shim's log.
const RUNTIME_DEFINES: [&str; 7] = [
    "-DVL_USER_FINISH",
    "-DVL_USER_STOP",
    "-DVL_USER_FATAL",
    "-DVL_USER_WARN",
    "-DVL_PRINTF=senbazuru_print",
    "-DVL_TIME_CONTEXT",
    "-DVM_SC=0",
];

/// The installed tools; determined once per process.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// First lines of the programs' `--version`: part of every cache key.
    pub versions: String,
    /// Whether `clang++` is there, which compiles without optimisation in a third of the time of `g++`.
    has_clang: bool,
    /// Folder of Verilator's C++ headers and runtime sources.
    include: PathBuf,
}

impl Toolchain {
    pub fn detect() -> Result<Self> {
        static FOUND: OnceLock<Toolchain> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let first_line = |output: Output| output.stdout.lines().next().unwrap_or_default().to_owned();
        let verilator = first_line(Tool::new("verilator").arg("--version").run()?);
        let compiler = first_line(Tool::new("g++").arg("--version").run()?);
        // A machine without it works, too.
        let clang = Tool::new("clang++").arg("--version").run().map(first_line).unwrap_or_default();
        let root = Tool::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).run()?;
        let include = Path::new(root.stdout.trim()).join("include");
        if !include.join("verilated.h").is_file() {
            let problem = "it holds no verilated.h: is Verilator installed completely?".to_owned();
            return Err(Error::Data { path: include, problem });
        }
        let versions = format!("{verilator}\n{compiler}\n{clang}");
        let found = Self { versions, has_clang: !clang.is_empty(), include };
        Ok(FOUND.get_or_init(|| found).clone())
    }

    /// A `g++` call with the flags that all objects of a model must share.
    pub fn compiler(&self, options: &BuildOptions) -> Tool {
        self.flags(Tool::new("g++").arg("-fno-gnu-unique"), options)
    }

    fn flags(&self, compiler: Tool, options: &BuildOptions) -> Tool {
        let on = |flag: bool| u8::from(flag);
        compiler
            .args(CXX_FLAGS)
            .args(RUNTIME_DEFINES)
            .arg(format!("-DVM_COVERAGE={}", on(options.coverage)))
            .arg(format!("-DVM_TRACE={}", on(options.trace != Trace::Off)))
            .arg(format!("-DVM_TRACE_VCD={}", on(options.trace == Trace::Vcd)))
            .arg(format!("-DVM_TRACE_FST={}", on(options.trace == Trace::Fst)))
            .arg("-I.")
            .arg(format!("-I{}", self.include.display()))
            .arg(format!("-I{}", self.include.join("vltstd").display()))
    }

    /// A call that compiles a unit of a model. Code that is not optimised goes to `clang++`, if there is one that
    /// compiles the headers.
    pub fn unit(&self, options: &BuildOptions, opt: &[&str]) -> Result<Tool> {
        if self.has_clang && opt == Opt::O0.flags() {
            // By itself it refuses expressions that are nested deeper than 256.
            let clang = self.flags(Tool::new("clang++").arg("-fbracket-depth=65536"), options).args(opt);
            // `clang++` looks for the header from which it compiled, and entries of the cache are moved: so from none.
            let headers = PREFIX_HEADERS.into_iter().flat_map(|name| ["-include", name]);
            let header = clang.clone().args(["-x", "c++-header"]).args(headers).args(["/dev/null", "-o", CLANG_PREFIX]);
            if let Ok(folder) = self.prefix(options, &header) {
                return Ok(clang.arg("-include-pch").arg(folder.join(CLANG_PREFIX)));
            }
        }
        let compiler = self.compiler(options).args(opt);
        // A compiler that cannot use the compiled header reads the header next to it.
        let header = compiler.clone().args(["-x", "c++-header", PREFIX, "-o", "prefix.h.gch"]);
        let folder = self.prefix(options, &header)?;
        Ok(compiler.arg("-include").arg(folder.join(PREFIX)))
    }

    /// The compiled runtime: a static library of the sources that Verilator's makefile names for this model.
    pub fn runtime(&self, options: &BuildOptions, sources: &[String]) -> Result<PathBuf> {
        let compiler = self.compiler(options).args(["-O2", "-ffunction-sections", "-fdata-sections", "-c"]);
        let compiler = compiler.args(["-include", "senbazuru_print.h"]);
        let mut key = Key::new("runtime");
        key.add(&self.versions).add(&compiler.command_line()).add(&sources.join(" ")).add(PRINT_HEADER);
        let build = |folder: &Path| {
            write(&folder.join("senbazuru_print.h"), PRINT_HEADER)?;
            let jobs = sources.iter().map(|name| {
                let source = self.include.join(format!("{name}.cpp"));
                compiler.clone().arg(source).arg("-o").arg(format!("{name}.o")).dir(folder)
            });
            compile_all("the Verilator runtime", jobs.collect())?;
            let objects = sources.iter().map(|name| format!("{name}.o"));
            let archive = Tool::new("ar").args(["rcs", "libruntime.a"]).args(objects).dir(folder).run()?;
            check_compiled("the Verilator runtime", &archive)?;
            sources.iter().try_for_each(|name| {
                let object = folder.join(format!("{name}.o"));
                std::fs::remove_file(&object).map_err(Error::io(object))
            })
        };
        Ok(options.cache.shared("runtime", &key.finish(), build)?.join("libruntime.a"))
    }

    /// A folder with the headers that every model includes, compiled once, because they take longer to read than most
    /// models.
    fn prefix(&self, options: &BuildOptions, compiler: &Tool) -> Result<PathBuf> {
        let text: String = PREFIX_HEADERS.iter().map(|name| format!("#include <{name}>\n")).collect();
        let mut key = Key::new("prefix");
        key.add(&self.versions).add(&compiler.command_line()).add(&text);
        let build = |folder: &Path| {
            write(&folder.join(PREFIX), &text)?;
            compile_all("headers of the Verilator runtime", vec![compiler.clone().dir(folder)])
        };
        options.cache.shared("prefix", &key.finish(), build)
    }
}

const PREFIX: &str = "prefix.h";

const CLANG_PREFIX: &str = "prefix.pch";

const PREFIX_HEADERS: [&str; 8] =
    ["cstdarg", "cstdint", "cstdio", "exception", "memory", "stdexcept", "string", "verilated.h"];

const PRINT_HEADER: &str = "extern \"C\" int senbazuru_print(const char* format, ...);\n";

/// Runs compiler calls side by side, at most one per core in this whole process, and reports the first failure.
pub(super) fn compile_all(what: &str, jobs: Vec<Tool>) -> Result<()> {
    let run = |job: &Tool| -> Result<()> {
        let _slot = Slot::take();
        check_compiled(what, &job.run()?)
    };
    if let [job] = jobs.as_slice() {
        return run(job);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs.iter().map(|job| scope.spawn(|| run(job))).collect();
        threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

pub(super) fn check_compiled(what: &str, output: &Output) -> Result<()> {
    if output.success() {
        return Ok(());
    }
    let lines: Vec<String> = output.log().lines().take(40).map(str::to_owned).collect();
    let log = format!("exit code {}\n{}", output.code.unwrap_or_default(), lines.join("\n"));
    Err(Error::Compile { top: what.to_owned(), log })
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(Error::io(path))
}

/// A share of the machine. A process that builds many models at once must not start more compilers than cores.
pub(super) struct Slot;

static SLOTS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Slot {
    pub fn take() -> Self {
        let limit = std::thread::available_parallelism().map_or(1, usize::from);
        let lock = SLOTS.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut used = SLOTS.1.wait_while(lock, |used| *used >= limit).unwrap_or_else(|poisoned| poisoned.into_inner());
        *used += 1;
        Self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *SLOTS.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) -= 1;
        SLOTS.1.notify_one();
    }
}

/// A cache key under construction: every part is hashed with its length, so that parts cannot run into each other.
pub(super) struct Key(blake3::Hasher);

impl Key {
    pub fn new(kind: &str) -> Self {
        let mut key = Self(blake3::Hasher::new());
        key.add(kind);
        key
    }

    pub fn add(&mut self, part: &str) -> &mut Self {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
        self
    }

    pub fn finish(&self) -> String {
        self.0.finalize().to_hex().as_str()[..40].to_owned()
    }
}
