//! A tokenizer in the form of `tokenizer.json`, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::super::folder::json_file;
use super::forms;
use super::spelling::Spelling;

/// All that a tokenizer is made of.
pub(in super::super) struct Description {
    /// In the form of `tokenizer.json`, without a post-processor.
    pub json: Value,
    pub spelling: Spelling,
    /// By id.
    pub tokens: Vec<String>,
    pub literal: Vec<bool>,
    pub control: Vec<bool>,
    /// Tokens ahead of a text.
    pub start: Vec<u32>,
    pub ends: Vec<u32>,
}

impl Description {
    /// A file, with the tokens that end a text.
    pub(in super::super) fn of_folder(path: &Path, ends: Vec<u32>) -> Result<Self> {
        Ok(Self { ends, ..Self::of_json(json_file(path)?)? })
    }

    fn of_json(mut json: Map<String, Value>) -> Result<Self> {
        let known = ["version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer"];
        let known = known.into_iter().chain(["post_processor", "decoder", "model"]).collect::<BTreeSet<_>>();
        if let Some(other) = json.keys().find(|key| !known.contains(key.as_str())) {
            bail!("the key `{other}` is not supported");
        }
        // How one text is cut or filled up in a batch: not of the model.
        json.remove("truncation");
        json.remove("padding");
        let model = json.get("model").and_then(Value::as_object).context("there is no `model`")?;
        let spelling = spelling(model, &json)?;
        forms::check(&json)?;
        let added = added(&json)?;
        let tokens = vocabulary(model, &added)?;
        check_merges(model)?;
        let (mut literal, mut control) = (vec![false; tokens.len()], vec![false; tokens.len()]);
        for token in &added {
            literal[token.id as usize] = true;
            control[token.id as usize] = token.special;
        }
        // The way from tokens to text is the spelling's.
        json.insert("decoder".into(), Value::Null);
        let start = match json.insert("post_processor".into(), Value::Null) {
            Some(processor) => start(&processor)?,
            None => Vec::new(),
        };
        Ok(Self { json: json.into(), spelling, tokens, literal, control, start, ends: Vec::new() })
    }
}

/// The tokens that end a text: a number, or several.
pub(super) fn ends(folder: &Path) -> Result<Vec<u32>> {
    for name in ["generation_config.json", "config.json"] {
        let path = folder.join(name);
        if !path.exists() {
            continue;
        }
        let config = json_file(&path)?;
        let Some(found) = config.get("eos_token_id").filter(|found| !found.is_null()) else { continue };
        let several = found.as_array().map_or(std::slice::from_ref(found), Vec::as_slice);
        let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let ids: Option<Vec<u32>> = several.iter().map(id).collect();
        return ids.with_context(|| format!("{}: `eos_token_id` is {found}, wanted are ids", path.display()));
    }
    Ok(Vec::new())
}

fn kind(value: Option<&Value>) -> Option<&str> {
    value?.get("type")?.as_str()
}

/// All parts of a sequence, or the part itself.
fn parts(value: &Value) -> Vec<&Value> {
    let inner = ["normalizers", "pretokenizers", "processors", "decoders"].iter().find_map(|key| value.get(*key));
    match inner.and_then(Value::as_array) {
        Some(all) => all.iter().flat_map(parts).collect(),
        None => vec![value],
    }
}

/// How tokens are spelt, by model and decoder.
fn spelling(model: &Map<String, Value>, json: &Map<String, Value>) -> Result<Spelling> {
    // Early files have no type: they have merges.
    match model.get("type").and_then(Value::as_str) {
        Some("BPE") => {}
        None if model.contains_key("merges") => {}
        None => bail!("the tokenizer's model has no `type`, wanted is BPE"),
        Some(other) => bail!("the tokenizer's model is `{other}`, wanted is BPE"),
    }
    for key in ["dropout", "continuing_subword_prefix", "end_of_word_suffix"] {
        let found = model.get(key).unwrap_or(&Value::Null);
        let none = found.is_null() || found == "" || found.as_f64() == Some(0.0);
        ensure!(none, "the tokenizer's model has `{key}` {found}, which is not supported");
    }
    let decoder = json.get("decoder").filter(|decoder| !decoder.is_null()).context("there is no `decoder`")?;
    let decoders: Vec<&str> = parts(decoder).into_iter().map(|part| kind(Some(part)).unwrap_or("of no type")).collect();
    if decoders.contains(&"ByteLevel") {
        return Ok(Spelling::ByteLevel);
    }
    let fallback = model.get("byte_fallback").and_then(Value::as_bool).unwrap_or(false);
    let known = ["Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"];
    if let Some(other) = decoders.iter().find(|kind| !known.contains(kind)) {
        bail!("the decoder `{other}` is not supported, wanted is ByteLevel, or {}", known.join(", "));
    }
    ensure!(fallback, "the tokenizer's model is neither byte-level nor has `byte_fallback`");
    let strips = decoders.iter().any(|kind| matches!(*kind, "Strip" | "Metaspace"));
    Ok(Spelling::Pieces { space: strips })
}

/// A token beside the model's vocabulary.
struct Added {
    id: u32,
    content: String,
    special: bool,
}

