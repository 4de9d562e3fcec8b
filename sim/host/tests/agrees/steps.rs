//! All words of steps, on devices with all sets of units.

use std::collections::BTreeMap;

use golden::accelerators::job::Fields;
use golden::accelerators::vector::{Operation, Shape, Units as GoldenUnits};
use golden::common::shell::job_controller::Limits;
use host::Descriptor;
use host::vector::{Caps, Units, check};

use super::cases::{Raw, code};
use super::support::{CAPS, SHAPE, WINDOW};

#[test]
fn every_word_of_steps() {
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
    let mut codes = BTreeMap::new();
    for set in 0..8 {
        let [softmax, layer_norm, rotary] = [1, 2, 4].map(|bit| set & bit != 0);
        let caps = Caps { units: Units { softmax, layer_norm, rotary }, ..CAPS };
        let shape = Shape { steps: GoldenUnits { softmax, layer_norm, rotary }.steps(), ..SHAPE };
        for word in 0..1u32 << 13 {
            for (columns, length) in [(6u32, 3u32), (5, 5), (6, 0), (5, 0), (6, 7)] {
                let mut raw = Raw::of(1);
                for (at, value) in [(32, 3), (36, columns), (40, word), (112, length)] {
                    raw.put(at, &value.to_le_bytes());
                }
                for (k, at) in [64, 72, 80, 96, 104].into_iter().enumerate() {
                    raw.put(at, &(0x2000 + 0x1000 * k as u64).to_le_bytes());
                }
                let words: Vec<u32> =
                    raw.0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
                let expected = Operation::check(&shape, &limits, Fields(&words)).err().map_or(0, u32::from);
                let descriptor = Descriptor::from_bytes(raw.0.try_into().unwrap());
                let verdict = check(&descriptor, &caps, &WINDOW);
                assert_eq!(code(&verdict), expected, "{word:#x}, {columns}, {length}, {caps:?}: {verdict:?}");
                *codes.entry((expected, set)).or_insert(0) += 1;
            }
        }
    }
    println!("{codes:?}");
    // Scale, add, activate, exact and three formats are free: 48 words for each choice of a factor and a norm.
    let free = 48;
    assert_eq!(codes[&(0, 0)], free * 2 * 3 * 2, "factors or none; no norm, RMS norm, with gains; even and odd rows");
    let (even, odd, softmax) = (3 * 5, 2 * 5, 2 * 2 * 2);
    assert_eq!(codes[&(0, 7)], free * (even + odd + softmax), "nothing turns in odd rows, or ahead of a softmax");
    let seen: Vec<u32> = codes.keys().filter(|(_, set)| *set == 7).map(|(code, _)| *code).collect();
    assert_eq!(seen, [0, 5, 9, 15]);
}
