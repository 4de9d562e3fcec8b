//! Rows of numbers as bytes.

use half::f16;

use crate::ALIGNMENT;

/// The format of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IEEE 754 binary16.
    Fp16,
    /// 8 bits, two's complement.
    Int8,
    /// 4 bits, two's complement; the first of two is in the low half of a byte.
    Int4,
}

impl Format {
    /// Bits of an element.
    #[must_use]
    pub fn bits(self) -> usize {
        match self {
            Self::Fp16 => 16,
            Self::Int8 => 8,
            Self::Int4 => 4,
        }
    }
}

/// Why a tensor cannot be turned into bytes, or bytes into a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// Numbers of another kind.
    #[error("the elements are {format:?}, must be {expected}")]
    Kind {
        /// The format of the elements.
        format: Format,
        /// The format that the method expects.
        expected: &'static str,
    },
    /// Too many or too few elements.
    #[error("{given} elements were given, must be {expected}: {rows} rows of {columns}")]
    Count {
        /// Elements that there are.
        given: usize,
        /// Elements that there should be.
        expected: usize,
        /// Rows.
        rows: usize,
        /// Elements of a row.
        columns: usize,
    },
    /// A number that the format does not have.
    #[error("element {index} is {value}, must be {least} to {most}")]
    Range {
        /// Its index.
        index: usize,
        /// Its value.
        value: i16,
        /// The least number.
        least: i16,
        /// The largest number.
        most: i16,
    },
    /// Rows would lie on top of each other, or not at multiples of 64.
    #[error("the stride is {stride}, must be a multiple of {ALIGNMENT} and at least {row_bytes}, the bytes of a row")]
    Stride {
        /// Bytes from row to row.
        stride: u64,
        /// Bytes of a row.
        row_bytes: usize,
    },
    /// More elements than fit into the address space.
    #[error("{rows} rows of {columns} elements have more bytes than there are addresses")]
    Large {
        /// Rows.
        rows: usize,
        /// Elements of a row.
        columns: usize,
    },
    /// Bytes are missing.
    #[error("{given} bytes were given, must be at least {expected}")]
    Bytes {
        /// Bytes that there are.
        given: usize,
        /// Bytes that there should be.
        expected: usize,
    },
}

/// The layout of a tensor in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    format: Format,
    rows: usize,
    columns: usize,
    stride: u64,
}

impl Rows {
    /// Rows without spare bytes: each row begins at the first multiple of 64 after the row before.
    ///
    /// # Errors
    /// There are too many.
    pub fn dense(format: Format, rows: usize, columns: usize) -> Result<Self, TensorError> {
        let row_bytes = columns.checked_mul(format.bits()).ok_or(TensorError::Large { rows, columns })?.div_ceil(8);
        Self::with_stride(format, rows, columns, (row_bytes as u64).next_multiple_of(ALIGNMENT))
    }

    /// Rows at a stride of bytes.
    ///
    /// # Errors
    /// Rows would overlap or not be aligned, or there are too many.
    pub fn with_stride(format: Format, rows: usize, columns: usize, stride: u64) -> Result<Self, TensorError> {
        let large = TensorError::Large { rows, columns };
        let row_bytes = columns.checked_mul(format.bits()).ok_or(large.clone())?.div_ceil(8);
        let overlap = rows > 1 && stride < row_bytes as u64;
        if !stride.is_multiple_of(ALIGNMENT) || overlap {
            return Err(TensorError::Stride { stride, row_bytes });
        }
        let most = usize::try_from(stride).ok().and_then(|stride| stride.checked_mul(rows));
        most.and_then(|bytes| bytes.checked_add(row_bytes)).ok_or(large)?;
        Ok(Self { format, rows, columns, stride })
    }

