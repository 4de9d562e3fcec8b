//! The SQLite file of a sweep.
//!
//! Tables: `sweep` (one row), `tool`, `point`, `parameter`, `stage`, `metric`, and the view `result` with one wide row
//! for each point, which suits most questions. docs/sweeps.md describes the columns.

use rusqlite::{Connection, params};
use serde_json::Value;

use super::Results;
use crate::error::{Failure, Result};
use crate::params::plain;

const SCHEMA: &str = "
CREATE TABLE sweep (name TEXT NOT NULL, title TEXT NOT NULL, about TEXT NOT NULL, block TEXT NOT NULL,
  generator TEXT NOT NULL, file TEXT NOT NULL);
CREATE TABLE tool (name TEXT PRIMARY KEY, version TEXT NOT NULL);
CREATE TABLE point (id INTEGER PRIMARY KEY, label TEXT NOT NULL, top TEXT, passed INTEGER NOT NULL, message TEXT,
  command TEXT NOT NULL);
CREATE TABLE parameter (point INTEGER NOT NULL REFERENCES point, name TEXT NOT NULL, value NOT NULL,
  PRIMARY KEY (point, name));
CREATE TABLE stage (point INTEGER NOT NULL REFERENCES point, stage TEXT NOT NULL, key TEXT NOT NULL,
  status TEXT NOT NULL, message TEXT, seconds REAL NOT NULL, details TEXT NOT NULL, PRIMARY KEY (point, stage));
CREATE TABLE metric (point INTEGER NOT NULL REFERENCES point, stage TEXT NOT NULL, name TEXT NOT NULL,
  value NUMERIC NOT NULL, PRIMARY KEY (point, name));
";

/// The bytes of the file.
///
/// # Errors
/// Whatever SQLite says.
pub fn build(results: &Results) -> Result<Vec<u8>> {
    fill(results).map_err(|e| Failure::Check(format!("SQLite: {e}")))
}

fn fill(results: &Results) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction()?;
    transaction.execute(
        "INSERT INTO sweep VALUES (?, ?, ?, ?, ?, ?)",
        params![results.name, results.title, results.about, results.block, results.generator, results.file],
    )?;
    for (tool, version) in &results.tools {
        transaction.execute("INSERT INTO tool VALUES (?, ?)", params![tool, version])?;
    }
    for (id, point) in results.points.iter().enumerate() {
        let id = i64::try_from(id).unwrap_or(i64::MAX);
        transaction.execute(
            "INSERT INTO point VALUES (?, ?, ?, ?, ?, ?)",
            params![id, point.label, point.top, point.passed(), point.complaint(), point.command],
        )?;
        for (name, value) in &point.parameters {
            transaction.execute("INSERT INTO parameter VALUES (?, ?, ?)", params![id, name, sql(value)])?;
        }
        for stage in &point.stages {
            let status = serde_json::to_value(stage.status).map(|s| plain(&s)).unwrap_or_default();
            transaction.execute(
                "INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    id,
                    stage.stage.name(),
                    stage.key,
                    status,
                    stage.message,
                    stage.seconds,
                    stage.details.to_string()
                ],
            )?;
            for (name, value) in &stage.metrics {
                transaction.execute(
                    "INSERT INTO metric VALUES (?, ?, ?, ?)",
                    params![id, stage.stage.name(), name, sql(value)],
                )?;
            }
        }
    }
    let parameters: Vec<String> =
        results.points.first().map(|p| p.parameters.keys().cloned().collect()).unwrap_or_default();
    let pick = |table: &str, name: &String| {
        let (text, column) = (name.replace('\'', "''"), name.replace('"', "\"\""));
        format!(", (SELECT value FROM {table} WHERE point = id AND name = '{text}') AS \"{column}\"")
    };
    let columns: String = parameters
        .iter()
        .map(|n| pick("parameter", n))
        .chain(results.metrics().iter().map(|n| pick("metric", n)))
        .collect();
    transaction.execute_batch(&format!("CREATE VIEW result AS SELECT id, top, passed, message{columns} FROM point"))?;
    transaction.commit()?;
    Ok(connection.serialize("main")?.to_vec())
}

fn sql(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Sql;
    match value {
        Value::Number(n) if n.is_i64() => Sql::Integer(n.as_i64().unwrap_or_default()),
        Value::Number(n) => n.as_f64().map_or_else(|| Sql::Text(n.to_string()), Sql::Real),
        Value::Bool(truth) => Sql::Integer(i64::from(*truth)),
        other => Sql::Text(plain(other)),
    }
}
