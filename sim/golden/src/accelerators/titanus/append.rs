//! Tokens that are pruned, quantized, packed, and appended to the tokens of the cache.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::bus::Command;
use crate::common::shell::job_controller::code;
use crate::titanus::format::Tile;
use crate::titanus::pruning_unit::prune;

use super::operation::LINE;
use super::state::{Context, State};
use super::stream::Stream;
use super::{Append, Counts, DAMAGE_ROOM, Damage, Executed, Operation, TitanusCore, Work};

/// Tiles that join a stream.
pub(super) struct Appending {
    /// Bits of the stream before the tiles. If 0, the header comes first.
    pub from: u64,
    /// The tiles; none while the prefill lacks tokens.
    pub tiles: Vec<Tile>,
    /// Bits of a value.
    pub bits: u32,
    /// Tokens that wait together; 0 if the levels are given.
    pub prefill: usize,
    /// How many of these tokens came before.
    pub waiting: usize,
}

/// All tokens of a side, pruned and padded with zeros; `None`: not all rows could be read.
fn pruned(
    rows: &Command,
    threshold: u32,
    channels: usize,
    memory: &mut dyn Memory,
    codes: &mut Codes,
) -> Option<Vec<Vec<i8>>> {
    let token = |row| {
        let loaded = Loaded::row(rows, row, memory, codes);
        let mut token: Vec<i8> = loaded.whole()?.iter().map(|&byte| prune(byte as i8, threshold)).collect();
        token.resize(channels, 0);
        Some(token)
    };
    // All rows are read, even after a row that could not be read.
    let tokens: Vec<_> = (0..rows.rows).map(token).collect();
    tokens.into_iter().collect()
}

impl TitanusCore {
    /// The streams that an append continues.
    fn begun(&self, operation: &Append, state: &State) -> Option<[Stream; 2]> {
        match operation.position {
            0 => {
                let prefill = operation.prefill as usize;
                Some(operation.sides.each_ref().map(|side| Stream::begin(&self.shape, side, prefill)))
            }
            _ => state.streams().cloned(),
        }
    }

    /// Before an append: the tiles of its keys and its values.
    pub(super) fn appends(&self, operation: &Append, memory: &mut dyn Memory) -> Option<[Appending; 2]> {
        let streams = self.begun(operation, &self.state.borrow())?;
        let shape = &self.shape;
        let mut sides = streams.into_iter().zip(&operation.sides).map(|(mut stream, side)| {
            let rows = pruned(&side.rows, stream.threshold, shape.channels(), memory, &mut Codes::default())?;
            let (from, prefill) = if stream.given { (stream.bits(), 0) } else { (0, stream.prefill) };
            let waiting = stream.waiting.len();
            let tiles = stream.tiles(shape.lanes as usize, &rows);
            Some(Appending { from, tiles, bits: stream.config.bits, prefill, waiting })
        });
        Some([sides.next()??, sides.next()??])
    }

    /// Before an append that begins a new cache in place of an old one. Returns the tiles that end the old streams: the
    /// tokens that wait, and a tile of zeros.
    pub(super) fn given_up(&self, operation: &Append) -> Option<[Appending; 2]> {
        let state = self.state.borrow();
        let streams = state.streams().filter(|_| operation.position == 0)?;
        let lanes = self.shape.lanes as usize;
        Some(streams.clone().map(|mut stream| {
            let (from, waiting) = if stream.given { (stream.bits(), 0) } else { (0, stream.waiting.len()) };
            stream.prefill = waiting;
            let mut tiles = if stream.given { Vec::new() } else { stream.tiles(lanes, &[]) };
            tiles.push(Tile::empty(lanes));
            Appending { from, tiles, bits: stream.config.bits, prefill: waiting, waiting }
        }))
    }

    /// Appends tokens. It goes on after an error, to find all errors.
    pub(super) fn append(&self, operation: Append, memory: &mut dyn Memory) -> Executed {
        let (shape, mut state) = (&self.shape, self.state.borrow_mut());
        let (mut codes, mut counts, mut damage) = (Codes::default(), Counts::default(), None);
        let first = operation.position == 0;
        let streams = self.begun(&operation, &state);
        let thresholds = streams.as_ref().map_or([0; 2], |streams| streams.each_ref().map(|stream| stream.threshold));
        let known = streams.is_some();
        let [keys, values] = [0, 1].map(|side| {
            let rows = &operation.sides[side].rows;
            pruned(rows, thresholds[side], shape.channels(), memory, &mut codes)
        });
        let context = keys.zip(values).map(|(keys, values)| Context { keys, values });
        let mut result = None;
        if let (Some(mut streams), Some(tokens)) = (streams, &context) {
            for (number, tokens) in [&tokens.keys, &tokens.values].into_iter().enumerate() {
                let (stream, area) = (&mut streams[number], &operation.sides[number].area);
                let from = stream.blocks();
                let full = stream.add(shape.lanes as usize, tokens);
                let blocks = (from..).zip(full.chunks(LINE as usize));
                for (block, bytes) in blocks.take_while(|(block, _)| *block < area.rows) {
                    pieces::store(area, block, bytes, memory, &mut codes);
                    counts.written += 1;
                }
                if stream.blocks() > area.rows && from < stream.blocks() {
                    codes.note(code::FIELD);
                    let found = Damage { kind: DAMAGE_ROOM, values: number == 1, area: area.address };
                    damage = damage.or(Some(found));
                }
            }
            if operation.exact && streams.iter().any(Stream::overflow) && damage.is_none() {
                codes.note(code::OVERFLOW);
            }
            result = Some(streams);
        } else {
            // It is unknown which of these errors would have come.
            codes.note(code::FIELD);
            codes.note(code::OVERFLOW);
        }
        if first {
            state.begin(operation.prefill);
        }
        let all = operation.position + operation.tokens;
        state.cache(all, result);
        if operation.keep {
            // The new tokens follow the context.
            let before = if first { Some(Context::default()) } else { state.context().cloned() };
            state.fill(all, before.zip(context).map(|(before, new)| before.then(new)));
        } else if first {
            // The context of another sequence must not continue with a new cache.
            state.fill(0, None);
        }
        let codes = if known { codes.all() } else { Vec::new() };
        let defined = codes.is_empty() && known && operation.is_defined();
        // A later restore is checked against the blocks of the streams, which are unknown where this one is not defined.
        let certain = known && operation.is_defined();
        let operation = Work::new(Operation::Append(operation), counts, damage);
        Executed { operation, codes, defined, certain, overflows: 0, sum_overflows: 0 }
    }
}
