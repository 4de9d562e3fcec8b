//! Weights of 8 bits as bytes: panels of columns, in groups as wide as the array.

use super::Caps;
use crate::{ALIGNMENT, TensorError};

/// The layout of a matrix in memory. The panels follow each other, in a panel the groups of columns, in a group the
/// channels. A channel has the weights of the group's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    columns: usize,
    channels: usize,
    in_panel: usize,
    in_group: usize,
    stride: u64,
}

impl Panels {
    /// `columns` columns of `channels` channels each; a panel begins at the first multiple of 64 after the panel
    /// before.
    ///
    /// # Errors
    /// There are too many.
    pub fn new(caps: &Caps, columns: usize, channels: usize) -> Result<Self, TensorError> {
        let large = TensorError::Large { rows: columns, columns: channels };
        let (in_panel, in_group) = (caps.panel(), caps.columns as usize);
        // Far below all addresses, with the room between panels.
        let whole = columns.checked_next_multiple_of(in_panel).and_then(|columns| columns.checked_mul(channels));
        whole.and_then(|all| all.checked_mul(2 * ALIGNMENT as usize)).ok_or(large)?;
        let stride = ((channels * in_panel) as u64).next_multiple_of(ALIGNMENT);
        Ok(Self { columns, channels, in_panel, in_group, stride })
    }

    /// Bytes from panel to panel.
    #[must_use]
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Panels.
    #[must_use]
    pub fn panels(&self) -> usize {
        self.columns.div_ceil(self.in_panel)
    }

    /// Bytes of a panel.
    #[must_use]
    pub fn panel_bytes(&self) -> usize {
        self.channels * self.in_panel
    }

    /// Bytes from the first byte to the last byte.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.panels().checked_sub(1).map_or(0, |before| before * self.stride as usize + self.panel_bytes())
    }

    /// Weights channel by channel, as in a product x w. Zeros follow the last column, and lie between panels.
    ///
    /// # Errors
    /// Their number is wrong.
    pub fn pack(&self, weights: &[i8]) -> Result<Vec<u8>, TensorError> {
        let (rows, columns) = (self.channels, self.columns);
        let expected = rows * columns;
        if weights.len() != expected {
            return Err(TensorError::Count { given: weights.len(), expected, rows, columns });
        }
        let mut bytes = vec![0; self.bytes()];
        for (k, &weight) in weights.iter().enumerate() {
            bytes[self.place(k / columns, k % columns)] = weight as u8;
        }
        Ok(bytes)
    }

    /// Weights channel by channel, from the bytes of all panels.
    ///
    /// # Errors
    /// There are too few bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<i8>, TensorError> {
        if bytes.len() < self.bytes() {
            return Err(TensorError::Bytes { given: bytes.len(), expected: self.bytes() });
        }
        let (channels, columns) = (self.channels, self.columns);
        Ok((0..channels * columns).map(|k| bytes[self.place(k / columns, k % columns)] as i8).collect())
    }

    /// The byte with a weight.
    fn place(&self, channel: usize, column: usize) -> usize {
        let (panel, column) = (column / self.in_panel, column % self.in_panel);
        let (group, column) = (column / self.in_group, column % self.in_group);
        panel * self.stride as usize + (group * self.channels + channel) * self.in_group + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kelle::tests::CAPS;

    #[test]
    fn by_hand() {
        // Panels of 32 columns in groups of 4, 3 channels: weight 100 at channel 1 of column 6, -1 at channel 2 of
        // column 32.
        let panels = Panels::new(&CAPS, 33, 3).unwrap();
        assert_eq!((panels.panels(), panels.panel_bytes(), panels.stride(), panels.bytes()), (2, 96, 128, 224));
        let mut weights = vec![0; 99];
        weights[33 + 6] = 100;
        weights[2 * 33 + 32] = -1;
        let bytes = panels.pack(&weights).unwrap();
        assert_eq!((bytes[12 + 4 + 2], bytes[128 + 8]), (100, 0xff));
        assert_eq!(bytes.iter().filter(|&&byte| byte != 0).count(), 2);
        assert_eq!(panels.unpack(&bytes).unwrap(), weights);
    }

    #[test]
    fn there_and_back() {
        for array in [1, 4, 32, 64] {
            let caps = Caps { columns: array, ..CAPS };
            for (columns, channels) in [(1, 1), (2, 4), (31, 12), (100, 33)] {
                let panels = Panels::new(&caps, columns, channels).unwrap();
                let weights: Vec<i8> = (0..columns * channels).map(|k| (k * 7) as i8).collect();
                let bytes = panels.pack(&weights).unwrap();
                assert_eq!((bytes.len(), panels.unpack(&bytes).unwrap()), (panels.bytes(), weights));
            }
        }
    }

    #[test]
    fn refusals_say_what_is_right() {
        let panels = Panels::new(&CAPS, 2, 2).unwrap();
        let said = |weights: &[i8]| panels.pack(weights).unwrap_err().to_string();
        assert_eq!(said(&[0]), "1 elements were given, must be 4: 2 rows of 2");
        assert_eq!(panels.unpack(&[0; 3]).unwrap_err().to_string(), "3 bytes were given, must be at least 64");
        for (columns, channels) in [(usize::MAX, 1), (1, usize::MAX), (1 << 40, 1 << 40)] {
            assert!(matches!(Panels::new(&CAPS, columns, channels), Err(TensorError::Large { .. })));
        }
    }
}
