//! Jobs of `titanus_core`.

mod refusals;
mod registers;

use golden::accelerators::job::{Accelerator, Fields};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::{Shape, TitanusCore};
use golden::common::shell::job_controller::Limits;
use host::titanus::{
    AppendJob, Areas, Caps, Held, LinkJob, LoadJob, Matrix, Opening, Product, ProductJob, RestoreJob, TokenRows, check,
};
use host::vector::{self, Operand};
use host::{Descriptor, Refusal};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, operand, place};
use super::support::{CAPS as VECTOR_CAPS, SHAPE as VECTOR_SHAPE, WINDOW};

pub(super) const CAPS: Caps = Caps {
    rows: 2,
    columns: 3,
    inputs: 16,
    outputs: 8,
    constants: 20,
    lanes: 8,
    tiles: 3,
    levels: 4,
    context: 30,
    buffer: 12,
    links: true,
    vector: vector::Caps { opcode: 3, ..VECTOR_CAPS },
};
const LINES: u16 = 20;

/// Keys and values in memory, where a cache begins.
const ROWS: [Operand; 2] = [Operand { address: 0x1000, stride: 0 }, Operand { address: 0x1040, stride: 0 }];
const AREAS: Areas = Areas { keys: 0x2000, values: 0x3000, lines: LINES };

fn rows(tokens: u32, channels: u32, [keys, values]: [Operand; 2]) -> TokenRows {
    TokenRows { tokens, channels, keys, values }
}

thread_local! {
    /// The accelerator. It is made once, because its tables take a while.
    static CORE: TitanusCore = TitanusCore::new(shape_of(&CAPS)).unwrap();
}

/// The accelerator after reset.
pub(super) fn core() -> TitanusCore {
    CORE.with(|core| {
        core.reset();
        core.clone()
    })
}

fn shape_of(caps: &Caps) -> Shape {
    let Caps { rows, columns, inputs, outputs, constants, lanes, tiles, levels, context, buffer, links, .. } = *caps;
    let vector = VECTOR_SHAPE;
    Shape { rows, columns, inputs, outputs, constants, lanes, tiles, levels, context, buffer, links, vector }
}

const LIMITS: Limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// How the checks of the model end that holds so much: a cache of zeros, which is one block, and a context.
fn golden(held: &Held, bytes: &[u8]) -> u32 {
    CORE.with(|core| {
        core.reset();
        let mut memory = SparseMemory::new();
        let mut perform = |descriptor: &Descriptor| {
            let bytes = descriptor.bytes();
            let done = core.perform(bytes[5], Fields(&words(bytes)), &LIMITS, &mut memory);
            assert!(done.is_ok_and(|done| done.codes.is_empty()));
        };
        // The context belongs to the cache, or there is none.
        let kept = if held.context > 0 { held.context } else { held.cache };
        if kept > 0 {
            let opening = Opening { prefill: held.prefill as u16, key_bits: 2, value_bits: 2, ..Opening::default() };
            let first = AppendJob::first(rows(kept, 24, ROWS), opening, AREAS);
            let first = if held.context > 0 { first.keep() } else { first };
            let first = first.build(&CAPS, &Held::default(), &WINDOW).unwrap();
            perform(&first);
            if held.cache > kept {
                let more = AppendJob::behind(kept, rows(held.cache - kept, 24, ROWS), AREAS);
                perform(&more.build(&CAPS, &Held::default().after(&first), &WINDOW).unwrap());
            }
        }
        core.check(bytes[5], Fields(&words(bytes)), &LIMITS).err().unwrap_or(0).into()
    })
}

