//! The tokenizer of a GGUF file in the form of `tokenizer.json`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::description::A_MERGE;
use super::spelling::Spelling;
use super::{Description, SPACE};
use crate::gguf::File;

/// Types of tokens.
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const ADDED: i64 = 4;

/// Words of Llama 3: contractions, letters with a sign ahead, up to three digits, signs, line ends, spaces.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Words of Qwen2: the same with single digits.
const QWEN_2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Keys that change nothing that is computed here: tokens of other tasks.
const HARMLESS: [&str; 13] = [
    "cls_token_id",
    "eom_token_id",
    "fim_mid_token_id",
    "fim_pad_token_id",
    "fim_pre_token_id",
    "fim_rep_token_id",
    "fim_sep_token_id",
    "fim_suf_token_id",
    "mask_token_id",
    "padding_token_id",
    "seperator_token_id",
    "token_type_count",
    "unknown_token_id",
];

const READ: [&str; 13] = [
    "model",
    "pre",
    "tokens",
    "token_type",
    "scores",
    "merges",
    "bos_token_id",
    "eos_token_id",
    "eot_token_id",
    "add_bos_token",
    "add_eos_token",
    "add_space_prefix",
    "add_sep_token",
];

fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

fn truth(file: &File, name: &str, otherwise: bool) -> Result<bool> {
    let key = key(name);
    Ok(if file.get(&key).is_some() { file.truth(&key)? } else { otherwise })
}

fn id(file: &File, name: &str) -> Result<Option<u32>> {
    let key = key(name);
    if file.get(&key).is_none() {
        return Ok(None);
    }
    let found = file.count(&key)?;
    Ok(Some(u32::try_from(found).with_context(|| format!("`{key}` is {found}, wanted is a token"))?))
}

impl Description {
    pub(in super::super) fn of_gguf(file: &File) -> Result<Self> {
        for name in file.keys().filter_map(|key| key.strip_prefix("tokenizer.")) {
            let known = name.strip_prefix("ggml.").is_some_and(|name| READ.contains(&name) || HARMLESS.contains(&name));
            let template = name == "chat_template" || name.starts_with("chat_template.") || name == "chat_templates";
            ensure!(known || template, "the key `tokenizer.{name}` is not supported");
        }
        for name in ["add_eos_token", "add_sep_token"] {
            ensure!(!truth(file, name, false)?, "`{}` is true, wanted is false", key(name));
        }
        let texts = file.texts(&key("tokens"))?;
        let types = file.integers(&key("token_type"))?;
        ensure!(types.len() == texts.len(), "{} types of {} tokens", types.len(), texts.len());
        let mut vocabulary = Map::new();
        for (id, token) in texts.iter().enumerate() {
            let twice = vocabulary.insert(token.clone(), id.into()).is_some();
            ensure!(!twice, "token {id}, `{token}`, is there twice");
        }
        let kind = file.text(&key("model"))?;
        let (json, spelling, adds) = match kind {
            "gpt2" => byte_level(file, vocabulary)?,
            "llama" => pieces(file, vocabulary, texts, types)?,
            other => bail!("`{}` is `{other}`, wanted is `gpt2` or `llama`", key("model")),
        };
        let of = |wanted: &[i64]| types.iter().map(|kind| wanted.contains(kind)).collect::<Vec<bool>>();
        let (literal, control) = (of(&[UNKNOWN, CONTROL, ADDED]), of(&[UNKNOWN, CONTROL]));
        let added = (0..texts.len()).filter(|&i| literal[i]).map(|i| {
            json!({"id": i, "content": texts[i], "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": control[i]})
        });
        let mut json = json;
        json["added_tokens"] = added.collect();
        let mut start = Vec::new();
        if truth(file, "add_bos_token", adds)? {
            start.push(id(file, "bos_token_id")?.context("there is no `tokenizer.ggml.bos_token_id`")?);
        }
        let ends: Vec<u32> = ["eos_token_id", "eot_token_id"]
            .map(|name| id(file, name))
            .into_iter()
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        Ok(Self { json, spelling, tokens: texts.to_vec(), literal, control, start, ends })
    }
}

