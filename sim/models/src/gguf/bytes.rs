//! Little-endian values one after the other, never beyond the file's end.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use sim::{Error, Result};

/// Reads from the file's beginning, and counts the bytes.
pub(super) struct Bytes<'a> {
    path: PathBuf,
    from: BufReader<&'a File>,
    at: u64,
    length: u64,
}

impl<'a> Bytes<'a> {
    /// A file of `length` bytes, at its beginning.
    pub(super) fn new(path: &Path, file: &'a File, length: u64) -> Self {
        Self { path: path.to_owned(), from: BufReader::new(file), at: 0, length }
    }

    /// Bytes that were read so far.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// An error at the place that was read last.
    pub(super) fn bad(&self, problem: &str) -> Error {
        Error::Data { path: self.path.clone(), problem: format!("{problem} (before byte {})", self.at) }
    }

    /// A count of `what`, which have at least `least` bytes each. The rest of the file must have room for them.
    pub(super) fn count(&mut self, what: &str, least: u64) -> Result<usize> {
        let count = self.u64(what)?;
        let left = self.length - self.at;
        if count.checked_mul(least).is_none_or(|bytes| bytes > left) {
            return Err(self.bad(&format!("says {count} {what}, but only {left} bytes follow: truncated or damaged")));
        }
        usize::try_from(count).map_err(|_| self.bad(&format!("says {count} {what}, too many for this machine")))
    }

    /// A text: its length in bytes, then UTF-8.
    pub(super) fn text(&mut self, what: &str) -> Result<String> {
        let mut bytes = vec![0; self.count(&format!("bytes of {what}"), 1)?];
        self.fill(&mut bytes, what)?;
        String::from_utf8(bytes).map_err(|_| self.bad(&format!("{what} is not UTF-8")))
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<()> {
        let left = self.length - self.at;
        if bytes.len() as u64 > left {
            return Err(
                self.bad(&format!("{what} should follow, but the file ends after {left} more bytes: truncated"))
            );
        }
        self.from.read_exact(bytes).map_err(|source| Error::Io { path: self.path.clone(), source })?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}
