//! Documents with numbers in them: a template is filled with the results of sweeps, so that no figure is typed.
//!
//! A template is text with minijinja in it. It may ask for points of a sweep by their parameters, for tables, and for
//! facts. Facts are numbers that other programs measured and left as JSON files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::{Map, json};

use crate::error::{Failure, Result};
use crate::params::plain;
use crate::sweep::{PointResult, Results};

/// Fills the template at `path` with what lies in `results`: sweeps in folders of their own, facts in `facts/*.json`.
///
/// # Errors
/// An unreadable file; a template that asks for a missing result. The message names the line.
pub fn render(path: &Path, results: &Path) -> Result<String> {
    let source = fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
    let name = path.display().to_string();
    let facts = facts(&results.join("facts"))?;
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let failed = |e: Error| Failure::Usage(format!("{name}: {}", explain(&e)));
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().map_err(failed)?);
    let sweeps = Arc::new(Sweeps { root: results.to_owned() });
    let store = Arc::clone(&sweeps);
    environment.add_function("point", move |sweep: &str, wanted: Kwargs| store.point(sweep, &wanted));
    let store = Arc::clone(&sweeps);
    environment.add_function("points", move |sweep: &str, wanted: Kwargs| {
        let results = store.read(sweep)?;
        Ok(store.matching(&results, &wanted)?.into_iter().map(row).collect::<Vec<_>>())
    });
    let store = Arc::clone(&sweeps);
    environment.add_function("sweep", move |sweep: &str| {
        let results = store.read(sweep)?;
        let tools: Vec<_> = results.tools.values().cloned().collect();
        Ok::<_, Error>(Value::from(Serde(&json!({
            "title": results.title, "about": results.about, "block": results.block, "file": results.file,
            "tools": tools, "points": results.points.len(), "generator": results.generator,
        }))))
    });
    environment.add_function("table", move |sweep: &str, columns: Value, wanted: Kwargs| {
        sweeps.table(sweep, &columns, &wanted)
    });
    environment.add_filter("percent", |value: f64, digits: Option<usize>| {
        Ok::<_, Error>(format!("{:.*} %", decimals(digits.unwrap_or(1))?, 100.0 * value))
    });
    environment
        .add_filter("digits", |value: f64, digits: usize| Ok::<_, Error>(format!("{value:.*}", decimals(digits)?)));
    environment.add_filter("thousands", |value: f64| thousands(value));
    environment.add_template_owned(name.clone(), source).map_err(failed)?;
    let page = environment.get_template(&name).map_err(failed)?;
    page.render(minijinja::context! { facts => Value::from(Serde(&facts)) }).map_err(failed)
}

/// The page with each of its parts as `text` has it. A part stands between `<!-- name -->` and `<!-- /name -->`, each on a
/// line of its own; all other text is the page's.
///
/// # Errors
/// A part that only one of the two has, or that does not end; text that belongs to no part.
pub fn with_parts(page: &str, text: &str) -> Result<String, String> {
    let mut filled = page.to_owned();
    let (mut names, mut rest) = (Vec::new(), text);
    while let Some((outside, from_name)) = rest.split_once("<!-- ") {
        no_text(outside)?;
        let (name, from_part) = from_name.split_once(" -->\n").ok_or("a part begins with a line `<!-- name -->`")?;
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
        let (part, behind) = from_part.split_once(&end).ok_or(format!("part `{name}` of the template has no end"))?;
        let place = filled.split_once(&begin).and_then(|(before, old)| Some((before, old.split_once(&end)?.1)));
        let (before, after) = place.ok_or(format!("the page has no part `{name}`"))?;
        filled = [before, &begin, part, &end, after].concat();
        names.push(name);
        rest = behind;
    }
    no_text(rest)?;
    let ends = page.lines().filter_map(|line| line.strip_prefix("<!-- /")?.strip_suffix(" -->"));
    match ends.into_iter().find(|name| !names.contains(name)) {
        Some(name) => Err(format!("the template has no part `{name}`")),
        None if names.is_empty() => Err("neither has parts".into()),
        None => Ok(filled),
    }
}

fn no_text(outside: &str) -> Result<(), String> {
    let line = outside.lines().find(|line| !line.trim().is_empty());
    line.map_or(Ok(()), |line| Err(format!("a line of the template belongs to no part: {line}")))
}

/// The message with the chain of its causes, and the line.
fn explain(error: &Error) -> String {
    let line = error.line().map(|l| format!("line {l}: ")).unwrap_or_default();
    format!("{line}{error:#}")
}

fn facts(folder: &Path) -> Result<BTreeMap<String, serde_json::Value>> {
    let mut facts = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(facts) };
    for entry in entries {
        let path = entry.map_err(|e| Failure::file("read", folder, &e))?.path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| Failure::file("read", &path, &e))?;
        let value = serde_json::from_str(&text).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
        facts.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), value);
    }
    Ok(facts)
}

