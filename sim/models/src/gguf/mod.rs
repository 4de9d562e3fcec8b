//! Reader of GGUF files, version 3: metadata by key, tensors by name, dequantized to `f32`.
//!
//! The file is not trusted. Counts, lengths and offsets are compared with the size of the file before anything is
//! allocated or read. An error names the place in the file.
//!
//! The reader is our own: `gguf` and `gguf-rs` read keys and a list but no tensors, and `candle-core` depends on a
//! framework. [`ElementType`] lists the element types that it reads.

mod bytes;
mod elements;
mod header;
mod shape;
mod tensor;
#[cfg(test)]
pub(crate) mod tests;
mod value;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sim::{Error, Result};

pub use elements::{ElementType, Elements};
use header::Header;
pub(crate) use shape::by;
use tensor::Place;
pub use tensor::Tensor;
pub use value::Value;

/// An open file: its metadata, and where its tensors are.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: fs::File,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, Place>,
}

impl File {
    /// Opens a file and reads all of it except the tensors' elements.
    ///
    /// # Errors
    /// The file is missing, not a regular file, not GGUF of version 3, truncated, or contradicts itself.
    pub fn open(path: &Path) -> Result<Self> {
        let Header { file, metadata, tensors } = header::read(path)?;
        Ok(Self { path: path.to_owned(), file, metadata, tensors })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All keys of the metadata, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.metadata.keys().map(String::as_str)
    }

    /// Names of all tensors, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The value of a key, if there is one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// The text of a key.
    ///
    /// # Errors
    /// No such key, or a value of another kind.
    pub fn text(&self, key: &str) -> Result<&str> {
        match self.value(key)? {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong_kind(key, other, "a text")),
        }
    }

    /// The integer of a key that counts things.
    ///
    /// # Errors
    /// No such key, or a value of another kind or below zero.
    pub fn count(&self, key: &str) -> Result<usize> {
        match self.value(key)? {
            Value::Integer(n) => {
                usize::try_from(*n).map_err(|_| self.bad(format!("`{key}` is {n}, wanted is a number of things")))
            }
            other => Err(self.wrong_kind(key, other, "an integer")),
        }
    }

    /// A float.
    ///
    /// # Errors
    /// No such key, a value of another kind, or one that is not finite.
    pub fn float(&self, key: &str) -> Result<f64> {
        match self.value(key)? {
            Value::Float(x) if x.is_finite() => Ok(*x),
            Value::Float(x) => Err(self.bad(format!("`{key}` is {x}, wanted is a finite number"))),
            other => Err(self.wrong_kind(key, other, "a float")),
        }
    }

    /// A truth value.
    ///
    /// # Errors
    /// No such key, or a value of another kind.
    pub fn truth(&self, key: &str) -> Result<bool> {
        match self.value(key)? {
            Value::Bool(b) => Ok(*b),
            other => Err(self.wrong_kind(key, other, "a truth value")),
        }
    }

    /// Integers.
    ///
    /// # Errors
    /// No such key, or a value of another kind.
    pub fn integers(&self, key: &str) -> Result<&[i64]> {
        match self.value(key)? {
            Value::Integers(values) => Ok(values),
            other => Err(self.wrong_kind(key, other, "an array of integers")),
        }
    }

    /// Texts.
    ///
    /// # Errors
    /// No such key, or a value of another kind.
    pub fn texts(&self, key: &str) -> Result<&[String]> {
        match self.value(key)? {
            Value::Texts(texts) => Ok(texts),
            other => Err(self.wrong_kind(key, other, "an array of texts")),
        }
    }

    /// The shape of a tensor, if there is one of this name.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|place| place.shape.as_slice())
    }

    /// The bytes of the file that a tensor takes, if there is one of this name.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<Range<u64>> {
        self.tensors.get(name).map(|place| place.offset..place.offset + place.bytes)
    }

    /// How the elements of a tensor are stored, and its bytes, if there is one of this name.
    #[must_use]
    pub fn stored(&self, name: &str) -> Option<(String, u64)> {
        self.tensors.get(name).map(|place| (format!("{:?}", place.element), place.bytes))
    }

    /// A tensor of any shape.
    ///
    /// # Errors
    /// There is no tensor of this name, an element is not finite, or the file cannot be read any more.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let place = self.place(name)?;
        Ok(Tensor { shape: place.shape.clone(), values: place.read(&self.path, &self.file, name)?.values() })
    }

    /// A tensor whose shape must be `shape`: the number of rows, then the number of elements in a row.
    ///
    /// # Errors
    /// The errors of [`File::tensor`]; or the tensor has another shape.
    pub fn tensor_of(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        Ok(Tensor { shape: shape.to_vec(), values: self.elements_of(name, shape)?.values() })
    }

    /// The same as the file stores it.
    ///
    /// # Errors
    /// The errors of [`File::tensor_of`].
    pub fn elements_of(&self, name: &str, shape: &[usize]) -> Result<Elements> {
        let place = self.place(name)?;
        let (found, at) = (&place.shape, place.offset);
        if found != shape {
            return Err(self.bad(format!("tensor `{name}` is {}, wanted is {} (byte {at})", by(found), by(shape))));
        }
        place.read(&self.path, &self.file, name)
    }

    fn place(&self, name: &str) -> Result<&Place> {
        self.tensors.get(name).ok_or_else(|| self.bad(format!("there is no tensor `{name}`")))
    }

    fn value(&self, key: &str) -> Result<&Value> {
        self.get(key).ok_or_else(|| self.bad(format!("the metadata has no `{key}`")))
    }

    fn wrong_kind(&self, key: &str, found: &Value, wanted: &str) -> Error {
        self.bad(format!("`{key}` is {}, wanted is {wanted}", found.kind()))
    }

    /// An error in the content of the file.
    pub(crate) fn bad(&self, problem: impl Into<String>) -> Error {
        Error::Data { path: self.path.clone(), problem: problem.into() }
    }
}
