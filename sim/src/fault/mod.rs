//! Faults on purpose, by name: a bench that has not been seen to fail proves nothing.
//!
//! A test says which net or which operator to break. How the Verilog is printed does not matter: Yosys reads it, the
//! fault is made in its netlist, where nets have kept their names, and Verilog is written back for the simulator. (An edit
//! of the text would have to know generate loops, arrays, drivers inside `always` and through instances, and would follow
//! every change of the printer.) All faults of a list go into one model, each behind a value of a hidden input, so that a
//! list costs one compilation.
//!
//! ```no_run
//! # fn example(bench: &dyn sim::Bench, design: &sim::Design) -> sim::Result<()> {
//! use sim::fault::{self, Fault};
//!
//! let faults = [
//!     Fault::stuck("step_ready_o", 1),
//!     Fault::invert("column_flag"),
//!     Fault::swap_operator("tie", "<", "<="),
//!     Fault::swap_operand("act_q", "act_i", "weight_i").in_module("mac_mesh_pe"),
//!     Fault::stuck("u_list.write_i", 0),
//! ];
//! for (fault, kill) in faults.iter().zip(fault::run(bench, design, &faults, &sim::RunOptions::default())?) {
//!     assert!(kill.is_some(), "not noticed: {fault}");
//! }
//! # Ok(())
//! # }
//! ```

mod apply;
mod cone;
mod find;
mod swap;

use std::fmt;

use crate::lint::{folder_of, read_script, yosys_in};
use crate::netlist::Netlist;
use crate::variants::Variants;
use crate::{Bench, BuildOptions, Design, Error, Kill, Result, RunOptions, files};

/// A fault of a design. It is in all instances of the module that it is in.
///
/// Nets are named as in the Verilog: `name`, one element or bit `name[3]`, bits `name[7:4]`, a net of a generate block
/// `block[2].name`, a port of an instance `u_name.port`. A name without indices means all elements of an array and all turns
/// of a loop. Without [`Fault::in_module`] the net is one of the top, or else of the only module that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    net: String,
    module: Option<String>,
    kind: Kind,
    choice: Choice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Stuck(u64),
    Invert,
    Operator { from: String, to: String },
    Operand { from: String, to: String },
}

/// Which of several places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Only,
    Every,
    Nth(usize),
}

impl Fault {
    /// Whoever reads the net reads `value`.
    pub fn stuck(net: &str, value: u64) -> Self {
        Self::new(net, Kind::Stuck(value), Choice::Only)
    }

    /// Whoever reads the net reads each bit inverted.
    pub fn invert(net: &str) -> Self {
        Self::new(net, Kind::Invert, Choice::Only)
    }

    /// In what drives the net, the operator `from` is `to`. Operators are those of Verilog; `unary &` and its like are the
    /// reductions, which cannot be exchanged with operators of two operands.
    ///
    /// "What drives the net" is its expression, for a register also the conditions under which it is written; if nothing
    /// fits there, what drives the nets that these read, and so on up to registers.
    pub fn swap_operator(net: &str, from: &str, to: &str) -> Self {
        let kind = Kind::Operator { from: from.to_owned(), to: to.to_owned() };
        Self::new(net, kind, Choice::Only)
    }

    /// What drives the net reads `to` where it reads the net `from`, everywhere. `to` is a net or a constant like `4'd0`, as
    /// wide as `from`.
    pub fn swap_operand(net: &str, from: &str, to: &str) -> Self {
        let kind = Kind::Operand { from: from.to_owned(), to: to.to_owned() };
        Self::new(net, kind, Choice::Every)
    }

    /// The net is one of this module. The part of a module's name that tells its parameters may be left out.
    #[must_use]
    pub fn in_module(mut self, module: &str) -> Self {
        self.module = Some(module.to_owned());
        self
    }

    /// Of several places that fit, the one with this number, from 0, in the order of the source.
    #[must_use]
    pub fn nth(mut self, number: usize) -> Self {
        self.choice = Choice::Nth(number);
        self
    }

