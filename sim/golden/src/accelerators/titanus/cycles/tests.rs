//! The recurrence against closed forms, in cases that have one.

use super::*;
use crate::accelerators::cycles::{Dma, Dmas, Flow, Frame, Unit, advance};
use crate::accelerators::titanus::{Append, Restore, Shape, Side};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::float::Function;
use crate::titanus::format::Tile;

const LANES: usize = 16;
const TILES: u64 = 12;
const CHANNELS: u64 = LANES as u64 * TILES;
const TOKENS: u64 = 96;

/// A bus of so many bytes.
pub fn timing(bus_bytes: u64) -> Timing {
    let dma = |beats| Dma { burst_beats: 16, outstanding: 8, commands: 4, beats };
    let frame = Frame { beats: 1024, preparation: 12, analysis: 30, scaling: 8 };
    let shell = Shell {
        bus_bytes,
        latency: 20,
        ports: 1,
        readers: 4,
        engines: [0; 8],
        reads: dma(128),
        writes: dma(64),
        address_width: 40,
        check: 19,
    };
    let unit = Unit { steps: 12, apart: false, rotary: 8, frames: [frame; 3], requantize: 5 };
    Timing { shell, load: 16, drain: 4, engines: 1, steps: 8, results: 12, probabilities: 9, unit }
}

fn shape() -> Shape {
    let vector = vector::Shape { lanes: 8, max_beats: 16, function: Function::Silu, address_width: 40, steps: 0 };
    let (lanes, tiles, levels, context, buffer) = (LANES as u32, TILES as u32, 16, 128, 128);
    Shape {
        rows: 0,
        columns: 0,
        inputs: 0,
        outputs: 0,
        constants: 0,
        lanes,
        tiles,
        levels,
        context,
        buffer,
        links: false,
        vector,
    }
}

/// A core with links.
pub fn linked_core() -> TitanusCore {
    crate::accelerators::titanus::tests::core_of(Shape { links: true, ..crate::accelerators::titanus::tests::SHAPE })
}

fn rows(address: u64) -> Command {
    Command { address, row_bytes: CHANNELS, rows: TOKENS, stride: 1024 }
}

/// Tokens with so many elements a tile. `opens` of them open a level.
fn tiles(elements: usize, opens: usize) -> Vec<Tile> {
    let mut tile = Tile::empty(LANES);
    tile.index[..elements].fill(true);
    tile.label[..elements].fill(true);
    tile.values[..elements].fill(1);
    tile.records[..opens].fill(Some((15, 0)));
    vec![tile; (TOKENS * TILES) as usize]
}

fn run(flow: &mut impl Flow, mut dmas: Dmas) {
    loop {
        while advance(flow, &mut dmas) {}
        if flow.end(&dmas).is_some() {
            return;
        }
        let until = dmas.next();
        if !flow.decide(&mut dmas, until) {
            dmas.turn();
        }
    }
}

/// Cycles of 64 tokens in the middle of an append.
fn appended(bus_bytes: u64, tiles: &[Tile]) -> u64 {
    let side = |address| Side { threshold: 0, bits: 4, rows: rows(address), area: rows(4 * address) };
    let operation = Append {
        tokens: TOKENS as u32,
        channels: CHANNELS as u32,
        position: 0,
        prefill: 0,
        keep: false,
        exact: false,
        sides: [side(0x10_0000), side(0x20_0000)],
    };
    let tiles = [(); 2].map(|()| Tiles::new(0, tiles, 4));
    let mut dmas = timing(bus_bytes).shell.dmas(&Turns::default());
    let mut flow = Appended::new((&timing(bus_bytes), &shape()), &operation, (&tiles, None), (0, &mut dmas));
    run(&mut flow, dmas);
    flow.token(79) - flow.token(15)
}

/// A token takes the beats of its key and its value, or its chunks. This holds if it fills so few blocks that their
/// commands come in time.
#[test]
fn a_further_token_of_an_append() {
    for (bus_bytes, opens, cycles) in [(16, 0, 24), (64, 0, 12), (64, 1, 24), (8, 1, 48)] {
        let taken = appended(bus_bytes, &tiles(1, opens));
        assert_eq!(taken, 64 * cycles, "{bus_bytes} bytes, {opens} levels a tile");
    }
}

/// Cycles of 64 tokens in the middle of the keys of a restore.
fn restored(bus_bytes: u64, tiles: &[Tile], to_rows: bool) -> u64 {
    let operation = Restore {
        tokens: TOKENS as u32,
        channels: CHANNELS as u32,
        areas: [rows(0x10_0000), rows(0x20_0000)],
        rows: to_rows.then(|| [rows(0x40_0000), rows(0x80_0000)]),
    };
    let tiles = [(); 2].map(|()| Tiles::new(0, tiles, 4));
    let mut dmas = timing(bus_bytes).shell.dmas(&Turns::default());
    let mut flow = Restored::new((&timing(bus_bytes), &shape()), &operation, &tiles, (0, &mut dmas));
    run(&mut flow, dmas);
    flow.token(79) - flow.token(15)
}

/// A token takes a cycle for each of its chunks, or the beats of its row.
#[test]
fn a_further_token_of_a_restore() {
    for (bus_bytes, opens, to_rows, cycles) in
        [(16, 0, false, 12), (64, 0, false, 12), (64, 1, false, 24), (64, 9, false, 36), (8, 0, true, 24)]
    {
        let taken = restored(bus_bytes, &tiles(4, opens), to_rows);
        assert_eq!(taken, 64 * cycles, "{bus_bytes} bytes, {opens} levels a tile, rows {to_rows}");
    }
}
