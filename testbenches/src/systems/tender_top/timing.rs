//! Cycles of jobs with a memory that never pauses, against the golden recurrence.

use golden::systems::tender_top::cycles::{Array, Timing};
use hdl::accelerators::tender::TenderTop;
use hdl::blocks::tender::Drain;
use host::Window;

use super::super::timing::{self, Clock, shell, unit};
use super::{golden_of, program};

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &TenderTop, latency: u32) -> Timing {
    let array = &block.array;
    Timing {
        shell: shell(
            (&block.bus.axi, block.bus.ports as usize, 4),
            &block.bus.dma,
            (block.bus.read_beats, block.bus.write_beats),
            latency,
        ),
        array: Array {
            rows: array.rows.into(),
            columns: array.columns.into(),
            single_drain: array.pe.drain == Drain::Single,
            pipelined: array.pe.pipelined,
        },
        explicit: block.explicit,
        result: block.result.latency().into(),
        strip: block.strip.into(),
        unit: unit(&block.vector().unit()),
    }
}

/// Cycles of jobs with a memory that answers after `latency` cycles.
///
/// # Errors
/// Parameters that the model refuses.
pub fn clock((block, latency): (&TenderTop, u32), window: &Window) -> anyhow::Result<Clock> {
    Ok(Clock::of(golden_of(block)?, window, timing(block, latency)))
}

/// Random chains that are right, each with an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TenderTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    timing::bench(p, (golden_of(p)?, &[]), 4, program::draw, timing)
}
