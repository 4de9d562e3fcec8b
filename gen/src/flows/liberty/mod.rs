//! Cell libraries in Liberty format: their places, and the facts that the flows need before Yosys reads them.
//!
//! The reader assumes nothing about the names of cells or the units. It finds the driving cell, which ABC needs for its
//! timing, by its function.
//!
//! The reader is our own. We tried the crates liberty-db 0.17, liberty-parser 0.3 and liberty-parse 0.1 on osu018's
//! file with 24 damages. All three accept `nan`, a word or a number below 0 as an area. They accept falling indices, a
//! table with a value too few, an unknown template and text after the library. liberty-db drops the second of two cells
//! or pins, and all cells after a brace too many, and says `Ok`; liberty-parse keeps one of two as well. All three
//! overflow the stack on nested groups. None keeps line numbers, so a check after the reader could not say where a
//! wrong number is. None keeps the text of a group, which [`open`] needs to join files. With a crate all of the checks
//! here would remain, and the messages would lose their place.

mod ast;
mod check;
mod function;
#[cfg(test)]
mod fuzz;
mod join;
mod models;
mod parser;
mod place;
mod profile;
mod read;
mod tables;
mod units;

pub use ast::{Attribute, Group};
pub use function::Function;
pub use models::models;
pub use parser::parse;
pub use profile::PROFILES;
pub use tables::{Templates, words};
pub use units::unit;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sim::process::ToolMissing;

use crate::error::{Failure, Result};
use crate::flows::workspace::Workspace;

/// The libraries with a name: Oklahoma State University's cells, as Debian packages them.
pub const NAMED: [&str; 3] = ["osu018", "osu035", "osu050"];

/// The facts about a library that synthesis needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    /// The files: one, or several that make a library together.
    pub files: Vec<PathBuf>,
    /// All of it, unpacked, as one file.
    pub text: String,
    /// Name in the file.
    pub name: String,
    /// The cell that drives the inputs of the design: the weakest buffer, or the weakest inverter where there is no
    /// buffer; or the profile's.
    pub driver: Option<String>,
    /// The load of each output, in femtofarads.
    pub load: f64,
    /// The cells that keep a state.
    pub sequential: BTreeSet<String>,
}

/// The load of an output where no profile says another one.
const LOAD: f64 = 10.0;

/// Libraries that a file names: a file is looked for beside it, a name of a library or of a profile stays.
pub fn beside(file: &Path, libraries: &mut [PathBuf]) {
    let is_name = |word: &Path| NAMED.iter().chain(&PROFILES).any(|name| word == Path::new(name));
    for library in libraries.iter_mut().filter(|library| !is_name(library)) {
        *library = file.parent().unwrap_or(Path::new("")).join(&*library);
    }
}

/// Finds and reads a library by name or path: files that gzip packed too, and several that make a library together. A
/// profile among them, by its name or as a TOML file, says what else holds.
///
/// # Errors
/// A package that is not installed; a file that cannot be read or is no Liberty file; damage to a number that results
/// depend on; files that do not belong together.
pub fn open<P: AsRef<Path>>(library: &[P]) -> Result<Library> {
    let list: Vec<PathBuf> = library.iter().map(|file| file.as_ref().to_owned()).collect();
    let (profile, _, files) = profile::split(&list)?;
    let files = files.iter().map(|file| locate(file)).collect::<Result<Vec<_>>>()?;
    let read = |path: &PathBuf| {
        let text = profile.readable(read::read(path)?);
        check::check(&text).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))?;
        Ok((path.clone(), text))
    };
    let mut texts = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let text = if let [_] = texts[..] { texts.remove(0).1 } else { join::join(&texts)? };
    let wrong = |what| Failure::Usage(format!("{}: {what}", show(&files)));
    let text = profile.used(text).map_err(wrong)?;
    let found = scan(&text).map_err(wrong)?;
    if let Some(driver) = profile.driver.as_ref().filter(|driver| !found.cells.contains(*driver)) {
        return Err(wrong(format!("it has no cell {driver}, which its profile names as the driver")));
    }
    let (driver, load) = (profile.driver.or(found.driver), profile.load.unwrap_or(LOAD));
    Ok(Library { name: found.name, sequential: found.sequential, files, text, driver, load })
}

/// `a.lib and b.lib`, for messages.
fn show(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
}

impl Library {
    /// Its files, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        show(&self.files)
    }

    /// Makes it `library.lib` where a tool works.
    ///
    /// # Errors
    /// The disk is full, for example.
    pub fn put(&self, work: &Workspace) -> Result<()> {
        work.write("library.lib", &self.text)
    }
}

/// A hash of the library's content.
///
/// # Errors
/// As [`open`].
pub fn fingerprint(library: &[PathBuf]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let (_, profile, files) = profile::split(library)?;
    hasher.update(&profile);
    for file in &files {
        let path = locate(file)?;
        let bytes = fs::read(&path).map_err(|e| Failure::file("read", &path, &e))?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex().to_string())
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
    let path = fs::canonicalize(library).map_err(|e| {
        let mut text = format!("cannot read {}: {e}", library.display());
        if library.components().count() == 1 && library.extension().is_none() {
            text += &format!("; the libraries with a name are {}, profiles {}", NAMED.join(", "), PROFILES.join(", "));
        }
        Failure::Usage(text)
    })?;
    // A device has no end.
    if !path.is_file() {
        return Err(Failure::Usage(format!("{} is no file; a Liberty file is wanted", library.display())));
    }
    Ok(path)
}

/// What the text of a library says.
struct Found {
    name: String,
    cells: BTreeSet<String>,
    driver: Option<String>,
    sequential: BTreeSet<String>,
}

fn scan(text: &str) -> std::result::Result<Found, String> {
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
    Ok(Found {
        name: library.name().to_owned(),
        cells: library.all("cell").map(|cell| cell.name().to_owned()).collect(),
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
    let pins: Vec<_> = cell.pins().collect();
    let of = |direction: &str| pins.iter().find(|(_, pin)| pin.value("direction") == Some(direction));
    let ((input, _), (_, output)) = (of("input")?, of("output")?);
    match Function::parse(output.value("function")?).ok()? {
        Function::Name(name) if name == *input && pins.len() == 2 => Some(false),
        Function::Not(inner) if *inner == Function::Name((*input).to_owned()) && pins.len() == 2 => Some(true),
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
        let error = open(&["osu999"]).unwrap_err().to_string();
        assert!(error.contains("osu018, osu035, osu050"), "{error}");
    }

    #[test]
    fn the_installed_library() {
        let library = open(&["osu018"]).unwrap();
        assert_eq!((library.name.as_str(), library.driver.as_deref()), ("osu018_stdcells", Some("BUFX2")));
    }
}
