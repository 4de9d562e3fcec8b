//! Cell libraries in Liberty format: where they are, and the little that must be known of them before Yosys reads them.
//!
//! Nothing is assumed of the names of cells or of the units: the driving cell that ABC wants for its timing is found by
//! what it does.

mod ast;
mod function;

pub use ast::{Group, parse};
pub use function::Function;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sim::process::ToolMissing;

use crate::error::{Failure, Result};

/// The libraries with a name: Oklahoma State University's cells, as Debian packages them.
pub const NAMED: [&str; 3] = ["osu018", "osu035", "osu050"];

/// What synthesis needs to know of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Name in the file.
    pub name: String,
    /// The weakest buffer, or failing that the weakest inverter: what drives the inputs of the design.
    pub driver: Option<String>,
    /// The cells that keep a state.
    pub sequential: BTreeSet<String>,
}

/// Finds and reads a library by name or path.
///
/// # Errors
/// A package that is not installed, a file that cannot be read or is no Liberty file.
pub fn open(library: &Path) -> Result<Library> {
    let path = locate(library)?;
    let text = fs::read(&path).map_err(|e| Failure::file("read", &path, &e))?;
    let text = String::from_utf8_lossy(&text);
    let found = scan(&text).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))?;
    Ok(Library { path, ..found })
}

/// A hash of the library's content.
///
/// # Errors
/// As [`open`].
pub fn fingerprint(library: &Path) -> Result<String> {
    let path = locate(library)?;
    let bytes = fs::read(&path).map_err(|e| Failure::file("read", &path, &e))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// Where Debian's package puts the library of this name.
#[must_use]
pub fn place(name: &str) -> PathBuf {
    format!("/usr/share/qflow/tech/{name}/{name}_stdcells.lib").into()
}

fn locate(library: &Path) -> Result<PathBuf> {
    if let Some(name) = NAMED.into_iter().find(|name| library == Path::new(name)) {
        let path = place(name);
        if !path.is_file() {
            return Err(Failure::Tool(ToolMissing { tool: name.into(), package: format!("qflow-tech-{name}") }));
        }
        return Ok(path);
    }
    fs::canonicalize(library).map_err(|e| {
        let mut text = format!("cannot read {}: {e}", library.display());
        if library.components().count() == 1 && library.extension().is_none() {
            text += &format!("; the libraries with a name are {}", NAMED.join(", "));
        }
        Failure::Usage(text)
    })
}

/// What a file says; its path is for the caller to fill in.
fn scan(text: &str) -> std::result::Result<Library, String> {
    let library = parse(text)?;
    let mut sequential = BTreeSet::new();
    let mut drivers = Vec::new();
    for cell in library.all("cell") {
        if cell.groups.iter().any(|g| STATE.contains(&g.kind)) {
            sequential.insert(cell.name().to_owned());
        } else if let Some(inverts) = drives(cell) {
            drivers.push((inverts, cell.number("area").unwrap_or(f64::INFINITY), cell.name()));
        }
    }
    let weakest = drivers.into_iter().min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(b.2)));
    Ok(Library {
        path: PathBuf::new(),
        name: library.name().to_owned(),
        driver: weakest.map(|(_, _, name)| name.to_owned()),
        sequential,
    })
}

/// The groups that give a cell a state.
const STATE: [&str; 5] = ["ff", "ff_bank", "latch", "latch_bank", "statetable"];

/// Whether a cell is a buffer (`false`) or an inverter (`true`).
fn drives(cell: &Group<'_>) -> Option<bool> {
    // Power pins say nothing about the function; a bus or a test cell is no buffer.
    let plain = ["pin", "pg_pin", "leakage_power", "leakage_current"];
    if cell.value("dont_use") == Some("true") || cell.groups.iter().any(|g| !plain.contains(&g.kind)) {
        return None;
    }
    let pins: Vec<_> = cell.all("pin").collect();
    let [input] = pins.iter().filter(|p| p.value("direction") == Some("input")).collect::<Vec<_>>()[..] else {
        return None;
    };
    let [output] = pins.iter().filter(|p| p.value("direction") == Some("output")).collect::<Vec<_>>()[..] else {
        return None;
    };
    match Function::parse(output.value("function")?).ok()? {
        Function::Name(name) if name == input.name() && pins.len() == 2 => Some(false),
        Function::Not(inner) if *inner == Function::Name(input.name().to_owned()) && pins.len() == 2 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_buffer_whatever_its_name() {
        let text = r#"/* any */ library ("tiny") { time_unit : "1ps"; // units differ
            capacitive_load_unit (1, ff);
            lu_table_template (t) { index_1 ("1, 2"); }
            cell (big) { area : 9; pin (A) { direction : input; } pin (Y) { direction : output; function : "A"; } }
            cell ("zz9") { area : 2.5
              pg_pin (VDD) { pg_type : primary_power; }
              pin (I) { direction : "input"; timing () { values ("1, 2", \
                 "3, 4"); } }
              pin (Z) { direction : output; function : "(I)"; } }
            cell (inv) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } }
            cell (flop) { area : 0; ff (IQ, IQN) { next_state : "D"; } pin (D) { direction : input; }
              pin (Q) { direction : output; function : "D"; } }
        }"#;
        let library = scan(text).unwrap();
        assert_eq!((library.name.as_str(), library.driver.as_deref()), ("tiny", Some("zz9")));
        assert_eq!(library.sequential, BTreeSet::from(["flop".to_owned()]));
    }

    #[test]
    fn an_inverter_when_there_is_no_buffer_and_nothing_without_either() {
        let library = |cells: &str| format!("library (l) {{ {cells} }}");
        let inverter =
            "cell (n) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : \"A'\"; } }";
        assert_eq!(scan(&library(inverter)).unwrap().driver.as_deref(), Some("n"));
        assert_eq!(scan(&library("")).unwrap().driver, None);
    }

    #[test]
    fn names_that_are_no_library() {
        let error = open(Path::new("osu999")).unwrap_err().to_string();
        assert!(error.contains("osu018, osu035, osu050"), "{error}");
    }

    #[test]
    fn the_installed_library() {
        let library = open(Path::new("osu018")).unwrap();
        assert_eq!((library.name.as_str(), library.driver.as_deref()), ("osu018_stdcells", Some("BUFX2")));
    }
}
