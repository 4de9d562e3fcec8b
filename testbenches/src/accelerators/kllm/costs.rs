//! Costs of decoder layers, for comparisons.

use hdl::accelerators::kllm::{KllmSpec, KllmTop};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use host::kllm::Bits;
use models::cycles::Counts;
use models::cycles::kllm::Kllm;
use models::schemes::{Choice, Kind};

use super::super::costs::{BEATS, WIDE};
use super::timing::timing;
use super::{caps_of, golden_of};

/// With the paper's lanes on a bus of 64 bytes.
pub const COSTS: Counts<KllmTop> = Counts {
    block: || KllmTop {
        bus: TopParameters { axi: WIDE, read_beats: BEATS, ..TopParameters::default() },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        product: KllmSpec {
            lanes: 16,
            columns: 32,
            inputs: 16,
            buffer: 256,
            depth: 256,
            outputs: 16,
            kmax: 256,
            ..KllmSpec::default()
        },
        orizuru: 4096,
        ..KllmTop::default()
    },
    choices: || {
        let about = "positions of a token for each outlier, on each side; 0: no outliers";
        vec![
            Choice { name: "activations", default: "4", kind: Kind::Word(&["3", "4"]), about: "bits of an activation" },
            Choice { name: "positions_an_outlier", default: "200", kind: Kind::Count(0..=65_535), about },
        ]
    },
    costs: |block, settings, latency| {
        let bits = if settings.word("activations")? == "3" { Bits::Three } else { Bits::Four };
        let models = (golden_of(block)?, timing(block, latency));
        Ok(Box::new(Kllm::new(caps_of(block), models, bits, settings.count("positions_an_outlier")?)))
    },
};
