//! Tiles as blocks of bytes without gaps, see [`mod@super::format`].

use super::cpq::Sequence;
use super::format::{RECORD_BITS, Tile, VERSION, tiles};

/// Bits in order.
#[derive(Default)]
struct Writer(Vec<bool>);

impl Writer {
    fn field(&mut self, value: u64, width: u32) {
        self.0.extend((0..width).map(|i| value >> i & 1 == 1));
    }

    fn bits(&mut self, bits: impl IntoIterator<Item = bool>) {
        self.0.extend(bits);
    }
}

/// The blocks of a stream. Without tiles there are no blocks.
pub fn pack(bits: u32, lanes: usize, tiles: &[Tile], block_bytes: usize) -> Vec<u8> {
    blocks(&written(bits, lanes, tiles), block_bytes)
}

/// Bits as whole blocks, the last one padded with zeros.
pub fn blocks(stream: &[bool], block_bytes: usize) -> Vec<u8> {
    let byte = |b: &[bool]| b.iter().enumerate().map(|(i, &bit)| u8::from(bit) << i).sum();
    let mut bytes: Vec<u8> = stream.chunks(8).map(byte).collect();
    bytes.resize(bytes.len().next_multiple_of(block_bytes), 0);
    bytes
}

/// Bits of a stream without its padding.
pub fn bit_length(bits: u32, lanes: usize, tiles: &[Tile]) -> usize {
    written(bits, lanes, tiles).len()
}

fn written(bits: u32, lanes: usize, tiles: &[Tile]) -> Vec<bool> {
    if tiles.is_empty() { Vec::new() } else { [header(bits, lanes), body(bits, lanes, tiles)].concat() }
}

/// The bits before the first tile.
pub fn header(bits: u32, lanes: usize) -> Vec<bool> {
    let mut w = Writer::default();
    w.field(bits.into(), 4);
    w.field(VERSION, 4);
    w.field(lanes as u64, 8);
    w.0
}

/// The bits of tiles anywhere in a stream.
pub fn body(bits: u32, lanes: usize, tiles: &[Tile]) -> Vec<bool> {
    let mut w = Writer::default();
    for tile in tiles {
        let opens = tile.records.iter().any(Option::is_some);
        let kind = if tile.initial { 2 } else { 1 + 2 * u64::from(opens) };
        w.field(kind, 2);
        if !tile.initial {
            w.bits(tile.index.iter().copied());
            w.bits((0..lanes).filter(|&i| tile.index[i]).map(|i| tile.label[i]));
            (0..lanes).filter(|&i| tile.label[i]).for_each(|i| w.field(tile.values[i].into(), bits));
        }
        if tile.initial || opens {
            w.bits(tile.records.iter().map(Option::is_some));
            for &(range, zero) in tile.records.iter().flatten() {
                w.field(range as u64, RECORD_BITS[0]);
                w.field(zero as u64, RECORD_BITS[1]);
            }
        }
    }
    w.0
}

/// The bytes of a sequence in hardware with so many lanes.
pub fn packed(sequence: &Sequence, lanes: usize, block_bytes: usize) -> Vec<u8> {
    pack(sequence.config.bits, lanes, &tiles(sequence, lanes), block_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::cpq::Config;
    use super::super::kv_unpacker::{Parsed, parse};
    use super::*;
    use crate::common::crc32::crc32;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // Two lanes, three bits, one token without prefill: 5 opens level 0 of lane 0 (range 7, zero point -5), q 0.
        let config = Config { bits: 3, max_levels: 2 };
        let sequence = Sequence::encode(config, &[vec![5, 0]], 0);
        let bytes = pack(3, 2, &tiles(&sequence, 2), 8);
        // 0x13, 0x02; kind 3 (11), index 10, label 0, opens 10, range 7 (111000000), zero -5 (110111111).
        let bits = [1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1];
        let byte = |b: &[u8]| b.iter().enumerate().map(|(i, &b)| b << i).sum::<u8>();
        let mut expected = vec![0x13, 0x02];
        expected.extend(bits.chunks(8).map(byte));
        expected.resize(8, 0);
        assert_eq!(bytes, expected);
        assert!(pack(3, 2, &[], 64).is_empty());
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn round_trip(
            tokens in (1usize..9).prop_flat_map(|w| prop::collection::vec(prop::collection::vec(any::<i8>(), w), 1..12)),
            bits in 2u32..=8, prefill in 0usize..8, lanes in 1usize..7,
        ) {
            let sequence = Sequence::encode(Config { bits, max_levels: 4 }, &tokens, prefill);
            let tiles = tiles(&sequence, lanes);
            let bytes = pack(bits, lanes, &tiles, 64);
            prop_assert!(bytes.len().is_multiple_of(64));
            prop_assert_eq!(parse(&bytes, lanes, 64, Some(crc32(&bytes))), Parsed { bits, tiles, damage: None });
        }
    }
}
