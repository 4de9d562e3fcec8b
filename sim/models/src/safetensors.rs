//! Reader of files of tensors in the format safetensors: a length, a header in JSON, elements.
//!
//! ```
//! use std::path::Path;
//!
//! let header = br#"{"a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}}"#;
//! let elements = [1.5_f32, -2.0].map(f32::to_le_bytes).concat();
//! let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &elements].concat();
//! let file = models::safetensors::File::of_bytes(Path::new("x.safetensors"), bytes)?;
//! assert_eq!(file.tensor_of("a", &[2, 1])?, [1.5, -2.0]);
//! # Ok::<(), sim::Error>(())
//! ```
//!
//! The file is not trusted. All places of tensors must lie in the file, next to each other and without holes.
//!
//! The reader is our own. The crate `safetensors` accepts a tensor that is there twice, and its errors name no byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sim::{Error, Result};

use crate::gguf::{ElementType, Elements, by};

/// The longest header that the format allows.
const HEADER: u64 = 100_000_000;

#[derive(Debug)]
enum From {
    File(fs::File),
    Bytes(Vec<u8>),
}

impl From {
    fn read(&self, path: &Path, at: u64, bytes: &mut [u8]) -> Result<()> {
        match self {
            Self::File(file) => {
                file.read_exact_at(bytes, at).map_err(|source| Error::Io { path: path.to_owned(), source })
            }
            Self::Bytes(all) => {
                let found = usize::try_from(at).ok().and_then(|at| all.get(at..)?.get(..bytes.len()));
                let problem = || format!("{} bytes should follow byte {at}: truncated", bytes.len());
                let found = found.ok_or_else(|| Error::Data { path: path.to_owned(), problem: problem() })?;
                bytes.copy_from_slice(found);
                Ok(())
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Place {
    kind: String,
    shape: Vec<usize>,
    at: u64,
    bytes: u64,
}

/// An open file: where its tensors are.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    from: From,
    tensors: BTreeMap<String, Place>,
}

impl File {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// The file is missing, not a regular file, truncated, or its header contradicts itself or the file.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        // Check before opening: to open a FIFO may block for ever.
        if !fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::Data { path: path.to_owned(), problem: "is not a regular file".into() });
        }
        let file = fs::File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        Self::new(path, From::File(file), length)
    }

    /// The bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// The errors of [`File::open`].
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let length = bytes.len() as u64;
        Self::new(path, From::Bytes(bytes), length)
    }

    fn new(path: &Path, from: From, length: u64) -> Result<Self> {
        let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
        if length < 8 {
            return Err(bad(format!("has {length} bytes, wanted are 8 for the length of the header: truncated")));
        }
        let mut size = [0; 8];
        from.read(path, 0, &mut size)?;
        let size = u64::from_le_bytes(size);
        if size > HEADER || size > length - 8 {
            let left = length - 8;
            return Err(bad(format!("says that its header has {size} bytes, but {left} follow byte 8: truncated")));
        }
        let mut header = vec![0; size as usize];
        from.read(path, 8, &mut header)?;
        let header = crate::json::object(path, &header, "the header")?;
        let (begin, mut tensors) = (8 + size, BTreeMap::new());
        for (name, entry) in header.iter().filter(|(name, _)| *name != "__metadata__") {
            let place = place(entry, begin, length).map_err(|problem| bad(format!("tensor `{name}` {problem}")))?;
            tensors.insert(name.clone(), place);
        }
        let mut order: Vec<(&String, &Place)> = tensors.iter().collect();
        order.sort_by_key(|(_, place)| (place.at, place.bytes));
        let mut end = begin;
        for (name, place) in order {
            if place.at != end {
                let what = if place.at < end { "overlaps the one before it" } else { "leaves a hole before it" };
                return Err(bad(format!("tensor `{name}` {what}: it is at byte {}, wanted is {end}", place.at)));
            }
            end += place.bytes;
        }
        if end != length {
            return Err(bad(format!("has {length} bytes, wanted are {end}: its last tensor ends there")));
        }
        Ok(Self { path: path.to_owned(), from, tensors })
    }

    /// Names of all tensors, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shape of a tensor, if there is one of this name.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|place| place.shape.as_slice())
    }

    /// How the elements of a tensor are stored, and its bytes, if there is one of this name.
    #[must_use]
    pub fn stored(&self, name: &str) -> Option<(String, u64)> {
        self.tensors.get(name).map(|place| (place.kind.clone(), place.bytes))
    }

    /// The elements of a tensor of this shape, row by row; those along the last dimension are neighbours.
    ///
    /// # Errors
    /// There is no such tensor, it has another shape or type, or an element is not finite.
    pub fn tensor_of(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        Ok(self.elements_of(name, shape)?.values())
    }

    /// The same as the file stores them.
    ///
    /// # Errors
    /// The errors of [`File::tensor_of`].
    pub fn elements_of(&self, name: &str, shape: &[usize]) -> Result<Elements> {
        let bad = |problem: String| Error::Data { path: self.path.clone(), problem };
        let place = self.tensors.get(name).ok_or_else(|| bad(format!("there is no tensor `{name}`")))?;
        let Place { kind, shape: found, at, bytes } = place;
        if found != shape {
            return Err(bad(format!("tensor `{name}` is {}, wanted is {} (byte {at})", by(found), by(shape))));
        }
        let element = match kind.as_str() {
            "F32" => ElementType::F32,
            "F16" => ElementType::F16,
            "BF16" => ElementType::BF16,
            _ => return Err(bad(format!("tensor `{name}` has elements {kind}; read are F32, F16, BF16 (byte {at})"))),
        };
        let mut raw = vec![0; *bytes as usize];
        self.from.read(&self.path, *at, &mut raw)?;
        let elements = Elements::new(element, raw);
        if let Some((i, found)) = elements.not_finite() {
            let byte = at + (i * element.block().1) as u64;
            let problem = format!("element {i} of tensor `{name}` is {found}, wanted is a finite number (byte {byte})");
            return Err(bad(problem));
        }
        Ok(elements)
    }
}

