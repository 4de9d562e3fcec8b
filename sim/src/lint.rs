//! Lint gates and a runner for Yosys scripts. Any message means that the Verilog is not clean.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::files::{self, Scratch};
use crate::process::{Output, Tool};
use crate::{Design, Error, Result, SourceFile};

/// The messages of a checker about a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The checker's command line.
    pub command: String,
    /// Messages in the checker's order, each with its continuation lines.
    pub messages: Vec<Message>,
}

/// One message of a checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether it stops the checker.
    pub severity: Severity,
    /// The text, with file and line.
    pub text: String,
}

/// How bad a [`Message`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A warning, or anything else that a clean design does not cause.
    Warning,
    /// The checker rejects the design.
    Error,
}

impl Report {
    /// No message at all.
    pub fn is_clean(&self) -> bool {
        self.messages.is_empty()
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.messages.iter().filter(|m| m.severity == Severity::Error).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return write!(f, "{}: clean", self.command);
        }
        write!(f, "{}: {} errors, {} warnings", self.command, self.errors(), self.messages.len() - self.errors())?;
        self.messages.iter().try_for_each(|m| write!(f, "\n{}", m.text))
    }
}

/// `verilator --lint-only -Wall` without waivers.
pub fn verilator_lint(files: &[SourceFile], top: &str) -> Result<Report> {
    let tool = Tool::new("verilator").args(["--lint-only", "-Wall", "--no-timing", "--top-module", top]);
    check(tool, files, |line| line.starts_with('%'), &["%Error: Exiting due to"])
}

/// `iverilog -g2005 -Wall -t null`: Verilog-2005 by another parser.
pub fn iverilog_check(files: &[SourceFile], top: &str) -> Result<Report> {
    let tool = Tool::new("iverilog").args(["-g2005", "-Wall", "-t", "null", "-s", top]);
    check(tool, files, |line| !line.starts_with(char::is_whitespace), &[])
}

/// Runs a Yosys script in a temporary folder that holds `files`; returns the log.
///
/// # Errors
/// [`Error::Process`] when Yosys is missing or died, [`Error::Yosys`] with the end of the log when the script fails.
pub fn yosys(script: &str, files: &[SourceFile]) -> Result<String> {
    yosys_in(folder_of(files)?.path(), script)
}

/// Like [`yosys`], in a folder that the caller gives.
pub(crate) fn yosys_in(folder: &Path, script: &str) -> Result<String> {
    let output = Tool::new("yosys").args(["-Q", "-T", "-s", "/dev/stdin"]).stdin(script).dir(folder).run()?;
    if output.success() {
        return Ok(output.stdout);
    }
    let log = output.log();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(30)..].join("\n");
    Err(Error::Yosys { code: output.code.unwrap_or_default(), log: tail })
}

/// Not one of Verilator's configuration files, which no other tool reads.
pub(crate) fn is_verilog(file: &SourceFile) -> bool {
    !file.name.ends_with(".vlt")
}

/// The design with the contents of its black boxes: Yosys keeps only the ports of a module with this attribute.
pub(crate) fn open_boxes(design: &Design) -> Design {
    let mut open = design.clone();
    open.files.iter_mut().for_each(|file| file.text = file.text.replace("(* blackbox *)", ""));
    open
}

/// How Yosys reads the files of a design.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As Verilog, without formal sections.
    Plain,
    /// As SystemVerilog, without formal sections.
    SystemVerilog,
    /// With formal sections.
    Formal,
}

impl Reading {
    fn options(self, file: &str, top: &str) -> String {
        match self {
            Self::Plain => String::new(),
            Self::SystemVerilog => " -sv".to_owned(),
            Self::Formal => formal_options(file, top),
        }
    }
}

/// Options with which Yosys reads a file with its formal sections. Only the top gets the part that holds for a top
/// alone.
#[must_use]
pub fn formal_options(file: &str, top: &str) -> String {
    let alone = if file.strip_suffix(".v") == Some(top) { " -DFORMAL_ALONE" } else { "" };
    format!(" -formal -DFORMAL{alone}")
}

/// Yosys commands that read a design and find its top.
pub(crate) fn read_script(design: &Design, reading: Reading) -> String {
    read_closed(design, reading, &BTreeSet::new())
}

/// The same, where modules of these names are closed: Yosys sees their ports only, and keeps their instances.
pub(crate) fn read_closed(design: &Design, reading: Reading, closed: &BTreeSet<String>) -> String {
    let defines: String = design.defines.iter().map(|d| format!(" -D{d}")).collect();
    let sources = design.files.iter().filter(|f| is_verilog(f));
    let read = |f: &SourceFile| {
        let lib = if f.name.strip_suffix(".v").is_some_and(|module| closed.contains(module)) { " -lib" } else { "" };
        format!("read_verilog{lib}{}{defines} \"{}\"\n", reading.options(&f.name, &design.top), f.name)
    };
    let mut script: String = sources.map(read).collect();
    for module in closed {
        script += &format!("setattr -mod -set keep 1 {module}\n");
    }
    script += &format!("hierarchy -check -top {}", design.top);
    script
}

