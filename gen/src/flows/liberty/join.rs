//! One Liberty file of several: ABC and `dfflibmap` of Yosys 0.23 take one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ast::Group;
use super::parser::parse;
use crate::error::{Failure, Result};

/// All cells in one text: the text of the first file, and the groups of the others.
pub(super) fn join(files: &[(PathBuf, String)]) -> Result<String> {
    let ((first, text), others) = files.split_first().ok_or_else(|| Failure::Usage("no library is named".into()))?;
    let of = |path: &Path, what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let head = parse(text).map_err(|what| of(first, what))?;
    let end = text.rfind('}').unwrap_or(text.len());
    let mut joined = text[..end].to_owned();
    let mut known: BTreeMap<(&str, &str), (&Path, String)> = BTreeMap::new();
    for group in head.groups.iter().filter(|g| !g.name().is_empty()) {
        known.insert((group.kind, group.name()), (first, group.text.to_owned()));
    }
    let libraries = others.iter().map(|(path, text)| Ok((path, parse(text).map_err(|what| of(path, what))?)));
    let libraries = libraries.collect::<Result<Vec<_>>>()?;
    for (number, (path, library)) in libraries.iter().enumerate() {
        same_units(first, &head, path, library)?;
        // Templates of the same name with other values get another name.
        let mut renamed: Vec<(&str, String)> = Vec::new();
        for group in &library.groups {
            let mut text = Cow::Borrowed(group.text);
            for (from, to) in &renamed {
                text = Cow::Owned(rename(&text, from, to));
            }
            let key = (group.kind, group.name());
            match known.get(&key) {
                Some((other, _)) if group.kind == "cell" => {
                    let what =
                        format!("the cell {} is in {} too: leave one of the files out", group.name(), other.display());
                    return Err(of(path, what));
                }
                Some((_, same)) if same_words(same, group.text) => continue,
                Some(_) if group.kind.ends_with("_template") => {
                    let other_name = format!("{}_of_file_{}", group.name(), number + 2);
                    text = Cow::Owned(rename(&text, group.name(), &other_name));
                    renamed.push((group.name(), other_name));
                }
                // For conditions and wire loads, the first file holds.
                Some(_) => continue,
                None => drop(known.insert(key, (path, group.text.to_owned()))),
            }
            joined += &text;
            joined.push('\n');
        }
    }
    Ok(joined + "}\n")
}

/// Attributes that set units, thresholds or conditions of a library's numbers, and defaults for its cells.
fn is_meaning(name: &str) -> bool {
    name.ends_with("_unit")
        || name.contains("threshold_pct")
        || name.starts_with("default_")
        || ["delay_model", "slew_derate_from_library", "nom_voltage", "nom_process", "nom_temperature"].contains(&name)
}

fn same_units(first: &Path, head: &Group<'_>, path: &Path, library: &Group<'_>) -> Result<()> {
    let values = |group: &Group<'_>, name: &str| group.values(name).join(" ");
    let names = head.attributes.iter().chain(&library.attributes).map(|attribute| attribute.name);
    // Attributes that name a group of the file itself may differ.
    let names =
        names.filter(|name| is_meaning(name) && !matches!(*name, "default_operating_conditions" | "default_wire_load"));
    for name in names {
        let [one, other] = [values(head, name), values(library, name)];
        let equal = match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one.eq_ignore_ascii_case(&other),
        };
        if !equal {
            let said = |value: &str| if value.is_empty() { "nothing".to_owned() } else { format!("`{value}`") };
            return Err(Failure::Usage(format!(
                "{} and {} are no parts of one library: {name} is {} and {}",
                first.display(),
                path.display(),
                said(&one),
                said(&other)
            )));
        }
    }
    Ok(())
}

/// Whether two texts are the same but for blanks.
fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// `(from)` becomes `(to)`, with quotes or without: the name of a group, and the template that a table names.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, after) = rest.split_at(open + 1);
        out += before;
        rest = after;
        if let Some(close) = rest.find(')') {
            let inside = &rest[..close];
            if inside.trim().trim_matches('"') == from {
                out += to;
                rest = &rest[close..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[&str]) -> Vec<(PathBuf, String)> {
        texts.iter().enumerate().map(|(n, text)| (format!("part{n}.lib").into(), (*text).to_owned())).collect()
    }

    #[test]
    fn cells_of_all_files_and_templates_by_their_values() {
        let one = "library (a) { time_unit : \"1ps\"; lu_table_template (t) { index_1 (\"1\"); } lu_table_template (same) { x : 1; }
            cell (one) { pin (Z) { timing () { cell_rise (t) { values (\"1\"); } } } } }";
        let two = "library (b) { time_unit : 1PS ; lu_table_template (\"t\") { index_1 (\"2\"); }
            lu_table_template (same) {  x : 1; } cell (two) { pin (Z) { timing () { cell_rise ( t ) { values (\"1\"); } } } } }";
        let text = join(&files(&[one, two])).unwrap();
        let library = parse(&text).unwrap();
        let names = |kind| library.all(kind).map(Group::name).collect::<Vec<_>>();
        assert_eq!((library.name(), names("cell")), ("a", vec!["one", "two"]));
        assert_eq!(names("lu_table_template"), ["t", "same", "t_of_file_2"]);
        let table = |cell: usize| {
            let cell = library.all("cell").nth(cell).unwrap();
            cell.groups[0].groups[0].groups[0].name().to_owned()
        };
        assert_eq!([table(0), table(1)], ["t", "t_of_file_2"]);
    }

    #[test]
    fn parts_of_different_libraries() {
        let error = |one: &str, two: &str| join(&files(&[one, two])).unwrap_err().to_string();
        assert_eq!(
            error("library (a) { time_unit : \"1ns\"; }", "library (b) { time_unit : \"1ps\"; }"),
            "part0.lib and part1.lib are no parts of one library: time_unit is `1ns` and `1ps`"
        );
        assert!(
            error("library (a) { nom_voltage : 1; }", "library (b) { }").ends_with("nom_voltage is `1` and nothing")
        );
        assert_eq!(
            error("library (a) { cell (x) { } }", "library (b) { cell (x) { } }"),
            "part1.lib: the cell x is in part0.lib too: leave one of the files out"
        );
        assert!(error("library (a) { }", "module x;").starts_with("part1.lib: line 1: this is no Liberty file"));
        assert!(join(&files(&["library (a) { nom_voltage : 1.0; }", "library (b) { nom_voltage : 1; }"])).is_ok());
    }
}