#[derive(Debug, Clone)]
enum Job {
    Weights {
        sizes: (u32, u32),
        rows: Operand,
        place: (u16, u16),
    },
    Constants {
        count: u32,
        address: u64,
        first: u32,
    },
    Product {
        sizes: [u32; 3],
        matrix: Matrix,
        x: Operand,
        out: Operand,
        constant: u32,
        flags: u8,
    },
    Append {
        position: u32,
        sizes: (u32, u32),
        prefill: u16,
        begin: [u8; 4],
        rows: [Operand; 2],
        areas: [u64; 2],
        flags: u8,
    },
    Restore {
        sizes: (u32, u32),
        rows: Option<[Operand; 2]>,
        areas: [u64; 2],
        lines: u16,
    },
    Link {
        awaited: u32,
        given: u32,
        patience: u32,
        last: [bool; 2],
    },
}

fn number(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1..=most, 1 => select(vec![0, most + 1, 65_535, 65_536, u32::MAX])]
}

fn places() -> impl Strategy<Value = [Operand; 2]> {
    [operand(), operand()]
}

fn job() -> impl Strategy<Value = Job> {
    let macros =
        || (prop_oneof![8 => 0..2u16, 1 => select(vec![2, u16::MAX])], prop_oneof![8 => 0..3u16, 1 => 0..5u16]);
    let weights = ((number(32), number(24)), operand(), macros()).prop_map(|(sizes, rows, place)| Job::Weights {
        sizes,
        rows,
        place,
    });
    let constants = (number(20), address(), prop_oneof![8 => 0..10u32, 1 => any::<u32>()])
        .prop_map(|(count, address, first)| Job::Constants { count, address, first });
    let tile = || prop_oneof![8 => 0..3u16, 1 => select(vec![3, u16::MAX])];
    let matrix = prop_oneof![
        macros().prop_map(|(row, column)| Matrix::Store { row, column }),
        tile().prop_map(|tile| Matrix::Keys { tile }),
        tile().prop_map(|tile| Matrix::Values { tile }),
    ];
    let product = ([number(9), number(24), number(24)], matrix, operand(), operand(), number(10), 0..16u8)
        .prop_map(|(sizes, matrix, x, out, constant, flags)| Job::Product { sizes, matrix, x, out, constant, flags });
    let begin = (any::<u8>(), any::<u8>(), 1..10u8, 2..9u8).prop_map(|(a, b, c, d)| [a, b, c, d]);
    let append = (
        select(vec![0, 0, 7, 8, 65_535]),
        (number(32), number(24)),
        prop_oneof![4 => 0..6u16, 1 => 0..16u16],
        begin,
        places(),
        [address(), address()],
        0..4u8,
    )
        .prop_map(|(position, sizes, prefill, begin, rows, areas, flags)| Job::Append {
            position,
            sizes,
            prefill,
            begin,
            rows,
            areas,
            flags,
        });
    let restore = (
        (select(vec![0, 7, 7, 7, 8, 31]), number(24)),
        prop::option::of(places()),
        [address(), address()],
        prop_oneof![9 => 1..30u16, 1 => select(vec![0, u16::MAX])],
    )
        .prop_map(|(sizes, rows, areas, lines)| Job::Restore { sizes, rows, areas, lines });
    let tokens = || prop_oneof![8 => 0..4u32, 1 => select(vec![65_535, 65_536, u32::MAX])];
    let link = (tokens(), tokens(), any::<u32>(), any::<[bool; 2]>())
        .prop_map(|(awaited, given, patience, last)| Job::Link { awaited, given, patience, last });
    prop_oneof![1 => weights, 1 => constants, 2 => product, 2 => append, 1 => restore, 1 => link]
}

fn held() -> impl Strategy<Value = Held> {
    // What ends a cache ends the context as well.
    let held = (select(vec![0, 7, 7, 7, 31]), select(vec![0, 6, 7, 24, 30]), select(vec![0, 0, 7, 8, 12]));
    held.prop_map(|(cache, context, prefill)| match cache {
        0 => Held::default(),
        _ => Held { cache, context: context.min(cache), prefill },
    })
}

