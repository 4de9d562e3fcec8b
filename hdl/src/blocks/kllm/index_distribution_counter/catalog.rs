//! The counter in the catalogue: parameters, the sets it is checked with, its proofs.

use super::{BinStyle, IndexDistributionCounter};
use crate::lang::{CatalogBlock, OldParameter, Proof};

impl Default for IndexDistributionCounter {
    fn default() -> Self {
        Self { a_bits: 4, b_bits: 4, inputs: 16, k: 4096, bins: BinStyle::OverflowLog, ping_pong: true }
    }
}

impl CatalogBlock for IndexDistributionCounter {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "a_bits", allowed: "1 to 6", meaning: "width of an activation index, bits" },
        OldParameter { name: "b_bits", allowed: "1 to 6", meaning: "width of a weight index or integer, bits" },
        OldParameter { name: "inputs", allowed: "1 to 64", meaning: "indices a cycle" },
        OldParameter { name: "k", allowed: "1 to 1048576", meaning: "largest number of present inputs of a column" },
        OldParameter {
            name: "bins",
            allowed: "full_width, overflow_log",
            meaning: "a wide register a bin, or short ones and a log of their overflows",
        },
        OldParameter {
            name: "ping_pong",
            allowed: "true, false",
            meaning: "drain a column while the next one is counted",
        },
    ];

    fn configurations() -> Vec<Self> {
        use BinStyle::{FullWidth, OverflowLog};
        let set = |a_bits, b_bits, inputs, k, bins, ping_pong| Self { a_bits, b_bits, inputs, k, bins, ping_pong };
        vec![
            set(1, 1, 1, 1, FullWidth, true),
            set(1, 2, 3, 100, OverflowLog, true),
            set(2, 3, 16, 1000, OverflowLog, true),
            set(3, 2, 5, 300, OverflowLog, false),
            set(2, 2, 4, 64, FullWidth, false),
            set(3, 4, 16, 4096, FullWidth, true),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        use BinStyle::{FullWidth, OverflowLog};
        let prove = |inputs, k, bins, ping_pong, induction| Proof {
            block: Self { a_bits: 1, b_bits: 1, inputs, k, bins, ping_pong },
            depth: 6,
            cover_depth: 12,
            induction,
        };
        vec![
            prove(2, 3, FullWidth, true, true),
            prove(2, 3, FullWidth, false, true),
            // Registers of 2 + 1 bits, two entries; both bins of a row overflow in the same cycle. `--induction` proves it
            // for all time too, in a minute of computing.
            prove(2, 8, OverflowLog, true, false),
        ]
    }
}
