//! Chains of `titanus_core` whose operations overlap.

use golden::accelerators::job::independence;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use host::titanus::{AppendJob, Areas, Held, LoadJob, Matrix, Opening, Product, ProductJob, RestoreJob, TokenRows};
use host::vector::{Operand, VectorJob};
use host::{Chain, Descriptor};
use proptest::prelude::*;

use super::support::WINDOW;
use super::titanus::{CAPS, core};

/// An operation between places of memory, each with room for any operand of it.
#[derive(Clone, Copy, Debug)]
enum Between {
    Weights { from: u64, place: (u16, u16), sizes: (u32, u32) },
    Constants { from: u64, first: u32, count: u32 },
    Product { places: [u64; 2], matrix: Matrix, sizes: [u32; 2], constant: (u32, bool) },
    Append { places: [u64; 4], tokens: u32, first: bool, keep: bool },
    Restore { places: [u64; 4], to_rows: bool },
    Rows([u64; 2]),
}

impl Between {
    /// The descriptor for a core that holds so much, if it is right there.
    fn build(self, held: &Held) -> Option<Descriptor> {
        let address = |place: u64| 0x2000 + 0x800 * place;
        let at = |place| Operand { address: address(place), stride: 64 };
        let areas = |keys, values| Areas { keys: address(keys), values: address(values), lines: 30 };
        let rows =
            |tokens, [keys, values]: [u64; 2]| TokenRows { tokens, channels: 24, keys: at(keys), values: at(values) };
        let built = match self {
            Self::Weights { from, place, sizes } => {
                LoadJob::weights(sizes.0, sizes.1, at(from), place).build(&CAPS, &WINDOW)
            }
            Self::Constants { from, first, count } => {
                LoadJob::constants(count, address(from), first).build(&CAPS, &WINDOW)
            }
            Self::Product { places: [x, out], matrix, sizes: [inner, columns], constant: (constant, one) } => {
                let product = Product { rows: 2, inner, columns, matrix, x: at(x), out: at(out), constant };
                let job = ProductJob::new(product);
                if one { job.one_constant() } else { job }.build(&CAPS, held, &WINDOW)
            }
            Self::Append { places: [keys, values, key_area, value_area], tokens, first, keep } => {
                let (rows, areas) = (rows(tokens, [keys, values]), areas(key_area, value_area));
                let opening = Opening { key_bits: 4, value_bits: 4, ..Opening::default() };
                let job = if first {
                    AppendJob::first(rows, opening, areas)
                } else {
                    AppendJob::behind(held.cache, rows, areas)
                };
                if keep { job.keep() } else { job }.build(&CAPS, held, &WINDOW)
            }
            Self::Restore { places: [keys, values, key_area, value_area], to_rows } => {
                let (tokens, areas) = (held.cache, areas(key_area, value_area));
                let job = if to_rows {
                    RestoreJob::to_rows(rows(tokens, [keys, values]), areas)
                } else {
                    RestoreJob::to_context(tokens, 24, areas)
                };
                job.build(&CAPS, held, &WINDOW)
            }
            Self::Rows([from, to]) => VectorJob::new(3, 16, at(from), at(to)).build(&CAPS.vector, &WINDOW),
        };
        built.ok()
    }
}

fn between() -> impl Strategy<Value = Between> {
    let places = || [0..8u64, 0..8, 6..12, 6..12];
    let of_macros = || ((0..2u16, 0..3u16), (1..33u32, 1..25u32));
    prop_oneof![
        (0..8u64, of_macros()).prop_map(|(from, (place, sizes))| Between::Weights { from, place, sizes }),
        (0..8u64, 0..20u32, 1..12u32).prop_map(|(from, first, count)| Between::Constants { from, first, count }),
        ([0..8u64, 0..8], of_macros(), 0..3u8, (0..20u32, any::<bool>())).prop_map(
            |(places, ((row, column), (inner, columns)), kind, constant)| {
                let matrix = match kind {
                    0 => Matrix::Store { row, column },
                    1 => Matrix::Keys { tile: column },
                    _ => Matrix::Values { tile: column },
                };
                Between::Product { places, matrix, sizes: [inner, columns], constant }
            }
        ),
        (places(), 1..6u32, any::<bool>(), any::<bool>()).prop_map(|(places, tokens, first, keep)| Between::Append {
            places,
            tokens,
            first,
            keep
        }),
        (places(), any::<bool>()).prop_map(|(places, to_rows)| Between::Restore { places, to_rows }),
        [0..8u64, 0..8].prop_map(Between::Rows),
    ]
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    /// What a chain says of its operations is what the golden model finds in the bytes, macros, constants and tokens of the
    /// context that they use; areas count as a whole.
    #[test]
    fn chains_that_overlap(jobs in prop::collection::vec(between(), 1..14)) {
        let golden = core().with_overlap(true);
        // All that products can reach.
        let opening = [
            Between::Weights { from: 24, place: (0, 0), sizes: (32, 24) },
            Between::Constants { from: 25, first: 0, count: 20 },
            Between::Append { places: [20, 21, 22, 23], tokens: 12, first: true, keep: true },
        ];
        let (mut held, mut descriptors) = (Held::default(), Vec::new());
        for job in opening.into_iter().chain(jobs) {
            // Others would be refused.
            if let Some(descriptor) = job.build(&held) {
                held = held.after(&descriptor);
                descriptors.push(descriptor);
            }
        }
        let chain = descriptors.into_iter().fold(Chain::new(), Chain::then);
        let image = chain.overlapping().place(0x1000, &WINDOW, 16).unwrap();
        let mut memory = SparseMemory::new();
        memory.store(image.address, &image.bytes);
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 16 };
        let report = golden.clone().run(limits, image.address, &mut memory.clone());
        let expected = independence(&golden, limits, image.address, &mut memory);
        let expected: Vec<u8> = expected.into_iter().map(|(_, [n, early])| n | early << 3).collect();
        let said: Vec<u8> = image.bytes.chunks(128).map(|descriptor| descriptor[6] >> 1).collect();
        // A damaged area ends the chain. After an append on its own rows the model does not know what a restore writes.
        let good = report.executed.iter().take_while(|executed| executed.codes.is_empty() && executed.certain).count();
        prop_assert!(good > 2, "the opening");
        prop_assert_eq!(&said[..good], &expected[..good]);
    }
}
