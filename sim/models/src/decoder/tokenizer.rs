//! From text to tokens and back: byte-pair encoding as a file describes it.
//!
//! The crate `tokenizers` splits, normalises and merges; it is compiled without its C library of regular expressions
//! and without network. `tiktoken-rs` has fixed vocabularies, and `bpe` has neither normalisation nor splitting. The
//! crate would panic on some descriptions, and ignore parts of others. So it sees a description only if all parts of
//! it are ones that are known here.

mod description;
mod forms;
mod ggml;
mod spelling;

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tokenizers::{NormalizedString, Normalizer};

use description::Description;
use spelling::Spelling;

/// The character for a space in vocabularies of `SentencePiece`.
const SPACE: char = '\u{2581}';

/// Maps text to tokens and back.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    spelling: Spelling,
    tokens: Vec<String>,
    ids: BTreeMap<String, u32>,
    /// Tokens that are spelt as they are: control tokens, and others that were added to the vocabulary.
    literal: Vec<bool>,
    control: Vec<bool>,
    /// Bytes that no token stands for.
    missing: Vec<u8>,
    /// The byte that a character of a token stands for.
    of_char: BTreeMap<char, u8>,
    start: Vec<u32>,
    ends: Vec<u32>,
}

impl Tokenizer {
    /// The tokenizer of a GGUF file: of the kinds `gpt2` and `llama`.
    ///
    /// # Errors
    /// The tokenizer is of another kind, or its vocabulary or list of merges contradicts itself.
    pub fn read(file: &crate::gguf::File) -> Result<Self> {
        super::tensors::located(file.path(), Description::of_gguf(file).and_then(Self::new))
    }

    /// The tokenizer of a folder: its `tokenizer.json`. The tokens that end a text are those of `generation_config.json`
    /// or `config.json`.
    ///
    /// # Errors
    /// A file is missing or damaged, the tokenizer is of another kind, or its vocabulary or list of merges contradicts
    /// itself.
    pub fn read_folder(folder: &std::path::Path) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let ends = description::ends(folder)?;
        super::tensors::located(&path, Description::of_folder(&path, ends).and_then(Self::new))
    }

    fn new(from: Description) -> Result<Self> {
        let Description { json, spelling, tokens, literal, control, start, ends } = from;
        for (what, ids) in [("begins", &start), ("ends", &ends)] {
            if let Some(id) = ids.iter().find(|&&id| id as usize >= tokens.len()) {
                bail!("a text {what} with token {id}; the vocabulary has {} tokens, from 0 on", tokens.len());
            }
        }
        let ids: BTreeMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
        let text = serde_json::to_vec(&json)?;
        let mut inner = tokenizers::Tokenizer::from_bytes(text).map_err(|e| anyhow!("{e}"))?;
        // What a text spells is never a control token.
        inner.set_encode_special_tokens(true);
        for (id, token) in (0..).zip(&tokens) {
            let found = inner.token_to_id(token);
            ensure!(
                found == Some(id),
                "token `{token}` is number {id} of the vocabulary, but {found:?} when it is loaded"
            );
        }
        let alphabet = alphabet();
        let spelt = |byte: u8| match spelling {
            Spelling::ByteLevel => alphabet[usize::from(byte)].to_string(),
            Spelling::Pieces { .. } => format!("<0x{byte:02X}>"),
        };
        let missing = (0..=255).filter(|&byte| !ids.contains_key(&spelt(byte))).collect();
        let of_char = (0..=255).zip(&alphabet).map(|(byte, &c)| (c, byte)).collect();
        Ok(Self { inner, spelling, tokens, ids, literal, control, missing, of_char, start, ends })
    }

    /// Tokens of a text. No token is added, and none of them is a control token, whatever the text spells.
    ///
    /// # Errors
    /// A byte that no token stands for.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        if !self.missing.is_empty() {
            self.check_bytes(text)?;
        }
        let encoding = self.inner.encode_fast(text, false).map_err(|e| anyhow!("{e}"))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Tokens of a text, after the tokens that the model expects at the beginning.
    ///
    /// # Errors
    /// The errors of [`Tokenizer::encode`].
    pub fn prompt(&self, text: &str) -> Result<Vec<u32>> {
        Ok([self.start.clone(), self.encode(text)?].concat())
    }

    /// A character or a byte of the text as the model sees it, which no token stands for.
    fn check_bytes(&self, text: &str) -> Result<()> {
        let mut seen = NormalizedString::from(text);
        if let Some(form) = self.inner.get_normalizer() {
            form.normalize(&mut seen).map_err(|e| anyhow!("{e}"))?;
        }
        for c in seen.get().chars() {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            let whole = self.spelling != Spelling::ByteLevel && self.ids.contains_key(&c.to_string());
            if let Some(byte) = bytes.iter().find(|byte| !whole && self.missing.contains(byte)) {
                bail!("{c:?}: the vocabulary has no token for byte {byte:#04x}");
            }
        }
        Ok(())
    }

    /// The control token with this name, such as `<|im_start|>`.
    ///
    /// # Errors
    /// There is no such control token.
    pub fn special(&self, name: &str) -> Result<u32> {
        match self.ids.get(name) {
            Some(&id) if self.control[id as usize] => Ok(id),
            _ => bail!("no control token is called `{name}`"),
        }
    }

    /// Whether the model has ended its text with this token.
    #[must_use]
    pub fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// What kind it is.
    #[must_use]
    pub fn about(&self) -> &'static str {
        match self.spelling {
            Spelling::ByteLevel => "byte-level BPE",
            Spelling::Pieces { .. } => "BPE of pieces, with tokens for single bytes",
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.tokens.len()
    }

    /// The bytes of a token; of a control token its name.
    ///
    /// # Errors
    /// No such token.
    pub fn bytes(&self, token: u32) -> Result<Vec<u8>> {
        let text = self.tokens.get(token as usize);
        let text = text.with_context(|| format!("token {token}; the vocabulary has {}", self.tokens.len()))?;
        if self.literal[token as usize] {
            return Ok(text.as_bytes().to_vec());
        }
        Ok(match self.spelling {
            Spelling::ByteLevel => {
                let bytes: Option<Vec<u8>> = text.chars().map(|c| self.of_char.get(&c).copied()).collect();
                bytes.unwrap_or_else(|| text.as_bytes().to_vec())
            }
            Spelling::Pieces { .. } => match description::byte(text) {
                Some(byte) => vec![byte],
                None => text.replace(SPACE, " ").into_bytes(),
            },
        })
    }

    /// Text of tokens that follow others. Bytes that are not UTF-8, such as half of a character, become U+FFFD.
    ///
    /// # Errors
    /// A token does not exist.
    pub fn decode_part(&self, tokens: &[u32]) -> Result<String> {
        let bytes = tokens.iter().map(|&t| self.bytes(t)).collect::<Result<Vec<_>>>()?.concat();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Text of tokens from its beginning, without the space that the tokenizer put there.
    ///
    /// # Errors
    /// A token does not exist.
    pub fn decode(&self, tokens: &[u32]) -> Result<String> {
        let text = self.decode_part(tokens)?;
        let added = self.spelling == Spelling::Pieces { space: true } && text.starts_with(' ');
        Ok(if added { text[1..].to_owned() } else { text })
    }
}

/// GPT-2's printable character for each byte: itself, or one from U+0100 on.
fn alphabet() -> Vec<char> {
    let shown = |b: u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut others = '\u{100}'..;
    (0..=255).map(|b: u8| if shown(b) { b.into() } else { others.next().unwrap_or(' ') }).collect()
}

#[cfg(test)]
mod tests;
