//! Accelerators for decoding: one token has one row, so the array is wide and low.

use ::golden::accelerators::tender::{self as golden, cycles::Timing};
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::row::RowUnits;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use host::tender::Overflows;
use lower::tender::Times;

use super::super::decoding::{Machine, Runs, Whole};
use super::timing::timing;
use super::{caps_of, golden_of};

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

/// How the block runs language models: with 128 columns of PEs where a user sets none. There are two rows, the least,
/// which are one of products of 8 bits.
pub const RUNS: Runs<TenderTop> =
    Runs { name: "tender", block: || for_decoding(128), machine: |block| Ok(Machine::Whole(Box::new(whole(block)?))) };

/// The block at work.
pub type OnTender = Whole<TenderTop, lower::tender::OnTender, golden::TenderTop, Timing, Times>;

/// The block with these parameters at work.
///
/// # Errors
/// Parameters that the golden model refuses.
pub fn whole(block: TenderTop) -> anyhow::Result<OnTender> {
    let (array, bus) = (&block.array, block.bus.axi.data_width);
    Ok(Whole {
        about: format!("{} x {} PEs, INT8, a bus of {bus} bits", array.rows, array.columns),
        lowering: lower::tender::OnTender { caps: caps_of(&block), overlaps: block.bus.overlaps },
        golden: golden_of(&block)?,
        timing,
        times: Times::from,
        overflows: |device| {
            let Overflows { sums, results } = Overflows::read(device)?;
            Ok([sums, results])
        },
        block,
    })
}