/// Bytes of an element of a type of the format.
fn bytes_of(kind: &str) -> Option<u64> {
    Some(match kind {
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" => 1,
        "I16" | "U16" | "F16" | "BF16" => 2,
        "I32" | "U32" | "F32" => 4,
        "I64" | "U64" | "F64" => 8,
        _ => return None,
    })
}

fn place(entry: &Value, begin: u64, length: u64) -> std::result::Result<Place, String> {
    let none = Map::new();
    let entry = entry.as_object().unwrap_or(&none);
    if let Some(other) = entry.keys().find(|key| !["dtype", "shape", "data_offsets"].contains(&key.as_str())) {
        return Err(format!("has `{other}`, wanted are `dtype`, `shape` and `data_offsets`"));
    }
    let kind = entry.get("dtype").and_then(Value::as_str).ok_or("has no `dtype`, wanted is a text")?;
    let size = bytes_of(kind).ok_or_else(|| format!("has elements {kind}; read are F32, F16, BF16"))?;
    let numbers = |key: &str| -> std::result::Result<Vec<u64>, String> {
        let found = entry.get(key).and_then(Value::as_array).map(|all| all.iter().map(Value::as_u64).collect());
        found.flatten().ok_or_else(|| format!("has no `{key}`, wanted is an array of numbers of things"))
    };
    let shape: Vec<usize> = numbers("shape")?.into_iter().map(|n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    let [from, to] = numbers("data_offsets")?[..] else {
        return Err("has `data_offsets` that are not two numbers".into());
    };
    let bytes = shape.iter().try_fold(size, |n, &of| n.checked_mul(of as u64));
    let bytes = bytes.ok_or_else(|| format!("is {}: more elements than there can be", by(&shape)))?;
    let found =
        to.checked_sub(from).ok_or_else(|| format!("ends at {to} of the data, ahead of its begin at {from}"))?;
    if found != bytes {
        return Err(format!("({} of {kind}) takes {bytes} bytes, but its offsets are {from} and {to}", by(&shape)));
    }
    let at = begin.checked_add(from).filter(|at| at.checked_add(bytes).is_some_and(|end| end <= length));
    let at = at.ok_or_else(|| {
        let data = length - begin;
        format!("takes {bytes} bytes from {from} of the data, but {data} follow byte {begin}: truncated or damaged")
    })?;
    Ok(Place { kind: kind.into(), shape, at, bytes })
}

#[cfg(test)]
pub(crate) mod tests;
