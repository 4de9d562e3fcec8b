//! [rust-hdl](https://rust-hdl.org) 0.46, both ways: its blocks inside our designs, our modules inside its designs.
//!
//! ```
//! use rust_hdl::prelude::*;
//! use rust_hdl_bridge::import;
//!
//! // A FIFO of rust-hdl's widgets as a module that `Module::external` places in a design of ours.
//! declare_sync_fifo!(Fifo, Bits<9>, 8, 2);
//! let fifo = import("rh_fifo", Fifo::default())?;
//! assert_eq!(fifo.name, "rh_fifo");
//! # Ok::<(), rust_hdl_bridge::InteropError>(())
//! ```
//!
//! - [`import`] makes an [`ExternalModule`](hdl::lang::ExternalModule) of a rust-hdl block, with checked ports.
//! - [`export`] makes a rust-hdl block of one of our designs: a black box with run-time ports. The macro
//!   [`black_box!`] gives such a box typed fields, so that `#[hdl_gen]` kernels can connect it.
//!
//! # What to know of imported Verilog
//! - It is not lint-clean: rust-hdl's text causes width and unused warnings of `verilator -Wall`, and nothing here
//!   hides them. A design that holds an imported block does not pass our lint gate.
//! - It checks eight reserved words of Verilog only. Port names are checked here; names inside a block are not.
//! - rust-hdl's flip-flops start from `initial` values and have no reset; our `rst_ni` does not reach them.
//! - rust-hdl's Verilog can differ from its own simulator. The known case, `$signed` of a product (which Verilog
//!   cuts to the operands' width), is refused here. Compare the rest in co-simulation.
//!
//! # What to know of exported modules
//! rust-hdl's simulator cannot run Verilog: a black box's outputs keep their initial value there (and show as X in
//! its waveforms). Simulate the generated Verilog instead.

mod export;
mod import;
mod rename;
#[cfg(test)]
mod tests;
mod widget;

use std::fmt;

use rust_hdl::core::atom::is_atom_signed;
use rust_hdl::prelude::{Atom, AtomKind, Block, Probe};

pub use export::{BlackBox, export};
pub use import::{Import, import};
pub use widget::{Imported, ImportedPorts, Widget};

/// What the macro [`black_box!`] expands to needs.
#[doc(hidden)]
pub use hdl::lang::Design;
#[doc(hidden)]
pub use rust_hdl::prelude as upstream;

/// Why a block could not cross the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteropError {
    /// Module name on our side.
    pub module: String,
    /// What is wrong, where, and what would be right.
    pub problem: String,
}

impl InteropError {
    fn new(module: &str, problem: impl Into<String>) -> Self {
        Self { module: module.into(), problem: problem.into() }
    }
}

impl fmt::Display for InteropError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rust-hdl interoperability, module {}: {}", self.module, self.problem)
    }
}

impl std::error::Error for InteropError {}

/// A port of a rust-hdl block, as its visitor shows it.
#[derive(Clone, Debug)]
struct AtomPort {
    /// Verilog name; members of an interface are `interface$member`.
    name: String,
    kind: AtomKind,
    width: usize,
    signed: bool,
    clock: bool,
}

impl fmt::Display for AtomPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.kind {
            AtomKind::InputParameter => "input",
            AtomKind::InOutParameter => "inout",
            _ => "output",
        };
        let ty = if self.clock {
            "Clock".into()
        } else {
            format!("{}<{}>", if self.signed { "Signed" } else { "Bits" }, self.width)
        };
        write!(f, "{direction} {ty}")
    }
}

/// Name of rust-hdl's type descriptor for `Clock`.
const CLOCK: &str = "clock";

/// Collects the ports of the outermost block.
#[derive(Default)]
struct Collect {
    depth: usize,
    /// Blocks at the outermost level: a struct has one, a `Vec` of blocks several, a bare signal none.
    tops: usize,
    namespace: Vec<String>,
    ports: Vec<AtomPort>,
}

impl Probe for Collect {
    fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.tops += usize::from(self.depth == 0);
        self.depth += 1;
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.namespace.push(name.into());
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        if self.depth == 1 && signal.kind().is_parameter() {
            let mut path = self.namespace.clone();
            path.push(name.into());
            self.ports.push(AtomPort {
                name: path.join("$"),
                kind: signal.kind(),
                width: signal.bits(),
                signed: is_atom_signed(signal),
                clock: signal.descriptor().name == CLOCK,
            });
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        self.namespace.pop();
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth -= 1;
    }
}

fn ports_of(module: &str, block: &dyn Block) -> Result<Vec<AtomPort>, InteropError> {
    let mut found = Collect::default();
    block.accept("block", &mut found);
    if found.tops != 1 || found.ports.is_empty() {
        return Err(InteropError::new(
            module,
            format!(
                "needs one block with ports, got {} blocks and {} ports; pass a struct that derives LogicBlock",
                found.tops,
                found.ports.len()
            ),
        ));
    }
    Ok(found.ports)
}
