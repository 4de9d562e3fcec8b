//! Tokens as bytes: a scale, indices, and outliers that stay as they are.

use half::f16;

use crate::{ALIGNMENT, TensorError};

/// Bits of an index of an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// 8 centroids.
    Three,
    /// 16 centroids.
    Four,
}

impl Bits {
    fn number(self) -> u8 {
        match self {
            Self::Three => 3,
            Self::Four => 4,
        }
    }
}

/// A quantized vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Factor of its centroids.
    pub scale: f16,
    /// Bits of an index.
    pub bits: Bits,
    /// An index for each position. The index of an outlier means nothing, and is 0.
    pub indices: Vec<u8>,
    /// Positions and values of the outliers. Positions ascend.
    pub outliers: Vec<(u16, f16)>,
}

/// Why tokens cannot be turned into bytes, or bytes into tokens.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TokenError {
    /// A token has another length or a wrong index, or there are too few bytes.
    #[error("token {token}: {error}")]
    Tensor {
        /// Which one.
        token: usize,
        /// The error in it.
        error: TensorError,
    },
    /// There is no room for the outliers.
    #[error("token {token}: {given} outliers, must be 0 to {most}")]
    Outliers {
        /// Which one.
        token: usize,
        /// How many there are.
        given: usize,
        /// How many there can be.
        most: usize,
    },
    /// An outlier at a wrong position.
    #[error("token {token}: outlier {outlier} is at position {position}, must be {least} to {most}")]
    Position {
        /// Which token.
        token: usize,
        /// Which of its outliers.
        outlier: usize,
        /// Its position.
        position: u16,
        /// The first position after the outlier before it.
        least: usize,
        /// The last position.
        most: usize,
    },
    /// Indices of another width.
    #[error("token {token}: indices of {bits} bits, must be 3 or 4")]
    Bits {
        /// Which one.
        token: usize,
        /// The width that its head says.
        bits: u8,
    },
}

/// How tokens lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    count: usize,
    inner: usize,
    outliers: usize,
}

impl Tokens {
    /// Bytes of a token in front of its indices.
    pub const HEAD_BYTES: u64 = 64;
    /// Bytes of an outlier.
    pub const OUTLIER_BYTES: u64 = 4;

    /// `count` tokens of `inner` positions, with room for `outliers` outliers in each. The tokens follow each other
    /// without gaps.
    ///
    /// # Errors
    /// There are too many.
    pub fn new(count: usize, inner: usize, outliers: usize) -> Result<Self, TensorError> {
        let large = TensorError::Large { rows: count, columns: inner };
        let row = inner.checked_add(outliers).and_then(|all| all.checked_mul(8)?.checked_add(4 * ALIGNMENT as usize));
        row.and_then(|row| row.checked_mul(count)).ok_or(large)?;
        Ok(Self { count, inner, outliers })
    }

    /// Bytes of a token.
    pub(super) fn row_bytes_of(inner: u64, outliers: u64) -> u64 {
        Self::first_outlier(inner) + (Self::OUTLIER_BYTES * outliers).next_multiple_of(ALIGNMENT)
    }

    /// Where outliers begin in a token.
    fn first_outlier(inner: u64) -> u64 {
        Self::HEAD_BYTES + inner.div_ceil(2).next_multiple_of(ALIGNMENT)
    }

    /// Bytes from token to token.
    #[must_use]
    pub fn stride(&self) -> u64 {
        Self::row_bytes_of(self.inner as u64, self.outliers as u64)
    }

