//! Streams that memory has damaged: bits turned over, blocks cut off, lost, doubled or invented, fields out of range.

use golden::common::crc32::crc32;
use golden::titanus::cpq::{Config, Sequence};
use golden::titanus::format::{Tile, tiles};
use golden::titanus::kv_packer::pack;
use hdl::blocks::titanus::ByteBlock;
use rand::{Rng, RngExt};
use sim::stimulus::StimulusRng;
use sim::{Bits, Values};

use super::sequences::Case;
use super::tiles::blocks;

/// A stream as memory returns it, and the checksum that stands beside its pointer.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// Whole blocks, at least one.
    pub bytes: Vec<u8>,
    /// Of the bytes as they were written, or of these bytes.
    pub crc: u32,
}

impl Damaged {
    /// The blocks; the checksum comes with the last one, the others have theirs or any.
    pub fn blocks(&self, size: (u32, bool), rng: &mut StimulusRng) -> Vec<ByteBlock<Values>> {
        let mut blocks = blocks(&self.bytes, size);
        let wild = rng.random_range(0..2u8) == 0;
        for block in &mut blocks {
            let (last, any) = (block.last.bit(0), Bits::random(32, rng));
            let crc = block.crc.take();
            block.crc = match crc {
                Some(_) if last => Some(Bits::truncated(32, self.crc.into())),
                Some(_) if wild => Some(any),
                kept => kept,
            };
        }
        blocks
    }

    /// The checksum that the reader gets, if it checks one.
    pub fn checksum(&self, checked: bool) -> Option<u32> {
        checked.then_some(self.crc)
    }
}

/// Sizes that streams are made for.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl Sizes {
    fn written(self, bits: u32, tiles: &[Tile]) -> Damaged {
        let bytes = pack(bits, self.lanes as usize, tiles, self.block_bytes as usize);
        Damaged { crc: crc32(&bytes), bytes }
    }

    fn sequence(self, rng: &mut StimulusRng, levels: u32) -> Sequence {
        let width = (self.lanes * self.tiles - rng.random_range(0..self.lanes)) as usize;
        Case::random(rng, width, 8).encode(levels, u32::MAX)
    }

    /// A good stream: width of a value, tiles.
    pub fn good(self, rng: &mut StimulusRng) -> (u32, Vec<Tile>) {
        let sequence = self.sequence(rng, self.levels);
        (sequence.config.bits, tiles(&sequence, self.lanes as usize))
    }

    /// A stream in good order of levels that no compressor writes: most begin or end where values or levels stop to fit.
    pub fn any_levels(self, rng: &mut StimulusRng) -> (u32, Vec<Tile>) {
        let bits = rng.random_range(2..=8u32);
        let steps: i32 = (1 << bits) - 1;
        let prefilled = rng.random();
        let lanes = self.lanes as usize;
        let mut opened = vec![0; lanes * self.tiles as usize];
        let mut all = Vec::new();
        for round in 0..rng.random_range(1..=5) + u32::from(prefilled) {
            for opened in opened.chunks_mut(lanes) {
                let mut tile = Tile { initial: prefilled && round == 0, ..Tile::empty(lanes) };
                for (lane, opened) in opened.iter_mut().enumerate() {
                    let opens = *opened < self.levels && rng.random();
                    *opened += u32::from(opens);
                    tile.records[lane] = opens.then(|| any_record(rng, steps));
                    if *opened > 0 && !tile.initial {
                        tile.index[lane] = rng.random_range(0..4u8) > 0;
                        tile.label[lane] = tile.index[lane] && rng.random();
                    }
                    // An element that opens a level is at one of its ends.
                    let q = if opens { steps } else { rng.random_range(0..=steps) };
                    tile.values[lane] = if tile.label[lane] { q as u8 } else { 0 };
                }
                all.push(tile);
            }
        }
        (bits, all)
    }

    /// A good stream, cut off after each of its blocks but the last.
    pub fn cut_everywhere(self, rng: &mut StimulusRng) -> Vec<Damaged> {
        let (bits, tiles) = self.good(rng);
        let whole = self.written(bits, &tiles);
        let size = self.block_bytes as usize;
        let cut = |n: usize| Damaged { bytes: whole.bytes[..n * size].to_vec(), ..whole };
        (1..whole.bytes.len() / size).map(cut).collect()
    }

    /// A stream with damage of any kind; now and then it is still a good one.
    pub fn damaged(self, rng: &mut StimulusRng) -> Damaged {
        let size = self.block_bytes as usize;
        match rng.random_range(0..11u8) {
            0..=5 => {
                let (bits, tiles) = self.good(rng);
                let mut stream = self.written(bits, &tiles);
                damage(rng, &mut stream.bytes, size);
                // Half of them as a writer with a fault would make them: the form is wrong, the checksum is right.
                if rng.random_range(0..2u8) == 0 {
                    stream.crc = crc32(&stream.bytes);
                }
                stream
            }
            // Nothing but noise, with and without a header in front of it; the checksum is right.
            6 | 7 => {
                let mut bytes = vec![0; size * rng.random_range(1..=4)];
                rng.fill_bytes(&mut bytes);
                if rng.random_range(0..4u8) > 0 {
                    bytes[0] = 0x10 | rng.random_range(2..=8u8);
                    bytes[1] = self.lanes as u8;
                }
                Damaged { crc: crc32(&bytes), bytes }
            }
            8 | 9 => self.wrong_order(rng),
            _ => {
                let (bits, tiles) = self.any_levels(rng);
                self.written(bits, &tiles)
            }
        }
    }

    /// A stream written well of tiles that make no sense together.
    fn wrong_order(self, rng: &mut StimulusRng) -> Damaged {
        // More levels than the reader has.
        let more = self.levels + rng.random_range(0..3u32);
        let sequence = self.sequence(rng, more);
        let Config { bits, .. } = sequence.config;
        let mut tiles = tiles(&sequence, self.lanes as usize);
        let at = rng.random_range(0..tiles.len());
        match rng.random_range(0..7u8) {
            0 if tiles.len() > 1 => drop(tiles.remove(at)),
            1 => tiles.insert(at, tiles[at].clone()),
            2 => tiles.swap(0, at),
            3 => tiles[at].initial ^= true,
            4 => {
                let lane = rng.random_range(0..self.lanes as usize);
                // A range is at least the steps of its width.
                let least = (1 << bits) - 1;
                let range = if rng.random() { rng.random_range(0..512) } else { least - rng.random_range(0..2) };
                tiles[at].records[lane] = Some((range, rng.random_range(-256..256)));
            }
            5 => {
                let lane = rng.random_range(0..self.lanes as usize);
                tiles[at].index[lane] = true;
            }
            _ => tiles.iter_mut().flat_map(|t| &mut t.records).for_each(|r| {
                if rng.random_range(0..8u8) == 0 {
                    *r = None;
                }
            }),
        }
        self.written(bits, &tiles)
    }
}

