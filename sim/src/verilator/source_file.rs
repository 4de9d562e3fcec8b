//! Text of Verilog or C.

use serde::{Deserialize, Serialize};

/// A Verilog file held in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// File name without folders, as messages and coverage reports show it.
    pub name: String,
    /// Contents.
    pub text: String,
}
