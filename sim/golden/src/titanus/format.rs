//! The bytes of one key or value sequence off chip: a stream of bits in whole blocks. [`super::kv_unpacker`] reads them back.
//!
//! Bit k of the stream is bit k mod 8 of byte k / 8; a field has its lowest bit first. The stream is
//!
//! ```text
//! header            16 bits: width of a quantized value (4), version 1 (4), lanes (8)
//! tile, tile, ...   each: kind (2), then
//!   kind 1, token             index (lanes), labels, values
//!   kind 3, token, new levels index (lanes), labels, values, opens (lanes), records
//!   kind 2, initial levels    opens (lanes), records
//! padding           zeros to the end of the block: kind 0 ends the stream, as does the end of its last block
//! ```
//!
//! Labels are one bit for each 1 of the index. Values have as many bits for each label as the header says. Records are
//! 18 bits for each 1 of opens: range (9), zero point (9, two's complement). All are in order of lanes.

use super::cpq::Sequence;

/// Version in the header.
pub const VERSION: u64 = 1;

/// Widths of a record's fields, range and zero point.
pub const RECORD_BITS: [u32; 2] = [9, 9];

/// One tile: `lanes` channels of a token, or of the initial levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// Whether the tile has no token, but the levels of the prefill.
    pub initial: bool,
    /// For each lane, whether the pruned value is not 0.
    pub index: Vec<bool>,
    /// For each lane, whether the quantized value is not 0.
    pub label: Vec<bool>,
    /// For each lane, the quantized value.
    pub values: Vec<u8>,
    /// For each lane, the range and zero point of a level that opens here.
    pub records: Vec<Option<(i32, i32)>>,
}

/// The tiles of a sequence: its initial levels if there was a prefill, then its tokens. The last tile of each is padded
/// with channels that are always 0.
pub fn tiles(sequence: &Sequence, lanes: usize) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let record = |l: super::level::Level| (l.range, l.zero_point());
    if sequence.prefilled {
        for part in sequence.initial.chunks(lanes) {
            let mut tile = Tile { initial: true, ..Tile::empty(lanes) };
            for (lane, level) in part.iter().enumerate() {
                tile.records[lane] = level.map(record);
            }
            tiles.push(tile);
        }
    }
    for token in &sequence.tokens {
        for (t, part) in token.chunks(lanes).enumerate() {
            let mut tile = Tile::empty(lanes);
            for (lane, e) in part.iter().enumerate() {
                (tile.index[lane], tile.label[lane], tile.values[lane]) = (e.index, e.label, e.q);
                if let Some(level) = e.level.filter(|_| e.opened) {
                    tile.records[lane] = Some(record(sequence.channels[t * lanes + lane].levels[level]));
                }
            }
            tiles.push(tile);
        }
    }
    tiles
}

impl Tile {
    /// A token's tile of zeros.
    pub fn empty(lanes: usize) -> Self {
        Self {
            initial: false,
            index: vec![false; lanes],
            label: vec![false; lanes],
            values: vec![0; lanes],
            records: vec![None; lanes],
        }
    }
}
