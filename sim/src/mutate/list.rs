//! The mutations of a design, and a sample of them.

use std::fmt;

use hdl::mutate::Fault;

use crate::lint::{Reading, folder_of, incomplete, open_boxes, output, read_script, yosys_in};
use crate::{Design, Result};

/// Which mutations to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many; all when there are fewer.
    pub count: usize,
    /// Chooses them. Two samples with one seed have most mutations in common when the design has changed little.
    pub seed: u64,
}

impl Sample {
    /// Every mutation.
    pub const ALL: Self = Self { count: usize::MAX, seed: 1 };
}

/// A fault of one bit of one port of one cell, in all instances of its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// Module, as the Verilog has it.
    pub module: String,
    /// Yosys' name of the cell, which contains the operator and the place; or the name of an instance.
    pub cell: String,
    /// Port of the cell.
    pub port: String,
    /// Bit of that port.
    pub bit: u32,
    /// Yosys' name of the change: `inv`, `const0`, `const1`, `cnot0`, `cnot1`.
    pub mode: String,
    /// The named net of that bit, if it has one.
    pub net: Option<String>,
    /// File, lines and columns of the cell.
    pub place: Option<String>,
    /// The Verilog there, when it is a single line.
    pub text: Option<String>,
    /// The options of Yosys' `mutate` that make it, or the name of the place in the design.
    pub options: String,
    /// The fault, for a design of the construction language.
    pub fault: Option<Fault>,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.mode.as_str() {
            "inv" => "inverted",
            "const0" => "stuck at 0",
            "const1" => "stuck at 1",
            "cnot0" => "inverted when its neighbour is 0",
            "cnot1" => "inverted when its neighbour is 1",
            "exchanged" => "taken for its counterpart",
            other => other,
        };
        match (self.mode.as_str(), self.port.as_str()) {
            ("exchanged", _) => write!(f, "operation {what}")?,
            (_, "Y" | "Q") => write!(f, "bit {} of result {what}", self.bit)?,
            (_, port) => write!(f, "bit {} of {port} {what}", self.bit)?,
        }
        if let Some(net) = &self.net {
            write!(f, " (net `{net}`)")?;
        }
        match (&self.place, &self.text) {
            (Some(place), Some(text)) => write!(f, " at {place}: {text}")?,
            (Some(place), None) => write!(f, " at {place}")?,
            _ => {}
        }
        write!(f, "\n    {}{}", if self.fault.is_none() { "mutate " } else { "" }, self.options)
    }
}

/// The subject of the mutations.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The design in Yosys' own format.
    Netlist(String),
    /// The elaborated design.
    Ir(hdl::lang::Design),
}

/// A sample of the mutations of a design.
#[derive(Clone, Debug)]
pub struct Mutations {
    pub(super) design: Design,
    pub(super) source: Source,
    /// Number of mutations that the design has.
    pub available: usize,
    /// The mutations of the sample.
    pub chosen: Vec<Mutation>,
}

/// Finds the mutations of the netlist of `design` and chooses among them.
///
/// Left out are mutations of clock pins, which are no decision of a design, and of the enable of asynchronous reads,
/// which Yosys cannot express.
///
/// # Errors
/// Yosys refuses the design.
pub fn list(design: &Design, sample: Sample) -> Result<Mutations> {
    let design = &open_boxes(design);
    let folder = folder_of(&design.files)?;
    // Yosys asks for a number. It is a C integer. A table stays logic: as a memory, it has contents that Yosys breaks
    // and then cannot write.
    let script = format!(
        "{}\nproc -norom\nopt_expr\nopt_reduce\nopt_clean\nwrite_rtlil netlist.il\nmutate -list 2000000000 -seed 1 -o list.txt\n",
        read_script(design, Reading::Plain)
    );
    yosys_in(folder.path(), &script)?;
    let netlist = output(&folder, "netlist.il")?;
    if !netlist.trim_end().ends_with("end") {
        return Err(incomplete(design));
    }
    let mut all: Vec<Mutation> = Vec::new();
    for line in output(&folder, "list.txt")?.lines() {
        let mutation = parse(line, design).ok_or_else(|| incomplete(design))?;
        let clock = mutation.port == "CLK" || design.clock.as_ref() == Some(&mutation.port);
        let read_enable = mutation.port == "EN" && mutation.cell.starts_with("$memrd");
        if !clock && !read_enable {
            all.push(mutation);
        }
    }
    all.sort_by(|a, b| a.options.cmp(&b.options));
    all.dedup_by(|a, b| a.options == b.options);
    let available = all.len();
    // Each mutation draws a number of its own, so that a new one does not shift the choice among the others.
    let draw = |mutation: &Mutation| {
        let mut hasher = blake3::Hasher::new();
        *hasher.update(&sample.seed.to_le_bytes()).update(mutation.options.as_bytes()).finalize().as_bytes()
    };
    all.sort_by_cached_key(draw);
    all.truncate(sample.count);
    Ok(Mutations { design: design.clone(), source: Source::Netlist(netlist), available, chosen: all })
}

/// `mutate -mode inv -module M -cell C -port A -portbit 0 -wire w -wirebit 0 -src file.v:1.2-1.8`
fn parse(line: &str, design: &Design) -> Option<Mutation> {
    let words: Vec<&str> = line.strip_prefix("mutate ")?.split(' ').collect();
    let pairs = || words.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let value = |name: &str| pairs().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    let kept = pairs().filter(|(key, _)| !matches!(*key, "-wire" | "-wirebit" | "-src"));
    let options: Vec<String> = kept.map(|(key, value)| format!("{key} {value}")).collect();
    // The first place belongs to the net, if there is one.
    let place = pairs().rfind(|(key, _)| *key == "-src").map(|(_, value)| value.to_owned());
    let text = place.as_deref().and_then(|place| excerpt(design, place));
    Some(Mutation {
        module: value("-module")?,
        cell: value("-cell")?,
        port: value("-port")?,
        bit: value("-portbit")?.parse().ok()?,
        mode: value("-mode")?,
        net: value("-wire"),
        place,
        text,
        options: options.join(" "),
        fault: None,
    })
}

/// The text at `file.v:12.5-12.20`.
fn excerpt(design: &Design, place: &str) -> Option<String> {
    let (name, range) = place.rsplit_once(':')?;
    let (from, to) = range.split_once('-')?;
    let position = |text: &str| -> Option<(usize, usize)> {
        let (line, column) = text.split_once('.')?;
        Some((line.parse().ok()?, column.parse().ok()?))
    };
    let ((first, start), (last, end)) = (position(from)?, position(to)?);
    let file = design.files.iter().find(|f| f.name == name).filter(|_| first == last)?;
    let line = file.text.lines().nth(first.checked_sub(1)?)?;
    line.get(start.checked_sub(1)?..end.checked_sub(1)?.min(line.len())).map(str::to_owned)
}
