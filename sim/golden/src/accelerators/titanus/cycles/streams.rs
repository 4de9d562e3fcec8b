//! The streams of an operation, as far as its cycles depend on them. A stream consists of chunks. A packer makes one
//! chunk a cycle, and an unpacker cuts one chunk a cycle.

use crate::titanus::format::Tile;

/// Bits of a block.
pub(super) const BLOCK: u64 = 512;
/// Bits of the header, which is a chunk.
const HEADER: u64 = 16;
/// Bits of a record.
const RECORD: u64 = 18;

/// Records in the chunk with the mask of opened levels.
fn first_records(lanes: u64) -> u64 {
    lanes.div_ceil(2)
}

/// Bits of the widest chunk.
pub(super) fn widest(lanes: u64) -> u64 {
    (2 + 10 * lanes).max(lanes + RECORD * first_records(lanes))
}

/// Bits of each chunk of a tile whose values have so many bits.
fn chunks(tile: &Tile, bits: u32) -> Vec<u64> {
    let ones = |flags: &[bool]| flags.iter().filter(|&&flag| flag).count() as u64;
    let (lanes, opened) = (tile.index.len() as u64, tile.records.iter().flatten().count() as u64);
    let token = lanes + ones(&tile.index) + u64::from(bits) * ones(&tile.label);
    let mut chunks = vec![2 + if tile.initial { 0 } else { token }];
    if tile.initial || opened > 0 {
        let first = first_records(lanes);
        chunks.push(lanes + RECORD * opened.min(first));
        chunks.extend((opened > first).then(|| RECORD * (opened - first)));
    }
    chunks
}

/// A chunk of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its first bit in the stream.
    pub at: u64,
    pub bits: u64,
    /// The tile that it belongs to. A header belongs to the first tile.
    pub tile: i64,
    pub header: bool,
}

impl Chunk {
    /// The bit after its last one.
    pub fn end(&self) -> u64 {
        self.at + self.bits
    }

    /// Whether it fills the block in which it begins.
    pub fn fills(&self) -> bool {
        self.at / BLOCK < self.end() / BLOCK
    }
}

/// Consecutive tiles of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Tiles {
    pub(super) chunks: Vec<Chunk>,
    /// The last chunk of each tile.
    pub(super) last: Vec<i64>,
    /// Tiles of initial levels, which come first.
    pub(super) initial: i64,
    /// Tiles that the quantizer buffers until all of them have given the levels, and how many of these it has already.
    pub(super) buffered: i64,
    pub(super) kept: i64,
}

impl Tiles {
    /// Tiles after the first `from` bits of a stream. If `from` is 0, the header comes first.
    pub fn new(from: u64, tiles: &[Tile], bits: u32) -> Self {
        let mut all = Self { chunks: Vec::new(), last: Vec::new(), initial: 0, buffered: 0, kept: 0 };
        let mut at = from;
        let mut add = |tile: usize, bits: u64, header: bool| {
            all.chunks.push(Chunk { at, bits, tile: tile as i64, header });
            at += bits;
            all.chunks.len() as i64 - 1
        };
        if from == 0 && !tiles.is_empty() {
            add(0, HEADER, true);
        }
        for (number, tile) in tiles.iter().enumerate() {
            let mut last = 0;
            for bits in chunks(tile, bits) {
                last = add(number, bits, false);
            }
            all.last.push(last);
        }
        all.initial = tiles.iter().filter(|tile| tile.initial).count() as i64;
        all
    }

    /// The quantizer buffers `buffered` tiles until they have given the levels. It has `kept` of these already.
    pub fn waiting(self, buffered: i64, kept: i64) -> Self {
        Self { buffered, kept, ..self }
    }

    /// The bit after the last one.
    pub(super) fn end(&self) -> u64 {
        self.chunks.last().map_or(0, Chunk::end)
    }
}

/// The streams of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Streams {
    /// The operation has no streams.
    None,
    /// Keys and values to pack. If another sequence is given up for them, also the tiles that end its open streams.
    Append([Tiles; 2], Option<[Tiles; 2]>),
    /// Keys and values to restore.
    Restore([Tiles; 2]),
}
