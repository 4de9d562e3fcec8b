//! Constants of a row or column.

/// Constants of a row or column. A number becomes number x scale + bias. If results are integers, the number is then
/// multiplied by the quantizer and rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Factor.
    pub scale: f32,
    /// Addend.
    pub bias: f32,
    /// Factor before the conversion to integers. Without a conversion it is ignored.
    pub quantizer: f32,
}

impl Default for Constants {
    /// Constants that change nothing.
    fn default() -> Self {
        Self { scale: 1.0, bias: 0.0, quantizer: 1.0 }
    }
}

impl Constants {
    /// Bytes of a record: the constants of a row or column in memory.
    pub const BYTES: u64 = 16;

    /// Records as bytes in memory.
    #[must_use]
    pub fn bytes(records: &[Self]) -> Vec<u8> {
        let record = |one: &Self| {
            let mut bytes = [0; Self::BYTES as usize];
            for (at, value) in [(0, one.scale), (4, one.bias), (8, one.quantizer)] {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            bytes
        };
        records.iter().flat_map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records() {
        let bytes = Constants::bytes(&[Constants { scale: 1.5, bias: -2.0, quantizer: 0.5 }, Constants::default()]);
        let words: Vec<u32> = bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(words, [0x3fc0_0000, 0xc000_0000, 0x3f00_0000, 0, 0x3f80_0000, 0, 0x3f80_0000, 0]);
    }
}