/// The folder that holds a folder for each sweep.
#[derive(Debug)]
struct Sweeps {
    root: PathBuf,
}

impl Sweeps {
    fn read(&self, sweep: &str) -> Result<Results, Error> {
        Results::read(&self.root.join(sweep))
            .map_err(|e| wrong(format!("sweep `{sweep}`: {e}; `senbazuru sweep sweeps/{sweep}.toml` makes it")))
    }

    /// The points whose parameters have the given values.
    fn matching<'r>(&self, results: &'r Results, wanted: &Kwargs) -> Result<Vec<&'r PointResult>, Error> {
        let mut conditions = Vec::new();
        for name in wanted.args() {
            let value: Value = wanted.get(name)?;
            let value = serde_json::to_value(&value).map_err(|e| wrong(e.to_string()))?;
            if results.points.first().is_some_and(|p| !p.parameters.contains_key(name)) {
                return Err(wrong(format!("{} has no parameter `{name}`", results.block)));
            }
            conditions.push((name.to_owned(), value));
        }
        let fits = |p: &&PointResult| conditions.iter().all(|(name, value)| p.parameters.get(name) == Some(value));
        Ok(results.points.iter().filter(fits).collect())
    }

    fn point(&self, sweep: &str, wanted: &Kwargs) -> Result<Value, Error> {
        let results = self.read(sweep)?;
        match self.matching(&results, wanted)?[..] {
            [point] => Ok(row(point)),
            ref other => {
                let given: Vec<_> = wanted.args().collect();
                Err(wrong(format!(
                    "{} points of sweep `{sweep}` fit the given {}; wanted one",
                    other.len(),
                    given.join(", ")
                )))
            }
        }
    }

    fn table(&self, sweep: &str, columns: &Value, wanted: &Kwargs) -> Result<String, Error> {
        let results = self.read(sweep)?;
        let columns: Vec<String> = columns.try_iter()?.map(|c| c.to_string()).collect();
        let mut rows = Vec::new();
        for point in self.matching(&results, wanted)? {
            let cell = |name: &String| match point.value(name) {
                Some(value) if !value.is_null() => {
                    value.as_f64().filter(|_| !value.is_i64()).map_or_else(|| plain(value), |v| format!("{v:.0}"))
                }
                _ => "-".to_owned(),
            };
            rows.push(columns.iter().map(cell).collect::<Vec<_>>());
        }
        if let Some(name) = columns.iter().enumerate().find(|(i, _)| rows.iter().all(|r| r[*i] == "-")).map(|(_, n)| n)
        {
            return Err(wrong(format!("sweep `{sweep}` has no number or parameter `{name}`")));
        }
        Ok(crate::present::table::Table::of(columns, rows).markdown())
    }
}

fn row(point: &PointResult) -> Value {
    let mut row: Map<String, serde_json::Value> = point.parameters.clone();
    for stage in &point.stages {
        row.extend(stage.metrics.clone());
    }
    row.insert("command".into(), json!(point.command));
    row.insert("top".into(), json!(point.top));
    Value::from(Serde(&row))
}

/// Digits after the point, at most as many as a number has.
fn decimals(wanted: usize) -> Result<usize, Error> {
    const MOST: usize = 30;
    if wanted > MOST { Err(wrong(format!("{wanted} digits after the point, at most {MOST}"))) } else { Ok(wanted) }
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}

/// `12,345`: digits in groups of three.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    let sign = if value < 0.0 && digits != "0" { "-" } else { "" };
    format!("{sign}{}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        let texts = [0.0, 999.4, 1000.0, -1_234_567.0].map(thousands);
        assert_eq!(texts, ["0", "999", "1,000", "-1,234,567"]);
    }

    #[test]
    fn parts_of_a_page() {
        let page = "Why.\n<!-- a -->\nold\n<!-- /a -->\nBetween.\n<!-- b -->\n<!-- /b -->\nEnd.\n";
        let text = "\n<!-- b -->\n2\n<!-- /b -->\n<!-- a -->\n1\n<!-- /a -->\n";
        let filled = "Why.\n<!-- a -->\n1\n<!-- /a -->\nBetween.\n<!-- b -->\n2\n<!-- /b -->\nEnd.\n";
        assert_eq!(with_parts(page, text).unwrap(), filled);
        assert_eq!(with_parts(filled, text).unwrap(), filled);
        for (page, text, why) in [
            (page, "<!-- b -->\n<!-- /b -->\n", "the template has no part `a`"),
            ("Why.\n", text, "the page has no part `b`"),
            (page, "<!-- a -->\n1\n", "part `a` of the template has no end"),
            (page, "A word.\n<!-- a -->\n<!-- /a -->\n", "a line of the template belongs to no part: A word."),
            ("Why.\n", "", "neither has parts"),
        ] {
            assert_eq!(with_parts(page, text).unwrap_err(), why);
        }
    }
}
