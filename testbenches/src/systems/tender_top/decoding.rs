//! Accelerators for decoding: one token has one row, so the array is wide and low.

use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::row::RowUnits;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;

/// Numbers of the longest row: the width of the feed-forward network of SmolLM2-135M.
const LONGEST: u32 = 1536;

/// An array with the fewest rows that are allowed, on a bus that brings a word of the right matrix in each cycle. Its
/// panels hold the channels of a down projection of SmolLM2-135M, and its rows are as long. It has no layer norm, which
/// that model does not need.
#[must_use]
pub fn for_decoding(columns: u32) -> TenderTop {
    let data_width = (4 * columns).clamp(32, 1024);
    TenderTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width, id_width: 3 },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            ..TopParameters::default()
        },
        vector: VectorParameters {
            max_beats: LONGEST / (data_width / 16),
            units: RowUnits { layer_norm: false, ..RowUnits::all() },
            ..VectorParameters::all()
        },
        array: MultiScaleArray { rows: 2, columns, skew_in_memory: true, ..MultiScaleArray::default() },
        depth: LONGEST,
        steps: LONGEST + 64,
        strip: (data_width / 16).max(32),
        ..TenderTop::default()
    }
}
