//! Checks a library file before anything is computed from it: a damaged number would be a wrong area or energy.
//!
//! Yosys, ABC and OpenSTA read the same file later, and each of them skips other parts. So every number that goes into
//! an area, a delay or an energy is checked here, once, with its line and its cell.

use std::collections::BTreeMap;

use super::ast::{Attribute, Group, Lines};
use super::parser::parse;
use super::place::{Place, Wanted};
use super::tables;
use super::units::{UNITS, unit};

/// Attributes that are one number.
const NUMBERS: [(&str, Wanted); 17] = [
    ("area", Wanted::FromZero),
    ("capacitance", Wanted::FromZero),
    ("rise_capacitance", Wanted::FromZero),
    ("fall_capacitance", Wanted::FromZero),
    ("max_capacitance", Wanted::FromZero),
    ("max_transition", Wanted::FromZero),
    ("default_max_capacitance", Wanted::FromZero),
    ("default_max_transition", Wanted::FromZero),
    ("cell_leakage_power", Wanted::FromZero),
    ("default_cell_leakage_power", Wanted::FromZero),
    ("default_input_pin_cap", Wanted::FromZero),
    ("default_inout_pin_cap", Wanted::FromZero),
    ("default_output_pin_cap", Wanted::FromZero),
    ("nom_process", Wanted::Any),
    ("nom_voltage", Wanted::AboveZero),
    ("nom_temperature", Wanted::Any),
    // Of operating conditions.
    ("voltage", Wanted::AboveZero),
];

/// Looks at all numbers and tables of a file.
///
/// # Errors
/// The first error, with its line, its cell, and the expected form.
pub(super) fn check(text: &str) -> Result<(), String> {
    let library = parse(text)?;
    let mut place = Place { lines: Lines::new(text), cell: None };
    attributes(&place, &library)?;
    for (name, ..) in UNITS {
        if let (Err(what), Some(attribute)) = (unit(&library, name), library.attribute(name)) {
            return Err(place.wrong(attribute.name, &what));
        }
    }
    let templates = tables::Templates::new(&library);
    let mut names = BTreeMap::new();
    for group in &library.groups {
        if group.kind.ends_with("_template") {
            let what = format!("the {} {}", group.kind, group.name());
            place.once(&mut names, (group.kind, group.name()), group.text, &what)?;
        } else if group.kind == "cell" {
            if group.arguments.len() != 1 {
                let what = format!("a cell has {} names; one is wanted", group.arguments.len());
                return Err(place.wrong(group.text, &what));
            }
            place.cell = Some(group.name());
            place.once(&mut names, (group.kind, group.name()), group.text, "the cell")?;
        }
        tree(&place, group, &templates)?;
        if group.kind == "cell" {
            cell(&place, &library, group)?;
        }
        place.cell = None;
    }
    Ok(())
}

fn cell(place: &Place<'_>, library: &Group<'_>, cell: &Group<'_>) -> Result<(), String> {
    if cell.attribute("area").is_none() {
        return Err(place.wrong(cell.text, "there is no area; a number, 0 or more, is wanted"));
    }
    let states: f64 = cell.all("leakage_power").filter_map(|state| state.number("value")).sum();
    if !(states.is_finite() && states >= 0.0) {
        let what = format!("the leakage_power of its states adds up to {states}; a number, 0 or more, is wanted");
        return Err(place.wrong(cell.text, &what));
    }
    for (name, pin) in cell.pins() {
        if pin.value("direction") == Some("input") && library.pin_capacitance(pin).is_none() {
            let what = format!(
                "pin {name} has no capacitance, and the library no default_input_pin_cap; a number, 0 or more, is wanted"
            );
            return Err(place.wrong(pin.text, &what));
        }
    }
    Ok(())
}