/// GPT-2's kind: merges in order of rank, and a name for how words are split.
fn byte_level(file: &File, vocabulary: Map<String, Value>) -> Result<(Value, Spelling, bool)> {
    let words = |pattern: &str| {
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})
    };
    let plain = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let pre = file.text(&key("pre"))?;
    let (form, split, whole) = match pre {
        "gpt-2" => (Value::Null, plain, false),
        "smollm" => {
            let digits = json!({"type": "Digits", "individual_digits": true});
            (Value::Null, json!({"type": "Sequence", "pretokenizers": [digits, plain]}), false)
        }
        // A word that is a token needs no merges.
        "llama-bpe" => (Value::Null, words(LLAMA_3), true),
        "qwen2" => (json!({"type": "NFC"}), words(QWEN_2), false),
        other => bail!("`{}` is `{other}`, wanted is gpt-2, smollm, llama-bpe or qwen2", key("pre")),
    };
    let prefix = truth(file, "add_space_prefix", false)?;
    ensure!(!prefix, "`{}` is true, wanted is false", key("add_space_prefix"));
    let merges = file.texts(&key("merges"))?;
    let (mut pairs, mut ranks) = (Vec::new(), BTreeMap::new());
    for (rank, merge) in merges.iter().enumerate() {
        let parts = || -> Result<(&str, &str)> {
            let (left, right) = merge.split_once(' ').context(A_MERGE)?;
            for token in [left, right, &format!("{left}{right}")] {
                ensure!(vocabulary.contains_key(token), "`{token}` is not in the vocabulary, {A_MERGE}");
            }
            Ok((left, right))
        };
        let (left, right) = parts().with_context(|| format!("merge {rank}, `{merge}`"))?;
        ensure!(ranks.insert((left, right), rank).is_none(), "merge {rank}, `{merge}`, is there twice");
        pairs.push(json!([left, right]));
    }
    let json = json!({
        "version": "1.0",
        "normalizer": form,
        "pre_tokenizer": split,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "ignore_merges": whole, "vocab": vocabulary, "merges": pairs},
    });
    Ok((json, Spelling::ByteLevel, pre == "llama-bpe"))
}

/// `SentencePiece`'s kind: the two neighbours whose joined token has the best score are joined first.
fn pieces(
    file: &File,
    vocabulary: Map<String, Value>,
    texts: &[String],
    types: &[i64],
) -> Result<(Value, Spelling, bool)> {
    let scores = match file.get(&key("scores")) {
        Some(crate::gguf::Value::Floats(scores)) => scores,
        _ => bail!("there are no scores of tokens, `{}`", key("scores")),
    };
    ensure!(scores.len() == texts.len(), "{} scores of {} tokens", scores.len(), texts.len());
    if let Some(i) = scores.iter().position(|score| score.is_nan()) {
        bail!("the score of token {i}, `{}`, is NaN", texts[i]);
    }
    let pre = file.get(&key("pre")).is_none_or(|pre| *pre == crate::gguf::Value::Text("default".into()));
    ensure!(pre, "`{}` is not `default`", key("pre"));
    ensure!(file.get(&key("merges")).is_none(), "`{}` beside scores is not supported", key("merges"));
    for byte in 0..=255_u8 {
        let token = format!("<0x{byte:02X}>");
        ensure!(vocabulary.contains_key(&token), "the vocabulary has no token for byte {byte:#04x}, `{token}`");
    }
    // Each way to cut a token into two tokens is a merge. Of equal scores the longest left part goes first, as in
    // `transformers`.
    let ids: BTreeMap<&str, usize> =
        texts.iter().map(String::as_str).zip(0..).filter(|&(_, id)| types[id] == 1).collect();
    let mut merges = Vec::new();
    for (id, token) in texts.iter().enumerate().filter(|&(id, _)| types[id] == 1) {
        for (left, right) in token.char_indices().skip(1).map(|(at, _)| token.split_at(at)) {
            if let (Some(&a), Some(&b)) = (ids.get(left), ids.get(right)) {
                merges.push((scores[id], left.chars().count(), (id, a, b), [left, right]));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
    let pairs: Vec<Value> = merges.into_iter().map(|(.., pair)| json!(pair)).collect();
    let space = truth(file, "add_space_prefix", true)?;
    let text = SPACE.to_string();
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": text});
    let prepend = space.then(|| json!({"type": "Prepend", "prepend": text}));
    let changes: Vec<Value> = prepend.into_iter().chain([replace]).collect();
    let unknown = types.iter().position(|&kind| kind == UNKNOWN).map(|id| texts[id].as_str());
    let json = json!({
        "version": "1.0",
        "normalizer": {"type": "Sequence", "normalizers": changes},
        "decoder": {"type": "Fuse"},
        "model": {"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": unknown,
            "vocab": vocabulary, "merges": pairs},
    });
    Ok((json, Spelling::Pieces { space }, true))
}
