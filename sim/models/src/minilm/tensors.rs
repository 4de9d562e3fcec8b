//! Files of tensors in the format safetensors: a length, a header in JSON, elements. Only tensors of f32 can be read.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sim::{Error, Result};

/// An open file.
#[derive(Clone, Debug)]
pub struct Tensors {
    path: PathBuf,
    header: Value,
    elements: Vec<u8>,
}

impl Tensors {
    /// Parses the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// The header is cut off, or is no object.
    pub fn new(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let bad = |problem: &str| Error::Data { path: path.to_owned(), problem: problem.into() };
        let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
        let end = length.and_then(|length| usize::try_from(length).ok()?.checked_add(8));
        let header = end.and_then(|end| bytes.get(8..end)).ok_or_else(|| bad("the header is cut off: truncated"))?;
        let header: Value = serde_json::from_slice(header).map_err(|e| bad(&format!("the header is no JSON: {e}")))?;
        if !header.is_object() {
            return Err(bad("the header is no JSON object of tensors"));
        }
        Ok(Self { path: path.to_owned(), elements: bytes[end.unwrap_or(0)..].to_vec(), header })
    }

    /// A tensor, which must have this shape.
    ///
    /// # Errors
    /// There is no such tensor, it has another shape or type, or elements are missing.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let bad = |problem: String| Error::Data { path: self.path.clone(), problem };
        let entry = self.header.get(name).ok_or_else(|| bad(format!("there is no tensor `{name}`")))?;
        if entry["dtype"] != "F32" {
            return Err(bad(format!("`{name}` has elements {}, wanted is \"F32\"", entry["dtype"])));
        }
        if entry["shape"] != serde_json::json!(shape) {
            return Err(bad(format!("`{name}` has shape {}, wanted is {shape:?}", entry["shape"])));
        }
        let offset = |of: usize| usize::try_from(entry["data_offsets"][of].as_u64()?).ok();
        let range = offset(0).zip(offset(1)).and_then(|(from, to)| self.elements.get(from..to));
        let found = range.filter(|bytes| bytes.len() == 4 * shape.iter().product::<usize>());
        let bytes = found.ok_or_else(|| bad(format!("elements of `{name}` are not all there: damaged")))?;
        let of = |bytes: &[u8]| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        Ok(bytes.chunks_exact(4).map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, elements: &[f32]) -> Vec<u8> {
        let bytes = elements.iter().flat_map(|x| x.to_le_bytes());
        (header.len() as u64).to_le_bytes().into_iter().chain(header.bytes()).chain(bytes).collect()
    }

    const HEADER: &str = r#"{"a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [4, 12]}, "b": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}"#;

    #[test]
    fn elements_are_found() {
        let tensors = Tensors::new(Path::new("x"), file(HEADER, &[1.0, 2.5, -3.0])).unwrap();
        assert_eq!(tensors.tensor("a", &[2, 1]).unwrap(), [2.5, -3.0]);
    }

    #[test]
    fn damage_is_refused() {
        let opened = |bytes: Vec<u8>| Tensors::new(Path::new("x"), bytes).map(|_| ()).unwrap_err().to_string();
        assert!(opened(vec![0; 7]).contains("cut off"));
        assert!(opened(file("{", &[])).contains("no JSON"));
        assert!(opened(file("[]", &[])).contains("no JSON object"));
        assert!(opened(u64::MAX.to_le_bytes().to_vec()).contains("cut off"));
        let tensors = Tensors::new(Path::new("x"), file(HEADER, &[1.0, 2.5])).unwrap();
        let refused = |name, shape: &[usize]| tensors.tensor(name, shape).unwrap_err().to_string();
        assert!(refused("a", &[2, 1]).contains("not all there"));
        assert!(refused("a", &[2]).contains("shape [2,1], wanted is [2]"));
        assert!(refused("b", &[1]).contains("wanted is \"F32\""));
        assert!(refused("c", &[1]).contains("no tensor `c`"));
    }
}
