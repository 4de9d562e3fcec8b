//! The recurrence against closed forms, in cases that have one.

use super::*;
use crate::accelerators::cycles::{Dma, Frame, Unit, advance, end};
use crate::accelerators::kelle::{Attention, Linear, Restore};
use crate::common::bus::Command;

/// An array of `rows` x `columns` PEs, and a bus of so many bytes.
fn timing(rows: u64, columns: u64, bus_bytes: u64) -> Timing {
    let dma = |beats| Dma { burst_beats: 16, outstanding: 8, commands: 4, beats };
    let frame = Frame { beats: 1024, preparation: 12, analysis: 30, scaling: 8 };
    Timing {
        shell: Shell {
            bus_bytes,
            latency: 20,
            ports: 1,
            readers: 4,
            engines: [0; 8],
            reads: dma(128),
            writes: dma(64),
            address_width: 40,
            check: 19,
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

/// When one or two tokens of a head with `old` tokens have ended. Values may be late. `again` says for each recomputed
/// slot whether it has a token.
fn ended(
    timing: &Timing,
    (group, elements): (u64, u64),
    (old, late): (u64, bool),
    again: &[bool],
    tokens: usize,
) -> u64 {
    let evicted = [Vec::new(), Vec::new()];
    let all = 2 + again.len() as u64;
    let attention = Attention {
        again: again.len() as u32,
        head: 0,
        group,
        elements,
        late,
        exact: false,
        budget: 4095,
        sink: 0,
        window: 0,
        shift: 0,
        quantizers: [0; 3],
        score_scale: 0,
        result_scale: 0,
        queries: rows(0x10_0000, 2 * group * elements, 2),
        keys: rows(0x20_0000, 2 * elements, all),
        values: rows(0x30_0000, 2 * elements, all),
        out: rows(0x40_0000, 2 * group * elements, 2),
    };
    let mut dmas = timing.shell.dmas(&Turns::default());
    let mut flow =
        Tokens::new((timing, &attention), (old - 1, evicted[..tokens].to_vec(), again.to_vec()), (0, &mut dmas));
    loop {
        while advance(&mut flow, &mut dmas) {}
        if let Some(ended) = flow.ended {
            return ended;
        }
        dmas.turn();
    }
}

/// Cycles of a step of a head with `old` tokens: from its beginning to the beginning of the next step.
fn step(timing: &Timing, size: (u64, u64), old: u64, late: bool) -> u64 {
    let of = |tokens| ended(timing, size, (old, late), &[], tokens);
    of(2) - of(1)
}

/// The cost of one more recomputed slot, once its rows come as fast as they are taken.
#[test]
fn a_slot_that_comes_again() {
    for bus_bytes in [16, 64] {
        let timing = timing(32, 32, bus_bytes);
        for elements in [32, 64, 128] {
            let of = |slots: &[bool]| ended(&timing, (1, elements), (64, false), slots, 1);
            let before = of(&[true; 7]);
            let expected = 2 * elements / (bus_bytes / 2) + 2 * timing.integer + 6;
            assert_eq!(of(&[true; 8]) - before, expected, "{elements} elements, a bus of {bus_bytes} bytes");
            let mut free = [true; 8];
            free[7] = false;
            assert_eq!(of(&free) - before, expected - 1);
        }
    }
}

/// A step with all tokens in whole panels, at least two. Keys and values pass the array a row a cycle. The results of
/// queries with a panel of keys are as many cycles apart as the array has rows. If values are late, nothing waits for
/// rows.
fn closed(timing: &Timing, (group, elements): (u64, u64), old: u64, late: bool) -> u64 {
    let Array { rows, columns, .. } = timing.array;
    let lanes = timing.shell.bus_bytes / 2;
    let (panels, slices, row) = ((old + 1) / rows, elements / columns, (old + 1) / lanes);
    let tile = rows.max(2 * group);
    // From the last step of a result to the moment when its number leaves its page.
    let sum = 2 * rows.max(columns) + 2 + timing.sum + 2;
    let enters = if late { 7 } else { (group + 2) * elements / lanes + 3 * (timing.integer + 1) + 8 };
    let last_tiles = (panels - 1) * rows.max((group - 1) * rows + 2);
    let keys = rows + (2 * slices - 1) * panels * tile + last_tiles + 1 + (group - 1) * rows;
    let softmax = timing.softmax.answer() + timing.softmax.lanes().cycles;
    let probabilities = sum + rows / lanes + (group + 1) * row + softmax + timing.integer + 1;
    let values = rows + (2 * slices * panels - 1) * tile + 5;
    let beats = (group * columns / lanes).max(2 * (group - 1) + columns / lanes);
    enters + keys + probabilities + values + sum + beats + group * elements / lanes + 3
}

#[test]
fn a_step_of_whole_panels() {
    for bus_bytes in [16, 64] {
        let timing = timing(32, 32, bus_bytes);
        for (group, elements) in [(1, 32), (1, 64), (2, 64), (3, 64), (1, 128), (4, 128)] {
            for (old, late) in [(63, false), (127, false), (255, false), (63, true), (127, true), (255, true)] {
                let size = (group, elements);
                let (taken, expected) = (step(&timing, size, old, late), closed(&timing, size, old, late));
                assert_eq!(
                    taken, expected,
                    "{bus_bytes} bytes, {group} queries of {elements}, {old} tokens, late {late}"
                );
            }
        }
    }
}

/// Cycles of a product of so many tokens.
fn linear(timing: &Timing, tokens: u64, [channels, columns]: [u64; 2]) -> u64 {
    let linear = Linear {
        columns,
        channels,
        exact: false,
        quantizer: 0,
        x: rows(0x10_0000, 2 * channels, tokens),
        panels: rows(0x100_0000, 32 * channels, columns.div_ceil(32)),
        constants: rows(0x20_0000, 8 * columns, 1),
        out: rows(0x40_0000, 2 * columns, tokens),
    };
    let mut dmas = timing.shell.dmas(&Turns::default());
    end(&mut Product::new((timing, 32), &linear, (0, &mut dmas)), &mut dmas, &mut Turns::default())
}

/// Few tokens wait for the bus: one more group of columns costs its weights and constants.
#[test]
fn few_tokens_cost_their_weights() {
    let timing = timing(32, 32, 16);
    for (tokens, channels) in [(1, 576), (16, 576), (1, 1536)] {
        let of = |columns| linear(&timing, tokens, [channels, columns]);
        assert_eq!(of(640) - of(320), 10 * (channels + 8) * 32 / 16, "{tokens} tokens, {channels} channels");
    }
}

/// Many tokens wait for the array. Each tile costs two steps a token. In the last tile, the steps also wait for the
/// four results that may be in flight, each for 2 x 32 + 2 cycles and four beats.
#[test]
fn many_tokens_cost_their_steps_and_their_results() {
    let timing = timing(32, 32, 16);
    for channels in [576, 1536] {
        let of = |columns| linear(&timing, 64, [channels, columns]);
        let results = 14 * (66 + 4) + 82;
        assert_eq!(of(640) - of(320), 10 * (channels / 32 * 128 - 126 + results), "{channels} channels");
    }
}

/// Tokens that come back take their beats and the write of a row of the cache; those with a slot a cycle more.
#[test]
fn tokens_come_back_beat_by_beat() {
    for bus_bytes in [16, 64] {
        let timing = timing(32, 32, bus_bytes);
        for elements in [32, 64, 128] {
            let row = 64 + 4 * elements;
            let of = |held: &[bool]| {
                let saved = rows(0x10_0000, row, held.len() as u64);
                let mut dmas = timing.shell.dmas(&Turns::default());
                let restore = Restore { head: 0, elements, saved };
                let restored = Restored::new(&timing, (&restore, held.to_vec()), (0, &mut dmas));
                end(&mut { restored }, &mut dmas, &mut Turns::default())
            };
            let beats = row / bus_bytes;
            let (few, many) = (of(&[false; 10]), of(&[false; 60]));
            assert_eq!(many - few, 50 * (beats + 1), "{bus_bytes} bytes, {elements} elements");
            let held: Vec<bool> = (0..60).map(|k| k < 7).collect();
            assert_eq!(of(&held) - many, 7, "{bus_bytes} bytes, {elements} elements");
        }
    }
}
