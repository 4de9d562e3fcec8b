//! Arrays of numbers, and `.npy` files of them.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use half::f16;

/// Type of an array's elements, as NumPy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `float64`.
    Float64,
    /// `float32`.
    Float32,
    /// `float16`.
    Float16,
    /// `uint8`.
    Uint8,
    /// `uint16`.
    Uint16,
    /// `uint32`.
    Uint32,
}

const KINDS: [(Kind, &str, &str); 6] = [
    (Kind::Float64, "float64", "<f8"),
    (Kind::Float32, "float32", "<f4"),
    (Kind::Float16, "float16", "<f2"),
    (Kind::Uint8, "uint8", "|u1"),
    (Kind::Uint16, "uint16", "<u2"),
    (Kind::Uint32, "uint32", "<u4"),
];

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.1 == name).map(|kind| kind.0)
    }

    /// All names.
    #[must_use]
    pub fn names() -> [&'static str; 6] {
        KINDS.map(|kind| kind.1)
    }

    fn entry(self) -> (&'static str, &'static str) {
        KINDS.iter().find(|kind| kind.0 == self).map_or(("", ""), |kind| (kind.1, kind.2))
    }

    /// Bytes of an element.
    fn bytes(self) -> usize {
        match self {
            Self::Float64 => 8,
            Self::Float32 | Self::Uint32 => 4,
            Self::Float16 | Self::Uint16 => 2,
            Self::Uint8 => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().0)
    }
}

/// A type of Rust that is an element.
pub trait Element: Copy + sealed::Sealed {
    /// Its kind.
    const KIND: Kind;

    /// Its bytes, the lowest first.
    fn put(self, to: &mut Vec<u8>);

    /// An element of its bytes; there are as many as it has.
    fn get(from: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty = $kind:ident),*) => { $(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const KIND: Kind = Kind::$kind;
            fn put(self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
        }
    )* };
}

elements!(f64 = Float64, f32 = Float32, f16 = Float16, u8 = Uint8, u16 = Uint16, u32 = Uint32);

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    kind: Kind,
    shape: Vec<usize>,
    /// Elements, the lowest byte of each first.
    bytes: Vec<u8>,
}

/// Elements of a shape. `None`: more than there can be.
fn elements_of(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n))
}

impl Array {
    /// An array of this shape, the outermost extent first.
    ///
    /// # Errors
    /// There are not as many elements as the shape has.
    pub fn new<T: Element>(shape: &[usize], elements: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut bytes = Vec::new();
        elements.into_iter().for_each(|element| element.put(&mut bytes));
        let found = bytes.len() / T::KIND.bytes();
        ensure!(elements_of(shape) == Some(found), "{found} elements for an array of {shape:?}");
        Ok(Self { kind: T::KIND, shape: shape.to_vec(), bytes })
    }

    /// Type of its elements.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Extents, the outermost first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All elements.
    ///
    /// # Errors
    /// They are of another type.
    pub fn all<T: Element>(&self) -> Result<Vec<T>> {
        ensure!(T::KIND == self.kind, "elements are {}, wanted is {}", self.kind, T::KIND);
        Ok(self.bytes.chunks(T::KIND.bytes()).map(T::get).collect())
    }

    /// Several arrays of the same kind and shape, one after the other along a new outermost extent.
    ///
    /// # Errors
    /// There is none, or one is of another kind or shape than the first.
    pub fn stacked(all: &[&Self]) -> Result<Self> {
        let first = all.first().context("no array to stack")?;
        let alike = all.iter().all(|one| one.kind == first.kind && one.shape == first.shape);
        ensure!(alike, "arrays of several kinds or shapes have no common array");
        let shape = std::iter::once(all.len()).chain(first.shape.iter().copied()).collect();
        Ok(Self { kind: first.kind, shape, bytes: all.iter().flat_map(|one| &one.bytes).copied().collect() })
    }

    /// The part at a place of the outermost extent.
    ///
    /// # Errors
    /// There is no such place.
    pub fn part(&self, place: usize) -> Result<Self> {
        let (&count, inner) = self.shape.split_first().context("an array without extents has no parts")?;
        ensure!(place < count, "part {place} of an array of {count}");
        let size = self.bytes.len() / count;
        Ok(Self { kind: self.kind, shape: inner.to_vec(), bytes: self.bytes[place * size..][..size].to_vec() })
    }