/// A file that Yosys wrote in `folder`.
pub(crate) fn output(folder: &Scratch, name: &str) -> Result<String> {
    let path = folder.path().join(name);
    let bytes = files::read_regular(&path).map_err(Error::io(&path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Yosys does not notice when it cannot write.
pub(crate) fn incomplete(design: &Design) -> Error {
    let log = "Yosys left its output incomplete: is the disk full?".to_owned();
    Error::Compile { top: design.top.clone(), log }
}

fn check(tool: Tool, files: &[SourceFile], starts: fn(&str) -> bool, noise: &[&str]) -> Result<Report> {
    let folder = folder_of(files)?;
    // Icarus names its temporary files to a shell: a folder whose name we do not choose would have to be quoted.
    let tool = tool.args(files.iter().map(|f| f.name.as_str())).dir(folder.path()).env("TMPDIR", ".");
    let output = tool.run()?;
    let messages = messages(&output, starts, noise);
    Ok(Report { command: tool.command_line(), messages })
}

fn messages(output: &Output, starts: fn(&str) -> bool, noise: &[&str]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let log = output.log();
    for line in log.lines().filter(|line| !noise.iter().any(|n| line.starts_with(n))) {
        match messages.last_mut() {
            Some(last) if !starts(line) => {
                last.text.push('\n');
                last.text.push_str(line);
            }
            _ => {
                let error = line.starts_with("%Error") || line.contains("error:") || line.contains("syntax error");
                let severity = if error { Severity::Error } else { Severity::Warning };
                messages.push(Message { severity, text: line.to_owned() });
            }
        }
    }
    if messages.is_empty() && !output.success() {
        let text = format!("failed without a message, exit code {:?}", output.code);
        messages.push(Message { severity: Severity::Error, text });
    }
    messages
}

pub(crate) fn folder_of(sources: &[SourceFile]) -> Result<Scratch> {
    let folder = files::scratch().map_err(Error::io(std::env::temp_dir()))?;
    for file in sources {
        if Path::new(&file.name).components().count() != 1 {
            let problem = format!("source file name `{}`: give a plain file name without folders", file.name);
            return Err(Error::Unsupported(problem));
        }
        let path = folder.path().join(&file.name);
        std::fs::write(&path, &file.text).map_err(Error::io(&path))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<SourceFile> {
        vec![SourceFile { name: "top.v".into(), text: text.into() }]
    }

    const CLEAN: &str = "module top(input wire a_i, output wire b_o);\n  assign b_o = ~a_i;\nendmodule\n";
    const NARROW: &str = "module top(input wire [3:0] a_i, output wire [2:0] b_o);\n  assign b_o = a_i;\nendmodule\n";

    #[test]
    fn clean_verilog_has_no_message() {
        for report in [verilator_lint(&file(CLEAN), "top").unwrap(), iverilog_check(&file(CLEAN), "top").unwrap()] {
            assert!(report.is_clean(), "{report}");
        }
    }

    #[test]
    fn verilator_reports_a_width_mismatch() {
        let report = verilator_lint(&file(NARROW), "top").unwrap();
        assert!(report.messages[0].text.starts_with("%Warning-WIDTH: top.v:2"), "{report}");
        assert!(report.messages.iter().any(|m| m.text.contains("UNUSED")), "{report}");
        assert_eq!(report.errors(), 0);
    }

    #[test]
    fn systemverilog_is_an_error_for_iverilog() {
        let report = iverilog_check(
            &file("module top(input wire a_i, output reg b_o);\n  always_comb b_o = a_i;\nendmodule\n"),
            "top",
        )
        .unwrap();
        assert!(report.errors() > 0 && report.to_string().contains("top.v:2"), "{report}");
    }

    #[test]
    fn missing_module_is_an_error_for_both() {
        for report in [verilator_lint(&file(CLEAN), "other").unwrap(), iverilog_check(&file(CLEAN), "other").unwrap()] {
            assert!(report.errors() > 0, "{report}");
        }
    }

    #[test]
    fn yosys_returns_its_log_or_the_reason() {
        let log = yosys("read_verilog top.v\nhierarchy -check -top top\nstat\n", &file(CLEAN)).unwrap();
        assert!(log.contains("$not"), "{log}");
        let error = yosys("read_verilog none.v\n", &file(CLEAN)).unwrap_err().to_string();
        assert!(error.contains("none.v"), "{error}");
    }
}