fn built(job: &Job, held: &Held) -> Result<Descriptor, Refusal> {
    match job.clone() {
        Job::Weights { sizes, rows, place } => LoadJob::weights(sizes.0, sizes.1, rows, place).build(&CAPS, &WINDOW),
        Job::Constants { count, address, first } => LoadJob::constants(count, address, first).build(&CAPS, &WINDOW),
        Job::Product { sizes, matrix, x, out, constant, flags } => {
            let [rows, inner, columns] = sizes;
            let mut job = ProductJob::new(Product { rows, inner, columns, matrix, x, out, constant });
            for (bit, with) in [ProductJob::to_integers, ProductJob::relu, ProductJob::one_constant, ProductJob::exact]
                .into_iter()
                .enumerate()
            {
                job = if flags >> bit & 1 == 1 { with(job) } else { job };
            }
            job.build(&CAPS, held, &WINDOW)
        }
        Job::Append { position, sizes, prefill, begin, rows, areas, flags } => {
            let [key_threshold, value_threshold, key_bits, value_bits] = begin;
            let opening = Opening { prefill, key_threshold, value_threshold, key_bits, value_bits };
            let areas = Areas { keys: areas[0], values: areas[1], lines: LINES };
            let rows = self::rows(sizes.0, sizes.1, rows);
            let mut job = match position {
                0 => AppendJob::first(rows, opening, areas),
                _ => AppendJob::behind(position, rows, areas),
            };
            job = if flags & 1 == 1 { job.keep() } else { job };
            job = if flags & 2 == 2 { job.exact() } else { job };
            job.build(&CAPS, held, &WINDOW)
        }
        Job::Restore { sizes: (tokens, channels), rows, areas: [keys, values], lines } => {
            let areas = Areas { keys, values, lines };
            let job = match rows {
                Some(rows) => RestoreJob::to_rows(self::rows(tokens, channels, rows), areas),
                None => RestoreJob::to_context(tokens, channels, areas),
            };
            job.build(&CAPS, held, &WINDOW)
        }
        Job::Link { awaited, given, patience, last } => {
            LinkJob::wait(awaited, last[0]).then_give(given, last[1]).patience(patience).build(&CAPS, &WINDOW)
        }
    }
}

