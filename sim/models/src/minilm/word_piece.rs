//! WordPiece as in BERT (Devlin et al. 2019). Text becomes lower case, and is cut into words and punctuation. A word is
//! cut from its beginning into the longest pieces.

use std::collections::BTreeMap;
use std::path::Path;

use sim::{Error, Result};

/// Longer words are unknown.
const LONGEST: usize = 100;

/// Pieces and their numbers.
#[derive(Clone, Debug)]
pub struct WordPiece {
    ids: BTreeMap<String, u32>,
    /// The tokens that begin a text, end a text, and replace a word without pieces.
    marks: [u32; 3],
}

impl WordPiece {
    /// A vocabulary, a piece a line; `path` is for messages.
    ///
    /// # Errors
    /// The bytes are not UTF-8, or a mark is missing.
    pub fn new(path: &Path, bytes: &[u8]) -> Result<Self> {
        let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
        let text = std::str::from_utf8(bytes).map_err(|_| bad("the vocabulary is not UTF-8".into()))?;
        let ids: BTreeMap<String, u32> = text.lines().map(str::to_owned).zip(0..).collect();
        let mark = |name: &str| ids.get(name).copied().ok_or_else(|| bad(format!("the vocabulary has no `{name}`")));
        let marks = [mark("[CLS]")?, mark("[SEP]")?, mark("[UNK]")?];
        Ok(Self { ids, marks })
    }

    /// Numbers of an ASCII text, between the marks of its beginning and its end.
    ///
    /// # Errors
    /// There is a character beyond ASCII.
    pub fn encode(&self, text: &str) -> anyhow::Result<Vec<u32>> {
        let other = text.chars().find(|c| !c.is_ascii());
        anyhow::ensure!(other.is_none(), "{other:?} in a text; wanted is ASCII");
        let mut ids = vec![self.marks[0]];
        for part in text.to_ascii_lowercase().split_ascii_whitespace() {
            for word in part.split_inclusive(|c: char| c.is_ascii_punctuation()) {
                let (word, mark) =
                    word.split_at(word.len() - usize::from(word.ends_with(|c: char| c.is_ascii_punctuation())));
                self.word(word, &mut ids);
                self.word(mark, &mut ids);
            }
        }
        ids.push(self.marks[1]);
        Ok(ids)
    }

    fn word(&self, word: &str, ids: &mut Vec<u32>) {
        let (before, mut from) = (ids.len(), 0);
        while from < word.len() {
            let longest = (from + 1..=word.len()).rev().find_map(|to| {
                let piece = if from == 0 { word[..to].to_owned() } else { format!("##{}", &word[from..to]) };
                Some((to, *self.ids.get(&piece)?))
            });
            match longest.filter(|_| word.len() <= LONGEST) {
                Some((to, id)) => {
                    ids.push(id);
                    from = to;
                }
                None => {
                    ids.truncate(before);
                    ids.push(self.marks[2]);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_their_longest_pieces() {
        let vocabulary = "[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\nit\n'\ns\n!\n##a\n";
        let pieces = WordPiece::new(Path::new("x"), vocabulary.as_bytes()).unwrap();
        assert_eq!(pieces.encode("Unaffable  it's!").unwrap(), [1, 3, 4, 5, 6, 7, 8, 9, 2]);
        assert_eq!(pieces.encode("unx una !!").unwrap(), [1, 0, 3, 10, 9, 9, 2]);
        assert_eq!(pieces.encode("").unwrap(), [1, 2]);
        assert_eq!(pieces.encode(&"un".repeat(51)).unwrap(), [1, 0, 2]);
        assert!(pieces.encode("caf\u{e9}").unwrap_err().to_string().contains("wanted is ASCII"));
        let missing = WordPiece::new(Path::new("x"), b"[CLS]\n[SEP]\n").unwrap_err().to_string();
        assert!(missing.contains("no `[UNK]`"), "{missing}");
    }
}
