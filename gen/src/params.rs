//! Parameters from the command line: defaults, then a TOML file, then `--set`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hdl::lang::ParamError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::Spanned;

use crate::catalogue::{Entry, Params, similar};
use crate::error::{Failure, Result};

/// How a user gives parameters.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ParamArgs {
    /// Set one parameter, for example `--set rows=8`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Read parameters from a TOML file of `name = value` lines; `--set` goes before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ParamArgs {
    /// Whether the user changes anything.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.set.is_empty() && self.config.is_none()
    }

    /// The parameters that result.
    ///
    /// # Errors
    /// An unreadable file, an unknown parameter, a value of the wrong type; each names the place and the legal values.
    /// Ranges are checked by the block itself.
    pub fn resolve(&self, entry: &dyn Entry) -> Result<Params> {
        self.over(entry, entry.defaults())
    }

    /// The same over other parameters than the block's defaults.
    ///
    /// # Errors
    /// The errors of [`resolve`](Self::resolve).
    pub fn over(&self, entry: &dyn Entry, mut params: Params) -> Result<Params> {
        if let Some(path) = &self.config {
            read_config(entry, path, &mut params)?;
        }
        let mut seen = BTreeSet::new();
        for item in &self.set {
            let Some((name, text)) = item.split_once('=') else {
                return Err(Failure::Usage(format!("`--set {item}`: write it as NAME=VALUE")));
            };
            let (name, text) = (name.trim(), text.trim());
            if !seen.insert(name) {
                return Err(Failure::Usage(format!("`--set {item}`: `{name}` is set twice")));
            }
            assign(entry, name, value_of(entry, name, text), &mut params).map_err(Failure::Usage)?;
        }
        Ok(params)
    }
}

/// `rows = 16, columns = 8`: parameters as a person writes them.
#[must_use]
pub fn show(params: &Params) -> String {
    let list: Vec<_> = params.iter().map(|(name, value)| format!("{name} = {}", plain(value))).collect();
    list.join(", ")
}

/// The parameters that differ from the defaults of the block.
#[must_use]
pub fn show_changes(defaults: &Params, params: &Params) -> String {
    let changed = params.iter().filter(|(name, value)| defaults.get(*name) != Some(*value));
    let changed: Params = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
    if changed.is_empty() { "all default".into() } else { show(&changed) }
}

/// A value without the quotes of JSON.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}

/// A value of a TOML file. TOML has infinities and NaNs. JSON has none, so no parameter has any.
pub(crate) fn from_toml(value: &toml::Value) -> std::result::Result<Value, String> {
    let bad = match value {
        toml::Value::Float(x) if !x.is_finite() => Some(x.to_string().to_lowercase()),
        _ => None,
    };
    match (value, bad) {
        (_, Some(text)) => Err(format!("`{text}` is no value; a finite number is wanted")),
        (toml::Value::Array(list), _) => list.iter().map(from_toml).collect(),
        (toml::Value::Table(table), _) => {
            table.iter().map(|(name, value)| Ok((name.clone(), from_toml(value)?))).collect()
        }
        _ => serde_json::to_value(value).map_err(|e| e.to_string()),
    }
}

/// A TOML file: its text, for the lines of later errors, and what it says.
///
/// # Errors
/// It cannot be read, or is something else; names the file, the line and what is wanted.
pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<(String, T)> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
    let told = |e: toml::de::Error| Failure::Usage(format!("{}: {}", path.display(), e.to_string().trim_end()));
    let found = toml::from_str(&text).map_err(told)?;
    Ok((text, found))
}

fn read_config(entry: &dyn Entry, path: &Path, params: &mut Params) -> Result<()> {
    let (text, table) = read_toml::<BTreeMap<Spanned<String>, Spanned<toml::Value>>>(path)?;
    for (name, value) in table {
        let line = 1 + text[..name.span().start].matches('\n').count();
        let refused = |e| Failure::Usage(format!("{}:{line}: parameter `{}`: {e}", path.display(), name.get_ref()));
        let value = from_toml(value.get_ref()).map_err(refused)?;
        // A table holds the parameters of a nested struct.
        let values = hdl::lang::flatten(&serde_json::json!({ name.get_ref(): value }));
        for (name, value) in values {
            assign(entry, &name, value, params)
                .map_err(|e| Failure::Usage(format!("{}:{line}: {e}", path.display())))?;
        }
    }
    Ok(())
}

/// Reads `text` as the kind of value that the default is; a value that is neither a number nor a truth value is a
/// string.
fn value_of(entry: &dyn Entry, name: &str, text: &str) -> Value {
    let string = || Value::String(text.to_owned());
    match entry.defaults().get(name) {
        Some(Value::String(_)) => string(),
        _ if text == "none" => Value::Null,
        _ => serde_json::from_str(text).unwrap_or_else(|_| string()),
    }
}

/// Sets one parameter, checking its name and, against the defaults, its type.
pub(crate) fn assign(entry: &dyn Entry, name: &str, value: Value, params: &mut Params) -> Result<(), String> {
    let mut alone = entry.defaults();
    let Some(slot) = alone.get_mut(name) else { return Err(unknown(entry, name)) };
    *slot = value.clone();
    if let Err(refused) = entry.accepts(&alone) {
        // `info` shows a narrower range than its type.
        let docs = entry.parameters().into_iter().find(|p| p.name == name);
        let shown = Some(plain(&value)).filter(|text| !text.is_empty()).unwrap_or_else(|| "empty".into());
        return Err(docs.map_or(refused, |p| ParamError::new(name, shown, p.allowed).to_string()));
    }
    params.insert(name.to_owned(), value);
    Ok(())
}

fn unknown(entry: &dyn Entry, name: &str) -> String {
    let defaults = entry.defaults();
    let names: Vec<_> = defaults.keys().map(String::as_str).collect();
    let block = entry.about().name;
    let near = similar(name, &names);
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    format!("{block} has no parameter `{name}`; {hint}its parameters are: {}", names.join(", "))
}
