//! Baselines of CPQ with HQE: quantization whose parameters come from all values that they are used for.
//!
//! - Per channel: one level a channel. In decode it must be computed anew with every token, and all earlier tokens must
//!   be quantized again. HQE avoids this.
//! - Group-wise per channel: a level for every `group` tokens of a channel.
//! - Per token: a level for every `group` channels of a token.
//!
//! Only elements that are not 0 take part, as in CPQ.

use super::level::Level;

/// The elements that share a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// A channel over all tokens.
    Channel,
    /// A channel over so many tokens.
    ChannelGroup(usize),
    /// A token over so many channels.
    TokenGroup(usize),
}

/// A quantized sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// Values as they come back.
    pub decoded: Vec<Vec<i8>>,
    /// Pairs of range and zero point.
    pub records: u64,
    /// Elements that are not 0 before quantization.
    pub elements: u64,
    /// Elements that are not 0 after it.
    pub labels: u64,
    /// Width of a value.
    pub bits: u32,
}

/// Quantizes and dequantizes pruned tokens.
pub fn quantize(tokens: &[Vec<i8>], bits: u32, grouping: Grouping) -> Quantized {
    let width = tokens.first().map_or(0, Vec::len);
    let mut out = Quantized { decoded: vec![vec![0; width]; tokens.len()], records: 0, elements: 0, labels: 0, bits };
    let (rows, columns) = match grouping {
        Grouping::Channel => (tokens.len().max(1), 1),
        Grouping::ChannelGroup(group) => (group, 1),
        Grouping::TokenGroup(group) => (1, group),
    };
    for top in (0..tokens.len()).step_by(rows) {
        for left in (0..width).step_by(columns) {
            let places = (top..(top + rows).min(tokens.len()))
                .flat_map(|t| (left..(left + columns).min(width)).map(move |c| (t, c)))
                .filter(|&(t, c)| tokens[t][c] != 0);
            let values = || places.clone().map(|(t, c)| i32::from(tokens[t][c]));
            let (Some(rmin), Some(rmax)) = (values().min(), values().max()) else { continue };
            let level = Level::spanning(rmin, rmax, bits);
            out.records += 1;
            for (t, c) in places {
                let q = level.quantize(tokens[t][c].into());
                out.elements += 1;
                out.labels += u64::from(q != 0);
                out.decoded[t][c] = level.dequantize(q);
            }
        }
    }
    out
}

/// Elements that are quantized while `tokens` tokens come in, if all earlier tokens are quantized again with each later
/// token. The first `prefill` tokens come at once.
pub fn requantized_tokens(tokens: u64, prefill: u64) -> u64 {
    prefill + (prefill + 1..=tokens).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_by_hand() {
        let tokens = vec![vec![0, 10, 20], vec![3, 13, 0], vec![6, 100, -20]];
        let channel = quantize(&tokens, 2, Grouping::Channel);
        // Channel 0: 3 and 6 in range 3; channel 1: 10 to 100, steps of 30; channel 2: -20 to 20.
        assert_eq!((channel.records, channel.elements), (3, 7));
        assert_eq!(channel.decoded, [[0, 0, 13], [3, 0, 0], [6, 90, -27]]);
        let rows = quantize(&tokens, 2, Grouping::TokenGroup(3));
        assert_eq!((rows.records, rows.elements), (3, 7));
        assert_eq!(rows.decoded[1], [3, 13, 0]);
        let pairs = quantize(&tokens, 2, Grouping::ChannelGroup(2));
        assert_eq!(pairs.records, 6);
        assert_eq!(pairs.decoded[1], [3, 13, 0]);
    }

    /// The paper's figure 9 says 384.75 times fewer at a context of 1024: a prefill of one half.
    #[test]
    fn saving_of_the_paper() {
        assert_eq!(requantized_tokens(1024, 512) * 100 / 1024, 38_475);
        assert_eq!(requantized_tokens(1, 0), 1);
        assert_eq!(requantized_tokens(3, 1), 1 + 2 + 3);
    }
}
