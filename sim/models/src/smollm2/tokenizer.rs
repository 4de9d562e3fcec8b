//! Byte-level BPE in the style of GPT-2 (Radford et al. 2019, section 2.2), from a file's vocabulary and merges.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use crate::gguf::File;

/// GPT-2's words. Its pattern for white space ends before the last one in front of a word, `\s+(?!\S)`; `words` does
/// that.
const WORD: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";

/// The type of a token that stands for no text, such as `<|im_end|>`.
const CONTROL: i64 = 3;

/// Maps text to tokens and back.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    tokens: Vec<String>,
    ids: BTreeMap<String, u32>,
    control: Vec<bool>,
    /// For two neighbours that can be joined: the rank of the pair (the lowest rank goes first), and the joined token.
    merges: BTreeMap<(u32, u32), (usize, u32)>,
    /// The token of each byte on its own; a vocabulary may lack some, as control characters.
    bytes: Vec<Option<u32>>,
    /// The byte that a character of a token stands for.
    of_char: BTreeMap<char, u8>,
    word: Regex,
    digit: Regex,
    end: u32,
}

impl Tokenizer {
    /// The tokenizer of a file.
    ///
    /// # Errors
    /// The tokenizer is of another kind, or its vocabulary or list of merges contradicts itself.
    pub fn read(file: &File) -> Result<Self> {
        for (key, wanted) in [("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", "smollm")] {
            let found = file.text(key)?;
            ensure!(found == wanted, "{}: `{key}` is `{found}`, wanted is `{wanted}`", file.path().display());
        }
        // A text would begin with a token or a space of its own.
        for key in ["tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix"] {
            ensure!(!file.truth(key)?, "{}: `{key}` is true, wanted is false", file.path().display());
        }
        let control: Vec<bool> = file.integers("tokenizer.ggml.token_type")?.iter().map(|&t| t == CONTROL).collect();
        let end = file.count("tokenizer.ggml.eos_token_id")?;
        let made = Self::new(file.texts("tokenizer.ggml.tokens")?, control, file.texts("tokenizer.ggml.merges")?, end);
        made.with_context(|| file.path().display().to_string())
    }

    fn new(tokens: &[String], control: Vec<bool>, merges: &[String], end: usize) -> Result<Self> {
        ensure!(control.len() == tokens.len(), "{} types of {} tokens", control.len(), tokens.len());
        ensure!(end < tokens.len(), "the end token is {end}, the vocabulary has {} tokens", tokens.len());
        let mut ids = BTreeMap::new();
        for (id, token) in (0_u32..).zip(tokens) {
            ensure!(ids.insert(token.clone(), id).is_none(), "token {id}, `{token}`, is there twice");
        }
        let id = |text: &str| ids.get(text).copied().with_context(|| format!("`{text}` is not in the vocabulary"));
        let alphabet = alphabet();
        let bytes = alphabet.iter().map(|c| id(&c.to_string()).ok()).collect();
        let mut pairs = BTreeMap::new();
        for (rank, merge) in merges.iter().enumerate() {
            let parts = || -> Result<_> {
                let (left, right) = merge.split_once(' ').context("wanted are two tokens with a space between")?;
                Ok(((id(left)?, id(right)?), id(&format!("{left}{right}"))?))
            };
            let (pair, joined) = parts().with_context(|| format!("merge {rank}, `{merge}`"))?;
            ensure!(pairs.insert(pair, (rank, joined)).is_none(), "merge {rank}, `{merge}`, is there twice");
        }
        let of_char = (0..=255).zip(&alphabet).map(|(byte, &c)| (c, byte)).collect();
        Ok(Self {
            tokens: tokens.to_vec(),
            ids,
            control,
            merges: pairs,
            bytes,
            of_char,
            word: Regex::new(WORD)?,
            digit: Regex::new(r"\p{N}")?,
            end: end as u32,
        })
    }

    /// Tokens of a text. No token is added, and none of them is a control token, whatever the text spells.
    ///
    /// # Errors
    /// A byte that no token stands for.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.words(text).into_iter().map(|word| self.merge(word)).collect::<Result<Vec<_>>>()?.concat())
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

    /// The token at which the model has ended its text.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The bytes of a token; of a control token its name.
    ///
    /// # Errors
    /// No such token.
    pub fn bytes(&self, token: u32) -> Result<Vec<u8>> {
        let text = self.tokens.get(token as usize);
        let text = text.with_context(|| format!("token {token}; the vocabulary has {}", self.tokens.len()))?;
        let bytes: Option<Vec<u8>> = text.chars().map(|c| self.of_char.get(&c).copied()).collect();
        Ok(if self.control[token as usize] {
            text.as_bytes().to_vec()
        } else {
            bytes.unwrap_or_else(|| text.as_bytes().to_vec())
        })
    }

    /// Text of tokens. Bytes that are not UTF-8, such as half of a character, become U+FFFD.
    ///
    /// # Errors
    /// A token does not exist.
    pub fn decode(&self, tokens: &[u32]) -> Result<String> {
        let bytes = tokens.iter().map(|&t| self.bytes(t)).collect::<Result<Vec<_>>>()?.concat();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Words, each of which is merged on its own: first every digit, then GPT-2's words between the digits.
    fn words<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let (mut words, mut from) = (Vec::new(), 0);
        for digit in self.digit.find_iter(text) {
            self.words_between(&text[from..digit.start()], &mut words);
            words.push(digit.as_str());
            from = digit.end();
        }
        self.words_between(&text[from..], &mut words);
        words
    }

