//! The result of a read of whole blocks and the tail after them, damaged or not.

use super::dequantization_unit::restore;
use super::kv_unpacker::parse;

/// Reads so many tokens: returns tiles, and whether the stream is damaged.
pub fn read_back(
    bytes: &[u8],
    crc: u32,
    tokens: usize,
    (lanes, tiles, levels, block_bytes): (usize, usize, usize, usize),
) -> (Vec<Vec<i8>>, bool) {
    if bytes.is_empty() || tokens == 0 {
        return (Vec::new(), true);
    }
    let parsed = parse(bytes, lanes, block_bytes, Some(crc));
    let (beats, _) = restore(&parsed, lanes, tiles, levels);
    let wanted = tokens * tiles;
    let right = beats.len() == wanted && beats.iter().all(|beat| !beat.error);
    let given = beats.into_iter().filter(|beat| !beat.error).take(wanted).map(|beat| beat.x).collect();
    (given, !right)
}
