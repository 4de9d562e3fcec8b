//! Chains of `kelle_top` whose operations overlap.

use golden::accelerators::job::independence;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use host::kelle::{Attention, AttentionJob, Linear, LinearJob, Policy, Quantizers, RestoreJob, Rows, SaveJob};
use host::vector::{Operand, VectorJob};
use host::{Chain, Descriptor};
use proptest::prelude::*;

use super::kelle::{CAPS, model};
use super::support::WINDOW;

/// An operation between places of memory, each with room for any operand of it.
#[derive(Clone, Copy, Debug)]
enum Between {
    Linear([u64; 4]),
    Attention([u64; 4], u32),
    Rows([u64; 2]),
    Save(u64, u32),
    /// From a place that only saves write to, to a head.
    Restore(u64, u32),
}

impl Between {
    /// `held` says how many tokens each head has before it.
    fn build(self, held: &mut [u32; 2]) -> Descriptor {
        let address = |place: u64| 0x2000 + 0x400 * place;
        let at = |place| Operand { address: address(place), stride: 64 };
        let built = match self {
            Self::Linear([x, panels, constants, out]) => {
                let (x, out) = (at(x), at(out));
                let (panels, constants) = (at(panels), address(constants));
                let product = Linear { rows: 2, columns: 32, channels: 16, x, quantizer: 1.0, panels, constants, out };
                LinearJob::new(product).build(&CAPS, &WINDOW)
            }
            Self::Attention([queries, keys, values, out], head) => {
                held[head as usize] += 1;
                let [queries, keys, values, out] = [queries, keys, values, out].map(at);
                let entering = Attention {
                    head,
                    tokens: 1,
                    group: 2,
                    elements: 12,
                    policy: Policy::keep(40, 0),
                    quantizers: Quantizers { queries: 1.0, keys: 1.0, values: 1.0 },
                    scale: 1.0,
                    rows: Rows { queries, keys, values, out },
                };
                AttentionJob::new(entering).build(&CAPS, &WINDOW)
            }
            Self::Rows([from, to]) => VectorJob::new(3, 16, at(from), at(to)).build(&CAPS.vector, &WINDOW),
            Self::Save(out, head) => {
                SaveJob { head, first: 0, tokens: 1, elements: 12, out: at(out) }.build(&CAPS, &WINDOW)
            }
            Self::Restore(saved, head) => {
                let first = held[head as usize];
                held[head as usize] += 1;
                RestoreJob { head, first, tokens: 1, elements: 12, saved: at(saved) }.build(&CAPS, &WINDOW)
            }
        };
        built.unwrap()
    }

    /// The head that it uses.
    fn head(self) -> Option<u32> {
        match self {
            Self::Attention(_, head) | Self::Save(_, head) | Self::Restore(_, head) => Some(head),
            _ => None,
        }
    }
}

fn between() -> impl Strategy<Value = Between> {
    // Results of attention in the place of its queries are right, too.
    let places = || (0..8u64, 0..8u64, 0..8u64, 0..8u64).prop_map(|(a, b, c, d)| [a, b, c, d]);
    prop_oneof![
        places().prop_map(Between::Linear),
        (places(), 0..2u32).prop_map(|(places, head)| Between::Attention(places, head)),
        (0..8u64, 0..8u64).prop_map(|(from, to)| Between::Rows([from, to])),
        (0..8u64, 0..2u32).prop_map(|(out, head)| Between::Save(out, head)),
        (13..16u64, 0..2u32).prop_map(|(out, head)| Between::Save(out, head)),
        (13..16u64, 0..2u32).prop_map(|(saved, head)| Between::Restore(saved, head)),
    ]
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    /// What a chain says of its operations is what the golden model finds in the bytes that they use. Operations on one head
    /// keep their order, whatever their bytes.
    #[test]
    fn chains_that_overlap(jobs in prop::collection::vec(between(), 1..9)) {
        // Heads have a token that can be saved.
        let golden = model().with_overlap(true);
        let first = [0, 1].map(|head| Between::Attention([9, 10, 11, 12], head));
        let jobs: Vec<Between> = first.into_iter().chain(jobs).collect();
        let mut held = [0; 2];
        let descriptors: Vec<Descriptor> = jobs.iter().map(|job| job.build(&mut held)).collect();
        for (a, one) in jobs.iter().zip(&descriptors) {
            for (b, other) in jobs.iter().zip(&descriptors) {
                let same_head = a.head().is_some() && a.head() == b.head();
                prop_assert_eq!(one.is_independent_of(other), one.may_overlap(other) && !same_head);
            }
        }
        let chain = descriptors.into_iter().fold(Chain::new(), Chain::then);
        let image = chain.overlapping().place(0x1000, &WINDOW, 16).unwrap();
        let mut memory = SparseMemory::new();
        memory.store(image.address, &image.bytes);
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 16 };
        let expected = independence(&golden, limits, image.address, &mut memory);
        let expected: Vec<u8> = expected.into_iter().map(|(_, [n, early])| n | early << 3).collect();
        let said: Vec<u8> = image.bytes.chunks(128).map(|descriptor| descriptor[6] >> 1).collect();
        prop_assert_eq!(said, expected);
    }
}
