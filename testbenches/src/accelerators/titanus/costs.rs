//! Costs of decoder layers, for comparisons.

use hdl::accelerators::titanus::{TitanusCore, TitanusSpec};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::DmaSpec;
use hdl::blocks::titanus::{DcimCells, DcimImplementation, DcimLinear, DcimMacro};
use models::cycles::Counts;
use models::cycles::titanus::Titanus;
use models::schemes::{Choice, Kind};

use super::super::costs::{BEATS, WIDE};
use super::timing::timing;
use super::{caps_of, golden_of};

/// Macros for half of the inputs of a projection. They are twice as wide as the paper's, so that a row of weights is
/// one beat of the bus of 64 bytes. The streams of more than 1,024 tokens would take more blocks than an area has.
pub const COSTS: Counts<TitanusCore> = Counts {
    block: || {
        let cells = DcimCells { outputs: 64, implementation: DcimImplementation::BlackBox, ..DcimCells::default() };
        let tile = DcimMacro { cells, ..DcimMacro::default() };
        let store = DcimLinear { tile, rows: 8, columns: 1, load: 64, drain: 8 };
        // A row of weights is a burst, so as many have to be open as the latency has cycles.
        let dma = DmaSpec { burst_beats: 8, outstanding: 32, ..DmaSpec::default() };
        TitanusCore {
            bus: TopParameters { axi: WIDE, dma, read_beats: BEATS, ..TopParameters::default() },
            vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
            spec: TitanusSpec {
                store,
                constants: 11_008,
                lanes: 32,
                tiles: 128,
                context: 1024,
                engines: 1,
                ..TitanusSpec::default()
            },
            ..TitanusCore::default()
        }
    },
    choices: || {
        let about = "bits of an element of keys and values in their streams, for bytes and energy; cycles are of 4 bits and 34 % zeros";
        vec![Choice { name: "stream_bits", default: "4.3", kind: Kind::Number(0.1..=16.0), about }]
    },
    costs: |block, settings, latency| {
        let golden = golden_of(block)?;
        let caps = caps_of(&golden);
        Ok(Box::new(Titanus::new(caps, (golden, timing(block, latency)), settings.number("stream_bits")?)))
    },
};
