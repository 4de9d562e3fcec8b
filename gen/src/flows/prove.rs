//! Proofs of the `FORMAL` sections with yosys-smtbmc.
//!
//! Step 0 is the reset cycle: `depth` cycles after it are checked exhaustively. Then induction proves assertions, where
//! the user asks for it (`pdr.rs`, then k-induction). Every cover is searched for. An unreachable cover means that the
//! assertions around it hold for nothing, so it fails like a refuted assertion.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sim::process::{ProcessError, Tool, ToolMissing};

use crate::error::{Failure, Result};
use crate::flows::lint::Sources;
use crate::flows::pdr::{self, Answer};
use crate::flows::workspace::{Workspace, last_lines};
use crate::flows::yosys;

/// How to prove.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cycles after reset.
    pub depth: u32,
    /// Cycles after reset within which covers must be reached.
    pub cover_depth: u32,
    /// Prove for all time: by IC3, and where that finds nothing by k-induction with k up to `depth`.
    pub induction: bool,
    /// Solver, as yosys-smtbmc calls it.
    pub solver: String,
    /// Limit of each of the up to three runs.
    pub limit: Duration,
    /// Folder for counterexamples.
    pub traces: PathBuf,
}

/// One property and its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Property {
    /// Name inside Yosys.
    #[serde(skip)]
    id: String,
    /// Name, with the instance path.
    pub name: String,
    /// Assertion or cover.
    pub kind: Kind,
    /// The answer.
    pub verdict: Verdict,
    /// Steps from reset to the cover or to the violation.
    pub step: Option<u32>,
    /// Waveform of the counterexample.
    pub trace: Option<PathBuf>,
}

/// The kind of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Always true.
    Assert,
    /// True at least once.
    Cover,
}

/// The answer to a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// An assertion that no run of `depth` cycles violates.
    Holds,
    /// An assertion that no run violates.
    Proved,
    /// An assertion that holds to the depth, but for which no induction was found.
    NotInductive,
    /// An assertion with a counterexample.
    Refuted,
    /// A cover that some run reaches.
    Covered,
    /// A cover that no run of `depth` cycles reaches.
    Unreachable,
    /// The solver gave no answer in time.
    Unknown,
}

impl Verdict {
    /// Whether the property passes.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Holds | Self::Proved | Self::Covered)
    }
}

/// The solvers that yosys-smtbmc can drive, with the program and the Debian package of each.
pub const SOLVERS: [(&str, &str, &str); 7] = [
    ("z3", "z3", "z3"),
    ("cvc4", "cvc4", "cvc4"),
    ("cvc5", "cvc5", "cvc5"),
    ("yices", "yices-smt2", "yices2"),
    ("boolector", "boolector", "boolector"),
    ("bitwuzla", "bitwuzla", "bitwuzla"),
    ("mathsat", "mathsat", "mathsat"),
];

/// Runs the prover on a design; properties come in alphabetical order.
///
/// # Errors
/// A missing tool, a design without properties, or a run that ended without an answer for another reason than time.
pub fn prove(sources: &Sources, options: &Options) -> Result<Vec<Property>> {
    let nothing = || Failure::Usage(format!("{} has no properties to prove", sources.top));
    if !sources.has_formal() {
        return Err(nothing());
    }
    check_solver(&options.solver)?;
    let work = Workspace::new()?;
    let (mut script, files) = sources.with_properties();
    script += "memory_map\nasync2sync\ndffunmap\nopt_clean\n";
    // A violated assertion would end the search for covers.
    script += "write_smt2 -wires model.smt2\nchformal -assert -remove\nopt_clean\nwrite_smt2 covers.smt2\n";
    yosys::run_in(&work, &script, files, &sources.top)?;
    let text = work.read("model.smt2")?;
    let mut properties = properties_of(&text, sources);
    if properties.is_empty() {
        return Err(nothing());
    }
    let run = Run { work: &work, options, top: &sources.top };
    let has = |kind| properties.iter().any(|p: &Property| p.kind == kind);
    let (asserts, covers) = (has(Kind::Assert), has(Kind::Cover));
    if asserts {
        run.bounded(&mut properties)?;
        // A refuted assertion is an assumption that the induction must not build on.
        if options.induction && properties.iter().all(|p| p.kind == Kind::Cover || p.verdict == Verdict::Holds) {
            match pdr::prove_all(sources, options.limit)? {
                Answer::Proved => set(&mut properties, Kind::Assert, Verdict::Proved),
                // A violation beyond the depth fails the induction too; a deeper run shows it.
                Answer::Refuted | Answer::Unknown => run.induction(&mut properties)?,
            }
        }
    }
    if covers {
        run.covers(&mut properties)?;
    }
    Ok(properties)
}

