//! Matrices of integers as bytes: panels of as many lines as the array takes at once, word by word.

use super::Caps;
use crate::vector::Integer;
use crate::{ALIGNMENT, TensorError};

/// The sign of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Two's complement.
    Signed,
    /// From 0 on.
    Unsigned,
}

/// The layout of a matrix in memory. A word has the integers of a panel's lines at one inner index, the first line in
/// the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    integer: Integer,
    sign: Sign,
    lines: usize,
    inner: usize,
    in_panel: usize,
    stride: u64,
}

impl Panels {
    /// Rows of a left matrix, `lines` of them with `inner` channels each; of results, with `inner` columns each.
    ///
    /// # Errors
    /// There are too many.
    pub fn rows(
        caps: &Caps,
        (integer, sign): (Integer, Sign),
        lines: usize,
        inner: usize,
    ) -> Result<Self, TensorError> {
        Self::of(integer, sign, (lines, inner), caps.panel_rows(integer))
    }

    /// Columns of a right matrix, `lines` of them with `inner` channels each.
    ///
    /// # Errors
    /// There are too many.
    pub fn columns(
        caps: &Caps,
        (integer, sign): (Integer, Sign),
        lines: usize,
        inner: usize,
    ) -> Result<Self, TensorError> {
        Self::of(integer, sign, (lines, inner), caps.panel_columns(integer))
    }

    /// The same panels with this stride instead of the smallest one.
    ///
    /// # Errors
    /// The stride is no multiple of 64, or panels would overlap, or there are too many.
    pub fn with_stride(self, stride: u64) -> Result<Self, TensorError> {
        let panel_bytes = self.panel_bytes();
        if !stride.is_multiple_of(ALIGNMENT) || (self.panels() > 1 && stride < panel_bytes as u64) {
            return Err(TensorError::Stride { stride, row_bytes: panel_bytes });
        }
        let large = TensorError::Large { rows: self.lines, columns: self.inner };
        let before = usize::try_from(stride).ok().and_then(|stride| stride.checked_mul(self.panels()));
        before.and_then(|bytes| bytes.checked_add(panel_bytes)).ok_or(large)?;
        Ok(Self { stride, ..self })
    }

    fn of(integer: Integer, sign: Sign, (lines, inner): (usize, usize), in_panel: usize) -> Result<Self, TensorError> {
        let large = TensorError::Large { rows: lines, columns: inner };
        // Half of all addresses: the next multiple is there as well.
        let bytes = inner.checked_mul(Self::word_bytes(integer, in_panel)).filter(|&bytes| bytes <= usize::MAX / 2);
        let stride = (bytes.ok_or(large)? as u64).next_multiple_of(ALIGNMENT);
        Self { integer, sign, lines, inner, in_panel, stride: 0 }.with_stride(stride)
    }

    pub(super) fn word_bytes(integer: Integer, in_panel: usize) -> usize {
        in_panel * bits(integer) as usize / 8
    }

    /// Bytes from panel to panel.
    #[must_use]
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Panels.
    #[must_use]
    pub fn panels(&self) -> usize {
        self.lines.div_ceil(self.in_panel)
    }

    /// Bytes of a panel.
    #[must_use]
    pub fn panel_bytes(&self) -> usize {
        self.inner * Self::word_bytes(self.integer, self.in_panel)
    }

    /// Bytes from the first byte to the last byte.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.panels().checked_sub(1).map_or(0, |before| before * self.stride as usize + self.panel_bytes())
    }

    /// Integers line by line, as bytes. Zeros follow the last line, and lie between panels.
    ///
    /// # Errors
    /// The number of integers is wrong, or one of them has too many bits.
    pub fn pack(&self, values: &[i16]) -> Result<Vec<u8>, TensorError> {
        self.packed(values, |line, inner| line * self.inner + inner)
    }

    /// As [`Self::pack`], but the integers are transposed: for each inner index the integers of all lines. The rows of
    /// a right matrix have this order.
    ///
    /// # Errors
    /// The errors of [`Self::pack`].
    pub fn pack_transposed(&self, values: &[i16]) -> Result<Vec<u8>, TensorError> {
        self.packed(values, |line, inner| inner * self.lines + line)
    }

    /// Integers line by line, from the bytes of all panels.
    ///
    /// # Errors
    /// There are too few bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<i16>, TensorError> {
        if bytes.len() < self.bytes() {
            return Err(TensorError::Bytes { given: bytes.len(), expected: self.bytes() });
        }
        let value = |(line, inner): (usize, usize)| {
            let (byte, low) = self.place(line, inner);
            let width = bits(self.integer);
            let raw = u16::from(bytes[byte]) >> low << (16 - width);
            match self.sign {
                // The shift down extends the sign.
                Sign::Signed => raw as i16 >> (16 - width),
                Sign::Unsigned => (raw >> (16 - width)) as i16,
            }
        };
        Ok((0..self.lines).flat_map(|line| (0..self.inner).map(move |inner| (line, inner))).map(value).collect())
    }

    fn packed(&self, values: &[i16], index: impl Fn(usize, usize) -> usize) -> Result<Vec<u8>, TensorError> {
        let (rows, columns) = (self.lines, self.inner);
        let expected = rows.checked_mul(columns).ok_or(TensorError::Large { rows, columns })?;
        if values.len() != expected {
            return Err(TensorError::Count { given: values.len(), expected, rows, columns });
        }
        let width = bits(self.integer);
        let (least, most) = match self.sign {
            Sign::Signed => (-1 << (width - 1), (1 << (width - 1)) - 1),
            Sign::Unsigned => (0, (1 << width) - 1),
        };
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, v)| !(least..=most).contains(*v)) {
            return Err(TensorError::Range { index, value, least, most });
        }
        let mut bytes = vec![0; self.bytes()];
        for line in 0..rows {
            for inner in 0..columns {
                let (byte, low) = self.place(line, inner);
                let mask = if width == 8 { 0xff } else { 15 };
                bytes[byte] |= (values[index(line, inner)] as u8 & mask) << low;
            }
        }
        Ok(bytes)
    }

    /// The byte with an integer, and its lowest bit in it.
    fn place(&self, line: usize, inner: usize) -> (usize, u32) {
        let width = bits(self.integer);
        let bit = line % self.in_panel * width as usize;
        let word = inner * Self::word_bytes(self.integer, self.in_panel);
        (line / self.in_panel * self.stride as usize + word + bit / 8, bit as u32 % 8)
    }
}

