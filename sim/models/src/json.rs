//! JSON of files that are not trusted: no name twice, and no key that nobody asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use sim::{Error, Result};

/// Sizes of a model that are read.
pub(crate) const SIZES: RangeInclusive<usize> = 1..=(1 << 30) - 1;

/// A value in which no object has a name twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(Any).map(Self)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON value")
    }

    fn visit_bool<E>(self, x: bool) -> std::result::Result<Value, E> {
        Ok(x.into())
    }

    fn visit_i64<E>(self, x: i64) -> std::result::Result<Value, E> {
        Ok(x.into())
    }

    fn visit_u64<E>(self, x: u64) -> std::result::Result<Value, E> {
        Ok(x.into())
    }

    fn visit_f64<E>(self, x: f64) -> std::result::Result<Value, E> {
        Ok(x.into())
    }

    fn visit_str<E>(self, x: &str) -> std::result::Result<Value, E> {
        Ok(x.into())
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> std::result::Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(value)) = from.next_element()? {
            all.push(value);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> std::result::Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Unique(value))) = from.next_entry::<String, Unique>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is there twice")));
            }
            all.insert(name, value);
        }
        Ok(all.into())
    }
}

/// Parses an object; `what` is its name in messages, and `path` the file that it comes from.
///
/// # Errors
/// It is no JSON, no object, or has a name twice.
pub(crate) fn object(path: &Path, bytes: &[u8], what: &str) -> Result<Map<String, Value>> {
    let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
    match serde_json::from_slice(bytes).map_err(|e| bad(format!("{what} is no JSON: {e}")))? {
        Unique(Value::Object(all)) => Ok(all),
        Unique(_) => Err(bad(format!("{what} is no JSON object"))),
    }
}

/// The keys of an object, each read once. `null` counts as absent.
pub(crate) struct Keys<'a> {
    path: PathBuf,
    what: String,
    all: &'a Map<String, Value>,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(path: &Path, what: &str, all: &'a Map<String, Value>) -> Self {
        Self { path: path.to_owned(), what: what.to_owned(), all, read: RefCell::default() }
    }

    /// The keys of an object that is the value of `key`.
    pub(crate) fn inner(&self, key: &str, all: &'a Map<String, Value>) -> Self {
        Self::new(&self.path, &format!("{}`{key}`: ", self.what), all)
    }

    pub(crate) fn bad(&self, problem: impl fmt::Display) -> Error {
        Error::Data { path: self.path.clone(), problem: format!("{}{problem}", self.what) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(key.to_owned());
        self.all.get(key).filter(|value| !value.is_null())
    }

    fn of<T>(&self, key: &str, wanted: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.bad(format!("`{key}` is {value}, wanted is {wanted}")))
    }

    /// A key that must be there.
    pub(crate) fn needed<T>(&self, key: &str, found: Result<Option<T>>) -> Result<T> {
        found?.ok_or_else(|| self.bad(format!("there is no `{key}`")))
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>> {
        self.of(key, "a number of things", |value| value.as_u64().and_then(|n| usize::try_from(n).ok()))
    }

    /// A size of a model. Products of two of them are sizes of matrices.
    pub(crate) fn size(&self, key: &str) -> Result<Option<usize>> {
        let size = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| SIZES.contains(n));
        self.of(key, &format!("a number from {} to {}", SIZES.start(), SIZES.end()), size)
    }

    pub(crate) fn float(&self, key: &str) -> Result<Option<f64>> {
        self.of(key, "a number", Value::as_f64)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.of(key, "a text", Value::as_str)
    }

    pub(crate) fn truth(&self, key: &str) -> Result<Option<bool>> {
        self.of(key, "true or false", Value::as_bool)
    }

    pub(crate) fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>> {
        self.of(key, "an object", Value::as_object)
    }

    /// A key that may have one value only.
    pub(crate) fn only(&self, key: &str, wanted: &Value) -> Result<()> {
        match self.get(key) {
            Some(found) if found != wanted && (found.as_f64().is_none() || found.as_f64() != wanted.as_f64()) => {
                Err(self.bad(format!("`{key}` is {found}, which is not supported; wanted is {wanted}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses keys that were not read and are not among `harmless`.
    pub(crate) fn finish(&self, harmless: &[&str]) -> Result<()> {
        let read = self.read.borrow();
        let unknown = self
            .all
            .iter()
            .find(|(key, value)| !read.contains(*key) && !harmless.contains(&key.as_str()) && !value.is_null());
        match unknown {
            Some((key, value)) => {
                let value: String = value.to_string().chars().take(60).collect();
                Err(self.bad(format!("`{key}` is {value}, and this key is not supported")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        object(Path::new("x.json"), text.as_bytes(), "the list").unwrap_err().to_string()
    }

    #[test]
    fn names_are_there_once() {
        let path = Path::new("x.json");
        let all = object(path, br#"{"a": [1, -2, 0.5, "b", true, null], "c": {"a": 1}}"#, "").unwrap();
        assert_eq!(Value::Object(all), serde_json::json!({"a": [1, -2, 0.5, "b", true, null], "c": {"a": 1}}));
        assert!(refused(r#"{"a": 1, "a": 1}"#).contains("x.json: the list is no JSON: `a` is there twice"));
        assert!(refused(r#"{"b": [{"a": 1, "a": 2}]}"#).contains("`a` is there twice at line 1 column"));
        assert!(refused("[]").contains("the list is no JSON object"));
        assert!(refused("{").contains("no JSON"));
        assert!(refused(&"[".repeat(100_000)).contains("recursion limit"));
    }

    #[test]
    fn keys_that_nobody_asked_for() {
        let all = object(Path::new("x.json"), br#"{"n": 3, "t": "x", "none": null, "odd": [1]}"#, "").unwrap();
        let keys = Keys::new(Path::new("x.json"), "config: ", &all);
        assert_eq!((keys.count("n").unwrap(), keys.text("t").unwrap()), (Some(3), Some("x")));
        assert_eq!(keys.float("none").unwrap(), None);
        assert!(keys.truth("n").unwrap_err().to_string().contains("config: `n` is 3, wanted is true or false"));
        assert!(keys.needed("m", keys.count("m")).unwrap_err().to_string().contains("there is no `m`"));
        keys.only("n", &3.0.into()).unwrap();
        assert!(keys.only("t", &"y".into()).unwrap_err().to_string().contains("wanted is \"y\""));
        assert!(keys.finish(&[]).unwrap_err().to_string().contains("`odd` is [1], and this key is not supported"));
        keys.finish(&["odd"]).unwrap();
    }
}
