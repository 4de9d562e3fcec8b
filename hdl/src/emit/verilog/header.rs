//! The comment at the head of a module: what it is, its parameters, its contract, where it comes from.

use serde_json::Value;

use super::comment::LINE;
use super::comment::{paragraph, width};
use crate::lang::ir::ModuleIr;

/// The start of the further lines of a long paragraph: more indented than the paragraphs of a contract.
const HANGING: &str = "//     ";

pub(super) fn header(ir: &ModuleIr) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in entries(&ir.header) {
        if entry[0].starts_with("Parameters: ") {
            lines.extend(parameters(&ir.parameters));
            continue;
        }
        for (i, text) in paragraphs(&entry).iter().enumerate() {
            lines.extend(paragraph(text, if i == 0 { "// " } else { "//   " }, HANGING));
        }
    }
    lines
}

/// Lines that belong together: an indented line goes on with the one above.
fn entries(lines: &[String]) -> Vec<Vec<&str>> {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        match entries.last_mut() {
            Some(entry) if line.starts_with(' ') => entry.push(line),
            _ => entries.push(vec![line]),
        }
    }
    entries
}

/// An author's line breaks that keep the source narrow are ignored. A line that ends with a full stop or a colon ends a
/// paragraph.
fn paragraphs(lines: &[&str]) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    for line in lines.iter().map(|l| l.trim()) {
        match paragraphs.last_mut() {
            Some(open) if !open.trim_end_matches([')', '`', '"']).ends_with(['.', ':']) => {
                open.push(' ');
                open.push_str(line);
            }
            _ => paragraphs.push(line.into()),
        }
    }
    paragraphs
}

/// On one line, or one a line where they are too many for that.
fn parameters(values: &Value) -> Vec<String> {
    let list = flat(values);
    let joined: Vec<String> = list.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let line = format!("// Parameters: {}", joined.join(", "));
    if width(&line) <= LINE {
        return vec![line];
    }
    let widest = list.iter().map(|p| p.0.len()).max().unwrap_or(0);
    let rows = list.iter().map(|(name, value)| format!("//   {name:<widest$} = {value}"));
    std::iter::once("// Parameters:".to_string()).chain(rows).collect()
}

/// Names and values; parameters of a part are called `part.name`, as `--set` takes them.
fn flat(values: &Value) -> Vec<(String, String)> {
    let Some(fields) = values.as_object() else { return vec![] };
    let mut list = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Object(part) if !part.is_empty() => {
                list.extend(flat(value).into_iter().map(|(inner, value)| (format!("{name}.{inner}"), value)));
            }
            _ => list.push((name.clone(), plain(value))),
        }
    }
    list
}

/// A value as a person writes it: strings without quotes, unless that would break the line.
fn plain(value: &Value) -> String {
    let simple = value.as_str().filter(|s| !s.contains(char::is_control));
    simple.map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sentences_end_paragraphs_and_other_lines_go_on() {
        let lines = ["Contract: the output is", "  the sum.", "  int8: two", "  operands (of 4 bits).", "  Done"];
        let lines = lines.map(String::from);
        let entries = entries(&lines);
        assert_eq!(entries.len(), 1);
        let found = paragraphs(&entries[0]);
        assert_eq!(found, ["Contract: the output is the sum.", "int8: two operands (of 4 bits).", "Done"]);
    }

    #[test]
    fn few_parameters_stand_on_a_line() {
        assert_eq!(parameters(&json!({"rows": 4, "mode": "skew"})), ["// Parameters: rows = 4, mode = skew"]);
    }

    #[test]
    fn many_parameters_stand_one_a_line_and_parts_by_path() {
        let many = json!({"interval_width": 23, "name": "x".repeat(90), "part": {"rows": 4, "none": {}}});
        let rows = [
            "// Parameters:",
            "//   interval_width = 23",
            &format!("//   name           = {}", "x".repeat(90)),
            "//   part.rows      = 4",
            "//   part.none      = {}",
        ];
        assert_eq!(parameters(&many), rows);
    }
}
