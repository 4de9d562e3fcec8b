//! The recurrence against closed forms, in cases that have one.

use proptest::prelude::*;

use super::*;
use crate::accelerators::cycles::{Dma, Frame, Unit};
use crate::accelerators::memory::SparseMemory;
use crate::accelerators::tender::tests::top;
use crate::accelerators::tender::{Finish, Layout, MatMul, Output, Pack};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::row::vector_unit::{Scalars, Steps};

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
            check: 19,
        },
        array: Array { rows: 16, columns: 16, sum_tiles: 2, single_drain: false, ranks: 0 },
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
    let mut columns = Columns::product((&timing, top().shape()), product, parts, (0, &mut dmas));
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
            assert_eq!((&end, &turns), (&alone, &after), "step {step}");
            found.push(end.0 - now);
        }
        // Far away, all are known.
        assert!((8..=40).contains(&known.0.len()), "{}", known.0.len());
    }
    assert_eq!(found[..40], found[40..]);
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > 2, "{found:?}");
}

/// Rows anywhere: they begin with a beat of 16 bytes.
fn anywhere(row_bytes: u64, rows: u64) -> impl Strategy<Value = Command> {
    (0..64u64, 0..40u64).prop_map(move |(at, more)| {
        let stride = row_bytes.next_multiple_of(16) + 16 * more;
        Command { address: 4096 + 16 * at, row_bytes, rows, stride }
    })
}

/// A product, a packing or steps on rows, each of three sizes. Operands are anywhere.
fn any_operation() -> impl Strategy<Value = Operation> {
    let sizes = prop_oneof![Just((1u64, 2u64, 24u64)), Just((2, 1, 40)), Just((1, 3, 9))];
    (0..3, sizes, any::<[bool; 3]>()).prop_flat_map(|(kind, (down, across, inner), [integers, per_row, exact])| {
        let (rows, columns) = (8 * down - 1, 8 * across - 3);
        let layout = Layout { bits: 8, rows: 8, columns: 8 };
        let one = |bytes: u64| anywhere(bytes, 1);
        let gains = anywhere(2 * columns, 1).prop_map(|gains| Command { stride: 0, ..gains });
        let out = if integers || kind == 1 { anywhere(8 * columns, down) } else { anywhere(2 * columns, rows) };
        let rest = (one(16 * if per_row { rows } else { columns }), one(2 * inner), gains, out);
        let large = (anywhere(8 * inner, down), anywhere(8 * inner, across));
        let halves = (anywhere(2 * columns, rows), anywhere(2 * columns, rows), anywhere(2 * columns, rows));
        (rest, large, halves).prop_map(move |((constants, table, gains, out), (a, b), (x, y, halves_out))| {
            let output = if integers || kind == 1 { Output::Integers { signed: true } } else { Output::Fp16 };
            let finish = Finish { rows, columns, layout, relu: false, per_row, output, exact, constants, out };
            match kind {
                0 => Operation::MatMul(MatMul {
                    channels: inner,
                    steps: inner,
                    a,
                    a_signed: true,
                    b,
                    b_signed: true,
                    table,
                    explicit: false,
                    finish,
                }),
                1 => Operation::Pack(Pack { x, finish }),
                _ => Operation::Vector(vector::Operation {
                    columns,
                    steps: Steps { add: integers, norm: true, gain: per_row, ..Steps::default() },
                    exact,
                    scalars: Scalars::default(),
                    x,
                    addends: integers.then_some(y),
                    factors: None,
                    gains: per_row.then_some(gains),
                    length: 0,
                    causal: false,
                    out: halves_out,
                }),
            }
        })
    })
}

proptest! {
    #![proptest_config(seeds::proptest(300))]

    /// Wherever operands lie, a time that is known is the time that the recurrence finds.
    #[test]
    fn known_times_are_the_times_alone(operations in prop::collection::vec(any_operation(), 1..40)) {
        let (timing, mut known) = (timing(), Known::default());
        let (accelerator, memory) = (top(), &mut SparseMemory::new());
        let mut turns = Turns::default();
        for operation in operations {
            let mut after = turns.clone();
            let alone = timing.course(accelerator, &operation, 7, (memory, &mut after)).unwrap().end(&mut after);
            let course = timing.after(&mut known).course(accelerator, &operation, 7, (memory, &mut turns)).unwrap();
            prop_assert_eq!(course.end(&mut turns), alone);
            prop_assert_eq!(&turns, &after);
        }
    }
}

/// Short rows that are a burst each take as long wherever they are.
#[test]
fn rows_that_are_a_burst_are_alike() {
    let (timing, mut known) = (timing(), Known::default());
    for place in 0..14 {
        let Operation::MatMul(mut product) = product(1, 3, 4, 5) else { panic!("a product") };
        product.a.address += 16 * place;
        product.b.address += 16 * (13 - place);
        product.b.stride = 16 * (place / 2) * 16 + 256;
        let operation = Operation::MatMul(product);
        let course =
            timing.after(&mut known).course(top(), &operation, 0, (&mut SparseMemory::new(), &mut Turns::default()));
        course.unwrap().end(&mut Turns::default());
    }
    assert_eq!(known.0.len(), 1);
}
