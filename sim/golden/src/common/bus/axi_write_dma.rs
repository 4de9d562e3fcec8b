//! Write DMA: the bytes that it writes.

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

/// Cycles from the one in which a command is taken to the one that shows its completion, after a pause. `beats` has the
/// beats of each burst. The first beat is taken 4 cycles after the command, then one in every cycle. The first beat of
/// a burst is on the bus 3 cycles after its last beat came, or after the burst before. An ideal memory answers
/// `latency` cycles after the last beat, and the completion follows. This holds for a bus of up to 64 bytes, if
/// everything in flight has room.
#[must_use]
pub fn cycles(beats: &[u64], latency: u64) -> u64 {
    let (mut came, mut free) = (4, 0);
    for burst in beats {
        came += burst;
        free = free.max(came - 1 + 3) + burst;
    }
    free - 1 + latency + 1
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