fn check_solver(name: &str) -> Result<()> {
    let Some((_, program, package)) = SOLVERS.iter().find(|s| s.0 == name) else {
        let names: Vec<_> = SOLVERS.iter().map(|s| s.0).collect();
        return Err(Failure::Usage(format!("unknown solver `{name}`; known: {}", names.join(", "))));
    };
    match Tool::new(*program).arg("--version").run() {
        Err(ProcessError::Missing(_)) => {
            Err(Failure::Tool(ToolMissing { tool: (*program).into(), package: (*package).into() }))
        }
        Err(other) => Err(other.into()),
        Ok(_) => Ok(()),
    }
}

/// The properties that `write_smt2` lists in its comments: `; yosys-smt2-assert 0 name file.v:6.42-6.61`.
///
/// A property in a generate loop has no label, since Yosys would take it for the same one in each round. Its name is
/// the comment at its end, or the net that it checks, or else its place; a number follows.
fn properties_of(model: &str, sources: &Sources) -> Vec<Property> {
    let mut found: Vec<Property> = Vec::new();
    for line in model.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [";", keyword, _, id, ref place @ ..] = words[..] else { continue };
        let kind = match keyword {
            "yosys-smt2-assert" => Kind::Assert,
            "yosys-smt2-cover" => Kind::Cover,
            _ => continue,
        };
        let name = match place {
            [place, ..] if id.contains('$') => name_at(sources, place),
            _ => id.to_owned(),
        };
        found.push(Property { id: id.into(), name, kind, verdict: Verdict::Unknown, step: None, trace: None });
    }
    // The number that Yosys appends to its own names counts the rounds.
    found.sort_by_key(|p| (p.name.clone(), p.id.len(), p.id.clone()));
    number(&mut found);
    found
}

/// The name of the property at `file.v:6.42-7.61`: the comment at its end, or the net in `assert (name);`, or else file
/// and line.
fn name_at(sources: &Sources, place: &str) -> String {
    let name = || {
        let (file, range) = place.rsplit_once(':')?;
        // A long property stands on several lines; the comment ends the last one.
        let last: usize = range.rsplit('-').next()?.split('.').next()?.parse().ok()?;
        let text = &sources.files.iter().find(|f| f.name == file)?.text;
        let line = text.lines().nth(last.checked_sub(1)?)?;
        let checked = || line.split_once("assert (").or_else(|| line.split_once("cover ("));
        let net = || checked()?.1.trim_end().strip_suffix(");");
        let is_name = |net: &&str| net.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        let comment = || Some(line.rsplit_once("// ")?.1.trim());
        Some(comment().or_else(|| net().filter(is_name))?.to_owned())
    };
    name().unwrap_or_else(|| place.split('.').take(2).collect::<Vec<_>>().join("."))
}

/// Appends `[0]`, `[1]`, ... to names that occur several times.
fn number(properties: &mut [Property]) {
    let mut start = 0;
    while start < properties.len() {
        let name = properties[start].name.clone();
        let count = properties[start..].iter().take_while(|p| p.name == name).count();
        if count > 1 {
            for (i, property) in properties[start..start + count].iter_mut().enumerate() {
                property.name = format!("{name}[{i}]");
            }
        }
        start += count;
    }
}

struct Run<'a> {
    work: &'a Workspace,
    options: &'a Options,
    top: &'a str,
}

