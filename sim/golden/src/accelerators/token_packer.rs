//! The bytes of a token in memory.

use super::kllm::{HEAD_BYTES, OUTLIER_BYTES, token_bytes};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its scale, fp16.
    pub scale: u16,
    /// The index of each position, 0 for an outlier.
    pub indices: Vec<u8>,
    /// Position and value of each outlier.
    pub outliers: Vec<(u16, u16)>,
}

/// The sizes that all tokens of a job share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Positions.
    pub columns: u32,
    /// Outliers that have room.
    pub room: u32,
    /// Whether indices have 3 bits.
    pub three: bool,
}

impl Token {
    /// The token as it lies in memory.
    ///
    /// # Panics
    /// There are more positions or outliers than `size` allows.
    #[must_use]
    pub fn bytes(&self, size: Size) -> Vec<u8> {
        let mut bytes = vec![0; token_bytes(size.columns.into(), size.room.into()) as usize];
        bytes[..2].copy_from_slice(&self.scale.to_le_bytes());
        bytes[2..4].copy_from_slice(&(self.outliers.len() as u16).to_le_bytes());
        bytes[4] = if size.three { 3 } else { 4 };
        for (k, index) in self.indices.iter().enumerate() {
            bytes[HEAD_BYTES as usize + k / 2] |= index << (4 * (k % 2));
        }
        let room = (OUTLIER_BYTES * u64::from(size.room)).next_multiple_of(64) as usize;
        let first = bytes.len() - room;
        for (k, (position, value)) in self.outliers.iter().enumerate() {
            bytes[first + 4 * k..][..2].copy_from_slice(&position.to_le_bytes());
            bytes[first + 4 * k + 2..][..2].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_indices_and_outliers_follow() {
        let token = Token { scale: 0x3c00, indices: vec![1, 2, 3], outliers: vec![(7, 0x4200)] };
        let bytes = token.bytes(Size { columns: 3, room: 2, three: true });
        assert_eq!(bytes.len(), 192);
        assert_eq!(
            (&bytes[..5], &bytes[64..66], &bytes[128..132]),
            (&[0, 0x3c, 1, 0, 3][..], &[0x21, 3][..], &[7, 0, 0, 0x42][..])
        );
    }
}
