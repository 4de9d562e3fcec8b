//! A user's tensors in place of a bench's own vectors: `.npy` files of a folder, with the shapes that the bench wants.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use half::f16;

use crate::stimulus::Tensor;
use crate::{Bench, Error, Result};

/// Type of a tensor's elements, as NumPy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// `float16`.
    Float16,
    /// `int8`.
    Int8,
    /// `uint8`.
    Uint8,
    /// `int16`.
    Int16,
    /// `int32`.
    Int32,
}

/// An extent of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Any but 0.
    Any,
    /// This number.
    Exactly(usize),
    /// From 1 to this number.
    UpTo(usize),
    /// Any but 0, and the same wherever the bench wants this name.
    Named(&'static str),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Exactly(n) => write!(f, "{n}"),
            Self::UpTo(n) => write!(f, "1 to {n}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// A tensor that a bench takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Name of its file, without `.npy`.
    pub name: &'static str,
    /// Its meaning, in a line.
    pub meaning: &'static str,
    /// Type of its elements.
    pub elements: Elements,
    /// Extents, outermost first.
    pub shape: Vec<Extent>,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<_> = self.shape.iter().map(Extent::to_string).collect();
        let elements = format!("{:?}", self.elements).to_lowercase();
        write!(f, "{}.npy: {}; {elements}, shape [{}]", self.name, self.meaning, shape.join(", "))
    }
}

/// A bench, and the number of vectors that it has.
pub type Counted = (Box<dyn Bench>, u64);

/// How the bench of a block is made from tensors.
pub struct FromTensors<B> {
    /// The tensors that the bench takes at these parameters.
    pub wanted: fn(&B) -> anyhow::Result<Vec<Wanted>>,
    /// The bench that drives them.
    pub bench: fn(&B, &Tensors) -> anyhow::Result<Counted>,
}

/// The tensors of a folder.
#[derive(Clone, Debug, Default)]
pub struct Tensors {
    by_name: BTreeMap<&'static str, Tensor<u64>>,
}

impl Tensors {
    /// Reads each wanted tensor.
    ///
    /// # Errors
    /// A file is missing or damaged, or has another type or shape. The error names the file and the expected tensor; if
    /// two tensors do not fit together, it also names the other file.
    pub fn read(folder: &Path, wanted: &[Wanted]) -> Result<Self> {
        let mut by_name = BTreeMap::new();
        // Named extents, and the tensor that had each first.
        let mut named: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for one in wanted {
            let path = folder.join(format!("{}.npy", one.name));
            let tensor = match one.elements {
                Elements::Float16 => bits(Tensor::<f16>::read(&path)?, |x| x.to_bits().into()),
                Elements::Int8 => bits(Tensor::<i8>::read(&path)?, |x| i64::from(x) as u64),
                Elements::Uint8 => bits(Tensor::<u8>::read(&path)?, u64::from),
                Elements::Int16 => bits(Tensor::<i16>::read(&path)?, |x| i64::from(x) as u64),
                Elements::Int32 => bits(Tensor::<i32>::read(&path)?, |x| i64::from(x) as u64),
            };
            let fits = |(&found, wanted): (&usize, &Extent)| match *wanted {
                Extent::Any | Extent::Named(_) => found > 0,
                Extent::Exactly(n) => found == n,
                Extent::UpTo(n) => (1..=n).contains(&found),
            };
            if tensor.shape.len() != one.shape.len() || !tensor.shape.iter().zip(&one.shape).all(fits) {
                return Err(Error::Data { path, problem: format!("has shape {:?}; wanted: {one}", tensor.shape) });
            }
            for (&found, wanted) in tensor.shape.iter().zip(&one.shape) {
                let Extent::Named(name) = *wanted else { continue };
                let (first, other) = *named.entry(name).or_insert((found, one.name));
                if first != found {
                    let problem =
                        format!("has shape {:?}, and {name} is {first} in {other}.npy; wanted: {one}", tensor.shape);
                    return Err(Error::Data { path, problem });
                }
            }
            by_name.insert(one.name, tensor);
        }
        Ok(Self { by_name })
    }

    /// The elements of a tensor in the order of memory; see [`rows`](Self::rows).
    ///
    /// # Panics
    /// The bench did not want a tensor of this name.
    #[must_use]
    pub fn all(&self, name: &str) -> &[u64] {
        &self.tensor(name).data
    }

    /// The rows of a tensor of two dimensions as integers.
    ///
    /// # Errors
    /// An integer is not within `range`; the error names it and its place.
    ///
    /// # Panics
    /// The bench did not want a tensor of this name.
    pub fn integers(&self, name: &str, range: RangeInclusive<i64>) -> anyhow::Result<Vec<Vec<i64>>> {
        let rows: Vec<Vec<i64>> = self.rows(name).map(|row| row.iter().map(|&x| x as i64).collect()).collect();
        for (r, row) in rows.iter().enumerate() {
            if let Some((c, x)) = row.iter().enumerate().find(|(_, x)| !range.contains(x)) {
                anyhow::bail!(
                    "{name}.npy has {x} in row {r}, column {c}; wanted: {} to {}",
                    range.start(),
                    range.end()
                );
            }
        }
        Ok(rows)
    }

    fn tensor(&self, name: &str) -> &Tensor<u64> {
        self.by_name.get(name).unwrap_or_else(|| panic!("the bench wants no tensor `{name}`"))
    }

    /// The rows of a tensor of two dimensions: floats as bit patterns, integers as two's complement of 64 bits.
    ///
    /// # Panics
    /// The bench did not want a tensor of this name.
    pub fn rows(&self, name: &str) -> impl Iterator<Item = &[u64]> {
        let tensor = self.tensor(name);
        tensor.data.chunks(tensor.shape.last().copied().unwrap_or(1).max(1))
    }
}

fn bits<T>(tensor: Tensor<T>, of: impl FnMut(T) -> u64) -> Tensor<u64> {
    Tensor { shape: tensor.shape, data: tensor.data.into_iter().map(of).collect() }
}
