//! What a library file says must be whole before anything is computed of it: a damaged number would be a wrong area or energy.
//!
//! Yosys, ABC and OpenSTA read the same file later, each with its own idea of what it may leave out. So every number that an
//! area, a delay or an energy is made of is looked at here, once, with its line and its cell.

use std::collections::BTreeMap;

use super::ast::{Group, parse};

/// Attributes that are one number, none below zero where the second is true.
const NUMBERS: [(&str, bool); 12] = [
    ("area", true),
    ("capacitance", true),
    ("rise_capacitance", true),
    ("fall_capacitance", true),
    ("max_capacitance", true),
    ("max_transition", true),
    ("cell_leakage_power", false),
    ("default_cell_leakage_power", false),
    ("default_input_pin_cap", true),
    ("nom_voltage", false),
    ("nom_temperature", false),
    ("voltage", false),
];

/// Where something is wrong: a file's text, and the cell around it.
struct Place<'a> {
    text: &'a str,
    cell: Option<&'a str>,
}

impl Place<'_> {
    /// `line 12, cell INVX1: what`.
    fn wrong(&self, at: &str, what: &str) -> String {
        let line = line_of(self.text, at);
        let cell = self.cell.map_or_else(String::new, |cell| format!(", cell {cell}"));
        format!("line {line}{cell}: {what}")
    }

    fn number(&self, name: &str, text: &str, at_least_zero: bool) -> Result<(), String> {
        match text.trim().parse::<f64>() {
            Ok(x) if x.is_finite() && (x >= 0.0 || !at_least_zero) => Ok(()),
            _ => {
                let wanted = if at_least_zero { "a number, 0 or more" } else { "a number" };
                Err(self.wrong(text, &format!("{name} is `{}`; {wanted} is wanted", text.trim())))
            }
        }
    }

    /// The numbers of a list such as `"1, 2", "3, 4"`.
    fn list(&self, name: &str, values: &[&str]) -> Result<usize, String> {
        let words = |text: &&str| -> Vec<String> {
            let words = text.split(|c: char| c == ',' || c == '\\' || c.is_whitespace());
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let mut count = 0;
        for text in values {
            for word in words(text) {
                if !word.parse::<f64>().is_ok_and(f64::is_finite) {
                    return Err(self.wrong(text, &format!("{name} holds `{word}`; numbers are wanted")));
                }
                count += 1;
            }
        }
        Ok(count)
    }
}

/// Line of a part of a text, from 1 on.
fn line_of(text: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    text.as_bytes().iter().take(offset.min(text.len())).filter(|byte| **byte == b'\n').count() + 1
}

/// Looks at all numbers and tables of a file.
///
/// # Errors
/// The first thing that is wrong, with its line, its cell, and what is wanted.
pub(super) fn check(text: &str) -> Result<(), String> {
    let library = parse(text)?;
    let mut place = Place { text, cell: None };
    if let Some((_, values)) = library.attributes.iter().find(|(name, _)| *name == "include_file") {
        let at = values.first().copied().unwrap_or_default();
        return Err(place.wrong(at, "include_file is not read: put the file's text here"));
    }
    let template = |g: &&Group<'_>| g.kind.ends_with("_template");
    let templates: BTreeMap<&str, &Group<'_>> = library.groups.iter().filter(template).map(|g| (g.name(), g)).collect();
    attributes(&place, &library)?;
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for group in &library.groups {
        if group.kind == "cell" {
            place.cell = Some(group.name());
            if let Some(first) = lines.insert(group.name(), line_of(text, group.text)) {
                return Err(place.wrong(group.text, &format!("the cell stands in line {first} too; one is wanted")));
            }
            if group.value("area").is_none() {
                return Err(place.wrong(group.text, "there is no area; a number, 0 or more, is wanted"));
            }
        }
        tree(&place, group, &templates)?;
        place.cell = None;
    }
    Ok(())
}

fn attributes(place: &Place<'_>, group: &Group<'_>) -> Result<(), String> {
    for (name, values) in &group.attributes {
        if let Some((_, at_least_zero)) = NUMBERS.iter().find(|(number, _)| number == name) {
            let Some(value) = values.first() else {
                return Err(place.wrong(name, &format!("{name} has no value; a number is wanted")));
            };
            place.number(name, value, *at_least_zero)?;
        }
    }
    if group.kind == "leakage_power"
        && let Some(value) = group.value("value")
    {
        place.number("value", value, false)?;
    }
    Ok(())
}

fn tree(place: &Place<'_>, group: &Group<'_>, templates: &BTreeMap<&str, &Group<'_>>) -> Result<(), String> {
    attributes(place, group)?;
    let values = group.values("values");
    let mut size = 1;
    for number in 1..=3 {
        let name = format!("index_{number}");
        let own = group.values(&name);
        let own_count = place.list(&name, own)?;
        let inherited = || templates.get(group.name()).map_or(&[][..], |t| t.values(&name));
        let count = if own.is_empty() { place.list(&name, inherited())? } else { own_count };
        size *= count.max(1);
    }
    if !values.is_empty() {
        let count = place.list("values", values)?;
        if count != size {
            let what = format!("{} has {count} values; its indices want {size}", group.kind);
            return Err(place.wrong(group.text, &what));
        }
    }
    group.groups.iter().try_for_each(|inner| tree(place, inner, templates))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library with one cell, a part of which is something else.
    fn with(from: &str, to: &str) -> Result<(), String> {
        let text = "library (l) {\n  lu_table_template (t) { index_1 (\"1, 2\"); index_2 (\"1, 2, 3\"); }\n  cell (a) {\n    \
            area : 2;\n    leakage_power () { value : 3; }\n    pin (A) { direction : input; capacitance : 0.5;\n      \
            internal_power () { power (t) { values (\"1, 2, 3\", \\\n        \"4, 5, 6\"); } } }\n  }\n}\n";
        assert!(text.contains(from), "{from}");
        check(&text.replace(from, to))
    }

    #[test]
    fn numbers_and_tables_are_looked_at() {
        assert_eq!(with("area", "area"), Ok(()));
        for (from, to, told) in [
            ("area : 2", "area : nan", "line 4, cell a: area is `nan`; a number, 0 or more is wanted"),
            ("area : 2", "area : 1e999", "line 4, cell a: area is `1e999`; a number, 0 or more is wanted"),
            ("area : 2", "area : -1", "line 4, cell a: area is `-1`; a number, 0 or more is wanted"),
            ("area : 2;", "", "line 3, cell a: there is no area; a number, 0 or more, is wanted"),
            ("value : 3", "value : inf", "line 5, cell a: value is `inf`; a number is wanted"),
            ("0.5", "big", "line 6, cell a: capacitance is `big`; a number, 0 or more is wanted"),
            ("4, 5, 6", "4, 5", "line 7, cell a: power has 5 values; its indices want 6"),
            ("4, 5, 6", "4, 5, NaN", "line 8, cell a: values holds `NaN`; numbers are wanted"),
            ("1, 2, 3\"); }", "1, x\"); }", "line 2: index_2 holds `x`; numbers are wanted"),
            (
                "cell (a)",
                "cell (a) { area : 1; }\n cell (a)",
                "line 4, cell a: the cell stands in line 3 too; one is wanted",
            ),
            (
                "library (l) {",
                "library (l) { include_file (\"x\");",
                "line 1: include_file is not read: put the file's text here",
            ),
        ] {
            assert_eq!(with(from, to).unwrap_err(), told);
        }
    }
}