/// The descriptor as the contract's tables say.
fn raw(job: &Job) -> Raw {
    let put = |raw: &mut Raw, at: usize, word: u32| raw.put(at, &word.to_le_bytes());
    let long = |raw: &mut Raw, at: usize, long: u64| raw.put(at, &long.to_le_bytes());
    match job.clone() {
        Job::Weights { sizes, rows, place } => {
            let mut raw = Raw::of(1);
            put(&mut raw, 32, sizes.0);
            put(&mut raw, 36, sizes.1);
            put(&mut raw, 48, u32::from(place.0) | u32::from(place.1) << 16);
            raw.operand(64, 52, rows);
            raw
        }
        Job::Constants { count, address, first } => {
            let mut raw = Raw::of(1);
            for (at, word) in [(32, 1), (36, count), (40, first), (44, 1)] {
                put(&mut raw, at, word);
            }
            long(&mut raw, 64, address);
            raw
        }
        Job::Product { sizes, matrix, x, out, constant, flags } => {
            let mut raw = Raw::of(2);
            let (kind, place) = match matrix {
                Matrix::Store { row, column } => (0, u32::from(row) | u32::from(column) << 16),
                Matrix::Keys { tile } => (1, tile.into()),
                Matrix::Values { tile } => (2, tile.into()),
            };
            let flags = u32::from(flags & 7) | u32::from(flags >> 3) << 12;
            for (at, word) in
                [(32, sizes[0]), (36, sizes[1]), (40, sizes[2]), (44, flags), (48, place), (60, constant), (80, kind)]
            {
                put(&mut raw, at, word);
            }
            raw.operand(64, 52, x);
            raw.operand(72, 56, out);
            raw
        }
        Job::Append { position, sizes, prefill, begin, rows, areas, flags } => {
            let mut raw = Raw::of(4);
            let flags = u32::from(flags & 1) | u32::from(flags >> 1) << 12;
            let (prefill, begin) = if position == 0 { (u32::from(prefill), begin) } else { (0, [0; 4]) };
            for (at, word) in [
                (32, sizes.0),
                (36, sizes.1),
                (40, position),
                (44, flags),
                (48, prefill | u32::from(LINES) << 16),
                (52, u32::from_le_bytes(begin)),
            ] {
                put(&mut raw, at, word);
            }
            raw.operand(64, 56, rows[0]);
            raw.operand(72, 60, rows[1]);
            long(&mut raw, 80, areas[0]);
            long(&mut raw, 88, areas[1]);
            raw
        }
        Job::Restore { sizes, rows, areas, lines } => {
            let mut raw = Raw::of(5);
            let to_rows = u32::from(rows.is_some());
            for (at, word) in [(32, sizes.0), (36, sizes.1), (44, to_rows), (48, u32::from(lines) << 16)] {
                put(&mut raw, at, word);
            }
            for (rows, at) in rows.into_iter().flatten().zip([64, 72]) {
                raw.operand(at, 56 + (at - 64) / 2, rows);
            }
            long(&mut raw, 80, areas[0]);
            long(&mut raw, 88, areas[1]);
            raw
        }
        Job::Link { awaited, given, patience, last } => {
            let mut raw = Raw::of(6);
            let options = u32::from(last[0]) | u32::from(last[1]) << 1;
            for (at, word) in [(32, awaited), (36, given), (40, patience), (44, options)] {
                put(&mut raw, at, word);
            }
            raw
        }
    }
}

#[test]
fn builder_and_hardware() {
    every((job(), held()), &[0, 5, 8, 9, 10, 15], |(job, held)| {
        let (built, raw) = (built(&job, &held), raw(&job));
        let expected = golden(&held, &raw.0);
        prop_assert_eq!(code(&built), expected, "{:?}", built);
        if let Ok(descriptor) = built {
            prop_assert_eq!(descriptor.bytes().to_vec(), raw.0);
        }
        Ok(expected)
    });
}

/// Tokens apart from the others, and what begins a cache of them.
fn new(tokens: u32, channels: u32) -> TokenRows {
    rows(tokens, channels, [0x6000, 0x7000].map(|address| Operand { address, stride: 64 }))
}

fn opening(prefill: u16) -> Opening {
    Opening { prefill, key_threshold: 1, value_threshold: 2, key_bits: 3, value_bits: 2 }
}

fn good() -> [(Descriptor, Held); 10] {
    let held = Held { cache: 7, context: 7, prefill: 5 };
    let at = |address| Operand { address, stride: 64 };
    let product = |matrix| {
        let (x, out) = (at(0x4000), at(0x5000));
        ProductJob::new(Product { rows: 2, inner: 6, columns: 7, matrix, x, out, constant: 3 })
    };
    let first = AppendJob::first(new(5, 24), opening(3), AREAS);
    let jobs = [
        LoadJob::weights(20, 15, at(0x8000), (0, 1)).build(&CAPS, &WINDOW),
        LoadJob::constants(9, 0x9000, 4).build(&CAPS, &WINDOW),
        product(Matrix::Store { row: 1, column: 1 }).build(&CAPS, &held, &WINDOW),
        product(Matrix::Keys { tile: 1 }).one_constant().build(&CAPS, &held, &WINDOW),
        product(Matrix::Values { tile: 2 }).to_integers().build(&CAPS, &held, &WINDOW),
        first.keep().exact().build(&CAPS, &held, &WINDOW),
        AppendJob::behind(7, new(1, 20), AREAS).build(&CAPS, &held, &WINDOW),
        RestoreJob::to_rows(new(7, 24), AREAS).build(&CAPS, &held, &WINDOW),
        RestoreJob::to_context(7, 24, AREAS).build(&CAPS, &held, &WINDOW),
        LinkJob::wait(3, true).then_give(1, false).patience(99).build(&CAPS, &WINDOW),
    ];
    jobs.map(|job| (job.unwrap(), held))
}

