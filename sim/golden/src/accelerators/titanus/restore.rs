//! Streams that are restored from memory, and may be damaged.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::bus::Command;
use crate::common::shell::job_controller::code;
use crate::titanus::dequantization_unit::{Restored, restore};
use crate::titanus::format::Tile;
use crate::titanus::kv_unpacker::parse;

use super::operation::LINE;
use super::state::Context;
use super::stream::Stream;
use super::{Counts, DAMAGE_STREAM, Damage, Executed, Operation, Restore, Shape, TitanusCore, Work};

/// The tokens of a stream.
enum Read {
    Tokens(Vec<Vec<i8>>),
    Damaged,
    Lost,
}

/// The bytes of a stream; `None`: its blocks could not be read.
fn bytes(stream: &Stream, area: &Command, memory: &mut dyn Memory, codes: &mut Codes) -> Option<Vec<u8>> {
    let blocks: Vec<Loaded> = (0..stream.blocks()).map(|block| Loaded::row(area, block, memory, codes)).collect();
    let whole = blocks.iter().map(Loaded::whole).collect::<Option<Vec<_>>>()?;
    Some([whole.concat(), stream.tail()].concat())
}

fn read(
    shape: &Shape,
    tokens: u32,
    stream: &Stream,
    area: &Command,
    memory: &mut dyn Memory,
    codes: &mut Codes,
) -> Read {
    let Some(bytes) = bytes(stream, area, memory, codes) else { return Read::Lost };
    let (lanes, tiles) = (shape.lanes as usize, shape.tiles as usize);
    let parsed = parse(&bytes, lanes, LINE as usize, Some(stream.crc()));
    let (beats, damage) = restore(&parsed, lanes, tiles, shape.levels as usize);
    if damage.is_some() || beats.len() != tokens as usize * tiles {
        return Read::Damaged;
    }
    let token = |beats: &[Restored]| beats.iter().flat_map(|beat| beat.x.clone()).collect();
    Read::Tokens(beats.chunks(tiles).map(token).collect())
}

impl TitanusCore {
    /// Before a restore: the tiles of keys and values, and the bits of a value.
    pub(super) fn restores(&self, operation: &Restore, memory: &mut dyn Memory) -> Option<[(Vec<Tile>, u32); 2]> {
        let state = self.state.borrow();
        let mut sides = state.streams()?.iter().zip(&operation.areas).map(|(stream, area)| {
            let bytes = bytes(stream, area, memory, &mut Codes::default())?;
            let parsed = parse(&bytes, self.shape.lanes as usize, LINE as usize, None);
            Some((parsed.tiles, parsed.bits))
        });
        Some([sides.next()??, sides.next()??])
    }

    /// Restores tokens. It goes on after an error, to find all errors.
    pub(super) fn restore(&self, operation: Restore, memory: &mut dyn Memory) -> Executed {
        let (mut codes, mut counts, mut damage) = (Codes::default(), Counts::default(), None);
        let mut state = self.state.borrow_mut();
        let streams = state.streams().cloned();
        let known = streams.is_some();
        let mut sides = Vec::new();
        for (number, stream) in streams.iter().flatten().enumerate() {
            let area = &operation.areas[number];
            counts.read += stream.blocks();
            match read(&self.shape, operation.tokens, stream, area, memory, &mut codes) {
                Read::Tokens(tokens) => sides.push(Some(tokens)),
                Read::Damaged => {
                    codes.note(code::FIELD);
                    damage = damage.or(Some(Damage { kind: DAMAGE_STREAM, values: number == 1, area: area.address }));
                    sides.push(None);
                }
                Read::Lost => {
                    // The missing blocks may be damaged too.
                    codes.note(code::FIELD);
                    sides.push(None);
                }
            }
            if let (Some(rows), Some(Some(tokens))) = (&operation.rows, sides.last()) {
                for (row, token) in (0..).zip(tokens) {
                    let bytes: Vec<u8> = token[..operation.channels as usize].iter().map(|&x| x as u8).collect();
                    pieces::store(&rows[number], row, &bytes, memory, &mut codes);
                }
            }
        }
        if operation.rows.is_none() {
            let sides = sides.into_iter().collect::<Option<Vec<_>>>();
            let both = sides.and_then(|sides| <[_; 2]>::try_from(sides).ok());
            state.fill(operation.tokens, both.map(|[keys, values]| Context { keys, values }));
        }
        let codes = codes.all();
        let defined = codes.is_empty() && known && operation.is_defined();
        let certain = known && operation.is_certain();
        let operation = Work::new(Operation::Restore(operation), counts, damage);
        Executed { operation, codes, defined, certain, overflows: 0, sum_overflows: 0 }
    }
}
