//! A design in Verilog, and what the simulator must know about it.

use serde::{Deserialize, Serialize};

use super::native::Native;
use super::source_file::SourceFile;

/// A Verilog design and what the simulator must know about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// Name of the top module.
    pub top: String,
    /// All source files, in the order in which Verilator reads them.
    pub files: Vec<SourceFile>,
    /// Ports of the top module. Checked against the Verilog; when empty, taken from it, all unsigned.
    pub ports: Vec<Port>,
    /// The clock input; `None` for combinational designs.
    pub clock: Option<String>,
    /// The active-low reset input.
    pub reset: Option<String>,
    /// Verilog macros: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// The same design for the native engine; only designs of the construction language have it.
    #[serde(default, skip)]
    pub native: Option<Native>,
}

impl Design {
    /// One Verilog text with the usual port names: `clk_i` and `rst_ni`, as far as the text mentions them.
    /// Port signs are not known this way; see [`Design::ports`].
    pub fn from_verilog(top: &str, text: &str) -> Self {
        let has = |name: &str| text.contains(name).then(|| name.to_owned());
        Self {
            top: top.to_owned(),
            files: vec![SourceFile { name: format!("{top}.v"), text: text.to_owned() }],
            ports: Vec::new(),
            clock: has("clk_i"),
            reset: has("rst_ni"),
            defines: Vec::new(),
            native: None,
        }
    }

    /// The same design for the native engine, if the Verilog was not changed.
    pub(crate) fn unchanged(&self) -> Option<&Native> {
        self.native.as_ref().filter(|native| self.defines.is_empty() && native.is_of(&self.files))
    }
}

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Name in Verilog.
    pub name: String,
    /// Direction seen from the design.
    pub dir: Dir,
    /// Width in bits.
    pub width: u32,
    /// Whether reports show the value as two's complement.
    pub signed: bool,
}

/// Direction of a port, seen from the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dir {
    /// Driven by the testbench.
    Input,
    /// Driven by the design.
    Output,
}

impl Dir {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}
