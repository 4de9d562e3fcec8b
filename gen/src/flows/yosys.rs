//! Yosys runs with errors that a user can read.

use std::time::Duration;

use sim::SourceFile;
use sim::process::{Output, ProcessError, Tool};

use super::workspace::{Workspace, last_lines};
use crate::error::{Failure, Result};

/// The message of Yosys when ABC ends without a result, for example with a library that it cannot use.
pub(crate) const NO_MAPPING: &str = "ERROR: Can't open ABC output file";

/// Runs a script on `files` in a folder of its own; `top` is for messages. Returns the log.
///
/// # Errors
/// As [`run_in`].
pub fn run(script: &str, files: &[SourceFile], top: &str) -> Result<String> {
    run_in(&Workspace::new()?, script, files, top)
}

/// Runs a script on `files` in a folder that keeps its output files; names in the script are relative to the folder.
///
/// # Errors
/// Yosys is missing, or rejects the script: then the text is its error, without the log before it. Yosys, or a program
/// that it starts, died: [`Failure::NoAnswer`].
pub fn run_in(place: &Workspace, script: &str, files: &[SourceFile], top: &str) -> Result<String> {
    let output = tool(place, script, files)?.run()?;
    verdict(&output, top)
}

/// How the text begins when time runs out.
pub(crate) const TOO_LONG: &str = "Yosys takes longer than";

/// [`run_in`] with a limit of time.
///
/// # Errors
/// Also [`Failure::NoAnswer`] with a text that begins with [`TOO_LONG`].
pub fn run_limited(
    place: &Workspace,
    script: &str,
    files: &[SourceFile],
    top: &str,
    limit: Duration,
) -> Result<String> {
    match tool(place, script, files)?.timeout(limit).run() {
        Err(ProcessError::Timeout { .. }) => {
            Err(Failure::NoAnswer(format!("{TOO_LONG} {} s for {top}", limit.as_secs())))
        }
        other => verdict(&other?, top),
    }
}

fn tool(place: &Workspace, script: &str, files: &[SourceFile]) -> Result<Tool> {
    for file in files {
        place.write(&file.name, &file.text)?;
    }
    Ok(place.tool("yosys").args(["-Q", "-T", "-s", "/dev/stdin"]).stdin(script))
}

fn verdict(output: &Output, top: &str) -> Result<String> {
    if output.success() {
        return Ok(output.stdout.clone());
    }
    let text = complaint(&last_lines(&output.log(), 30));
    // An error of ABC, which reads files that Yosys wrote. An error between the two is not a fault of the design.
    if text.contains("ERROR: ABC: execution of command") || text.contains(NO_MAPPING) {
        return Err(Failure::NoAnswer(format!("ABC left no result for {top}:\n{text}")));
    }
    if !text.contains("ERROR: ") {
        return Err(Failure::NoAnswer(format!("Yosys left no result for {top}:\n{text}")));
    }
    Err(Failure::Check(format!("Yosys rejects {top}:\n{text}")))
}

/// Warnings and errors with their continuation lines, or the end of the log when there are none.
fn complaint(log: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in log.lines() {
        let begins =
            ["Warning:", "ERROR:"].iter().any(|word| line.starts_with(word) || line.contains(&format!(": {word}")));
        inside = begins || inside && line.starts_with(char::is_whitespace);
        if inside {
            kept.push(line);
        }
    }
    if kept.is_empty() { last_lines(log, 5) } else { kept.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_without_the_log() {
        let bad =
            [SourceFile { name: "t.v".into(), text: "module t(input wire a_i);\n  nonsense\nendmodule\n".into() }];
        let error = run("read_verilog t.v\nstat\n", &bad, "t").unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().starts_with("Yosys rejects t:\nt.v:"), "{error}");
        assert!(!error.to_string().contains("Executing"), "{error}");
    }
}
