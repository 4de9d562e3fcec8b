//! Contents of a memory as files: raw bytes, and the text of Verilog's `$readmemh`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Memory;
use crate::{Error, Result};

/// Bytes on one line of a written text.
const LINE: usize = 32;

impl Memory {
    /// Stores a file of raw bytes from `address` on. Returns their number.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read.
    pub fn load_raw_file(&mut self, path: &Path, address: u64) -> Result<usize> {
        let bytes = fs::read(path).map_err(Error::io(path))?;
        self.store(address, &bytes);
        Ok(bytes.len())
    }

    /// Writes `count` bytes from `address` on to a file.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    pub fn save_raw_file(&self, path: &Path, address: u64, count: usize) -> Result<()> {
        save(path, &self.bytes(address, count))
    }

    /// Stores the words of a `$readmemh` file: little-endian words of `word` bytes, number n at `address + n * word`.
    /// The file may have comments, `_` in numbers, and `@n` to go on with word n. Nothing is stored when it is wrong.
    ///
    /// # Errors
    /// [`Error::Data`] with line and reason, [`Error::Io`] when it cannot be read.
    ///
    /// # Panics
    /// When `word` is 0.
    pub fn load_hex_file(&mut self, path: &Path, address: u64, word: usize) -> Result<usize> {
        assert!(word > 0, "a word has at least one byte");
        let text = fs::read(path).map_err(Error::io(path))?;
        let text = String::from_utf8(text).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            Error::Data { path: path.to_owned(), problem: format!("line {line}: not text: a raw image?") }
        })?;
        let words = parse(&text, word).map_err(|(line, problem)| Error::Data {
            path: path.to_owned(),
            problem: format!("line {line}: {problem}"),
        })?;
        for (number, bytes) in &words {
            self.store(address.wrapping_add(number.wrapping_mul(word as u64)), bytes);
        }
        Ok(words.len())
    }

    /// Writes `count` words of `word` bytes from word `first` on, as [`Memory::load_hex_file`] reads them with the same
    /// `address`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be written.
    ///
    /// # Panics
    /// When `word` is 0.
    pub fn save_hex_file(&self, path: &Path, address: u64, word: usize, first: u64, count: usize) -> Result<()> {
        assert!(word > 0, "a word has at least one byte");
        let mut text = format!("@{first:x}\n");
        let bytes = self.bytes(address.wrapping_add(first.wrapping_mul(word as u64)), count * word);
        for line in bytes.chunks((LINE / word).max(1) * word) {
            for (i, bytes) in line.chunks(word).enumerate() {
                text.push_str(if i == 0 { "" } else { " " });
                bytes.iter().rev().for_each(|byte| write!(text, "{byte:02x}").unwrap_or_default());
            }
            text.push('\n');
        }
        save(path, text.as_bytes())
    }
}

/// Writes a temporary file next to the place and renames it, so that half a file is never there.
fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(Error::io(path))?;
    std::io::Write::write_all(&mut file, bytes).map_err(Error::io(path))?;
    file.persist(path).map_err(|error| Error::Io { path: path.to_owned(), source: error.error })?;
    Ok(())
}

type Wrong = (usize, String);

/// Numbers of words, and their bytes.
fn parse(text: &str, word: usize) -> Result<Vec<(u64, Vec<u8>)>, Wrong> {
    let mut words = Vec::new();
    let mut number = 0_u64;
    for (line, token) in tokens(text)? {
        if let Some(address) = token.strip_prefix('@') {
            let digits: String = address.chars().filter(|&c| c != '_').collect();
            number = u64::from_str_radix(&digits, 16)
                .map_err(|_| (line, format!("`{token}` is not an address: `@` and up to 16 hexadecimal digits")))?;
            continue;
        }
        let bytes = bytes_of(token, word).map_err(|problem| (line, problem))?;
        words.push((number, bytes));
        number = number.wrapping_add(1);
    }
    Ok(words)
}

/// A hexadecimal number as little-endian bytes.
fn bytes_of(token: &str, word: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; word];
    for (i, digit) in token.chars().rev().filter(|&c| c != '_').enumerate() {
        let Some(value) = digit.to_digit(16) else {
            let unknown = if "xXzZ".contains(digit) { ": a memory has no unknown values" } else { "" };
            return Err(format!("`{token}` is not a hexadecimal number{unknown}"));
        };
        match bytes.get_mut(i / 2) {
            Some(byte) => *byte |= (value as u8) << (4 * (i % 2)),
            None if value == 0 => {}
            None => return Err(format!("`{token}` does not fit a word of {word} bytes")),
        }
    }
    Ok(bytes)
}

