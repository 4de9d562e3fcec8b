//! Faults by name: a bench that has never failed proves nothing.
//!
//! A test names the net or the operator to break, and the broken value in Verilog. The layout of the printed block does
//! not matter. [`run`] makes one native model of all faults that the elaborated design can have. For each other fault
//! Yosys reads the design, reconnects drivers or readers of the net, and writes Verilog for Verilator. [`Models`] says
//! which these are, and why.
//!
//! ```no_run
//! # fn example(bench: &dyn sim::Bench, design: &sim::Design) -> sim::Result<()> {
//! use sim::fault::{self, Fault};
//!
//! let faults = [
//!     Fault::net("step_ready_o", "1'b1"),
//!     Fault::net("column_flag", "~right"),
//!     Fault::net("act_i", "weight_i").into("act_q").module("mac_pe"),
//!     Fault::operator("tie", "<", "<="),
//! ];
//! for (fault, kill) in faults.iter().zip(fault::run(bench, design, &faults, &sim::RunOptions::default())?) {
//!     assert!(kill.is_some(), "not noticed: {fault}");
//! }
//! # Ok(())
//! # }
//! ```

mod models;
mod netlist;

use std::fmt;

use crate::files::Scratch;
use crate::lint::{Reading, folder_of, incomplete, is_verilog, open_boxes, output, read_script, yosys_in};
use crate::{Design, Error, Result, SourceFile};
pub use models::{Models, run};
use netlist::{Module, Netlist};

/// A fault of a design, in all instances of its module.
///
/// Nets are named as in the Verilog: `name`, `array[3]`, `g_lane[2].name`. [`Fault::module`] names the module. Without
/// it the net is in the top, or else in the only module with a net of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    net: String,
    kind: Kind,
    module: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The net has the value of an expression: for all readers, or on the way to one target.
    Net {
        expression: String,
        into: Option<String>,
    },
    Operator {
        from: String,
        to: String,
    },
}

impl Fault {
    /// The net has the value of `expression`, in Verilog, as if it stood at the end of the module. There `right` is the
    /// right value of the net: `~right`, `right & 4'd7`, `right | enable_i`.
    ///
    /// In a netlist Yosys connects readers to bits, not to names. Constant bits stay constant for readers. If a net only
    /// repeats another net, a register that reads it is connected to the other net. Break the driver or the reader of
    /// such a net.
    pub fn net(net: &str, expression: &str) -> Self {
        let kind = Kind::Net { expression: expression.to_owned(), into: None };
        Self { net: net.to_owned(), kind, module: None }
    }

    /// Replaces an operator in the logic that drives the net, the one nearest to the net:
    /// `Fault::operator("tie", "<", "<=")`. Only operators with two operands can be replaced.
    pub fn operator(net: &str, from: &str, to: &str) -> Self {
        let kind = Kind::Operator { from: from.to_owned(), to: to.to_owned() };
        Self { net: net.to_owned(), kind, module: None }
    }

    /// For a fault of a net: only in the logic that drives `target`. A target is a net, a register (with its
    /// conditions), a memory (data and enable of writes) or an instance (its inputs). The logic reaches back to other
    /// registers and instances.
    #[must_use]
    pub fn into(mut self, target: &str) -> Self {
        if let Kind::Net { into, .. } = &mut self.kind {
            *into = Some(target.to_owned());
        }
        self
    }

    /// The module. The parameters in its name may be left out.
    #[must_use]
    pub fn module(mut self, module: &str) -> Self {
        self.module = Some(module.to_owned());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = &self.net;
        match &self.kind {
            Kind::Net { expression, into: None } => write!(f, "`{net}` is `{expression}`")?,
            Kind::Net { expression, into: Some(to) } => write!(f, "`{net}` is `{expression}` in what drives `{to}`")?,
            Kind::Operator { from, to } => write!(f, "`{to}` for `{from}` in what drives `{net}`")?,
        }
        self.module.as_ref().map_or(Ok(()), |module| write!(f, ", in `{module}`"))
    }
}

/// `design` with one fault in it. Its formal sections and comments are gone.
///
/// # Errors
/// [`Error::Design`] when a name or an operator does not exist or is ambiguous, with the existing ones; all errors of
/// Yosys, also about the expression.
pub fn design(design: &Design, fault: &Fault) -> Result<Design> {
    let mut edited = open_boxes(design);
    let text = broken(&mut edited, fault, Reading::Plain, "write_verilog -noattr faulty.v")?;
    if !text.trim_end().ends_with("endmodule") {
        return Err(incomplete(design));
    }
    edited.defines.clear();
    edited.files.retain(|file| !is_verilog(file));
    edited.files.push(SourceFile { name: format!("{}_faulty.v", design.top), text });
    Ok(edited)
}