    fn words_between<'a>(&self, text: &'a str, words: &mut Vec<&'a str>) {
        let mut at = 0;
        while let Some(found) = self.word.find_at(text, at) {
            let word = found.as_str();
            // White space before a word leaves its last character to the word.
            let last = word.chars().next_back().map_or(0, char::len_utf8);
            let is_space = word.chars().all(char::is_whitespace);
            let end = if is_space && found.end() < text.len() && word.len() > last {
                found.end() - last
            } else {
                found.end()
            };
            words.push(&text[at..end]);
            at = end;
        }
    }

    /// Tokens of a word: the pair with the lowest rank is joined, until no pair of the word has a rank.
    fn merge(&self, word: &str) -> Result<Vec<u32>> {
        let token = |b: u8| {
            self.bytes[usize::from(b)]
                .with_context(|| format!("{word:?}: the vocabulary has no token for byte {b:#04x}"))
        };
        let mut parts = word.bytes().map(token).collect::<Result<Vec<u32>>>()?;
        loop {
            let best =
                parts.windows(2).filter_map(|p| self.merges.get(&(p[0], p[1])).map(|m| (m.0, m.1, [p[0], p[1]]))).min();
            let Some((_, joined, pair)) = best else { return Ok(parts) };
            let mut i = 0;
            while i + 1 < parts.len() {
                if parts[i..i + 2] == pair {
                    parts.splice(i..i + 2, [joined]);
                }
                i += 1;
            }
        }
    }
}

/// GPT-2's printable character for each byte: itself, or one from U+0100 on.
fn alphabet() -> Vec<char> {
    let shown = |b: u8| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut others = '\u{100}'..;
    (0..=255).map(|b: u8| if shown(b) { b.into() } else { others.next().unwrap_or(' ') }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on their own, a few words, and a control token.
    fn small() -> (Vec<String>, Vec<bool>, Vec<String>) {
        let mut tokens = vec!["<|end|>".to_owned()];
        tokens.extend(alphabet().iter().map(char::to_string));
        let merges = ["h e", "l l", "he ll", "hell o", "Ġ hello", "o o"].map(str::to_owned).to_vec();
        tokens.extend(merges.iter().map(|m| m.replace(' ', "")));
        let mut control = vec![false; tokens.len()];
        control[0] = true;
        (tokens, control, merges)
    }

    fn tokenizer() -> Tokenizer {
        let (tokens, control, merges) = small();
        Tokenizer::new(&tokens, control, &merges, 0).unwrap()
    }

    #[test]
    fn words_as_in_gpt_2() {
        let t = tokenizer();
        let cases: [(&str, &[&str]); 8] = [
            ("It's what we'll do", &["It", "'s", " what", " we", "'ll", " do"]),
            ("a  b", &["a", " ", " b"]),
            ("a\n\n b  ", &["a", "\n\n", " b", "  "]),
            ("a\n\nb", &["a", "\n", "\n", "b"]),
            ("in 1813, \"x\"", &["in", " ", "1", "8", "1", "3", ",", " \"", "x", "\""]),
            ("Ünïcode Ⅷ²漢字", &["Ünïcode", " ", "Ⅷ", "²", "漢字"]),
            (" \u{a0}x", &[" ", "\u{a0}", "x"]),
            ("", &[]),
        ];
        for (text, words) in cases {
            assert_eq!(t.words(text), words, "{text:?}");
        }
    }

    #[test]
    fn merges_by_rank_and_back() {
        let t = tokenizer();
        let text = |ids: &[u32]| ids.iter().map(|&id| t.tokens[id as usize].clone()).collect::<Vec<_>>();
        assert_eq!(text(&t.encode("hello hello").unwrap()), ["hello", "Ġhello"]);
        // Three equal letters: the first two are joined.
        assert_eq!(text(&t.encode("ooo").unwrap()), ["oo", "o"]);
        assert_eq!(text(&t.encode("hel").unwrap()), ["he", "l"]);
        // What a text spells is never a control token.
        assert_eq!(t.encode("<|end|>").unwrap().len(), 7);
        for sample in ["hello hello", "ß漢\u{7f}\0\r\n", "a\u{a0}b"] {
            assert_eq!(t.decode(&t.encode(sample).unwrap()).unwrap(), sample);
        }
        assert_eq!(t.decode(&[0]).unwrap(), "<|end|>");
        assert_eq!((t.special("<|end|>").unwrap(), t.end()), (0, 0));
        assert!(t.special("hello").is_err() && t.special("none").is_err());
        assert!(t.decode(&[9999]).unwrap_err().to_string().contains("token 9999; the vocabulary has"));
    }

    #[test]
    fn what_is_refused() {
        let (tokens, control, merges) = small();
        let refused = |tokens: &[String], control: &[bool], merges: &[&str], end, part: &str| {
            let merges: Vec<String> = merges.iter().map(|&m| m.to_owned()).collect();
            let error = format!("{:#}", Tokenizer::new(tokens, control.to_vec(), &merges, end).unwrap_err());
            assert!(error.contains(part), "{error}");
        };
        assert!(!merges.is_empty());
        refused(&tokens, &control[1..], &[], 0, "types of");
        refused(&tokens, &control, &[], 9999, "the end token is 9999");
        refused(&tokens, &control, &["he"], 0, "merge 0, `he`: wanted are two tokens");
        refused(&tokens, &control, &["h x"], 0, "merge 0, `h x`: `hx` is not in the vocabulary");
        refused(&tokens, &control, &["h e", "h e"], 0, "merge 1, `h e`, is there twice");
        let twice = [&tokens[..], &tokens[..1]].concat();
        let few = Tokenizer::new(&tokens[..9], control[..9].to_vec(), &[], 0).unwrap();
        let error = few.encode("\u{3} z").unwrap_err().to_string();
        assert!(error.contains("the vocabulary has no token for byte 0x20"), "{error}");
        refused(&twice, &vec![false; twice.len()], &[], 0, "`<|end|>`, is there twice");
    }
}