/// The record of a level with so many steps.
fn any_record(rng: &mut StimulusRng, steps: i32) -> (i32, i32) {
    let range = rng.random_range(0..512) >> rng.random_range(0..9);
    if rng.random_range(0..4u8) == 0 || range == 0 {
        return (range, rng.random_range(-256..256) >> rng.random_range(0..8));
    }
    let end = [-255, -128, 127, 255][rng.random_range(0..4usize)] + rng.random_range(-2..=2);
    let low = if rng.random() { end } else { end - range };
    (range, (-low * steps / range + rng.random_range(-1..=1)).clamp(-256, 255))
}

fn damage(rng: &mut StimulusRng, bytes: &mut Vec<u8>, size: usize) {
    let count = bytes.len() / size;
    let block = rng.random_range(0..count);
    match rng.random_range(0..9u8) {
        0..=2 => {
            for _ in 0..rng.random_range(1..=3u8) {
                let bit = rng.random_range(0..8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        // The header: width of a value, version, lanes.
        3 => bytes[0] = bytes[0] & 0xf0 | [0, 1, 9, 10, 11, 12, 13, 14, 15][rng.random_range(0..9usize)],
        4 => {
            let bit = rng.random_range(0..16);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        // Padding, more often than not.
        5 => {
            let bit = rng.random_range(0..8 * size.min(2));
            let at = bytes.len() - 1 - bit / 8;
            bytes[at] ^= 1 << (bit % 8);
        }
        6 if count > 1 => drop(bytes.drain(block * size..(block + 1) * size)),
        7 => {
            let again = bytes[block * size..(block + 1) * size].to_vec();
            bytes.splice(block * size..block * size, again);
        }
        _ => bytes.extend(std::iter::repeat_n(0, size)),
    }
}
