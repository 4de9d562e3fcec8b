//! What the recurrence says where it can be said in closed form.

use super::*;
use crate::common::bus::Command;
use crate::systems::cycles::{Dma, Flow};
use crate::systems::kelle_top::{Attention, Linear};

/// 32 x 32 PEs, or others, and a bus of so many bytes.
fn timing(rows: u64, columns: u64, bus_bytes: u64) -> Timing {
    let dma = |beats| Dma { burst_beats: 16, outstanding: 8, commands: 4, beats };
    let frame = Frame { beats: 1024, preparation: 12, analysis: 30, scaling: 8 };
    Timing {
        shell: Shell {
            bus_bytes,
            latency: 20,
            ports: 1,
            readers: 4,
            reads: dma(128),
            writes: dma(64),
            address_width: 40,
        },
        array: Array { rows, columns, results: 4 },
        weights: 1024,
        integer: 3,
        sum: 6,
        softmax: frame,
        unit: Unit { steps: 12, apart: false, rotary: 8, frames: [frame; 3], requantize: 5 },
    }
}

fn rows(address: u64, row_bytes: u64, rows: u64) -> Command {
    Command { address, row_bytes, rows, stride: row_bytes.next_multiple_of(1024) }
}

/// Cycles of each step of a head with `old` tokens: from its beginning to the next one's.
fn steps(timing: &Timing, (group, elements): (u64, u64), old: u64, evicted: &[Vec<u64>]) -> Vec<u64> {
    let tokens = evicted.len() as u64;
    let attention = Attention {
        head: 0,
        group,
        elements,
        exact: false,
        budget: 4095,
        sink: 0,
        window: 0,
        shift: 0,
        quantizers: [0; 3],
        score_scale: 0,
        result_scale: 0,
        queries: rows(0x10_0000, 2 * group * elements, tokens),
        keys: rows(0x20_0000, 2 * elements, tokens),
        values: rows(0x30_0000, 2 * elements, tokens),
        out: rows(0x40_0000, 2 * group * elements, tokens),
    };
    let ended = |tokens: usize| {
        let mut flow = Tokens::new((timing, &attention), (old, &evicted[..tokens]), (0, &Turns::default()));
        loop {
            while flow.advance() {}
            if let Some(ended) = flow.ended {
                return ended;
            }
            let (ports, readers) = flow.ports();
            ports.turn(readers);
        }
    };
    let ends: Vec<u64> = (1..=evicted.len()).map(ended).collect();
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn prints() {
    for bus in [16, 64] {
        let timing = timing(32, 32, bus);
        for (group, elements) in [(1, 64), (3, 64), (1, 128), (4, 128)] {
            for old in [30, 31, 32, 62, 63, 64, 127, 128, 2047] {
                println!("{bus} {group} {elements} {old} {:?} closed {}", steps(&timing, (group, elements), old - 1, &[vec![], vec![]]), closed(&timing, group, elements, old));
            }
        }
        println!("{:?}", steps(&timing, (3, 64), 63, &[vec![], vec![10], vec![64], vec![64, 10]]));
        for (t, channels, columns) in
            [(1, 576, 32), (1, 576, 320), (1, 576, 640), (8, 576, 640), (16, 576, 320), (16, 576, 640), (64, 576, 320), (64, 576, 640), (64,1536,576), (64,1536,608)]
        {
            println!("{bus} {t} {channels} {columns} {}", linear(&timing, (t, columns, channels)));
        }
    }
}

fn closed(timing: &Timing, group: u64, elements: u64, old: u64) -> u64 {
    let Array { rows, columns, .. } = timing.array;
    let lanes = timing.shell.bus_bytes / 2;
    let (tokens, panels, slices) = (old + 1, old / rows + 1, elements / columns);
    let rest = old % rows + 1;
    let most = rows.max(columns);
    let load = (group + 2) * elements / lanes + 3 * (timing.integer + 1);
    // All rows of weights but those of the last tiles are behind each other.
    let tile = |rows: u64| rows.max(2 * group);
    let walk = |last: u64| {
        let first = if panels == 1 { rest } else { rows };
        let _ = last;
        first + 2 * slices * ((panels - 1) * tile(rows) + tile(rest)) - tile(if panels == 1 { rest } else { rows })
    };
    let _ = tokens;
    let keys = 4 + walk(rest) + 2 + (group - 1) * rows;
    let row = tokens.div_ceil(lanes);
    let softmax = 2 * most + 2 + rows / lanes + timing.sum + 1 + 1 + group * row + timing.softmax.answer() + row - 1
        + timing.softmax.lanes().cycles + timing.integer + 1 + 2;
    let values = 4 + walk(rest) + 2 * group;
    let results = 2 * most + 2 + columns / lanes + timing.sum + 1 + 1 + group * elements / lanes + 1;
    load + 4 + keys + softmax + values + results
}

fn linear(timing: &Timing, (tokens, columns, channels): (u64, u64, u64)) -> u64 {
    let shape = crate::systems::kelle_top::tests::shape();
    let panel = timing.array.columns.max(32);
    let linear = Linear {
        columns,
        channels,
        exact: false,
        quantizer: 0,
        x: rows(0x10_0000, 2 * channels, tokens),
        panels: rows(0x100_0000, channels * panel, columns.div_ceil(panel)),
        constants: rows(0x20_0000, 8 * columns, 1),
        out: rows(0x40_0000, 2 * columns, tokens),
    };
    end(Product::new((timing, &shape), &linear, (0, &Turns::default())), &mut Turns::default())
}