    /// Bytes of all.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.count * self.stride() as usize
    }

    /// Tokens as bytes.
    ///
    /// # Errors
    /// Another number of tokens; a token of another length, or an index of too many bits; too many outliers, or
    /// outliers whose positions do not ascend.
    pub fn pack(&self, tokens: &[Token]) -> Result<Vec<u8>, TokenError> {
        let (rows, columns) = (self.count, self.inner);
        if tokens.len() != rows {
            let error = TensorError::Count { given: tokens.len(), expected: rows, rows, columns: 1 };
            return Err(TokenError::Tensor { token: tokens.len().min(rows), error });
        }
        let mut bytes = Vec::with_capacity(self.bytes());
        for (token, one) in tokens.iter().enumerate() {
            let wrong = |error| Err(TokenError::Tensor { token, error });
            if one.indices.len() != columns {
                return wrong(TensorError::Count { given: one.indices.len(), expected: columns, rows: 1, columns });
            }
            let most = (1 << one.bits.number()) - 1;
            if let Some(index) = one.indices.iter().position(|&index| index > most) {
                let value = one.indices[index].into();
                return wrong(TensorError::Range { index, value, least: 0, most: most.into() });
            }
            self.check(token, &one.outliers)?;
            bytes.extend(self.row(one));
        }
        Ok(bytes)
    }

    fn check(&self, token: usize, outliers: &[(u16, f16)]) -> Result<(), TokenError> {
        if outliers.len() > self.outliers {
            return Err(TokenError::Outliers { token, given: outliers.len(), most: self.outliers });
        }
        let mut least = 0;
        for (outlier, &(position, _)) in outliers.iter().enumerate() {
            if !(least..self.inner).contains(&position.into()) {
                let most = self.inner.saturating_sub(1);
                return Err(TokenError::Position { token, outlier, position, least, most });
            }
            least = usize::from(position) + 1;
        }
        Ok(())
    }

    fn row(&self, token: &Token) -> Vec<u8> {
        let mut row = vec![0; self.stride() as usize];
        row[..2].copy_from_slice(&token.scale.to_le_bytes());
        row[2..4].copy_from_slice(&(token.outliers.len() as u16).to_le_bytes());
        row[4] = token.bits.number();
        for (k, &index) in token.indices.iter().enumerate() {
            row[Self::HEAD_BYTES as usize + k / 2] |= index << (4 * (k % 2));
        }
        let first = Self::first_outlier(self.inner as u64) as usize;
        for (record, (position, value)) in row[first..].chunks_mut(Self::OUTLIER_BYTES as usize).zip(&token.outliers) {
            record[..2].copy_from_slice(&position.to_le_bytes());
            record[2..].copy_from_slice(&value.to_le_bytes());
        }
        // The index of an outlier is 0.
        for &(position, _) in &token.outliers {
            let position = usize::from(position);
            row[Self::HEAD_BYTES as usize + position / 2] &= 0xf0 >> (4 * (position % 2));
        }
        row
    }

    /// Tokens from their bytes.
    ///
    /// # Errors
    /// There are too few bytes, or a head or an outlier is impossible.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<Token>, TokenError> {
        let stride = self.stride() as usize;
        (0..self.count)
            .map(|token| {
                let end = (token + 1) * stride;
                let error = TensorError::Bytes { given: bytes.len(), expected: end };
                let row = bytes.get(token * stride..end).ok_or(TokenError::Tensor { token, error })?;
                let half = |at: usize| u16::from_le_bytes([row[at], row[at + 1]]);
                let bits = match row[4] {
                    3 => Bits::Three,
                    4 => Bits::Four,
                    bits => return Err(TokenError::Bits { token, bits }),
                };
                let given = usize::from(half(2));
                if given > self.outliers {
                    return Err(TokenError::Outliers { token, given, most: self.outliers });
                }
                let first = Self::first_outlier(self.inner as u64) as usize;
                let outlier = |k: usize| (half(first + 4 * k), f16::from_bits(half(first + 4 * k + 2)));
                let outliers: Vec<_> = (0..given).map(outlier).collect();
                self.check(token, &outliers)?;
                let index = |k: usize| row[Self::HEAD_BYTES as usize + k / 2] >> (4 * (k % 2)) & 15;
                Ok(Token {
                    scale: f16::from_bits(half(0)),
                    bits,
                    indices: (0..self.inner).map(index).collect(),
                    outliers,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(indices: &[u8], outliers: &[(u16, f32)]) -> Token {
        let outliers = outliers.iter().map(|&(position, value)| (position, f16::from_f32(value))).collect();
        Token { scale: f16::from_f32(1.5), bits: Bits::Three, indices: indices.to_vec(), outliers }
    }

    #[test]
    fn by_hand() {
        let tokens = Tokens::new(2, 5, 17).unwrap();
        assert_eq!((tokens.stride(), tokens.bytes()), (64 + 64 + 128, 512));
        let all = [token(&[1, 2, 3, 4, 5], &[]), token(&[7, 7, 7, 0, 0], &[(3, 8.0), (4, -2.0)])];
        let bytes = tokens.pack(&all).unwrap();
        assert_eq!((&bytes[..6], &bytes[64..68]), (&[0, 0x3e, 0, 0, 3, 0][..], &[0x21, 0x43, 5, 0][..]));
        assert_eq!((&bytes[258..261], &bytes[320..323]), (&[2, 0, 3][..], &[0x77, 7, 0][..]));
        assert_eq!(bytes[384..393], [3, 0, 0, 0x48, 4, 0, 0, 0xc0, 0]);
        assert_eq!(tokens.unpack(&bytes).unwrap(), all);
        // The index of an outlier is 0 in memory.
        let bytes = Tokens::new(1, 2, 1).unwrap().pack(&[token(&[7, 6], &[(0, 1.0)])]).unwrap();
        assert_eq!(bytes[64], 0x60);
    }

    #[test]
    fn there_and_back() {
        for (inner, outliers) in [(1, 0), (1, 1), (127, 16), (128, 32), (129, 33), (600, 6)] {
            let tokens = Tokens::new(3, inner, outliers).unwrap();
            let indices: Vec<u8> = (0..inner).map(|k| (k * 5 % 16) as u8).collect();
            let mut one = Token { bits: Bits::Four, ..token(&indices, &[]) };
            for k in 0..outliers.min(inner) as u16 {
                one.indices[usize::from(k)] = 0;
                one.outliers.push((k, f16::from_f32(f32::from(k) + 0.5)));
            }
            let all = vec![one; 3];
            assert_eq!(tokens.unpack(&tokens.pack(&all).unwrap()).unwrap(), all);
        }
    }

    #[test]
    fn refusals_say_what_is_right() {
        let tokens = Tokens::new(1, 3, 2).unwrap();
        let said = |one: Token| tokens.pack(&[one]).unwrap_err().to_string();
        assert_eq!(said(token(&[1, 2], &[])), "token 0: 2 elements were given, must be 3: 1 rows of 3");
        assert_eq!(said(token(&[1, 8, 2], &[])), "token 0: element 1 is 8, must be 0 to 7");
        let three = [(0, 1.0), (1, 1.0), (2, 1.0)];
        assert_eq!(said(token(&[0; 3], &three)), "token 0: 3 outliers, must be 0 to 2");
        let twice = token(&[0; 3], &[(1, 1.0), (1, 1.0)]);
        assert_eq!(said(twice), "token 0: outlier 1 is at position 1, must be 2 to 2");
        let beyond = token(&[0; 3], &[(3, 1.0)]);
        assert_eq!(said(beyond), "token 0: outlier 0 is at position 3, must be 0 to 2");
        assert_eq!(tokens.pack(&[]).unwrap_err().to_string(), "token 0: 0 elements were given, must be 1: 1 rows of 1");
        let mut bytes = tokens.pack(&[token(&[0; 3], &[])]).unwrap();
        let said = |bytes: &[u8]| tokens.unpack(bytes).unwrap_err().to_string();
        assert_eq!(said(&bytes[1..]), "token 0: 191 bytes were given, must be at least 192");
        bytes[4] = 5;
        assert_eq!(said(&bytes), "token 0: indices of 5 bits, must be 3 or 4");
        bytes[4] = 4;
        bytes[2] = 3;
        assert_eq!(said(&bytes), "token 0: 3 outliers, must be 0 to 2");
        bytes[2] = 2;
        assert_eq!(said(&bytes), "token 0: outlier 1 is at position 0, must be 1 to 2");
        assert!(matches!(Tokens::new(usize::MAX, 4, 4), Err(TensorError::Large { .. })));
        assert!(matches!(Tokens::new(1, usize::MAX, 4), Err(TensorError::Large { .. })));
    }
}
