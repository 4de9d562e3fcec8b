//! Yosys runs with errors that a user can read.

use sim::SourceFile;

use crate::error::{Failure, Result};

/// Runs a script on `files`; `top` is for messages. Returns the log.
///
/// # Errors
/// Yosys is missing, or rejects the script: then the text is its error, without the log before it.
pub fn run(script: &str, files: &[SourceFile], top: &str) -> Result<String> {
    sim::lint::yosys(script, files).map_err(|error| match error {
        sim::Error::Yosys { log, .. } => Failure::Check(format!("Yosys rejects {top}:\n{}", complaint(&log))),
        other => other.into(),
    })
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
    if kept.is_empty() {
        let lines: Vec<_> = log.lines().collect();
        kept = lines[lines.len().saturating_sub(5)..].to_vec();
    }
    kept.join("\n")
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