/// The text between spaces and comments, with its line.
fn tokens(text: &str) -> Result<Vec<(usize, &str)>, Wrong> {
    let mut tokens = Vec::new();
    let mut comment = None;
    for (i, whole) in text.lines().enumerate() {
        let (line, mut rest) = (i + 1, whole);
        loop {
            if comment.is_some() {
                let Some(end) = rest.find("*/") else { break };
                (comment, rest) = (None, &rest[end + 2..]);
            }
            let start = rest.find("//").into_iter().chain(rest.find("/*")).min().unwrap_or(rest.len());
            tokens.extend(rest[..start].split_whitespace().map(|token| (line, token)));
            if !rest[start..].starts_with("/*") {
                break;
            }
            (comment, rest) = (Some(line), &rest[start + 2..]);
        }
    }
    match comment {
        None => Ok(tokens),
        Some(line) => Err((line, "the comment that begins here does not end".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load(text: &[u8], word: usize) -> Result<Memory> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.hex");
        fs::write(&path, text).unwrap();
        let mut memory = Memory::new();
        memory.load_hex_file(&path, 0x100, word).map(|_| memory)
    }

    #[test]
    fn text_is_that_of_readmemh() {
        let text = "// words\n12 3_4 /* two\n lines */ 56\n@10 ff/**/7 // end\n@2\nABCD";
        let memory = load(text.as_bytes(), 2).unwrap();
        assert_eq!(memory.bytes(0x100, 6), [0x12, 0, 0x34, 0, 0xcd, 0xab]);
        assert_eq!(memory.bytes(0x120, 4), [0xff, 0, 7, 0]);
        assert_eq!(load(b"0000_0001", 1).unwrap().bytes(0x100, 1), [1]);
    }

    #[test]
    fn wrong_texts_name_file_line_and_reason() {
        for (text, problem) in [
            ("00\n1x\n", "line 2: `1x` is not a hexadecimal number: a memory has no unknown values"),
            ("00 0q", "line 1: `0q` is not a hexadecimal number"),
            ("\n\n100", "line 3: `100` does not fit a word of 1 bytes"),
            ("@\n00", "line 1: `@` is not an address"),
            ("00\n@11112222333344445\n", "line 2: `@11112222333344445` is not an address"),
            ("00\n/* a\n b", "line 2: the comment that begins here does not end"),
        ] {
            let error = load(text.as_bytes(), 1).map(drop).unwrap_err().to_string();
            assert!(error.contains("image.hex: ") && error.contains(problem), "{error}");
        }
        let error = load(b"00\n01\xff\n", 1).map(drop).unwrap_err().to_string();
        assert!(error.contains("line 2: not text"), "{error}");
        let missing = Memory::new().load_raw_file(Path::new("/no/such/file"), 0).unwrap_err().to_string();
        assert!(missing.starts_with("/no/such/file: "), "{missing}");
        let missing = Memory::new().save_raw_file(Path::new("/no/such/file"), 0, 1).unwrap_err().to_string();
        assert!(missing.starts_with("/no/such/file: "), "{missing}");
    }

    #[test]
    fn nothing_is_stored_of_a_wrong_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.hex");
        fs::write(&path, "11 22\nxx").unwrap();
        let mut memory = Memory::new();
        memory.load_hex_file(&path, 0, 1).unwrap_err();
        assert_eq!(memory.bytes(0, 2), [0, 0]);
    }

    proptest! {
        #![proptest_config(seeds::proptest(64))]

        #[test]
        fn images_round_trip(
            bytes in prop::collection::vec(any::<u8>(), 1..300),
            word in prop::sample::select(vec![1_usize, 2, 4, 8, 16, 64]),
            address: u64,
            first in 0_u64..1000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let (raw, hex) = (folder.path().join("raw"), folder.path().join("hex"));
            let at = address.wrapping_add(first * word as u64);
            let mut memory = Memory::new();
            memory.store(at, &bytes);
            let words = bytes.len().div_ceil(word);
            memory.save_raw_file(&raw, at, bytes.len()).unwrap();
            memory.save_hex_file(&hex, address, word, first, words).unwrap();
            let (mut one, mut two) = (Memory::new(), Memory::new());
            prop_assert_eq!(one.load_raw_file(&raw, at).unwrap(), bytes.len());
            prop_assert_eq!(two.load_hex_file(&hex, address, word).unwrap(), words);
            prop_assert_eq!(&one.bytes(at, bytes.len()), &bytes);
            prop_assert_eq!(&two.bytes(at, bytes.len()), &bytes);
        }
    }
}
