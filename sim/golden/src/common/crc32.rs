//! CRC-32 of Ethernet and ZIP, bit after bit.

/// CRC-32 of `bytes`.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    continued(0, bytes)
}

/// CRC-32 of a sequence whose first part has the CRC-32 `before` and whose rest is `bytes`.
#[must_use]
pub fn continued(before: u32, bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!before, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of CRC algorithms, and the CRC-32 of no bytes.
    #[test]
    fn as_published() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(continued(crc32(b"1234"), b"56789"), 0xcbf4_3926);
        assert_eq!(crc32(&[]), 0);
    }
}
