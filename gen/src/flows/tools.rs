//! The installed versions of the external tools. They are part of a result's key.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sim::process::{Output, Tool};

use crate::error::{Failure, Result};

/// Versions by tool.
pub type Versions = BTreeMap<String, String>;

/// The versions of `tools`, each asked once a process.
///
/// # Errors
/// A tool that is not installed.
pub fn versions(tools: &[&str]) -> Result<Versions> {
    static KNOWN: Mutex<Versions> = Mutex::new(Versions::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = Versions::new();
    for &tool in tools {
        let version = match known.get(tool) {
            Some(version) => version.clone(),
            None => {
                let version = ask(tool)?;
                known.insert(tool.to_owned(), version.clone());
                version
            }
        };
        found.insert(tool.to_owned(), version);
    }
    Ok(found)
}

/// How long a tool may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// The version that a tool prints.
///
/// # Errors
/// The tool is not installed; or it does not work: it dies, prints nothing within 10 seconds, or prints no version.
pub fn ask(tool: &str) -> Result<String> {
    let question: &[&str] = match tool {
        "yosys" | "iverilog" => &["-V"],
        "yosys-abc" => &["-q", "version"],
        // It has no version of its own, and tells how it is called.
        "yosys-smtbmc" => &["-h"],
        "graywolf" => &[],
        "qrouter" => &["-v", "0", "-h"],
        "netgen-lvs" => &["-batch", "quit"],
        _ => &["--version"],
    };
    let output = Tool::new(tool).args(question.iter().copied()).timeout(PATIENCE).run()?;
    let line = first_line(&output);
    let broken = |what: String| Err(Failure::NoAnswer(format!("`{tool} {}` {what}", question.join(" "))));
    // They end with an exit code above 0 after telling how they are called.
    if let Some((sign, version)) = match tool {
        "yosys-smtbmc" => Some(("--", "part of Yosys")),
        "graywolf" => Some(("designName", "without a version")),
        _ => None,
    } {
        let usage = output.log().contains(sign);
        return if usage { Ok(version.into()) } else { broken(format!("prints no usage: {line}")) };
    }
    if !output.success() {
        let code = output.code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
        return broken(format!("ends with {code}: {line}"));
    }
    if line.is_empty() {
        return broken("prints nothing; a version is wanted".into());
    }
    if !has_version(&line) {
        return broken(format!("prints `{line}`, which is no version"));
    }
    Ok(line)
}

/// Whether a line has a number with a dot in it: `5.006`, `12.2.0`.
fn has_version(line: &str) -> bool {
    line.as_bytes().windows(3).any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit())
}

/// `Yosys 0.23 (git sha1 7ce5011c24b)`: the words in parentheses tell its build, and stay.
fn first_line(output: &Output) -> String {
    let log = output.log();
    log.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_a_dot() {
        assert!(has_version("Verilator 5.006 2023-01-22") && has_version("slurm 22.05.8"));
        assert!(!has_version("error 42") && !has_version("nonsense") && !has_version("3. try"));
    }

    #[test]
    fn installed_and_missing_tools() {
        let found = versions(&["yosys", "verilator"]).unwrap();
        assert!(found["yosys"].starts_with("Yosys "), "{found:?}");
        assert!(found["verilator"].starts_with("Verilator "), "{found:?}");
        assert_eq!(versions(&["no-such-tool"]).unwrap_err().exit_code(), 3);
    }
}
