//! The open streams of a layer's cache: whole blocks that go to memory, and a tail that stays on chip. [`super::cache_reader`] reads both back.

use super::cpq::{Config, Sequence};
use super::format::tiles;
use super::kv_packer::{bit_length, pack};
use crate::common::crc32::crc32;

/// Keys or values so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenStream {
    /// Full blocks.
    pub blocks: Vec<u8>,
    /// The block after the full blocks, padded with zeros.
    pub tail: Vec<u8>,
    /// Bits of the tail.
    pub used: usize,
    /// Checksum of the blocks, and of the tail unless it has no bits.
    pub crc: u32,
    /// Whether an element was out of tolerance when its channel had no level left.
    pub overflow: bool,
}

/// The stream of pruned tokens; `None` while tokens wait for the end of the prefill, or there are none.
pub fn open_stream(
    config: Config,
    tokens: &[Vec<i8>],
    buffered: usize,
    (lanes, block_bytes): (usize, usize),
) -> Option<OpenStream> {
    if tokens.is_empty() || tokens.len() < buffered {
        return None;
    }
    let sequence = Sequence::encode(config, tokens, buffered);
    let tiles = tiles(&sequence, lanes);
    let mut blocks = pack(config.bits, lanes, &tiles, block_bytes);
    let crc = crc32(&blocks);
    let bits = bit_length(config.bits, lanes, &tiles);
    let mut tail = blocks.split_off(bits / (8 * block_bytes) * block_bytes);
    tail.resize(block_bytes, 0);
    Some(OpenStream { blocks, tail, used: bits % (8 * block_bytes), crc, overflow: sequence.overflowed() })
}

#[cfg(test)]
mod tests {
    use super::super::cache_reader::read_back;
    use super::*;

    /// The example of the format's page: one token (5, 0) of two lanes in three bits.
    #[test]
    fn blocks_and_tail_by_hand() {
        let config = Config { bits: 3, max_levels: 2 };
        let tokens = [vec![5, 0]];
        let stream = open_stream(config, &tokens, 0, (2, 3)).unwrap();
        // 16 + 2 + 2 + 1 + 2 + 18 bits.
        assert_eq!((stream.blocks.clone(), stream.used), (vec![0x13, 0x02, 0xa7], 17));
        assert_eq!(stream.tail, [0x03, 0xfb, 0x01]);
        assert_eq!(stream.crc, crc32(&[0x13, 0x02, 0xa7, 0x03, 0xfb, 0x01]));
        assert_eq!(open_stream(config, &tokens, 2, (2, 3)), None);
        let bytes = [stream.blocks, stream.tail].concat();
        let read = |bytes: &[u8], tokens| read_back(bytes, stream.crc, tokens, (2, 1, 2, 3));
        assert_eq!(read(&bytes, 1), (vec![vec![5, 0]], false));
        // Another number of tokens, and a flipped bit.
        assert_eq!(read(&bytes, 2), (vec![vec![5, 0]], true));
        assert_eq!(read(&bytes, 0), (vec![], true));
        let mut wrong = bytes.clone();
        wrong[4] ^= 0x80;
        assert!(read(&wrong, 1).1);
    }
}