    /// All places that fit.
    #[must_use]
    pub fn every(mut self) -> Self {
        self.choice = Choice::Every;
        self
    }

    fn new(net: &str, kind: Kind, choice: Choice) -> Self {
        Self { net: net.to_owned(), module: None, kind, choice }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = &self.net;
        match &self.kind {
            Kind::Stuck(value) => write!(f, "`{net}` stuck at {value}")?,
            Kind::Invert => write!(f, "`{net}` inverted")?,
            Kind::Operator { from, to } => write!(f, "`{to}` for `{from}` in what drives `{net}`")?,
            Kind::Operand { from, to } => write!(f, "`{to}` for `{from}` in what drives `{net}`")?,
        }
        match self.choice {
            Choice::Nth(number) => write!(f, ", place {number}")?,
            Choice::Only | Choice::Every => {}
        }
        self.module.as_ref().map_or(Ok(()), |module| write!(f, ", in `{module}`"))
    }
}

/// The Verilog of `design` with these faults in it: fault number n, from 1, is active while the added input
/// `senbazuru_select_i` of the top is n.
///
/// # Errors
/// [`Error::Design`] when a name or an operator does not exist, is ambiguous, or has another width, with those there are;
/// whatever Yosys says.
pub fn verilog(design: &Design, faults: &[Fault]) -> Result<String> {
    let folder = folder_of(&design.files)?;
    let incomplete = || {
        let log = "Yosys left its output incomplete: is the disk full?".to_owned();
        Error::Compile { top: design.top.clone(), log }
    };
    let read = |name: &str| -> Result<String> {
        let path = folder.path().join(name);
        let bytes = files::read_regular(&path).map_err(Error::io(&path))?;
        String::from_utf8(bytes).map_err(|_| incomplete())
    };
    // No optimisation: it would merge nets that are only names for one another.
    yosys_in(folder.path(), &format!("{}\nproc\nwrite_rtlil netlist.il\n", read_script(design, "")))?;
    let mut netlist = Netlist::parse(&read("netlist.il")?).ok_or_else(incomplete)?;
    apply::all(&mut netlist, design, faults)?;
    let path = folder.path().join("faulty.il");
    std::fs::write(&path, netlist.print()).map_err(Error::io(&path))?;
    let script =
        format!("read_rtlil faulty.il\nhierarchy -check -top {}\nwrite_verilog -noattr faulty.v\n", design.top);
    yosys_in(folder.path(), &script)?;
    let text = read("faulty.v")?;
    if text.trim_end().ends_with("endmodule") { Ok(text) } else { Err(incomplete()) }
}

/// A compiled design with faults in it.
#[derive(Clone, Debug)]
pub struct Faulty(Variants);

impl Faulty {
    /// Compiles `design` with these faults, all in one model.
    ///
    /// # Errors
    /// Those of [`verilog`] and of [`crate::Model::build`].
    pub fn build(design: &Design, faults: &[Fault], options: &BuildOptions) -> Result<Self> {
        Variants::build(design, verilog(design, faults)?, faults.len(), options).map(Self)
    }

    /// Runs `bench` on the design as it is, where it must pass, and on each fault until it notices: how, in the order in
    /// which the faults were given; `None` when it does not.
    ///
    /// # Errors
    /// The bench fails on the design as it is, or compares nothing.
    pub fn run(&self, bench: &dyn Bench, options: &RunOptions) -> Result<Vec<Option<Kill>>> {
        let (effort, _) = self.0.right(bench, options)?;
        (1..=self.0.count).map(|number| self.0.noticed(number, effort, bench, options)).collect()
    }
}

/// [`Faulty::build`] and [`Faulty::run`] in one.
///
/// # Errors
/// Those of both.
pub fn run(bench: &dyn Bench, design: &Design, faults: &[Fault], options: &RunOptions) -> Result<Vec<Option<Kill>>> {
    Faulty::build(design, faults, &options.build)?.run(bench, options)
}
