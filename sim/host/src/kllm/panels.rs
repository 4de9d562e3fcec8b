//! Indices of weights as bytes: panels of as many channels as the lanes of a group have, beat by beat.

use super::Caps;
use crate::{ALIGNMENT, TensorError};

/// The layout of a matrix in memory. The panels follow each other, in a panel the beats, in a beat the channels. A
/// channel has the indices of the beat's positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    channels: usize,
    inner: usize,
    in_panel: usize,
    inputs: usize,
    panels: usize,
    stride: u64,
}

impl Panels {
    /// `channels` channels of `inner` positions each; a panel begins at the first multiple of 64 after the panel
    /// before.
    ///
    /// # Errors
    /// There are too many.
    pub fn new(caps: &Caps, channels: usize, inner: usize) -> Result<Self, TensorError> {
        let large = TensorError::Large { rows: channels, columns: inner };
        let (in_panel, inputs) = (caps.panel_channels(), caps.inputs as usize);
        let whole = channels
            .checked_next_multiple_of(in_panel * caps.groups as usize)
            .zip(inner.checked_next_multiple_of(inputs));
        // Far below all addresses, with the room between panels.
        let all = whole.and_then(|(channels, inner)| channels.checked_mul(inner)?.checked_mul(2 * ALIGNMENT as usize));
        all.ok_or(large)?;
        let panel_bytes = Self::panel_bytes_of(caps, inner) as u64;
        let panels = caps.panels(channels);
        Ok(Self { channels, inner, in_panel, inputs, panels, stride: panel_bytes.next_multiple_of(ALIGNMENT) })
    }

    /// Bytes of a panel of so many positions.
    pub(super) fn panel_bytes_of(caps: &Caps, inner: usize) -> usize {
        let inputs = caps.inputs as usize;
        inner.div_ceil(inputs) * caps.panel_channels() * inputs / 2
    }

    /// Bytes from panel to panel.
    #[must_use]
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Panels of all groups, even if no channel is left for the last groups.
    #[must_use]
    pub fn panels(&self) -> usize {
        self.panels
    }

    /// Bytes of a panel.
    #[must_use]
    pub fn panel_bytes(&self) -> usize {
        self.inner.div_ceil(self.inputs) * self.in_panel * self.inputs / 2
    }

