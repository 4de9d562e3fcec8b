//! Yosys runs with errors that a user can read.

use sim::SourceFile;

use crate::error::{Failure, Result};

/// Runs a script on `files`; `top` is for messages. Returns the log.
///
/// # Errors
/// Yosys is missing, or rejects the script: then the text is its error, without the log before it.
pub fn run(script: &str, files: &[SourceFile], top: &str) -> Result<String> {
    sim::lint::yosys(script, files).map_err(|error| match error {
        sim::Error::Compile { log, .. } => Failure::Check(format!("Yosys rejects {top}:\n{}", complaint(&log))),
        other => other.into(),
    })
}

/// From the first `ERROR` on, or the end of the log when there is none.
fn complaint(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    let start = lines.iter().position(|l| l.starts_with("ERROR") || l.contains(": ERROR:"));
    lines[start.unwrap_or(lines.len().saturating_sub(5))..].join("\n")
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
