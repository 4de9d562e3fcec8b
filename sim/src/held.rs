//! Folders of kept results: their size, cleaning, and the user's limit.

use std::time::SystemTime;

use crate::{Error, Result};

/// The content of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Held {
    /// Results, or finished builds.
    pub entries: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

impl Held {
    /// Adds a result.
    pub fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
    }
}

/// The result of a cleaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Left {
    /// Results that were removed.
    pub removed: Held,
    /// Results that stayed, because they were used last or are in use.
    pub kept: Held,
}

/// A result that may be removed.
#[derive(Clone, Debug)]
pub struct Aged<T> {
    /// What it is.
    pub what: T,
    /// Bytes of its files.
    pub bytes: u64,
    /// When it was used last.
    pub used: SystemTime,
}

/// Removes the results that were not used for the longest time, until at most `most` bytes remain. `remove` returns
/// false for a result that must stay.
///
/// # Errors
/// `remove` fails.
pub fn keep_newest<T, E>(
    mut all: Vec<Aged<T>>,
    most: u64,
    mut remove: impl FnMut(&Aged<T>) -> std::result::Result<bool, E>,
) -> std::result::Result<Left, E> {
    all.sort_by_key(|entry| entry.used);
    let (mut left, mut bytes) = (Left::default(), all.iter().map(|entry| entry.bytes).sum::<u64>());
    for entry in all {
        if bytes > most && remove(&entry)? {
            bytes -= entry.bytes;
            left.removed.add(entry.bytes);
        } else {
            left.kept.add(entry.bytes);
        }
    }
    Ok(left)
}

/// Bytes of a MiB.
pub const MIB: u64 = 1 << 20;

/// The limit in MiB that the environment variable `name` holds, in bytes; none if it is not set or empty.
///
/// # Errors
/// The variable has another value.
pub fn limit(name: &'static str) -> Result<Option<u64>> {
    read(name, std::env::var_os(name).map(|text| text.to_string_lossy().into_owned()).as_deref())
}

fn read(name: &'static str, text: Option<&str>) -> Result<Option<u64>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let number = text.parse::<u64>().ok().and_then(|number| number.checked_mul(MIB));
    let problem = || Error::Setting { name, problem: format!("`{text}` is no number of MiB, for example 2000") };
    number.map(Some).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_longest_unused_go_first() {
        let at =
            |second, bytes| Aged { what: second, bytes, used: SystemTime::UNIX_EPOCH + Duration::from_secs(second) };
        let all = vec![at(3, 10), at(1, 10), at(2, 10), at(4, 10)];
        let mut gone = Vec::new();
        let left = keep_newest(all, 15, |entry| {
            gone.push(entry.what);
            // This one is in use.
            Ok::<_, Error>(entry.what != 2)
        });
        assert_eq!(gone, [1, 2, 3, 4]);
        assert_eq!(
            left.unwrap(),
            Left { removed: Held { entries: 3, bytes: 30 }, kept: Held { entries: 1, bytes: 10 } }
        );
    }

    #[test]
    fn limits_are_numbers_of_mib() {
        assert_eq!(read("LIMIT", None).unwrap(), None);
        assert_eq!(read("LIMIT", Some("")).unwrap(), None);
        assert_eq!(read("LIMIT", Some("3")).unwrap(), Some(3 << 20));
        for wrong in ["3GB", "-1", "1.5", "99999999999999"] {
            let error = read("LIMIT", Some(wrong)).unwrap_err().to_string();
            assert_eq!(error, format!("LIMIT: `{wrong}` is no number of MiB, for example 2000"));
        }
    }
}
