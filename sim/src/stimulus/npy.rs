//! Tensors from NumPy's `.npy` files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use half::f16;

use crate::{Error, Result};

/// An element type of a tensor file.
pub trait Element: npyz::Deserialize {
    /// NumPy's name of the type.
    const DTYPE: &'static str;
}

macro_rules! elements {
    ($($type:ty = $name:literal),*) => { $(impl Element for $type { const DTYPE: &'static str = $name; })* };
}

elements!(f16 = "float16", f32 = "float32", i8 = "int8", u8 = "uint8", i16 = "int16", i32 = "int32", i64 = "int64");

/// A tensor in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    /// Extent of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Elements, the last index running fastest.
    pub data: Vec<T>,
}

impl<T: Element> Tensor<T> {
    /// Reads a `.npy` file that holds exactly this element type; nothing is converted.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be opened; [`Error::Data`] when it is damaged, holds another type or is stored
    /// in Fortran order.
    pub fn read(path: &Path) -> Result<Self> {
        let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
        let file = File::open(path).map_err(Error::io(path))?;
        let npy = npyz::NpyFile::new(BufReader::new(file)).map_err(|e| bad(format!("not a .npy file: {e}")))?;
        if npy.order() == npyz::Order::Fortran && npy.shape().len() > 1 {
            return Err(bad("is in Fortran order: save it after `numpy.ascontiguousarray`".into()));
        }
        let shape: Vec<usize> = npy.shape().iter().map(|&n| n as usize).collect();
        let dtype = npy.dtype().descr();
        let elements = npy.data::<T>().map_err(|_| {
            bad(format!("holds elements of type {dtype}, not {}: save it after `.astype(\"{}\")`", T::DTYPE, T::DTYPE))
        })?;
        let data: Vec<T> = elements.collect::<Result<_, _>>().map_err(|e| bad(format!("is cut short: {e}")))?;
        Ok(Self { shape, data })
    }
}

impl Tensor<f16> {
    /// The elements as IEEE binary16 bit patterns, as fp16 ports take them.
    pub fn bits(&self) -> impl ExactSizeIterator<Item = u16> {
        self.data.iter().map(|v| v.to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use npyz::WriterBuilder;

    fn write<T: npyz::AutoSerialize + Copy>(path: &Path, shape: &[u64], order: npyz::Order, data: &[T]) {
        let file = File::create(path).unwrap();
        let mut writer =
            npyz::WriteOptions::new().default_dtype().shape(shape).order(order).writer(file).begin_nd().unwrap();
        writer.extend(data.iter().copied()).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn fp16_round_trips_with_its_shape() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let values: Vec<f16> = (0..6_u16).map(|i| f16::from_bits(0x3c00 + i)).collect();
        write(&path, &[2, 3], npyz::Order::C, &values);
        let tensor = Tensor::<f16>::read(&path).unwrap();
        assert_eq!(tensor.shape, [2, 3]);
        assert_eq!(tensor.bits().collect::<Vec<_>>(), [0x3c00, 0x3c01, 0x3c02, 0x3c03, 0x3c04, 0x3c05]);
    }

    #[test]
    fn wrong_files_say_what_would_be_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let error = || Tensor::<f16>::read(&path).unwrap_err().to_string();
        assert!(matches!(Tensor::<f16>::read(&path), Err(Error::Io { .. })));
        write(&path, &[2], npyz::Order::C, &[1.0_f32, 2.0]);
        assert!(error().contains("'<f4'") && error().contains("astype(\"float16\")"), "{}", error());
        write(&path, &[1, 2], npyz::Order::Fortran, &[f16::ONE, f16::ZERO]);
        assert!(error().contains("Fortran"), "{}", error());
        write(&path, &[2], npyz::Order::C, &[f16::ONE, f16::ZERO]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(error().contains("cut short"), "{}", error());
        std::fs::write(&path, b"hello").unwrap();
        assert!(error().contains("not a .npy file"), "{}", error());
    }
}