fn added(json: &Map<String, Value>) -> Result<Vec<Added>> {
    let all = json.get("added_tokens").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    all.iter()
        .map(|token| {
            let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            let content = token.get("content").and_then(Value::as_str);
            let special = token.get("special").and_then(Value::as_bool);
            let (Some(id), Some(content), Some(special)) = (id, content, special) else {
                bail!("an added token is {token}, wanted are `content`, `special` and `id`, which is {AN_ID}");
            };
            Ok(Added { id, content: content.to_owned(), special })
        })
        .collect()
}

/// What an id is.
const AN_ID: &str = "a whole number from 0 to 4294967295";
const BOTH: &str = "have both the id";
const EACH: &str = "wanted is an id for each";

/// All tokens by id, without holes.
fn vocabulary(model: &Map<String, Value>, added: &[Added]) -> Result<Vec<String>> {
    let vocabulary = model.get("vocab").and_then(Value::as_object).context("the tokenizer's model has no `vocab`")?;
    let mut by_id: BTreeMap<u32, &str> = BTreeMap::new();
    for (token, id) in vocabulary {
        let whole = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = whole.with_context(|| format!("the id of token `{token}` is {id}, wanted is {AN_ID}"))?;
        let other = by_id.insert(id, token);
        ensure!(other.is_none(), "tokens `{}` and `{token}` {BOTH} {id}, {EACH}", other.unwrap_or_default());
    }
    for Added { id, content, .. } in added {
        let first = vocabulary.get(content).and_then(Value::as_u64).filter(|&first| first != u64::from(*id));
        if let Some(first) = first {
            bail!("token `{content}` has the ids {first} and {id}, wanted is one");
        }
        let other = by_id.insert(*id, content).filter(|other| other != content);
        ensure!(other.is_none(), "tokens `{}` and `{content}` {BOTH} {id}, {EACH}", other.unwrap_or_default());
    }
    ensure!(!by_id.is_empty(), "the vocabulary is empty");
    if let Some((wanted, (&id, token))) = (0..).zip(&by_id).find(|(wanted, (id, _))| wanted != *id) {
        bail!("the vocabulary has no token {wanted}: the next one is {id}, `{token}`; wanted are all ids from 0 on");
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = by_id.values().find(|token| !names.insert(**token)) {
        bail!("token `{twice}` has two ids, wanted is one");
    }
    Ok(by_id.into_values().map(str::to_owned).collect())
}

/// What a merge is.
pub(super) const A_MERGE: &str = "wanted are two tokens with a space between, whose letters together are a token";

/// Both parts of a merge, and what it makes, are in the vocabulary. The crate takes that for granted.
fn check_merges(model: &Map<String, Value>) -> Result<()> {
    let merges = model.get("merges").and_then(Value::as_array).context("the tokenizer's model has no `merges`")?;
    let vocabulary = model.get("vocab").and_then(Value::as_object).context("the tokenizer's model has no `vocab`")?;
    let mut known = BTreeSet::new();
    for (rank, merge) in merges.iter().enumerate() {
        let check = || -> Result<(&str, &str)> {
            let pair = match merge {
                Value::String(merge) => merge.split_once(' '),
                Value::Array(pair) => match &pair[..] {
                    [Value::String(left), Value::String(right)] => Some((left.as_str(), right.as_str())),
                    _ => None,
                },
                _ => None,
            };
            let (left, right) = pair.context(A_MERGE)?;
            for token in [left, right, &format!("{left}{right}")] {
                ensure!(vocabulary.contains_key(token), "`{token}` is not in the vocabulary, {A_MERGE}");
            }
            Ok((left, right))
        };
        let pair = check().with_context(|| format!("merge {rank}, {merge}"))?;
        ensure!(known.insert(pair), "merge {rank}, {merge}, is there twice");
    }
    Ok(())
}

/// The tokens that a post-processor puts ahead of a text.
fn start(processor: &Value) -> Result<Vec<u32>> {
    let mut start = Vec::new();
    for part in parts(processor).into_iter().filter(|part| !part.is_null()) {
        match kind(Some(part)) {
            // Changes offsets only.
            Some("ByteLevel") => {}
            Some("TemplateProcessing") => {
                let single = part.get("single").and_then(Value::as_array).context("a template without `single`")?;
                let text = json!({"Sequence": {"id": "A", "type_id": 0}});
                let at = single.iter().position(|piece| *piece == text).context("a template without the text")?;
                ensure!(at + 1 == single.len(), "a template with tokens after the text is not supported: {part}");
                for piece in &single[..at] {
                    let name = piece.pointer("/SpecialToken/id").and_then(Value::as_str);
                    let ids = name.and_then(|name| part.get("special_tokens")?.get(name)?.get("ids")?.as_array());
                    let ids = ids.with_context(|| format!("a template has {piece}, wanted is a token with its ids"))?;
                    for id in ids {
                        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
                        start.push(id.with_context(|| format!("the ids of {piece} are no ids"))?);
                    }
                }
            }
            other => {
                let other = other.unwrap_or("of no type");
                bail!("the post-processor `{other}` is not supported, wanted is ByteLevel or TemplateProcessing");
            }
        }
    }
    Ok(start)
}

/// The byte of a token such as `<0x0A>`.
pub(super) fn byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}