/// `design` with one fault in it, as a netlist in Yosys' format, for proofs. It has the formal sections, which see the
/// fault like all other logic, and the places of properties in the files of `design`.
///
/// # Errors
/// The errors of [`design()`].
pub fn netlist(design: &Design, fault: &Fault) -> Result<SourceFile> {
    let text = broken(&mut open_boxes(design), fault, Reading::Formal, "write_rtlil faulty.il")?;
    if !text.trim_end().ends_with("end") {
        return Err(incomplete(design));
    }
    Ok(SourceFile { name: format!("{}_faulty.il", design.top), text })
}

/// The output of Yosys for the design with the fault. Yosys reads the design so.
fn broken(design: &mut Design, fault: &Fault, reading: Reading, write: &str) -> Result<String> {
    let top = design.top.clone();
    let refuse = |why: String| {
        let problem = format!("cannot make the fault \"{fault}\": {why}");
        Error::Design { top: top.clone(), problem }
    };
    let (mut folder, mut netlist) = read(design, reading)?;
    let name = netlist.module_with(&top, fault.module.as_deref(), &fault.net).map_err(refuse)?.to_owned();
    if let Kind::Net { expression, .. } = &fault.kind {
        let module = &netlist.modules[&name];
        let range = format!("[{}:0]", module.width(&fault.net) - 1);
        // A name that does not exist is a mistake, not a new wire.
        let value = with_right(expression);
        let text = format!("\n`default_nettype none\nwire {range} {RIGHT};\nwire {range} {WRONG} = {value};\n");
        let inserted = insert(&mut design.files, &module.attributes.src, &text);
        inserted.ok_or_else(|| incomplete(design))?;
        (folder, netlist) = read(design, reading)?;
    }
    let rtlil = output(&folder, "netlist.il")?;
    let alias = Alias::find(&rtlil, &name, &fault.net);
    let commands = commands(&netlist, &netlist.modules[&name], fault, alias).map_err(refuse)?;
    yosys_in(folder.path(), &format!("read_rtlil netlist.il\ncd {name}\n{commands}cd\n{TIDY}\n{write}\n"))?;
    output(&folder, write.split(' ').next_back().unwrap_or_default())
}

/// The commands of `proc` that follow `proc_prune`, which connects readers past names.
const PROC: &str = "proc_init\nproc_arst\nproc_rom\nproc_mux\nproc_dlatch\nproc_dff\nproc_memwr\nproc_clean";

/// Without it a memory whose word is written as a whole would be written bit by bit, which takes minutes to compile.
const TIDY: &str = "opt_expr\nopt_reduce\nopt_clean";

/// A folder with `netlist.il`, and the same netlist parsed.
fn read(design: &Design, reading: Reading) -> Result<(Scratch, Netlist)> {
    let folder = folder_of(&design.files)?;
    let outputs = "write_rtlil netlist.il\nwrite_json netlist.json\n";
    // Without it the enables of properties have no initial value.
    let prune = if reading == Reading::Plain { "" } else { "proc_prune\n" };
    let proc = format!("proc_clean\nproc_rmdead\n{prune}{PROC}");
    yosys_in(folder.path(), &format!("{}\n{proc}\n{outputs}", read_script(design, reading)))?;
    let netlist = serde_json::from_str(&output(&folder, "netlist.json")?).map_err(|_| incomplete(design))?;
    Ok((folder, netlist))
}

/// The named net that a net repeats, in a netlist in Yosys' format.
struct Alias<'a> {
    of: &'a str,
    /// Some cell reads it under this name.
    is_read: bool,
}

impl<'a> Alias<'a> {
    fn find(rtlil: &'a str, module: &str, net: &str) -> Option<Self> {
        let (begin, driver, name) = (format!("module \\{module}"), format!("connect \\{net} \\"), format!("\\{net}"));
        let lines = rtlil.lines().skip_while(|line| *line != begin).take_while(|line| *line != "end");
        let mut connections = lines.map(str::trim_start).filter(|line| line.starts_with("connect "));
        let of = connections.clone().find_map(|line| line.strip_prefix(&driver))?;
        let reads = |line: &str| !line.starts_with(&driver) && line.split(' ').any(|word| word == name);
        Some(Self { of, is_read: connections.any(reads) })
    }
}

