//! Costs of decoder layers, for comparisons.

use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::DmaSpec;
use hdl::blocks::tender::MultiScaleArray;
use host::vector::Integer;
use models::cycles::Counts;
use models::cycles::tender::Tender;
use models::schemes::{Choice, Kind};

use super::super::costs::{BEATS, WIDE};
use super::timing::timing;
use super::{caps_of, golden_of};

/// With the paper's array on a bus of 64 bytes.
pub const COSTS: Counts<TenderTop> = Counts {
    block: || TenderTop {
        bus: TopParameters {
            axi: WIDE,
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            read_beats: BEATS,
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        array: MultiScaleArray { rows: 64, columns: 64, ..MultiScaleArray::default() },
        depth: 4096,
        steps: 8192,
        ..TenderTop::default()
    },
    choices: || {
        vec![
            Choice { name: "bits", default: "8", kind: Kind::Word(&["4", "8"]), about: "bits of an operand" },
            Choice { name: "groups", default: "8", kind: Kind::Count(1..=4096), about: "groups of channels" },
        ]
    },
    costs: |block, settings, latency| {
        let integer = if settings.word("bits")? == "4" { Integer::Int4 } else { Integer::Int8 };
        let models = (golden_of(block)?, timing(block, latency));
        Ok(Box::new(Tender::new(caps_of(block), models, integer, settings.count("groups")?)))
    },
};
