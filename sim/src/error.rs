//! Everything that can go wrong, as one type.

use std::io;
use std::path::{Path, PathBuf};

use crate::bus::Violation;
use crate::mismatch::Mismatch;
use crate::process::{ProcessError, ToolMissing};

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model could not be built, loaded or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tool is missing, did not start, died, or ran into its time limit.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Verilator rejected the design.
    #[error("Verilator rejects `{top}`:\n{log}")]
    Verilog {
        /// Top module.
        top: String,
        /// Verilator's messages, trimmed.
        log: String,
    },
    /// Yosys rejected a script or the design that it was given.
    #[error("Yosys fails with exit code {code}:\n{log}")]
    Yosys {
        /// Its exit code.
        code: i32,
        /// The end of its log.
        log: String,
    },
    /// The C++ compiler or linker failed on generated code, or Verilator left it incomplete.
    #[error("compiling the model of `{top}` failed:\n{log}")]
    Compile {
        /// Top module.
        top: String,
        /// The compiler's messages, trimmed.
        log: String,
    },
    /// The description of the design cannot be used.
    #[error("design `{top}`: {problem}")]
    Design {
        /// Top module.
        top: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A compiled model could not be loaded.
    #[error("cannot load the model {}: {problem}", path.display())]
    Load {
        /// The shared object.
        path: PathBuf,
        /// The loader's message.
        problem: String,
    },
    /// No port of that name and direction.
    #[error("`{top}` has no {direction} `{name}`; its {direction}s are: {known}")]
    UnknownPort {
        /// Top module.
        top: String,
        /// `input` or `output`.
        direction: &'static str,
        /// The requested name.
        name: String,
        /// The existing names, separated by commas.
        known: String,
    },
    /// A value does not fit the input it was poked into.
    #[error("cycle {cycle}: {value} does not fit the {width}-bit input `{port}`")]
    Poke {
        /// Cycle count at the poke.
        cycle: u64,
        /// Input name.
        port: String,
        /// Its width.
        width: u32,
        /// The value, in decimal or Verilog notation.
        value: String,
    },
    /// The design stopped itself: `$stop`, a failed assertion or `$fatal`.
    #[error("cycle {cycle}: the design stopped itself:\n{log}")]
    Stopped {
        /// Cycle count at that time.
        cycle: u64,
        /// What it printed, with Verilog file and line.
        log: String,
    },
    /// The run needs more cycles than its limit, see [`crate::Sim::limit_cycles`].
    #[error("not finished after {limit} cycles")]
    CycleLimit {
        /// The limit.
        limit: u64,
    },
    /// The request does not suit the way the model was built.
    #[error("{0}")]
    Unsupported(String),
    /// Hardware and golden model differ.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// A rule of a bus was broken, see [`crate::bus`].
    #[error(transparent)]
    Bus(Box<Violation>),
    /// A register access was not answered, see [`crate::bus::AxiLiteHost`].
    #[error("cycle {cycle}: {problem}")]
    BusTimeout {
        /// Cycle count when the host gave up.
        cycle: u64,
        /// Prefix of the interface's ports.
        interface: String,
        /// The channel that hung, and the access.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An environment variable cannot be used.
    #[error("{name}: {problem}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value, and the values that would be right.
        problem: String,
    },
    /// A tensor file or another input has the wrong content.
    #[error("{}: {problem}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What the file has, and what would be right.
        problem: String,
    },
}

impl Error {
    /// Whether this error is a verdict on the design and the request. The same request will then fail the same way
    /// again, so the answer may be kept. All other errors come from the state of the machine: a tool is missing, was
    /// killed, or ran out of time, memory or disk, or a file vanished. They say nothing about the design, and the
    /// request must be repeated.
    pub fn is_verdict(&self) -> bool {
        match self {
            Self::Verilog { .. }
            | Self::Yosys { .. }
            | Self::Design { .. }
            | Self::UnknownPort { .. }
            | Self::Poke { .. }
            | Self::Stopped { .. }
            | Self::CycleLimit { .. }
            | Self::Unsupported(_)
            | Self::Mismatch(_)
            | Self::Bus(_)
            | Self::BusTimeout { .. } => true,
            // Generated C++ of any design compiles. If it does not, the compiler or the disk is to blame.
            Self::Process(_)
            | Self::Compile { .. }
            | Self::Load { .. }
            | Self::Io { .. }
            | Self::Setting { .. }
            | Self::Data { .. } => false,
        }
    }

    /// The missing tool, if that is the cause. Command-line programs have an exit code for it.
    pub fn tool_missing(&self) -> Option<&ToolMissing> {
        match self {
            Self::Process(ProcessError::Missing(missing)) => Some(missing),
            _ => None,
        }
    }

    /// The mismatch, when hardware and golden model differ.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        match self {
            Self::Mismatch(mismatch) => Some(mismatch),
            _ => None,
        }
    }

    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { path, source }
    }
}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(Box::new(mismatch))
    }
}

impl From<Violation> for Error {
    fn from(violation: Violation) -> Self {
        Self::Bus(Box::new(violation))
    }
}

impl From<ToolMissing> for Error {
    fn from(missing: ToolMissing) -> Self {
        Self::Process(missing.into())
    }
}