/// Every bit of good descriptors, alone.
#[test]
fn every_bit() {
    for (good, held) in good() {
        for bit in (8 * 32)..8 * Descriptor::BYTES {
            let mut bytes = *good.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let verdict = check(&Descriptor::from_bytes(bytes), &CAPS, &held, &WINDOW);
            let expected = golden(&held, &bytes);
            assert_eq!(code(&verdict), expected, "bit {bit} of {}: {verdict:?}", good.bytes()[5]);
        }
    }
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    /// Descriptors with any changes.
    #[test]
    fn changed_descriptors(
        number in 0..10usize,
        held in held(),
        changes in prop::collection::vec((32..128usize, any::<u8>()), 1..4),
        moved in prop::option::of((select(vec![64usize, 72, 80, 88]), place())),
    ) {
        let mut bytes = *good()[number].0.bytes();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        if let Some((at, to)) = moved {
            bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
        }
        let verdict = check(&Descriptor::from_bytes(bytes), &CAPS, &held, &WINDOW);
        prop_assert_eq!(code(&verdict), golden(&held, &bytes), "{:?}", verdict);
    }
}

/// What the host thinks that a core holds, the model holds.
#[test]
fn what_is_held() {
    CORE.with(|core| {
        core.reset();
        let mut held = Held::default();
        let mut memory = SparseMemory::new();
        let first = AppendJob::first(new(5, 24), opening(3), AREAS);
        let mut then = |build: &dyn Fn(&Held) -> Result<Descriptor, Refusal>| {
            let descriptor = build(&held).unwrap();
            let bytes = descriptor.bytes();
            core.perform(bytes[5], Fields(&words(bytes)), &LIMITS, &mut memory).unwrap();
            held = held.after(&descriptor);
            assert_eq!((held.cache, held.context), (core.cache_tokens(), core.context_tokens()));
            assert_eq!(held.cache < held.prefill, core.is_filling());
        };
        then(&|held| first.keep().build(&CAPS, held, &WINDOW));
        then(&|held| AppendJob::behind(5, new(2, 24), AREAS).build(&CAPS, held, &WINDOW));
        then(&|held| RestoreJob::to_rows(new(7, 24), AREAS).build(&CAPS, held, &WINDOW));
        then(&|held| RestoreJob::to_context(7, 24, AREAS).build(&CAPS, held, &WINDOW));
        then(&|held| first.build(&CAPS, held, &WINDOW));
        then(&|_| LoadJob::constants(9, 0x9000, 4).build(&CAPS, &WINDOW));
        then(&|held| AppendJob::behind(5, new(1, 24), AREAS).build(&CAPS, held, &WINDOW));
        then(&|held| RestoreJob::to_context(6, 24, AREAS).build(&CAPS, held, &WINDOW));
        // A prompt in two parts, and a token after it.
        let part = AppendJob::first(new(2, 24), opening(4), AREAS).keep();
        then(&|held| part.build(&CAPS, held, &WINDOW));
        then(&|held| {
            assert!(RestoreJob::to_context(2, 24, AREAS).build(&CAPS, held, &WINDOW).is_err());
            AppendJob::behind(2, new(2, 24), AREAS).keep().build(&CAPS, held, &WINDOW)
        });
        then(&|held| AppendJob::behind(4, new(2, 24), AREAS).keep().build(&CAPS, held, &WINDOW));
        then(&|held| RestoreJob::to_context(6, 24, AREAS).build(&CAPS, held, &WINDOW));
        assert_eq!(held, Held { cache: 6, context: 6, prefill: 4 });
    });
}
