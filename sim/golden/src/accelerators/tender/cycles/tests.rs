//! The recurrence against closed forms, in cases that have one.

use super::*;
use crate::accelerators::cycles::{Dma, Frame};
use crate::accelerators::memory::SparseMemory;
use crate::accelerators::tender::tests::top;
use crate::accelerators::tender::{Finish, Layout, MatMul, Output};
use crate::common::bus::Command;

/// 16 x 16 PEs, a bus of 16 bytes.
fn timing() -> Timing {
    let dma = |beats| Dma { burst_beats: 16, outstanding: 8, commands: 4, beats };
    let frame = Frame { beats: 128, preparation: 0, analysis: 60, scaling: 10 };
    Timing {
        shell: Shell {
            bus_bytes: 16,
            latency: 20,
            ports: 1,
            readers: 4,
            engines: [0; 8],
            reads: dma(64),
            writes: dma(32),
            address_width: 40,
        },
        array: Array { rows: 16, columns: 16, single_drain: false, ranks: 0 },
        explicit: false,
        result: 10,
        strip: 64,
        unit: Unit { steps: 12, apart: false, rotary: 8, frames: [frame; 3], requantize: 5 },
    }
}

/// A product of `down` x `across` tiles, INT8: `channels` channels in `steps` steps, results as panels.
fn product(down: u64, across: u64, channels: u64, steps: u64) -> Operation {
    let layout = Layout { bits: 8, rows: 8, columns: 8 };
    let panels = |address, count, inner| {
        let row_bytes = 8 * inner;
        Command { address, row_bytes, rows: count, stride: row_bytes.next_multiple_of(1024) }
    };
    let one = |address, row_bytes| Command { address, row_bytes, rows: 1, stride: 0 };
    let finish = Finish {
        rows: 8 * down,
        columns: 8 * across,
        layout,
        relu: false,
        per_row: false,
        output: Output::Integers { signed: true },
        exact: false,
        constants: one(0x40_0000, 16 * 8 * across),
        out: panels(0x50_0000, down, 8 * across),
    };
    Operation::MatMul(MatMul {
        channels,
        steps,
        a: panels(0x10_0000, down, channels),
        a_signed: true,
        b: panels(0x20_0000, across, channels),
        b_signed: true,
        table: one(0x30_0000, 2 * steps),
        explicit: false,
        finish,
    })
}

fn cycles(operation: &Operation) -> u64 {
    let timing = timing();
    let Operation::MatMul(product) = operation else { panic!("products alone") };
    let parts = Parts::of(product, &mut SparseMemory::new());
    let mut dmas = timing.shell.dmas(&Turns::default());
    let mut columns = Columns::product(&timing, product, parts, (0, &mut dmas));
    crate::accelerators::cycles::end(&mut columns, &mut dmas, &mut Turns::default())
}

/// Tiles whose results are a burst of 16 beats. The number of beats of the last burst makes a difference of some
/// cycles.
const BURST: u64 = 4;

/// Loads and results overlap with the products: one more tile costs only its steps, K products and G - 1 rescales.
#[test]
fn a_tile_costs_its_steps() {
    for (channels, steps) in [(64, 71), (576, 583), (1536, 1540), (40, 200)] {
        // At least 64 columns: the constants of so many are in flight with the first panels.
        for across in 8..13 {
            let of = |across| cycles(&product(1, across, channels, steps));
            assert_eq!(of(across + BURST) - of(across), BURST * steps, "{channels} channels, {across} tiles");
        }
        // From a panel of A to the next one a burst of B may be late, if tiles are short.
        let rows = |down| cycles(&product(down, 12, channels, steps));
        let late = rows(3) - rows(2) - 12 * steps;
        assert!(late <= if channels > 64 { 0 } else { 16 }, "{channels} channels: {late} cycles more");
    }
}

/// A short tile waits for a place for its sums. Two tiles at a time are in flight: through the array for R + 2 C
/// cycles, and column by column out of the output buffer.
#[test]
fn a_short_tile_waits_for_the_sums() {
    let of = |across| cycles(&product(1, across, 4, 4));
    assert_eq!(of(40 + BURST) - of(40), BURST / 2 * (16 + 2 * 16 + 8 + 2));
}

/// The part before the first tile and after the last one that does not overlap is the same for any number of tiles.
#[test]
fn the_rest_is_the_first_panels_and_the_last_results() {
    let rest = |across: u64| cycles(&product(1, across, 576, 583)) - across * 583;
    let (few, many) = (rest(8), rest(72));
    assert_eq!(few, many);
    // The table, a panel of A, two of B and the first constants share the bus: 73 + 288 + 2 x 288 + 64 beats at most; then
    // latency, skew, lanes and a burst.
    assert!((361 + 288..1001 + 200).contains(&few), "{few}");
}

/// Products of two sizes at all places of a stretch of addresses, then again far away, with turns that go on.
#[test]
fn alike_products_take_as_long() {
    let (timing, mut known) = (timing(), Known::default());
    let accelerator = top();
    let stretch = 16 * timing.shell.bus_bytes;
    let mut found = Vec::new();
    for far in 0..2 {
        let mut turns = Turns::default();
        for step in 0..40 {
            let Operation::MatMul(mut product) = product(1, 3 + step % 2, 24, 30) else { panic!("a product") };
            product.b.address += 64 * step + far * 7 * stretch;
            product.b.stride += 64;
            product.finish.out.address += 64 * (step / 5) + far * 3 * stretch;
            let (operation, now, mut after) = (Operation::MatMul(product), 1000 * far, turns.clone());
            let memory = &mut SparseMemory::new();
            let alone = timing.course(accelerator, &operation, now, (memory, &mut after)).unwrap().end(&mut after);
            let after_others = timing.after(&mut known);
            let end = after_others.course(accelerator, &operation, now, (memory, &mut turns)).unwrap().end(&mut turns);
            assert_eq!((end, &turns), (alone, &after), "step {step}");
            found.push(end - now);
        }
        // Far away, all are known.
        assert!((8..=40).contains(&known.0.len()), "{}", known.0.len());
    }
    assert_eq!(found[..40], found[40..]);
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > 2, "{found:?}");
}
