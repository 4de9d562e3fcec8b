//! Normalisers and pre-tokenizers of a `tokenizer.json` that are supported, by name.
//!
//! The crate `tokenizers` knows more of them. Some of those panic for values that a file may have.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

/// Normalisers without values.
const CHANGES: [&str; 5] = ["NFC", "NFD", "NFKC", "NFKD", "Lowercase"];

/// Pre-tokenizers whose values the crate checks.
const PRE_TOKENIZERS: [&str; 6] = ["ByteLevel", "Digits", "Metaspace", "Punctuation", "Whitespace", "WhitespaceSplit"];

/// Refuses what is not supported, and values that match or put ahead nothing.
pub(super) fn check(json: &Map<String, Value>) -> Result<()> {
    for (key, check) in [("normalizer", change as fn(&Value) -> Result<()>), ("pre_tokenizer", pre_tokenizer)] {
        if let Some(form) = json.get(key).filter(|form| !form.is_null()) {
            check(form).with_context(|| format!("`{key}`"))?;
        }
    }
    Ok(())
}

fn change(form: &Value) -> Result<()> {
    match kind(form)? {
        "Sequence" => all(form, "normalizers", change),
        "Prepend" => written("Prepend", "prepend", form.get("prepend")),
        "Replace" => written("Replace", "pattern.String", form.pointer("/pattern/String")),
        simple if CHANGES.contains(&simple) => Ok(()),
        other => {
            bail!("`{other}` is not supported, wanted is {}, Prepend, Replace or Sequence", CHANGES.join(", "))
        }
    }
}

fn pre_tokenizer(form: &Value) -> Result<()> {
    match kind(form)? {
        "Sequence" => all(form, "pretokenizers", pre_tokenizer),
        "Split" => {
            let pattern =
                form.get("pattern").and_then(|pattern| pattern.get("Regex").or_else(|| pattern.get("String")));
            written("Split", "pattern", pattern)
        }
        simple if PRE_TOKENIZERS.contains(&simple) => Ok(()),
        other => bail!("`{other}` is not supported, wanted is {}, Split or Sequence", PRE_TOKENIZERS.join(", ")),
    }
}

fn kind(form: &Value) -> Result<&str> {
    let kind = form.get("type").and_then(Value::as_str);
    kind.with_context(|| format!("is {}, wanted is an object with `type`", start(form)))
}

fn all(form: &Value, key: &str, check: fn(&Value) -> Result<()>) -> Result<()> {
    let parts = form.get(key).and_then(Value::as_array);
    parts.with_context(|| format!("a Sequence without `{key}`"))?.iter().try_for_each(check)
}

fn written(kind: &str, key: &str, found: Option<&Value>) -> Result<()> {
    let found = found.unwrap_or(&Value::Null);
    let is_text = found.as_str().is_some_and(|text| !text.is_empty());
    ensure!(is_text, "`{key}` of {kind} is {}, wanted is a text that is not empty", start(found));
    Ok(())
}

/// The beginning of a value that may be long.
fn start(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
