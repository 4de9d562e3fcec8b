//! Write DMA: which bytes are written.

use super::Command;

/// Address and value of every byte, in order; beat `k` of the packed input has `bus_bytes` bytes.
#[must_use]
pub fn written(command: &Command, bus_bytes: u64, input: &[Vec<u8>]) -> Vec<(u64, u8)> {
    let per_row = command.row_bytes.div_ceil(bus_bytes);
    let mut bytes = Vec::new();
    for (row, address) in command.row_addresses().enumerate() {
        for k in 0..command.row_bytes {
            let beat = row as u64 * per_row + k / bus_bytes;
            bytes.push((address + k, input[beat as usize][(k % bus_bytes) as usize]));
        }
    }
    bytes
}

/// Cycles from the one in which a command is taken to the one that shows its completion, after a pause and with beats
/// always at hand: of a bus of up to 64 bytes, one row of one burst. The first beat is taken 4 cycles later, the address is
/// shown 2 behind the last beat, the data a cycle behind it, and an ideal memory answers `latency` cycles behind the last
/// beat of it.
#[must_use]
pub fn cycles(beats: u64, latency: u64) -> u64 {
    4 + (beats - 1) + 2 + 1 + (beats - 1) + latency + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unpacked() {
        let command = Command { address: 0x40, row_bytes: 5, rows: 2, stride: 0x40 };
        let input: Vec<Vec<u8>> = [[1, 2, 3, 4], [5, 9, 9, 9], [6, 7, 8, 9], [10, 9, 9, 9]].map(Vec::from).to_vec();
        let got = written(&command, 4, &input);
        let expected = [(0x40, 1), (0x41, 2), (0x42, 3), (0x43, 4), (0x44, 5)];
        assert_eq!(got[..5], expected);
        assert_eq!(got[5..], [(0x80, 6), (0x81, 7), (0x82, 8), (0x83, 9), (0x84, 10)]);
    }
}