fn attributes(place: &Place<'_>, group: &Group<'_>) -> Result<(), String> {
    let mut seen: BTreeMap<&str, &Attribute<'_>> = BTreeMap::new();
    for attribute in &group.attributes {
        let name = attribute.name;
        if name == "include_file" {
            return Err(place.wrong(name, "include_file is not read: put the file's text here"));
        }
        let wanted = NUMBERS.iter().find(|(number, _)| *number == name).map(|(_, wanted)| *wanted);
        let wanted = wanted.or((group.kind == "leakage_power" && name == "value").then_some(Wanted::Any));
        if let Some(wanted) = wanted {
            place.number(attribute, wanted)?;
        }
        // There may be many lists such as `define` and `voltage_map`. An attribute with the same value twice does no
        // harm.
        let table = name == "values" || name.starts_with("index_");
        if let Some(first) = seen.insert(name, attribute)
            && (wanted.is_some() || table || !attribute.complex && first.values != attribute.values)
        {
            let line = place.lines.of(first.name);
            return Err(place.wrong(name, &format!("{name} stands in line {line} too; one is wanted")));
        }
    }
    Ok(())
}

fn tree(place: &Place<'_>, group: &Group<'_>, templates: &tables::Templates<'_, '_>) -> Result<(), String> {
    attributes(place, group)?;
    tables::check(place, group, templates)?;
    let mut pins = BTreeMap::new();
    for (name, pin) in group.pins() {
        place.once(&mut pins, name, pin.text, &format!("pin {name}"))?;
    }
    group.groups.iter().try_for_each(|inner| tree(place, inner, templates))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "library (l) {\n  lu_table_template (t) { index_1 (\"1, 2\"); index_2 (\"1, 2, 3\"); }\n  cell (a) {\n    \
        area : 2;\n    leakage_power () { value : 3; }\n    pin (A) { direction : input; capacitance : 0.5;\n      \
        internal_power () { power (t) { values (\"1, 2, 3\", \\\n        \"4, 5, 6\"); } } }\n  }\n}\n";

    /// A library with one cell, a part of which is something else.
    fn with(from: &str, to: &str) -> Result<(), String> {
        assert!(LIBRARY.contains(from), "{from}");
        check(&LIBRARY.replacen(from, to, 1))
    }

    fn refused(cases: &[(&str, &str, &str)]) {
        assert_eq!(check(LIBRARY), Ok(()));
        for (from, to, told) in cases {
            assert_eq!(with(from, to).unwrap_err(), *told, "{to}");
        }
    }

    #[test]
    fn numbers() {
        refused(&[
            ("area : 2", "area : nan", "line 4, cell a: area is `nan`; a number, 0 or more is wanted"),
            ("area : 2", "area : 1e999", "line 4, cell a: area is `1e999`; a number, 0 or more is wanted"),
            ("area : 2", "area : -1", "line 4, cell a: area is `-1`; a number, 0 or more is wanted"),
            ("area : 2", "area : 16 17", "line 4, cell a: area is `16 17`; a number, 0 or more is wanted"),
            ("area : 2", "area : 2 um", "line 4, cell a: area is `2 um`; a number, 0 or more is wanted"),
            ("area : 2", "area : ", "line 4, cell a: area has no value; a number, 0 or more is wanted"),
            (
                "area : 2",
                "area : 16 capacitance : 3",
                "line 4: `:` stands in the value of `area`; is `;` missing before `capacitance`?",
            ),
            ("area : 2;", "", "line 3, cell a: there is no area; a number, 0 or more, is wanted"),
            (
                "value : 3",
                "value : -3",
                "line 3, cell a: the leakage_power of its states adds up to -3; a number, 0 or more, is wanted",
            ),
            ("value : 3", "value : inf", "line 5, cell a: value is `inf`; a number is wanted"),
            ("0.5", "big", "line 6, cell a: capacitance is `big`; a number, 0 or more is wanted"),
            ("(l) {", "(l) { nom_voltage : 0;", "line 1: nom_voltage is `0`; a number above 0 is wanted"),
            (
                "(l) {",
                "(l) {\noperating_conditions (x) { voltage : -1.8; }",
                "line 2: voltage is `-1.8`; a number above 0 is wanted",
            ),
            (
                "area : 2;",
                "area : 2; cell_leakage_power : -1;",
                "line 4, cell a: cell_leakage_power is `-1`; a number, 0 or more is wanted",
            ),
        ]);
    }

    #[test]
    fn units() {
        refused(&[
            (
                "(l) {",
                "(l) {\n leakage_power_unit : \"1nJ\";",
                "line 2: leakage_power_unit is `1nJ`; wanted is a number above 0, a prefix of m, u, n, p and f, and W, as in `1nW`",
            ),
            (
                "(l) {",
                "(l) {\n capacitive_load_unit (1);",
                "line 2: capacitive_load_unit is `1`; wanted is a number above 0, a prefix of m, u, n, p and f, and f, as in `(1, pf)`",
            ),
        ]);
    }

    #[test]
    fn a_capacitance_is_somewhere() {
        let missing = "line 6, cell a: pin A has no capacitance, and the library no default_input_pin_cap; a number, 0 or more, is wanted";
        refused(&[("capacitance : 0.5;", "", missing), ("capacitance : 0.5;", "rise_capacitance : 0.5;", missing)]);
        assert_eq!(with("capacitance : 0.5;", "rise_capacitance : 0.5; fall_capacitance : 0.4;"), Ok(()));
        let default = LIBRARY.replace("capacitance : 0.5;", "").replace("(l) {", "(l) { default_input_pin_cap : 1;");
        assert_eq!(check(&default), Ok(()));
        let default = default.replace("_cap : 1", "_cap : x");
        assert_eq!(check(&default).unwrap_err(), "line 1: default_input_pin_cap is `x`; a number, 0 or more is wanted");
    }

    #[test]
    fn one_of_each() {
        refused(&[
            (
                "cell (a)",
                "cell (a) { area : 1; }\n cell (a)",
                "line 4, cell a: the cell stands in line 3 too; one is wanted",
            ),
            ("cell (a)", "cell (a, b)", "line 3: a cell has 2 names; one is wanted"),
            ("cell (a)", "cell ()", "line 3: a cell has 0 names; one is wanted"),
            ("area : 2;", "area : 2;\n area : 2;", "line 5, cell a: area stands in line 4 too; one is wanted"),
            (
                "direction : input;",
                "direction : input;\ndirection : output;",
                "line 7, cell a: direction stands in line 6 too; one is wanted",
            ),
            (
                "leakage_power",
                "pin (A) { direction : output; } leakage_power",
                "line 6, cell a: pin A stands in line 5 too; one is wanted",
            ),
            (
                "leakage_power",
                "pin (B, A) { direction : output; } leakage_power",
                "line 6, cell a: pin A stands in line 5 too; one is wanted",
            ),
            (
                "cell (a)",
                "lu_table_template (t) { } cell (a)",
                "line 3: the lu_table_template t stands in line 2 too; one is wanted",
            ),
            (
                "values (",
                "index_1 (\"1, 2\"); index_1 (\"1, 3\"); values (",
                "line 7, cell a: index_1 stands in line 7 too; one is wanted",
            ),
        ]);
        // A power template and a delay template may have the same name. Lists may come again, and so may attributes
        // with the same value.
        let twice = "power_lut_template (t) { index_1 (\"1, 2\"); index_2 (\"1, 2, 3\"); } define (x, cell, string); \
            define (y, cell, string); comment : \"x\"; comment : x; cell (a)";
        assert_eq!(with("cell (a)", twice), Ok(()));
    }

    #[test]
    fn files_in_the_file() {
        refused(&[
            ("(l) {", "(l) { include_file (\"x\");", "line 1: include_file is not read: put the file's text here"),
            ("area", "include_file (x);\n area", "line 4, cell a: include_file is not read: put the file's text here"),
            ("0.5;", "0.5; include_file : x;", "line 6, cell a: include_file is not read: put the file's text here"),
        ]);
    }

    /// A search for the line from the beginning of the file would take hours here.
    #[test]
    fn long_files() {
        let cells: String = (0..40_000).map(|n| format!("cell (c{n}) {{ area : 1; }}\n")).collect();
        let start = std::time::Instant::now();
        assert_eq!(check(&format!("library (l) {{\n{cells}}}\n")), Ok(()));
        let last = check(&format!("library (l) {{\n{cells}cell (c7) {{ area : 1; }} }}\n")).unwrap_err();
        assert_eq!(last, "line 40002, cell c7: the cell stands in line 9 too; one is wanted");
        assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    }
}
