//! A possibly damaged stream of [`super::format`], parsed from its bytes alone.
//!
//! The tiles before the first damage are right, unless a checksum differs. Bits after the damage are not read.

use std::fmt;

use super::format::{RECORD_BITS, Tile, VERSION};
use crate::common::crc32::crc32;

/// The damage of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The header has a width of values outside of 2 to 8.
    Width(u32),
    /// The header has another version.
    Version(u64),
    /// The header has another number of lanes.
    Lanes(u64),
    /// The last block ends within the header or a tile, in a field that begins at `bit`.
    Cut {
        /// Bit of the stream.
        bit: usize,
    },
    /// Tile number `tile` carries initial levels, after a token.
    LateLevels {
        /// Number in the stream, from 0.
        tile: usize,
    },
    /// A level of tile number `tile` has a range below the number of steps.
    Range {
        /// Number in the stream, from 0.
        tile: usize,
        /// The channel.
        lane: usize,
        /// The range.
        range: i32,
    },
    /// Kind 0 at `bit`, but its block is not the last one.
    Surplus {
        /// Bit of the stream.
        bit: usize,
    },
    /// A 1 after the end of the stream.
    Padding {
        /// Bit of the stream.
        bit: usize,
    },
    /// The stream ends without a token.
    NoToken,
    /// The bytes have another checksum than the one next to the stream's pointer.
    Checksum {
        /// Checksum of the bytes.
        got: u32,
    },
    /// The stream, or its initial levels, end within a token.
    HalfToken {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
    /// A channel opens more levels than the hardware has.
    TooManyLevels {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
    /// There are more tiles with initial levels than a token has tiles.
    TooManyInitial {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
    /// An element belongs to a channel without a level.
    NoLevel {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
    /// A level's low end, in exact arithmetic, is beyond -255 to 255.
    FarLevel {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
    /// An element that opens a level is neither at its low end nor at its top.
    Within {
        /// Number of the tile in the stream, from 0.
        tile: usize,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(bits) => write!(f, "values of {bits} bits; allowed: 2 to 8"),
            Self::Version(version) => write!(f, "version {version}; known: {VERSION}"),
            Self::Lanes(lanes) => write!(f, "tiles of {lanes} lanes; the reader has another number"),
            Self::Cut { bit } => write!(f, "the stream ends within the field at bit {bit}"),
            Self::LateLevels { tile } => write!(f, "tile {tile} has initial levels after a token"),
            Self::Range { tile, lane, range } => {
                write!(f, "tile {tile} opens a level of range {range} in lane {lane}, below the number of steps")
            }
            Self::Surplus { bit } => write!(f, "the stream ends at bit {bit}, before its last block"),
            Self::Padding { bit } => write!(f, "bit {bit} after the end of the stream is 1"),
            Self::NoToken => write!(f, "the stream has no token"),
            Self::Checksum { got } => write!(f, "the bytes have the checksum {got:#010x}, not the expected one"),
            Self::HalfToken { tile } => write!(f, "a token ends early, with tile {tile}"),
            Self::TooManyLevels { tile } => write!(f, "tile {tile} opens more levels than the hardware has"),
            Self::TooManyInitial { tile } => write!(f, "tile {tile} has initial levels, more than a token has tiles"),
            Self::NoLevel { tile } => write!(f, "tile {tile} has an element of a channel without level"),
            Self::FarLevel { tile } => write!(f, "tile {tile} opens a level far beyond eight bits"),
            Self::Within { tile } => write!(f, "tile {tile} opens a level with an element at neither end of it"),
        }
    }
}

/// A stream read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Width of a value; 0 when the header is damaged.
    pub bits: u32,
    /// The tiles before the first damage; all tiles if only the checksum is wrong.
    pub tiles: Vec<Tile>,
    /// The first damage.
    pub damage: Option<Damage>,
}

/// Reads the blocks of a stream for hardware with so many lanes. `checksum` is stored next to the stream's pointer.
pub fn parse(bytes: &[u8], lanes: usize, block_bytes: usize, checksum: Option<u32>) -> Parsed {
    let mut parsed = Parsed { bits: 0, tiles: Vec::new(), damage: None };
    let mut reader = Reader { bytes, at: 0, lanes, block_bits: 8 * block_bytes };
    let got = crc32(bytes);
    let checked = |()| if checksum.is_none_or(|c| c == got) { Ok(()) } else { Err(Damage::Checksum { got }) };
    parsed.damage = reader.stream(&mut parsed).and_then(checked).err();
    parsed
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    lanes: usize,
    block_bits: usize,
}

impl Reader<'_> {
    fn left(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    fn field(&mut self, width: u32) -> Result<u64, Damage> {
        if self.left() < width as usize {
            return Err(Damage::Cut { bit: self.at });
        }
        let bit = |i: usize| u64::from(self.bytes[i / 8] >> (i % 8) & 1);
        let value = (0..width as usize).map(|i| bit(self.at + i) << i).sum();
        self.at += width as usize;
        Ok(value)
    }

    fn bits(&mut self, count: usize) -> Result<Vec<bool>, Damage> {
        (0..count).map(|_| Ok(self.field(1)? == 1)).collect()
    }

    fn stream(&mut self, parsed: &mut Parsed) -> Result<(), Damage> {
        let (bits, version, lanes) = (self.field(4)? as u32, self.field(4)?, self.field(8)?);
        if !(2..=8).contains(&bits) {
            return Err(Damage::Width(bits));
        }
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        if lanes != self.lanes as u64 {
            return Err(Damage::Lanes(lanes));
        }
        parsed.bits = bits;
        while self.left() >= 2 {
            let begin = self.at;
            let kind = self.field(2)?;
            if kind == 0 {
                if self.bytes.len() * 8 - begin > self.block_bits - begin % self.block_bits {
                    return Err(Damage::Surplus { bit: begin });
                }
                break;
            }
            let number = parsed.tiles.len();
            if kind == 2 && parsed.tiles.iter().any(|t| !t.initial) {
                return Err(Damage::LateLevels { tile: number });
            }
            let tile = self.tile(kind, bits, number)?;
            parsed.tiles.push(tile);
        }
        while self.left() > 0 {
            if self.field(1)? == 1 {
                return Err(Damage::Padding { bit: self.at - 1 });
            }
        }
        if parsed.tiles.iter().all(|t| t.initial) { Err(Damage::NoToken) } else { Ok(()) }
    }

    fn tile(&mut self, kind: u64, bits: u32, number: usize) -> Result<Tile, Damage> {
        let lanes = self.lanes;
        let mut tile = Tile { initial: kind == 2, ..Tile::empty(lanes) };
        if kind != 2 {
            tile.index = self.bits(lanes)?;
            for lane in (0..lanes).filter(|&i| tile.index[i]) {
                tile.label[lane] = self.field(1)? == 1;
            }
            for lane in (0..lanes).filter(|&i| tile.label[i]) {
                tile.values[lane] = self.field(bits)? as u8;
            }
        }
        if kind != 1 {
            for (lane, open) in self.bits(lanes)?.into_iter().enumerate() {
                tile.records[lane] = open.then_some((0, 0));
            }
            for (lane, record) in tile.records.iter_mut().enumerate() {
                let Some(record) = record else { continue };
                let (range, zero) = (self.field(RECORD_BITS[0])? as i32, self.field(RECORD_BITS[1])?);
                *record = (range, ((zero as i32) << 23) >> 23);
                if range < (1 << bits) - 1 {
                    return Err(Damage::Range { tile: number, lane, range });
                }
            }
        }
        Ok(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpq::{Config, Sequence};
    use super::super::kv_packer::packed;
    use super::*;

    /// Two lanes, three bits, a prefill of one token, three tokens; two blocks of 8 bytes.
    fn stream() -> (Vec<u8>, Vec<Tile>) {
        let tokens = [[9, 0], [9, 0], [40, -7]].map(Vec::from);
        let sequence = Sequence::encode(Config { bits: 3, max_levels: 4 }, &tokens, 1);
        let bytes = packed(&sequence, 2, 8);
        let parsed = parse(&bytes, 2, 8, Some(crc32(&bytes)));
        assert_eq!((bytes.len(), parsed.bits, parsed.tiles.len(), parsed.damage), (16, 3, 4, None));
        (bytes, parsed.tiles)
    }

    fn damaged(change: impl Fn(&mut Vec<u8>)) -> (usize, Option<Damage>) {
        let (mut bytes, tiles) = stream();
        change(&mut bytes);
        let parsed = parse(&bytes, 2, 8, None);
        assert_eq!(parsed.tiles, tiles[..parsed.tiles.len()]);
        (parsed.tiles.len(), parsed.damage)
    }

    #[test]
    fn each_kind_of_damage_by_hand() {
        let flip = |bit: usize| move |b: &mut Vec<u8>| b[bit / 8] ^= 1 << (bit % 8);
        for width in [0, 1, 9, 15] {
            assert_eq!(damaged(|b| b[0] = 0x10 | width), (0, Some(Damage::Width(width.into()))));
        }
        assert_eq!(damaged(flip(5)), (0, Some(Damage::Version(3))));
        assert_eq!(damaged(flip(15)), (0, Some(Damage::Lanes(130))));
        // Header 16, levels 2 + 2 + 18, tokens of 2 + 2 + 1 twice, then one of 2 + 2 + 2 + 3 and two levels, 2 + 36: 95 bits.
        assert_eq!(damaged(|b| b.truncate(8)), (3, Some(Damage::Cut { bit: 59 })));
        // Range 7 of the first record becomes 6.
        assert_eq!(damaged(flip(20)), (0, Some(Damage::Range { tile: 0, lane: 0, range: 6 })));
        // The first token becomes the end, of a block that is not the last.
        assert_eq!(damaged(flip(38)), (1, Some(Damage::Surplus { bit: 38 })));
        // The second token becomes a tile of initial levels.
        assert_eq!(damaged(|b| b[5] ^= 0b11 << 3), (2, Some(Damage::LateLevels { tile: 2 })));
        assert_eq!(damaged(flip(127)), (4, Some(Damage::Padding { bit: 127 })));
        assert_eq!(damaged(|b| b.extend([0; 8])), (4, Some(Damage::Surplus { bit: 95 })));
        assert_eq!(parse(&[0x13, 2, 0, 0], 2, 4, None).damage, Some(Damage::NoToken));
        let (bytes, tiles) = stream();
        let got = crc32(&bytes);
        let parsed = parse(&bytes, 2, 8, Some(got ^ 1));
        assert_eq!(parsed, Parsed { bits: 3, tiles, damage: Some(Damage::Checksum { got }) });
        assert!(Damage::Width(9).to_string().contains("2 to 8"));
    }
}