    /// The place of the first element that is infinite or no number.
    #[must_use]
    pub fn not_finite(&self) -> Option<usize> {
        let is_finite = |bytes: &[u8]| match self.kind {
            Kind::Float64 => f64::get(bytes).is_finite(),
            Kind::Float32 => f32::get(bytes).is_finite(),
            Kind::Float16 => f16::get(bytes).is_finite(),
            Kind::Uint8 | Kind::Uint16 | Kind::Uint32 => true,
        };
        self.bytes.chunks(self.kind.bytes()).position(|element| !is_finite(element))
    }

    /// Bytes of its `.npy` file.
    #[must_use]
    pub fn npy(&self) -> Vec<u8> {
        let all: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        // A tuple of one has a comma at its end, a longer one has none.
        let all = if self.shape.len() == 1 { all.trim_end() } else { all.trim_end_matches(", ") };
        let descr = self.kind.entry().1;
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({all}), }}");
        let padded = (PREFIX + text.len() + 1).next_multiple_of(64) - PREFIX - 1;
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((padded as u16 + 1).to_le_bytes());
        bytes.extend(format!("{text:padded$}\n").bytes());
        bytes.extend(&self.bytes);
        bytes
    }

    /// The most bytes that a `.npy` file of so many elements has.
    pub(super) fn largest_file(kind: Kind, shape: &[usize]) -> Option<u64> {
        let bytes = elements_of(shape)?.checked_mul(kind.bytes())?;
        Some((bytes as u64).saturating_add(PREFIX as u64 + u64::from(u16::MAX)))
    }

    /// Reads the bytes of a `.npy` file of version 1, which is what NumPy writes for arrays of numbers.
    ///
    /// # Errors
    /// The bytes are not such a file, or are too few or too many for the shape.
    pub fn of_npy(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.starts_with(MAGIC) && bytes.len() >= PREFIX, "is no .npy file");
        ensure!(bytes[6..8] == [1, 0], "is a .npy file of version {}.{}, wanted is 1.0", bytes[6], bytes[7]);
        let length = usize::from(u16::get(&bytes[8..PREFIX]));
        let rest = &bytes[PREFIX..];
        ensure!(rest.len() >= length, "is cut short in its header");
        let (header, data) = rest.split_at(length);
        let header = std::str::from_utf8(header).context("has a header that is no text")?;
        let descr = value(header, "descr")?.trim_matches(['\'', '"']);
        let kind = KINDS.iter().find(|kind| kind.2 == descr || (kind.0 == Kind::Uint8 && descr == "<u1"));
        let Some(&(kind, ..)) = kind else {
            bail!("holds elements of type '{descr}', known are {}", Kind::names().join(", "));
        };
        let order = value(header, "fortran_order")?;
        ensure!(order == "False", "is in Fortran order: save it after `numpy.ascontiguousarray`");
        let shape = value(header, "shape")?.trim_matches(['(', ')']);
        let extent = |text: &str| text.trim().parse().with_context(|| format!("has the shape ({shape})"));
        let parts = shape.split(',').filter(|part| !part.trim().is_empty());
        let shape = parts.map(extent).collect::<Result<Vec<usize>>>()?;
        let size = elements_of(&shape).and_then(|n| n.checked_mul(kind.bytes()));
        let size = size.with_context(|| format!("has the shape {shape:?}, whose elements nobody can count"))?;
        let found = data.len();
        ensure!(found >= size, "is cut short: {found} bytes of elements, the shape {shape:?} has {size}");
        ensure!(found == size, "is too long: {found} bytes of elements, the shape {shape:?} has {size}");
        Ok(Self { kind, shape, bytes: data.to_vec() })
    }
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes before the text of the header.
const PREFIX: usize = 10;