    /// Bytes from row to row.
    #[must_use]
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        (self.columns * self.format.bits()).div_ceil(8)
    }

    /// Bytes from the first byte to the last byte.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.checked_sub(1).map_or(0, |before| before * self.stride as usize + self.row_bytes())
    }

    /// fp16 numbers, row by row, as bytes. Zeros lie between rows.
    ///
    /// # Errors
    /// The rows have another format, or the number of elements is wrong.
    pub fn pack_floats(&self, values: &[f16]) -> Result<Vec<u8>, TensorError> {
        self.is_float()?;
        self.pack(values, |row| row.iter().flat_map(|v| v.to_bits().to_le_bytes()).collect())
    }

    /// Integers, row by row, as bytes. Zeros lie between rows, and above a last half byte.
    ///
    /// # Errors
    /// The rows have another format, the number of elements is wrong, or an element has too many bits.
    pub fn pack_integers(&self, values: &[i8]) -> Result<Vec<u8>, TensorError> {
        self.is_integer()?;
        if self.format == Format::Int8 {
            return self.pack(values, |row| row.iter().map(|&v| v as u8).collect());
        }
        let (least, most) = (-8, 7);
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, v)| !(least..=most).contains(*v)) {
            return Err(TensorError::Range { index, value: value.into(), least: least.into(), most: most.into() });
        }
        let low = |value: Option<&i8>| value.map_or(0, |&v| v as u8 & 15);
        self.pack(values, |row| row.chunks(2).map(|pair| low(pair.first()) | low(pair.get(1)) << 4).collect())
    }

    /// fp16 numbers from the bytes of all rows.
    ///
    /// # Errors
    /// The rows have another format, or there are too few bytes.
    pub fn unpack_floats(&self, bytes: &[u8]) -> Result<Vec<f16>, TensorError> {
        self.is_float()?;
        self.unpack(bytes, |row, k| f16::from_le_bytes([row[2 * k], row[2 * k + 1]]))
    }

    /// Integers from the bytes of all rows.
    ///
    /// # Errors
    /// The rows have another format, or there are too few bytes.
    pub fn unpack_integers(&self, bytes: &[u8]) -> Result<Vec<i8>, TensorError> {
        self.is_integer()?;
        let eight = self.format == Format::Int8;
        // The shifts up and down extend the sign.
        let half = |byte: u8, upper: bool| (if upper { byte } else { byte << 4 }) as i8 >> 4;
        self.unpack(bytes, |row, k| if eight { row[k] as i8 } else { half(row[k / 2], k % 2 == 1) })
    }

    fn is_float(&self) -> Result<(), TensorError> {
        let wrong = TensorError::Kind { format: self.format, expected: "Fp16" };
        if self.format == Format::Fp16 { Ok(()) } else { Err(wrong) }
    }

    fn is_integer(&self) -> Result<(), TensorError> {
        let wrong = TensorError::Kind { format: self.format, expected: "Int8 or Int4" };
        if self.format == Format::Fp16 { Err(wrong) } else { Ok(()) }
    }

    fn pack<T>(&self, values: &[T], row: impl Fn(&[T]) -> Vec<u8>) -> Result<Vec<u8>, TensorError> {
        let &Self { rows, columns, stride, .. } = self;
        let expected = rows.checked_mul(columns).ok_or(TensorError::Large { rows, columns })?;
        if values.len() != expected {
            return Err(TensorError::Count { given: values.len(), expected, rows, columns });
        }
        let mut bytes = vec![0; self.bytes()];
        // No columns, no chunks.
        for (k, values) in values.chunks(columns.max(1)).enumerate() {
            bytes[k * stride as usize..][..self.row_bytes()].copy_from_slice(&row(values));
        }
        Ok(bytes)
    }

    fn unpack<T>(&self, bytes: &[u8], element: impl Fn(&[u8], usize) -> T) -> Result<Vec<T>, TensorError> {
        if bytes.len() < self.bytes() {
            return Err(TensorError::Bytes { given: bytes.len(), expected: self.bytes() });
        }
        let row = |k: usize| &bytes[k * self.stride as usize..][..self.row_bytes()];
        Ok((0..self.rows)
            .flat_map(|k| (0..self.columns).map(move |c| (k, c)))
            .map(|(k, c)| element(row(k), c))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let rows = Rows::dense(Format::Fp16, 3, 33).unwrap();
        assert_eq!((rows.stride(), rows.row_bytes(), rows.bytes()), (128, 66, 2 * 128 + 66));
        assert_eq!(Rows::dense(Format::Int4, 2, 129).unwrap().row_bytes(), 65);
        let stride = |stride, rows| Rows::with_stride(Format::Int8, rows, 65, stride).map(|r| r.bytes());
        assert_eq!(stride(64, 2), Err(TensorError::Stride { stride: 64, row_bytes: 65 }));
        assert_eq!(stride(100, 1), Err(TensorError::Stride { stride: 100, row_bytes: 65 }));
        assert_eq!((stride(0, 1), stride(128, 2), stride(64, 0)), (Ok(65), Ok(193), Ok(0)));
        assert!(matches!(Rows::dense(Format::Fp16, 2, usize::MAX), Err(TensorError::Large { .. })));
        assert!(matches!(stride(1 << 63, 4), Err(TensorError::Large { .. })));
    }

    #[test]
    fn there_and_back() {
        let floats: Vec<f16> = (0..6).map(|k| f16::from_f32(k as f32 - 2.5)).collect();
        let rows = Rows::dense(Format::Fp16, 2, 3).unwrap();
        let bytes = rows.pack_floats(&floats).unwrap();
        assert_eq!((bytes.len(), bytes[64..66].to_vec()), (70, 0x3800u16.to_le_bytes().to_vec()));
        assert_eq!(rows.unpack_floats(&bytes).unwrap(), floats);
        for format in [Format::Int8, Format::Int4] {
            let integers = [-8, 7, -1, 0, 1, 5];
            let rows = Rows::dense(format, 2, 3).unwrap();
            let bytes = rows.pack_integers(&integers).unwrap();
            assert_eq!(rows.unpack_integers(&bytes).unwrap(), integers, "{format:?}");
            assert!(bytes[3..64].iter().all(|&b| b == 0));
            if format == Format::Int4 {
                assert_eq!((&bytes[..2], &bytes[64..]), (&[0x78, 0x0f][..], &[0x10, 0x05][..]));
            }
        }
    }

    #[test]
    fn refusals_say_what_is_right() {
        let rows = Rows::dense(Format::Int4, 2, 2).unwrap();
        let said = |result: Result<Vec<u8>, TensorError>| result.unwrap_err().to_string();
        assert_eq!(said(rows.pack_integers(&[0, 0, 8, 0])), "element 2 is 8, must be -8 to 7");
        assert_eq!(said(rows.pack_integers(&[0])), "1 elements were given, must be 4: 2 rows of 2");
        assert_eq!(said(rows.pack_floats(&[])), "the elements are Int4, must be Fp16");
        assert_eq!(rows.unpack_integers(&[0; 64]).unwrap_err().to_string(), "64 bytes were given, must be at least 65");
        let float = Rows::dense(Format::Fp16, 1, 1).unwrap();
        assert_eq!(said(float.pack_integers(&[1])), "the elements are Fp16, must be Int8 or Int4");
    }
}
