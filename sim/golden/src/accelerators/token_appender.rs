//! A token that is written into lines of panels and into their constants.

use crate::common::float::single;
use crate::kllm::fp16::FP32;

/// Bytes of a line.
pub const LINE: usize = 64;

/// A token, and the lines that it changes.
#[derive(Clone, Debug)]
pub struct Appended {
    /// The number of the token: a channel of its panel, or a position.
    pub number: usize,
    /// Whether the token is a position of each channel.
    pub position: bool,
    /// The factors of its scale for the constants of a channel, fp32.
    pub factors: [u32; 2],
    /// Head and indices.
    pub token: Vec<u8>,
    /// Lines of panels, then the line of constants or scales.
    pub lines: Vec<u8>,
}

impl Appended {
    /// Whether its head says that the token has no outliers.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.token[2..4] == [0; 2] && (3..=4).contains(&self.token[4])
    }

    /// The lines with the token, for so many positions of a beat. The model counts index by index, without the
    /// hardware's groups and masks.
    #[must_use]
    pub fn expected(&self, inputs: usize) -> Vec<u8> {
        let mut lines = self.lines.clone();
        let nibbles = 2 * (lines.len() - LINE);
        let scale_line = nibbles / 2;
        let indices = &self.token[LINE..];
        let mut next = 0;
        for at in 0..nibbles {
            // Runs follow each other. A line has some of the runs.
            let (run, place) = (at / inputs, at % inputs);
            let changes = if self.position {
                place == self.number % inputs
            } else {
                run % (128 / inputs) == self.number % (128 / inputs)
            };
            if changes {
                let value = indices.get(next / 2).map_or(0, |byte| byte >> (4 * (next % 2)) & 15);
                let low = 4 * (at % 2);
                lines[at / 2] = lines[at / 2] & !(15 << low) | value << low;
                next += 1;
            }
        }
        let half = [self.token[0], self.token[1]];
        let wide = u64::from(single::from_fp16(u16::from_le_bytes(half)));
        let scale: Vec<u8> = if self.position {
            half.to_vec()
        } else {
            self.factors.iter().flat_map(|&f| (FP32.mul(wide, f.into()).bits as u32).to_le_bytes()).collect()
        };
        let at = scale_line + self.number * scale.len() % LINE;
        lines[at..at + scale.len()].copy_from_slice(&scale);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of 8 positions, by hand: position 2 of each run of the line. Then the scale, number 34, the third of its
    /// line.
    #[test]
    fn a_position_by_hand() {
        let mut token = vec![0; 2 * LINE];
        (token[1], token[4], token[64], token[65]) = (0x3c, 4, 0x21, 0x43);
        let lines = vec![0xff; 2 * LINE];
        let one = Appended { number: 34, position: true, factors: [0; 2], token, lines };
        let got = one.expected(8);
        assert_eq!((&got[..4], &got[4..8]), (&[0xff, 0xf1, 0xff, 0xff][..], &[0xff, 0xf2, 0xff, 0xff][..]));
        assert_eq!((got[9], got[13], got[17]), (0xf3, 0xf4, 0xf0));
        assert_eq!(&got[LINE..LINE + 8], &[0xff, 0xff, 0xff, 0xff, 0, 0x3c, 0xff, 0xff]);
    }

    /// A channel is a run of a line, and has two constants.
    #[test]
    fn a_channel_by_hand() {
        let mut token = vec![0; 2 * LINE];
        (token[1], token[4], token[64], token[67]) = (0x40, 3, 0x21, 0x65);
        let lines = vec![0xff; 2 * LINE];
        let one =
            Appended { number: 17, position: false, factors: [1.5f32.to_bits(), 0.25f32.to_bits()], token, lines };
        let got = one.expected(8);
        assert_eq!(&got[..12], &[0xff, 0xff, 0xff, 0xff, 0x21, 0, 0, 0x65, 0xff, 0xff, 0xff, 0xff]);
        let constants = [3.0f32, 0.5].map(f32::to_le_bytes).concat();
        assert_eq!((&got[LINE + 8..LINE + 16], got[LINE + 7]), (&constants[..], 0xff));
    }
}