fn bits(integer: Integer) -> u32 {
    match integer {
        Integer::Int8 => 8,
        Integer::Int4 => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector;

    const CAPS: Caps = Caps {
        rows: 4,
        columns: 8,
        int8: true,
        explicit: false,
        depth: 64,
        steps: 64,
        vector: vector::Caps {
            opcode: 3,
            lanes: 4,
            max_beats: 8,
            function: 2,
            units: vector::Units { softmax: false, layer_norm: false, rotary: false },
        },
    };
    const FOUR: (Integer, Sign) = (Integer::Int4, Sign::Signed);
    const EIGHT: (Integer, Sign) = (Integer::Int8, Sign::Signed);

    #[test]
    fn rows_by_hand() {
        // 5 lines of 3: two panels of 4 rows, words of 2 bytes.
        let panels = Panels::rows(&CAPS, FOUR, 5, 3).unwrap();
        assert_eq!((panels.panels(), panels.panel_bytes(), panels.stride(), panels.bytes()), (2, 6, 64, 70));
        let values: Vec<i16> = (0..15).map(|k| k % 16 - 8).collect();
        let bytes = panels.pack(&values).unwrap();
        // -8, -5, -2, 1 | -7, -4, -1, 2 | -6, -3, 0, 3.
        assert_eq!(bytes[..7], [0xb8, 0x1e, 0xc9, 0x2f, 0xda, 0x30, 0]);
        assert_eq!(bytes[64..], [4, 0, 5, 0, 6, 0]);
        assert_eq!(panels.unpack(&bytes).unwrap(), values);
    }

    #[test]
    fn columns_by_hand() {
        // 2 x 5, row by row: panels of 4 columns as bytes.
        let panels = Panels::columns(&CAPS, EIGHT, 5, 2).unwrap();
        let bytes = panels.pack_transposed(&[1, 2, 3, 4, 5, -1, -2, -3, -4, -128]).unwrap();
        assert_eq!(
            (&bytes[..9], &bytes[64..]),
            (&[1, 2, 3, 4, 255, 254, 253, 252, 0][..], &[5, 0, 0, 0, 128, 0, 0, 0][..])
        );
        assert_eq!(panels.unpack(&bytes).unwrap(), [1, -1, 2, -2, 3, -3, 4, -4, 5, -128]);
        let wide = panels.with_stride(192).unwrap();
        assert_eq!((wide.stride(), wide.pack(&[0; 10]).unwrap().len()), (192, 200));
    }

    #[test]
    fn there_and_back() {
        for integer in [Integer::Int4, Integer::Int8] {
            for sign in [Sign::Signed, Sign::Unsigned] {
                for (lines, inner) in [(1, 1), (2, 40), (4, 3), (9, 17), (33, 1)] {
                    for of in [Panels::rows, Panels::columns] {
                        let panels = of(&CAPS, (integer, sign), lines, inner).unwrap();
                        let range = 1i16 << bits(integer);
                        let least = if sign == Sign::Signed { -range / 2 } else { 0 };
                        let values: Vec<i16> = (0..lines * inner).map(|k| least + (k as i16 * 7) % range).collect();
                        assert_eq!(panels.unpack(&panels.pack(&values).unwrap()).unwrap(), values);
                    }
                }
            }
        }
    }

    #[test]
    fn refusals_say_what_is_right() {
        let panels = Panels::rows(&CAPS, (Integer::Int4, Sign::Unsigned), 2, 2).unwrap();
        let said = |values: &[i16]| panels.pack(values).unwrap_err().to_string();
        assert_eq!(said(&[0, 0, 16, 0]), "element 2 is 16, must be 0 to 15");
        assert_eq!(said(&[-1, 0, 16, 0]), "element 0 is -1, must be 0 to 15");
        assert_eq!(said(&[0]), "1 elements were given, must be 4: 2 rows of 2");
        assert_eq!(panels.unpack(&[0; 3]).unwrap_err().to_string(), "3 bytes were given, must be at least 4");
        let of =
            |lines, inner, stride| Panels::rows(&CAPS, EIGHT, lines, inner)?.with_stride(stride).map(|p| p.bytes());
        assert_eq!(of(3, 40, 64), Err(TensorError::Stride { stride: 64, row_bytes: 80 }));
        assert_eq!(of(2, 40, 32), Err(TensorError::Stride { stride: 32, row_bytes: 80 }));
        assert_eq!([of(2, 40, 0), of(3, 32, 64), of(0, 5, 64)], [Ok(80), Ok(128), Ok(0)]);
        assert!(matches!(of(3, usize::MAX / 2, 64), Err(TensorError::Large { .. })));
        assert!(matches!(of(usize::MAX, 64, 128), Err(TensorError::Large { .. })));
    }
}
