//! Results on standard output: JSON, or a template filled with the same data.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use crate::error::{Failure, Result};
use crate::present::table::{Table, wrapped};

const TEMPLATES: [(&str, &str); 2] =
    [("info.txt", include_str!("../../templates/info.txt")), ("info.md", include_str!("../../templates/info.md"))];

/// Prints `data` as indented JSON.
///
/// # Errors
/// Data that JSON cannot hold.
pub fn json(data: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(data).map_err(|e| Failure::Check(format!("cannot write JSON: {e}")))?;
    print(&format!("{text}\n"))
}

/// A table as wide as the terminal, or as it needs to be where the output goes elsewhere.
#[must_use]
pub fn table(table: &Table) -> String {
    table.text_within(columns().unwrap_or(usize::MAX))
}

/// A table as wide as the terminal, or as a person likes to read it where the output goes elsewhere.
#[must_use]
pub fn table_to_read(table: &Table) -> String {
    table.text_within(columns().unwrap_or(MOST))
}

/// Columns that a person likes to read.
const MOST: usize = 100;

/// Columns of the terminal, if the output goes to one.
fn columns() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| columns.into())
}

/// Prose in lines that fit the terminal and that a person likes to read; each line of `text` is a paragraph.
fn prose(text: &str) -> String {
    let width = columns().map_or(MOST, |columns| MOST.min(columns));
    text.lines().flat_map(|line| wrapped(line, width)).collect::<Vec<_>>().join("\n")
}

/// Prints text. A reader that went away (`senbazuru list | head -1`) is no error.
///
/// # Errors
/// Standard output cannot be written, for example because the disk is full.
pub fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::io(format!("cannot write to standard output: {e}"), &e))
        }
        _ => Ok(()),
    }
}

/// Fills a template of `templates/`: `data` for plain values, `tables` by name, printed with `{{ tables.x|text }}`.
///
/// # Errors
/// A template that does not fit its data: a bug, kept from being a panic.
pub fn fill(template: &str, data: &impl Serialize, tables: &[(&str, Table)]) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let bug = |e: minijinja::Error| Failure::Check(format!("template {template}: {e:#}"));
    let mut syntax = SyntaxConfig::builder();
    environment
        .set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build().map_err(bug)?);
    environment.add_filter("prose", |text: String| prose(&text));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).map_err(bug)?;
    }
    let rendered: Value = tables
        .iter()
        .map(|(name, table)| {
            let forms =
                context! { text => self::table(table), markdown => table.markdown(), empty => table.is_empty() };
            ((*name).to_owned(), forms)
        })
        .collect::<std::collections::BTreeMap<_, _>>()
        .into();
    let page = environment.get_template(template).map_err(bug)?;
    page.render(context! { data => Value::from(Serde(data)), tables => rendered }).map_err(bug)
}
