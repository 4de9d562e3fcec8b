//! Accelerators in the shape that decoding wants: one token has one row, so the array is wide and low.

use hdl::accelerators::tender::TenderTop;
use hdl::blocks::common::row::RowUnits;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use sim::Design;

/// Numbers of the longest row: the width of the feed-forward network of SmolLM2-135M.
const LONGEST: u32 = 1536;

/// An array of as few rows as there may be, before a bus that brings a word of the right matrix a cycle. Its panels hold the
/// channels of a down projection of SmolLM2-135M, and its rows are as long; it has no layer norm, which that model does not
/// need.
#[must_use]
pub fn for_decoding(columns: u32) -> TenderTop {
    let data_width = (4 * columns).clamp(32, 1024);
    TenderTop {
        axi: AxiSpec { address_width: 32, data_width, id_width: 3 },
        dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
        array: MultiScaleArray { rows: 2, columns, skew_in_memory: true, ..MultiScaleArray::default() },
        depth: LONGEST,
        steps: LONGEST + 64,
        strip: (data_width / 16).max(32),
        max_beats: LONGEST / (data_width / 16),
        units: RowUnits { layer_norm: false, ..RowUnits::all() },
        ..TenderTop::default()
    }
}

/// Such an accelerator for the simulator. The vector unit, nearly half of the logic, waits while there are products, and the rest while
/// there are rows: their clocks stand still from the end of an operation to the next one, which changes neither results nor cycles.
///
/// # Errors
/// Parameters that the block refuses.
pub fn simulated(block: &TenderTop) -> anyhow::Result<Design> {
    let design = Design::from(&hdl::lang::elaborate(block)?);
    // They have nothing to do without an operation of their own; what goes on behind its end, they end awake.
    let design = design.with_clock_gate("u_vector", "rows | !vector_idle | shell_abort")?;
    Ok(design.with_clock_gate("u_engine", "!rows | !engine_idle | shell_abort")?)
}