    /// Bytes from the first byte to the last byte.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.panels().checked_sub(1).map_or(0, |before| before * self.stride as usize + self.panel_bytes())
    }

    /// Indices channel by channel, as bytes. Zeros follow the last position and the last channel, and lie between
    /// panels.
    ///
    /// # Errors
    /// The number of indices is wrong, or one of them has more than 4 bits.
    pub fn pack(&self, indices: &[u8]) -> Result<Vec<u8>, TensorError> {
        let (rows, columns) = (self.channels, self.inner);
        let expected = rows * columns;
        if indices.len() != expected {
            return Err(TensorError::Count { given: indices.len(), expected, rows, columns });
        }
        if let Some(index) = indices.iter().position(|&index| index > 15) {
            return Err(TensorError::Range { index, value: indices[index].into(), least: 0, most: 15 });
        }
        let mut bytes = vec![0; self.bytes()];
        for (k, &index) in indices.iter().enumerate() {
            let (byte, low) = self.place(k / columns, k % columns);
            bytes[byte] |= index << low;
        }
        Ok(bytes)
    }

    /// Indices channel by channel, from the bytes of all panels.
    ///
    /// # Errors
    /// There are too few bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>, TensorError> {
        if bytes.len() < self.bytes() {
            return Err(TensorError::Bytes { given: bytes.len(), expected: self.bytes() });
        }
        let index = |k: usize| {
            let (byte, low) = self.place(k / self.inner, k % self.inner);
            bytes[byte] >> low & 15
        };
        Ok((0..self.channels * self.inner).map(index).collect())
    }

    /// The byte with an index, and its lowest bit in it.
    fn place(&self, channel: usize, position: usize) -> (usize, u32) {
        let (panel, channel) = (channel / self.in_panel, channel % self.in_panel);
        let nibble = (position / self.inputs * self.in_panel + channel) * self.inputs + position % self.inputs;
        (panel * self.stride as usize + nibble / 2, 4 * (nibble % 2) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kllm::tests::CAPS;

    #[test]
    fn by_hand() {
        // 2 lanes of 2 channels, 4 positions a beat: the first channel has 1, 2, 3, 4, 5, the last one of the second
        // panel 15.
        let panels = Panels::new(&CAPS, 8, 5).unwrap();
        assert_eq!((panels.panels(), panels.panel_bytes(), panels.stride(), panels.bytes()), (2, 16, 64, 80));
        let mut indices = vec![0; 40];
        indices[..5].copy_from_slice(&[1, 2, 3, 4, 5]);
        indices[39] = 15;
        let bytes = panels.pack(&indices).unwrap();
        assert_eq!(bytes[..2], [0x21, 0x43]);
        assert_eq!((bytes[8], bytes[64 + 14]), (5, 15));
        assert_eq!(bytes.iter().map(|&byte| usize::from(byte != 0)).sum::<usize>(), 4);
        assert_eq!(panels.unpack(&bytes).unwrap(), indices);
    }

    #[test]
    fn there_and_back() {
        for (lanes, groups, columns, inputs) in [(1, 1, 2, 4), (3, 1, 5, 6), (6, 3, 5, 6), (16, 4, 32, 16)] {
            let caps = Caps { lanes, groups, columns, inputs, ..CAPS };
            for (channels, inner) in [(1, 1), (2, 4), (15, 7), (31, 12), (600, 33)] {
                let panels = Panels::new(&caps, channels, inner).unwrap();
                let indices: Vec<u8> = (0..channels * inner).map(|k| (k * 7 % 16) as u8).collect();
                let bytes = panels.pack(&indices).unwrap();
                assert_eq!((bytes.len(), panels.unpack(&bytes).unwrap()), (panels.bytes(), indices));
            }
        }
    }

    /// Two groups of a lane: channels 2 and 3 of all lanes are in a panel of their own, and so are missing channels.
    #[test]
    fn of_groups() {
        let panels = Panels::new(&Caps { groups: 2, ..CAPS }, 3, 5).unwrap();
        assert_eq!((panels.panels(), panels.panel_bytes(), panels.stride(), panels.bytes()), (2, 8, 64, 72));
        let mut indices = vec![0; 15];
        indices[..5].copy_from_slice(&[1, 2, 3, 4, 5]);
        indices[14] = 15;
        let bytes = panels.pack(&indices).unwrap();
        assert_eq!(bytes[..2], [0x21, 0x43]);
        assert_eq!((bytes[4], bytes[64 + 4]), (5, 15));
        assert_eq!(panels.unpack(&bytes).unwrap(), indices);
        assert_eq!(Panels::new(&Caps { groups: 2, ..CAPS }, 1, 5).unwrap().panels(), 2);
    }

    #[test]
    fn refusals_say_what_is_right() {
        let panels = Panels::new(&CAPS, 2, 2).unwrap();
        let said = |indices: &[u8]| panels.pack(indices).unwrap_err().to_string();
        assert_eq!(said(&[0, 0, 16, 0]), "element 2 is 16, must be 0 to 15");
        assert_eq!(said(&[0]), "1 elements were given, must be 4: 2 rows of 2");
        assert_eq!(panels.unpack(&[0; 3]).unwrap_err().to_string(), "3 bytes were given, must be at least 8");
        for (channels, inner) in [(usize::MAX, 1), (1, usize::MAX), (1 << 40, 1 << 40)] {
            assert!(matches!(Panels::new(&CAPS, channels, inner), Err(TensorError::Large { .. })));
        }
    }
}