/// Commands for Yosys in the module. `alias`: the net of the fault is another name of a named net.
fn commands(netlist: &Netlist, module: &Module, fault: &Fault, alias: Option<Alias>) -> Result<String, String> {
    let net = fault.net.as_str();
    Ok(match &fault.kind {
        Kind::Operator { from, to } => exchange(netlist, module, net, from, to)?,
        Kind::Net { into: Some(target), .. } => {
            let cone = module.cone(netlist, target)?;
            let commands = module.reconnect(net, WRONG, cone.into_iter().map(|(_, cell)| cell));
            if commands.is_empty() {
                return Err(format!("what drives `{target}` does not read `{net}`"));
            }
            commands + &format!("connect -nomap -set {RIGHT} {net}\n")
        }
        // The readers keep the renamed net, and the port gets a new one.
        Kind::Net { into: None, .. } if module.is_input(net) => format!(
            "rename {net} {OLD}\nadd -input {net} {}\ndelete -input w:{OLD}\n\
             connect -nomap -set {RIGHT} {net}\nconnect -nomap -set {OLD} {WRONG}\n",
            module.width(net)
        ),
        Kind::Net { into: None, .. } => {
            // A register that holds its value holds the right one.
            let cone = module.cone(netlist, net)?;
            let holds = |cell: &str| cell.starts_with("$procmux") && cone.iter().any(|(_, c)| *c == cell);
            let all = || module.cells.keys().map(String::as_str);
            let mut commands = module.next_values() + &module.reconnect(net, RIGHT, all().filter(|c| holds(c)));
            // `proc` connects readers past names. If this net is the first name of its bits, readers of the bits read
            // the net.
            if let Some(Alias { of, is_read: false }) = alias
                && !module.is_port(net)
            {
                return Err(format!(
                    "Yosys leads what reads `{net}` past it, to `{of}`: break that, `into` what reads it"
                ));
            }
            if alias.is_none() {
                commands += &module.reconnect(net, WRONG, all().filter(|c| !holds(c)));
            }
            // The old driver of the net now drives a wire that Yosys makes and does not name.
            commands
                + &format!(
                    "select -set before w:*\nconnect -nomap -set {net} {WRONG}\nselect -set cut w:* @before %d\n\
                     rename -enumerate -pattern {OLD}_% @cut\nconnect -nomap -nounset -set {RIGHT} {OLD}_0\n"
                )
        }
    })
}

/// `expression` with the module's name for the right value of the net. The module may have a net `right` of its own.
fn with_right(expression: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_$.'".contains(c);
    let renamed = |piece: &str| match piece.strip_prefix("right") {
        Some(rest) if !rest.contains(is_word) => format!("{RIGHT}{rest}"),
        _ => piece.to_owned(),
    };
    expression.split_inclusive(|c| !is_word(c)).map(renamed).collect()
}

const RIGHT: &str = "senbazuru_right";
const WRONG: &str = "senbazuru_wrong";
const OLD: &str = "senbazuru_old";

/// Operators with two operands and their cells; all have the same parameters.
const OPERATORS: [(&str, &str); 16] = [
    ("+", "$add"),
    ("-", "$sub"),
    ("*", "$mul"),
    ("&", "$and"),
    ("|", "$or"),
    ("^", "$xor"),
    ("&&", "$logic_and"),
    ("||", "$logic_or"),
    ("==", "$eq"),
    ("!=", "$ne"),
    ("<", "$lt"),
    ("<=", "$le"),
    (">", "$gt"),
    (">=", "$ge"),
    ("<<", "$shl"),
    (">>", "$shr"),
];

fn exchange(netlist: &Netlist, module: &Module, net: &str, from: &str, to: &str) -> Result<String, String> {
    let kind = |operator: &str| {
        let found = OPERATORS.iter().find(|(name, _)| *name == operator);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let all: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
            format!("no operator `{operator}`; there are {}", all.join(" "))
        })
    };
    let (from_kind, to_kind) = (kind(from)?, kind(to)?);
    let cone = module.cone(netlist, net)?;
    let fitting: Vec<_> = cone.iter().filter(|(_, cell)| module.cells[*cell].kind == from_kind).collect();
    let nearest = fitting.iter().map(|(depth, _)| depth).min();
    let cells: Vec<&str> = fitting.iter().filter(|(depth, _)| Some(depth) == nearest).map(|(_, cell)| *cell).collect();
    match cells[..] {
        [cell] => Ok(format!("chtype -set {to_kind} c:{cell}\n")),
        [] => {
            let there = OPERATORS.iter().filter(|(_, kind)| cone.iter().any(|(_, c)| module.cells[*c].kind == *kind));
            let there: Vec<&str> = there.map(|(name, _)| *name).collect();
            Err(format!("no `{from}` there; the operators are {}", there.join(" ")))
        }
        _ => Err(format!("{} operators `{from}` are equally near to `{net}`: name a net between", cells.len())),
    }
}

/// Puts `text` before the end of the module that Yosys found at `file.v:2.1-33.10`.
fn insert(files: &mut [SourceFile], place: &str, text: &str) -> Option<()> {
    let (name, range) = place.rsplit_once(':')?;
    let last: usize = range.split_once('-')?.1.split_once('.')?.0.parse().ok()?;
    let file = files.iter_mut().find(|file| file.name == name)?;
    let end: usize = file.text.split_inclusive('\n').take(last).map(str::len).sum();
    let at = file.text[..end].rfind("endmodule")?;
    file.text.insert_str(at, text);
    Some(())
}
