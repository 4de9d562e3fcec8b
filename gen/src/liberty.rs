//! Cell libraries in Liberty format: where they are, and the little that must be known of them before Yosys reads them.
//!
//! Nothing is assumed of the names of cells or of the units: the driving cell that ABC wants for its timing is found by
//! what it does.

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

fn locate(library: &Path) -> Result<PathBuf> {
    if let Some(name) = NAMED.into_iter().find(|name| library == Path::new(name)) {
        let path = PathBuf::from(format!("/usr/share/qflow/tech/{name}/{name}_stdcells.lib"));
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
    let mut tokens = Tokens { rest: text };
    if tokens.next() != Some("library") {
        return Err("this is no Liberty file: it does not begin with `library (...)`".into());
    }
    let name = tokens.parenthesis().into_iter().next().unwrap_or_default();
    tokens.expect_body()?;
    let mut buffers: Vec<Candidate> = Vec::new();
    let mut sequential = BTreeSet::new();
    while let Some(item) = tokens.statement()? {
        let Item::Group { kind: "cell", name } = item else {
            if let Item::Group { .. } = item {
                tokens.skip_body()?;
            }
            continue;
        };
        match cell(&mut tokens, name.clone())? {
            Kind::Driver(candidate) => buffers.push(candidate),
            Kind::Sequential => drop(sequential.insert(name)),
            Kind::Other => {}
        }
    }
    let best = buffers
        .into_iter()
        .min_by(|a, b| a.inverts.cmp(&b.inverts).then(a.area.total_cmp(&b.area)).then_with(|| a.name.cmp(&b.name)));
    Ok(Library { path: PathBuf::new(), name, driver: best.map(|c| c.name), sequential })
}

enum Kind {
    Driver(Candidate),
    Sequential,
    Other,
}

struct Candidate {
    name: String,
    area: f64,
    inverts: bool,
}

/// Reads the body of a cell.
fn cell(tokens: &mut Tokens<'_>, name: String) -> std::result::Result<Kind, String> {
    let (mut area, mut usable, mut sequential) = (f64::INFINITY, true, false);
    let (mut inputs, mut functions) = (Vec::new(), Vec::new());
    let mut outputs = 0;
    while let Some(item) = tokens.statement()? {
        match item {
            Item::Attribute { name: "area", value } => area = value.parse().unwrap_or(f64::INFINITY),
            Item::Attribute { name: "dont_use", value } => usable &= value != "true",
            Item::Attribute { .. } => {}
            Item::Group { kind: "pin", name } => {
                let (mut direction, mut function) = (String::new(), None);
                while let Some(item) = tokens.statement()? {
                    match item {
                        Item::Attribute { name: "direction", value } => direction = value,
                        Item::Attribute { name: "function", value } => function = Some(value),
                        Item::Attribute { .. } => {}
                        Item::Group { .. } => tokens.skip_body()?,
                    }
                }
                match direction.as_str() {
                    "input" => inputs.push(name),
                    "output" => outputs += 1,
                    _ => usable = false,
                }
                functions.extend(function);
            }
            // Power pins say nothing about the function; anything else (ff, latch, bus, test_cell) is no buffer.
            Item::Group { kind, .. } => {
                sequential |= matches!(kind, "ff" | "ff_bank" | "latch" | "latch_bank" | "statetable");
                usable &= matches!(kind, "pg_pin" | "leakage_power" | "leakage_current");
                tokens.skip_body()?;
            }
        }
    }
    if sequential {
        return Ok(Kind::Sequential);
    }
    let ([input], [function], 1, true) = (&inputs[..], &functions[..], outputs, usable) else { return Ok(Kind::Other) };
    let plain: String = function.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect();
    let inverts = match plain.as_str() {
        same if same == input => false,
        other if other.trim_matches(['!', '\'']) == input && other.len() == input.len() + 1 => true,
        _ => return Ok(Kind::Other),
    };
    Ok(Kind::Driver(Candidate { name, area, inverts }))
}

enum Item<'a> {
    Attribute { name: &'a str, value: String },
    Group { kind: &'a str, name: String },
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
            if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if self.rest.starts_with("//") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else {
                return;
            }
        }
    }

    /// A word, a string without its quotes, or one sign.
    fn next(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        if first == '"' {
            let (text, rest) = self.rest[1..].split_once('"')?;
            self.rest = rest;
            return Some(text);
        }
        let is_sign = |c: char| "(){}:;,".contains(c);
        let end = if is_sign(first) {
            1
        } else {
            self.rest.find(|c: char| c.is_whitespace() || is_sign(c) || c == '"').unwrap_or(self.rest.len())
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blank();
        self.rest.chars().next()
    }

    /// What stands between parentheses.
    fn parenthesis(&mut self) -> Vec<String> {
        let mut list = Vec::new();
        if self.peek() == Some('(') {
            self.next();
            while let Some(token) = self.next().filter(|t| *t != ")") {
                if token != "," {
                    list.push(token.to_owned());
                }
            }
        }
        list
    }

    fn expect_body(&mut self) -> std::result::Result<(), String> {
        if self.next() == Some("{") { Ok(()) } else { Err("`{` is missing after `library (...)`".into()) }
    }

    /// The next attribute or the head of the next group; nothing at the end of the group around it.
    fn statement(&mut self) -> std::result::Result<Option<Item<'a>>, String> {
        loop {
            let word = self.next().ok_or("the file ends inside of a group")?;
            match (word, self.peek()) {
                ("}", _) => return Ok(None),
                (";", _) => {}
                (name, Some(':')) => {
                    self.next();
                    let mut value = String::new();
                    // Numbers with units and expressions are several words.
                    while let Some(part) = self.next() {
                        value.push_str(part);
                        if self.ends_line() || matches!(self.peek(), Some(';' | '}') | None) {
                            break;
                        }
                    }
                    return Ok(Some(Item::Attribute { name, value }));
                }
                (kind, Some('(')) => {
                    let list = self.parenthesis();
                    if self.peek() == Some('{') {
                        self.next();
                        let name = list.into_iter().next().unwrap_or_default();
                        return Ok(Some(Item::Group { kind, name }));
                    }
                }
                (word, _) => return Err(format!("`{word}` is neither an attribute nor a group")),
            }
        }
    }

    /// Whether a line break comes before the next token: some libraries leave out the semicolon.
    fn ends_line(&self) -> bool {
        self.rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n')
    }

    /// Skips a group whose `{` was read.
    fn skip_body(&mut self) -> std::result::Result<(), String> {
        let mut depth = 1;
        while depth > 0 {
            match self.next().ok_or("the file ends inside of a group")? {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
        }
        Ok(())
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
    fn other_files_are_refused() {
        assert!(scan("module x; endmodule").unwrap_err().contains("no Liberty file"));
        assert!(scan("library (x) { cell (y) {").unwrap_err().contains("ends inside"));
        let error = open(Path::new("osu999")).unwrap_err().to_string();
        assert!(error.contains("osu018, osu035, osu050"), "{error}");
    }

    #[test]
    fn the_installed_library() {
        let library = open(Path::new("osu018")).unwrap();
        assert_eq!((library.name.as_str(), library.driver.as_deref()), ("osu018_stdcells", Some("BUFX2")));
    }
}
