//! Read DMA: the beats of its output.

use super::Command;

/// A beat of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Its bytes; bytes without a meaning are left out.
    pub bytes: Vec<u8>,
    /// Whether it is the last beat of its row.
    pub row_last: bool,
    /// Whether it is the last beat of its command.
    pub last: bool,
}

/// The beats of a valid command, up to the first beat that needs beat `failing` of the bus.
pub fn output(command: &Command, bus_bytes: u64, memory: impl Fn(u64) -> u8, failing: Option<usize>) -> Vec<Beat> {
    let mut beats = Vec::new();
    let mut bus_beats = 0;
    for (row, address) in command.row_addresses().enumerate() {
        let first_bus_beat = address / bus_bytes;
        let mut done = 0;
        while done < command.row_bytes {
            let count = bus_bytes.min(command.row_bytes - done);
            let needs = bus_beats + (address + (done + count - 1)) / bus_bytes - first_bus_beat;
            if failing.is_some_and(|f| needs >= f as u64) {
                return beats;
            }
            let bytes = (0..count).map(|k| memory(address + done + k)).collect();
            done += count;
            let row_last = done == command.row_bytes;
            beats.push(Beat { bytes, row_last, last: row_last && row as u64 + 1 == command.rows });
        }
        bus_beats += (address + (command.row_bytes - 1)) / bus_bytes - first_bus_beat + 1;
    }
    beats
}

/// Cycles from the one in which a command is taken to the one that shows its completion, after a pause. The address is
/// shown 4 cycles after the command. An ideal memory answers `latency` cycles later, and then in every cycle. A beat is
/// at the output 2 cycles later, and the completion follows the last beat. This holds for a bus of up to 64 bytes, if
/// everything in flight has room.
#[must_use]
pub fn cycles(command: &Command, bus_bytes: u64, latency: u64) -> u64 {
    4 + latency + (command.bus_beats(bus_bytes).len() as u64 - 1) + 2 + 1
}

/// How many of `bursts` are requested while only the first `taken` beats leave the output. `bursts` has the beats of
/// each burst. A burst is requested when `buffer_beats` has room for all of its beats.
#[must_use]
pub fn asked(bursts: &[u64], buffer_beats: u64, taken: u64) -> usize {
    let mut room = buffer_beats + taken;
    bursts.iter().take_while(|&&beats| room.checked_sub(beats).map(|left| room = left).is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_have_room() {
        let all = |taken| asked(&[4, 3, 2, 1], 8, taken);
        assert_eq!([0, 1, 2, 3].map(all), [2, 3, 4, 4], "7, 9 and 10 beats");
        assert_eq!(asked(&[4, 4, 1], 8, 0), 2);
    }

    #[test]
    fn rows_are_packed() {
        let command = Command { address: 0x40, row_bytes: 130, rows: 2, stride: 0xc0 };
        let beats = output(&command, 128, |a| a as u8, None);
        let shape: Vec<_> = beats.iter().map(|b| (b.bytes[0], b.bytes.len(), b.row_last, b.last)).collect();
        assert_eq!(
            shape,
            [(0x40, 128, false, false), (0xc0, 2, true, false), (0x00, 128, false, false), (0x80, 2, true, true)]
        );
        // Beats of the bus: 0 and 0x80 of the first row, 0x100 and 0x180 of the second row.
        let shown = |failing| output(&command, 128, |a| a as u8, Some(failing)).len();
        assert_eq!([0, 1, 2, 3].map(shown), [0, 0, 2, 3]);
    }
}