/// The value of a key in a header.
fn value<'a>(header: &'a str, key: &str) -> Result<&'a str> {
    let missing = || format!("has a header without `{key}`");
    let rest = header.split_once(&format!("'{key}':")).with_context(missing)?.1.trim_start();
    let end = if rest.starts_with('(') { rest.find(')').map(|end| end + 1) } else { rest.find([',', '}']) };
    Ok(rest[..end.with_context(missing)?].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_numpy_writes_them() {
        let array = Array::new(&[2, 3], [1_u16, 2, 3, 4, 5, 600]).unwrap();
        let bytes = array.npy();
        let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }";
        let mut wanted = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        wanted.extend(format!("{text:117}\n").bytes());
        wanted.extend([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0x58, 2]);
        assert_eq!(bytes, wanted);
        assert_eq!(Array::of_npy(&bytes).unwrap(), array);
        assert!(String::from_utf8_lossy(&Array::new(&[1], [1_u8]).unwrap().npy()).contains("'shape': (1,), "));
        assert!(String::from_utf8_lossy(&Array::new(&[], [1_u8]).unwrap().npy()).contains("'shape': (), "));
    }

    #[test]
    fn all_kinds_there_and_back() {
        let halves = [f16::ONE, f16::from_bits(0x8001)];
        let all = [
            Array::new(&[2], [0.1_f64, -1e300]),
            Array::new(&[2, 1], [0.1_f32, f32::MIN]),
            Array::new(&[1, 2], halves),
            Array::new(&[], [7_u8]),
            Array::new(&[3], [0_u16, 1, u16::MAX]),
            Array::new(&[0, 4], Vec::<u32>::new()),
        ];
        for array in all.map(Result::unwrap) {
            assert_eq!(Array::of_npy(&array.npy()).unwrap(), array);
            assert_eq!(Kind::named(&array.kind().to_string()), Some(array.kind()));
        }
        let array = Array::new(&[1, 2], halves).unwrap();
        assert_eq!(array.all::<f16>().unwrap(), halves);
        assert_eq!(array.all::<f64>().unwrap_err().to_string(), "elements are float16, wanted is float64");
        assert!(Array::new(&[3], [1_u8]).is_err());
    }

    #[test]
    fn layers_side_by_side() {
        let layers = [[1_u8, 2], [3, 4], [5, 6]].map(|row| Array::new(&[2], row).unwrap());
        let all = Array::stacked(&layers.each_ref()).unwrap();
        assert_eq!((all.shape(), all.all::<u8>().unwrap()), (&[3, 2][..], vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(all.part(1).unwrap(), layers[1]);
        assert_eq!(all.part(3).unwrap_err().to_string(), "part 3 of an array of 3");
        assert!(Array::stacked(&[]).is_err() && Array::stacked(&[&layers[0], &all]).is_err());
    }

    #[test]
    fn numbers_that_are_none() {
        assert_eq!(Array::new(&[2], [1.0, f64::NAN]).unwrap().not_finite(), Some(1));
        assert_eq!(Array::new(&[2], [f32::INFINITY, 1.0]).unwrap().not_finite(), Some(0));
        assert_eq!(Array::new(&[1], [f16::NEG_INFINITY]).unwrap().not_finite(), Some(0));
        assert_eq!(Array::new(&[1], [1.0]).unwrap().not_finite(), None);
    }

    #[test]
    fn damaged_files() {
        let good = Array::new(&[2, 3], [0.0; 6]).unwrap().npy();
        let with = |from: &str, to: &str| -> String {
            let (header, data) = good.split_at(128);
            let header = std::str::from_utf8(&header[10..]).unwrap().replace(from, to);
            let mut bytes = good[..10].to_vec();
            bytes[8..10].copy_from_slice(&(header.len() as u16).to_le_bytes());
            bytes.extend(header.bytes().chain(data.iter().copied()));
            Array::of_npy(&bytes).unwrap_err().to_string()
        };
        for end in 0..good.len() {
            assert!(Array::of_npy(&good[..end]).is_err(), "{end} bytes");
        }
        let refused = |bytes: &[u8]| Array::of_npy(bytes).unwrap_err().to_string();
        assert_eq!(refused(b"NUMPY"), "is no .npy file");
        assert_eq!(refused(&good[..175]), "is cut short: 47 bytes of elements, the shape [2, 3] has 48");
        assert_eq!(refused(&[&good[..], &[0]].concat()), "is too long: 49 bytes of elements, the shape [2, 3] has 48");
        assert!(with("False", "True").contains("Fortran order"));
        assert!(with("<f8", "<c16").contains("type '<c16', known are float64, float32"));
        assert!(with("<f8", ">f8").contains("type '>f8'"));
        assert!(with("(2, 3)", "(-2, 3)").contains("has the shape (-2, 3)"));
        assert!(with("(2, 3)", "(4294967296, 4294967296)").contains("nobody can count"));
        assert!(with("(2, 3)", "(2, 3").contains("without `shape`"));
        assert!(with("'descr'", "'desc'").contains("without `descr`"));
        let mut later = good.clone();
        later[6] = 3;
        assert_eq!(refused(&later), "is a .npy file of version 3.0, wanted is 1.0");
    }
}
