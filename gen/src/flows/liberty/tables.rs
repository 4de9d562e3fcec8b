//! Tables of a library, and the templates that they name.

use std::collections::BTreeMap;

use super::ast::Group;
use super::place::Place;

/// The templates of a library by kind and name.
pub struct Templates<'g, 'a> {
    by_name: BTreeMap<(&'a str, &'a str), &'g Group<'a>>,
}

/// Groups that are a table of delays, transitions, constraints or energies, whatever is in them.
const TABLES: [&str; 11] = [
    "cell_rise",
    "cell_fall",
    "rise_transition",
    "fall_transition",
    "rise_constraint",
    "fall_constraint",
    "retaining_rise",
    "retaining_fall",
    "power",
    "rise_power",
    "fall_power",
];

impl<'g, 'a> Templates<'g, 'a> {
    /// The templates of a library.
    #[must_use]
    pub fn new(library: &'g Group<'a>) -> Self {
        let templates = library.groups.iter().filter(|group| group.kind.ends_with("_template"));
        Self { by_name: templates.map(|group| ((group.kind, group.name()), group)).collect() }
    }

    /// The template that a table names: of energies one for powers, else one for delays, else of any kind.
    #[must_use]
    pub fn of(&self, table: &Group<'_>) -> Option<&'g Group<'a>> {
        let name = table.name();
        let power = matches!(table.kind, "power" | "rise_power" | "fall_power");
        let first = if power { "power_lut_template" } else { "lu_table_template" };
        let of_kind = |kind: &str| self.by_name.get(&(kind, name)).copied();
        let any = || self.by_name.iter().find(|((_, other), _)| *other == name).map(|(_, group)| *group);
        of_kind(first).or_else(any)
    }

    /// The values of an index: the table's own, or the values of its template.
    #[must_use]
    pub fn index<'t>(&'t self, table: &'t Group<'a>, number: usize) -> &'t [&'a str] {
        let name = format!("index_{number}");
        match table.values(&name) {
            [] => self.of(table).map_or(&[], |template| template.values(&name)),
            own => own,
        }
    }
}

/// `"1, 2", "3, 4"`: the words of all strings.
pub fn words<'v, 'a: 'v>(values: &'v [&'a str]) -> impl Iterator<Item = &'a str> + 'v {
    let ends = |c: char| c == ',' || c == '\\' || c.is_whitespace();
    values.iter().flat_map(move |text| text.split(ends)).filter(|word| !word.is_empty())
}

fn numbers(place: &Place<'_>, name: &str, values: &[&str]) -> Result<Vec<f64>, String> {
    let number = |word: &str| match word.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(place.wrong(word, &format!("{name} holds `{word}`; numbers are wanted"))),
    };
    words(values).map(number).collect()
}

/// Refuses a group whose table is damaged.
pub(super) fn check(place: &Place<'_>, group: &Group<'_>, templates: &Templates<'_, '_>) -> Result<(), String> {
    // Their lists hold words too.
    if group.kind.starts_with("compact_") {
        return Ok(());
    }
    let wrong = |what: String| Err(place.wrong(group.text, &what));
    let kind = group.kind;
    let values = group.attribute("values");
    let is_table = values.is_some() || TABLES.contains(&kind);
    if is_table && !matches!(group.name(), "" | "scalar") && templates.of(group).is_none() {
        return wrong(format!("{kind} names the template `{}`; one that the library has is wanted", group.name()));
    }
    let mut size = 1;
    for number in 1..=3 {
        let name = format!("index_{number}");
        let index = numbers(place, &name, if is_table { templates.index(group, number) } else { group.values(&name) })?;
        if let Some(pair) = index.windows(2).find(|pair| pair[1] <= pair[0]) {
            return wrong(format!("{name} of {kind} has {} after {}; rising numbers are wanted", pair[1], pair[0]));
        }
        size *= index.len().max(1);
    }
    if is_table {
        let count = numbers(place, "values", values.map_or(&[], |values| &values.values))?.len();
        if count != size {
            return wrong(format!("{kind} has {count} values; its indices want {size}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::check::check;

    const LIBRARY: &str = "library (l) {\n  lu_table_template (t) { index_1 (\"1, 2\"); index_2 (\"1, 2, 3\"); }\n  cell (a) {\n    \
        area : 2;\n    pin (Z) { direction : output;\n      \
        internal_power () { power (t) { values (\"1, 2, 3\", \\\n        \"4, 5, 6\"); } } }\n  }\n}\n";

    #[test]
    fn damaged_tables() {
        assert_eq!(check(LIBRARY), Ok(()));
        for (from, to, told) in [
            ("4, 5, 6", "4, 5", "line 6, cell a: power has 5 values; its indices want 6"),
            ("4, 5, 6", "4, 5, NaN", "line 7, cell a: values holds `NaN`; numbers are wanted"),
            ("1, 2, 3\"); }", "1, x\"); }", "line 2: index_2 holds `x`; numbers are wanted"),
            (
                "1, 2, 3\"); }",
                "1, 1, 3\"); }",
                "line 2: index_2 of lu_table_template has 1 after 1; rising numbers are wanted",
            ),
            (
                "1, 2, 3\"); }",
                "1, 3, 2\"); }",
                "line 2: index_2 of lu_table_template has 2 after 3; rising numbers are wanted",
            ),
            (
                "values",
                "index_1 (\"2, 1\"); values",
                "line 6, cell a: index_1 of power has 1 after 2; rising numbers are wanted",
            ),
            (
                "power (t)",
                "power (u)",
                "line 6, cell a: power names the template `u`; one that the library has is wanted",
            ),
            (
                "values (\"1, 2, 3\", \\\n        \"4, 5, 6\");",
                "",
                "line 6, cell a: power has 0 values; its indices want 6",
            ),
            (
                "power (t) { values (\"1, 2, 3\", \\\n        \"4, 5, 6\"); }",
                "power (scalar) { values (\"\"); }",
                "line 6, cell a: power has 0 values; its indices want 1",
            ),
        ] {
            assert!(LIBRARY.contains(from), "{from}");
            assert_eq!(check(&LIBRARY.replacen(from, to, 1)).unwrap_err(), told, "{to}");
        }
    }

    #[test]
    fn tables_without_indices_and_lists_of_words() {
        let table = "power (t) { values (\"1, 2, 3\", \\\n        \"4, 5, 6\"); }";
        for other in [
            "power (scalar) { values (\"1\"); }",
            "power () { values (\"1\"); }",
            "compact_ccs_rise (u) { values (\"1, x\"); }",
        ] {
            assert_eq!(check(&LIBRARY.replace(table, other)), Ok(()), "{other}");
        }
    }

    /// Energies have templates of their own, which may have the names of templates for delays.
    #[test]
    fn templates_by_kind() {
        let power = "power_lut_template (t) { index_1 (\"1, 2, 3, 4, 5, 6\"); } cell (a)";
        assert_eq!(check(&LIBRARY.replace("cell (a)", power)), Ok(()));
        assert!(check(&LIBRARY.replace("cell (a)", power).replace("power (t)", "cell_rise (t)")).is_ok());
        let error = check(&LIBRARY.replace("cell (a)", power).replace("4, 5, 6\"); } }", "4, 5\"); } }")).unwrap_err();
        assert!(error.ends_with("cell a: power has 5 values; its indices want 6"), "{error}");
    }
}