impl Run<'_> {
    fn bounded(&self, properties: &mut [Property]) -> Result<()> {
        let (log, complete) =
            self.smtbmc(&["--keep-going", "--dump-vcd", "trace%.vcd", "model.smt2"], self.options.depth + 1)?;
        if complete {
            set(properties, Kind::Assert, Verdict::Holds);
        }
        let (mut failed, mut step) = (Vec::new(), None);
        for line in log.lines().map(message) {
            if let Some(rest) = line.strip_prefix("Checking assertions in step ") {
                step = leading_number(rest);
            } else if let Some((_, name)) = line.strip_prefix("Assert failed in ").and_then(|l| l.split_once(": ")) {
                failed.push(name.to_owned());
            } else if let Some(file) = line.strip_prefix("Writing trace to VCD file: ") {
                for name in failed.drain(..) {
                    let Some(property) = find(properties, &name, Kind::Assert) else { continue };
                    property.verdict = Verdict::Refuted;
                    property.step = step;
                    property.trace = Some(self.keep(&self.work.path(file), &property.name)?);
                }
            }
        }
        Ok(())
    }

    fn induction(&self, properties: &mut [Property]) -> Result<()> {
        let (log, complete) = self.smtbmc(&["-i", "model.smt2"], self.options.depth)?;
        let all = log.lines().map(message).any(|l| l == "Temporal induction successful.");
        let verdict = if all {
            Verdict::Proved
        } else if complete {
            Verdict::NotInductive
        } else {
            Verdict::Unknown
        };
        // Assertions are proved together: each step may use all of them, so none is proved when one fails.
        set(properties, Kind::Assert, verdict);
        Ok(())
    }

    fn covers(&self, properties: &mut [Property]) -> Result<()> {
        let (log, complete) = self.smtbmc(&["-c", "covers.smt2"], self.options.cover_depth + 1)?;
        if complete {
            set(properties, Kind::Cover, Verdict::Unreachable);
        }
        for line in log.lines().map(message) {
            let Some(rest) = line.strip_prefix("Reached cover statement at ") else { continue };
            let Some((name, step)) = rest.rsplit_once(" in step ") else { continue };
            if let Some(property) = find(properties, name, Kind::Cover) {
                property.verdict = Verdict::Covered;
                property.step = leading_number(step);
            }
        }
        Ok(())
    }

    /// The log, and whether the run came to its end.
    fn smtbmc(&self, arguments: &[&str], steps: u32) -> Result<(String, bool)> {
        // Without `--unroll` z3 4.8 is lost on models with many properties, however small: 0.15 s became minutes.
        let tool = self
            .work
            .tool("yosys-smtbmc")
            .args(["-s", &self.options.solver, "--unroll", "--noprogress", "-t", &steps.to_string()])
            .args(arguments)
            .timeout(self.options.limit);
        let log = match tool.run() {
            Err(ProcessError::Timeout { log, .. }) => return Ok((log, false)),
            other => other?.log(),
        };
        // Without this line the solver died, or something else went wrong that says nothing about the design.
        if log.contains("Status: ") {
            return Ok((log, true));
        }
        let tail = last_lines(&log, 10);
        Err(Failure::NoAnswer(format!("yosys-smtbmc gave no answer for {}:\n{tail}", self.top)))
    }

    /// Copies a waveform out of the temporary folder.
    fn keep(&self, from: &Path, property: &str) -> Result<PathBuf> {
        let folder = &self.options.traces;
        let name: String = property.chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '_' }).collect();
        let to = folder.join(format!("{}-{name}.vcd", self.top));
        fs::create_dir_all(folder).and_then(|()| fs::copy(from, &to)).map_err(|e| Failure::file("write", &to, &e))?;
        Ok(to)
    }
}

fn set(properties: &mut [Property], kind: Kind, verdict: Verdict) {
    properties.iter_mut().filter(|p| p.kind == kind).for_each(|p| p.verdict = verdict);
}

/// By label, or, for a property without one, by the name in `file.v:6.42-6.61 (name)`.
fn find<'a>(properties: &'a mut [Property], text: &str, kind: Kind) -> Option<&'a mut Property> {
    properties.iter_mut().find(|p| p.kind == kind && (p.id == text || text.ends_with(&format!("({})", p.id))))
}

/// A line of the log without `##   0:00:01  `.
fn message(line: &str) -> &str {
    let rest = line.strip_prefix("##").map_or(line, str::trim_start);
    rest.split_once("  ").map_or(rest, |(_, text)| text).trim()
}

fn leading_number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
