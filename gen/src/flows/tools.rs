//! Which versions of the external tools are installed: part of what a result is filed under.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sim::process::{Output, Tool};

use crate::error::Result;

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

/// What a tool says of itself.
///
/// # Errors
/// The tool is not installed, or dies when asked.
pub fn ask(tool: &str) -> Result<String> {
    let question: &[&str] = match tool {
        "yosys" | "iverilog" => &["-V"],
        "yosys-abc" => &["-q", "version"],
        // It has no version of its own, and tells how it is called.
        "yosys-smtbmc" => &["-h"],
        _ => &["--version"],
    };
    let output = Tool::new(tool).args(question.iter().copied()).run()?;
    Ok(if tool == "yosys-smtbmc" { "part of Yosys".into() } else { first_line(&output) })
}

/// `Yosys 0.23 (git sha1 7ce5011c24b)`: what is in parentheses says how it was built, and stays.
fn first_line(output: &Output) -> String {
    output.log().lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_and_missing_tools() {
        let found = versions(&["yosys", "verilator"]).unwrap();
        assert!(found["yosys"].starts_with("Yosys "), "{found:?}");
        assert!(found["verilator"].starts_with("Verilator "), "{found:?}");
        assert_eq!(versions(&["no-such-tool"]).unwrap_err().exit_code(), 3);
    }
}
