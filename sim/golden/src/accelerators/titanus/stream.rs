//! A stream of keys or values that grows by tokens.

use crate::common::crc32::continued;
use crate::titanus::cpq::{Channel, Config, Sequence};
use crate::titanus::format::{Tile, tiles};
use crate::titanus::kv_packer::{blocks, body, header};

use super::operation::{LINE, Side};
use super::shape::Shape;

/// The part of a stream that stays on chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) threshold: u32,
    pub(super) config: Config,
    channels: Vec<Channel>,
    overflow: bool,
    /// Tokens that give the levels together. Tokens that came wait for the rest.
    pub(super) prefill: usize,
    pub(super) waiting: Vec<Vec<i8>>,
    /// Whether the levels are given.
    pub(super) given: bool,
    /// Blocks that are full.
    blocks: u64,
    /// CRC-32 of the full blocks.
    crc: u32,
    /// Bits after the full blocks.
    open: Vec<bool>,
}

impl Stream {
    /// A stream without tokens. Its first `prefill` tokens will give the levels.
    pub(super) fn begin(shape: &Shape, side: &Side, prefill: usize) -> Self {
        Self {
            threshold: side.threshold,
            config: Config { bits: side.bits, max_levels: shape.levels as usize },
            channels: vec![Channel::default(); shape.channels()],
            overflow: false,
            prefill,
            waiting: Vec::new(),
            given: false,
            blocks: 0,
            crc: 0,
            open: header(side.bits, shape.lanes as usize),
        }
    }

    /// Blocks that are full.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bits without padding.
    pub(super) fn bits(&self) -> u64 {
        8 * LINE * self.blocks + self.open.len() as u64
    }

    /// Whether an element was out of tolerance and its channel had no level left.
    pub(super) fn overflow(&self) -> bool {
        self.overflow
    }

    /// The bits after the last whole block, as a block; empty if there are none.
    pub(super) fn tail(&self) -> Vec<u8> {
        blocks(&self.open, LINE as usize)
    }

    /// CRC-32 of the whole stream.
    pub(super) fn crc(&self) -> u32 {
        continued(self.crc, &self.tail())
    }

    /// Pruned tokens as tiles. While the prefill lacks tokens there are none; then all tiles come at once.
    pub(super) fn tiles(&mut self, lanes: usize, tokens: &[Vec<i8>]) -> Vec<Tile> {
        let sequence = if self.given {
            Sequence::continued(self.config, std::mem::take(&mut self.channels), tokens)
        } else {
            self.waiting.extend_from_slice(tokens);
            if self.waiting.len() < self.prefill {
                return Vec::new();
            }
            self.given = true;
            Sequence::encode(self.config, &std::mem::take(&mut self.waiting), self.prefill)
        };
        let tiles = tiles(&sequence, lanes);
        self.overflow |= sequence.overflowed();
        self.channels = sequence.channels;
        tiles
    }

    /// Adds pruned tokens, as in `tiles`. Returns the blocks that have become full.
    pub(super) fn add(&mut self, lanes: usize, tokens: &[Vec<i8>]) -> Vec<u8> {
        let tiles = self.tiles(lanes, tokens);
        self.open.extend(body(self.config.bits, lanes, &tiles));
        let block_bits = 8 * LINE as usize;
        let open = self.open.split_off(self.open.len() / block_bits * block_bits);
        let full = blocks(&std::mem::replace(&mut self.open, open), LINE as usize);
        self.blocks += full.len() as u64 / LINE;
        self.crc = continued(self.crc, &full);
        full
    }
}
