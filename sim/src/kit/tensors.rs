//! A user's tensors in place of a bench's own vectors: `.npy` files of a folder, with the shapes that the bench wants.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use half::f16;

use crate::stimulus::Tensor;
use crate::{Bench, Error, Result};

/// The numbers of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// `float16`.
    Float16,
    /// Integers of this range, in the smallest of `uint8`, `int8`, `int16` and `int32` that has all of them. Ranges end
    /// where those of `int32` end.
    Integers(RangeInclusive<i64>),
}

/// A type of integers in NumPy.
#[derive(Clone, Copy)]
enum Type {
    Uint8,
    Int8,
    Int16,
    Int32,
}

impl Type {
    /// From the smallest on.
    const ALL: [Self; 4] = [Self::Uint8, Self::Int8, Self::Int16, Self::Int32];

    fn name(self) -> &'static str {
        match self {
            Self::Uint8 => "uint8",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
        }
    }

    fn range(self) -> RangeInclusive<i64> {
        match self {
            Self::Uint8 => 0..=255,
            Self::Int8 => signed(8),
            Self::Int16 => signed(16),
            Self::Int32 => signed(32),
        }
    }

    /// The type of integers of a range.
    fn of(range: &RangeInclusive<i64>) -> Self {
        let has = |one: &Self| one.range().contains(range.start()) && one.range().contains(range.end());
        Self::ALL.into_iter().find(has).unwrap_or(Self::Int32)
    }
}

impl Numbers {
    /// NumPy's name of the type.
    #[must_use]
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::Float16 => "float16",
            Self::Integers(range) => Type::of(range).name(),
        }
    }

    /// The integers, or the bit patterns of floats.
    #[must_use]
    pub fn range(&self) -> RangeInclusive<i64> {
        let Self::Integers(range) = self else { return 0..=0xffff };
        let whole = Type::of(range).range();
        *range.start().max(whole.start())..=*range.end().min(whole.end())
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.dtype())?;
        match self {
            Self::Integers(range) if Type::of(range).range() != self.range() => {
                write!(f, " from {} to {}", self.range().start(), self.range().end())
            }
            _ => Ok(()),
        }
    }
}

/// The signed integers of `bits` bits, 1 to 64.
#[must_use]
pub const fn signed(bits: u32) -> RangeInclusive<i64> {
    i64::MIN >> (64 - bits)..=i64::MAX >> (64 - bits)
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
    /// Its elements.
    pub numbers: Numbers,
    /// Extents, outermost first.
    pub shape: Vec<Extent>,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<_> = self.shape.iter().map(Extent::to_string).collect();
        write!(f, "{}.npy: {}; {}, shape [{}]", self.name, self.meaning, self.numbers, shape.join(", "))
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
    /// A file is missing or damaged, has another type or shape, or a number out of range. The error names the file and
    /// the expected tensor; if two tensors do not fit together, it also names the other file.
    pub fn read(folder: &Path, wanted: &[Wanted]) -> Result<Self> {
        let mut by_name = BTreeMap::new();
        // Named extents, and the tensor that had each first.
        let mut named: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for one in wanted {
            let path = folder.join(format!("{}.npy", one.name));
            let tensor = match &one.numbers {
                Numbers::Float16 => bits(Tensor::<f16>::read(&path)?, |x| x.to_bits().into()),
                Numbers::Integers(range) => match Type::of(range) {
                    Type::Uint8 => bits(Tensor::<u8>::read(&path)?, u64::from),
                    Type::Int8 => bits(Tensor::<i8>::read(&path)?, |x| i64::from(x) as u64),
                    Type::Int16 => bits(Tensor::<i16>::read(&path)?, |x| i64::from(x) as u64),
                    Type::Int32 => bits(Tensor::<i32>::read(&path)?, |x| i64::from(x) as u64),
                },
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
            if let Numbers::Integers(range) = &one.numbers
                && let Some(at) = tensor.data.iter().position(|&x| !range.contains(&(x as i64)))
            {
                let (x, place) = (tensor.data[at] as i64, place(at, &tensor.shape));
                return Err(Error::Data { path, problem: format!("has {x} at {place:?}; wanted: {one}") });
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

    /// The rows of a tensor of one or two dimensions as integers.
    ///
    /// # Panics
    /// The bench did not want a tensor of this name.
    #[must_use]
    pub fn integers(&self, name: &str) -> Vec<Vec<i64>> {
        self.rows(name).map(|row| row.iter().map(|&x| x as i64).collect()).collect()
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

/// Where element `at` of a tensor is.
fn place(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut place: Vec<usize> = shape.iter().rev().map(|&extent| (at % extent, at /= extent).0).collect();
    place.reverse();
    place
}
