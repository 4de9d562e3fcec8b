//! Cycles of jobs with a memory that never pauses, against the golden recurrence.

use golden::accelerators::tender::cycles::{Array, Timing};
use hdl::accelerators::tender::{EnginePe, TenderTopOf};
use hdl::blocks::tender::Drain;
use host::Window;

use super::model::{EnginePeBench, golden_of};
use super::program;
use crate::accelerators::clock::Clock;
use jobs::timing::{self, Waits, shell, unit};

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing<P: EnginePe>(block: &TenderTopOf<P>, latency: u32) -> Timing {
    let array = &block.array;
    Timing {
        shell: shell(block, latency),
        array: Array {
            rows: array.rows.into(),
            columns: array.columns.into(),
            sum_tiles: block.sum_tiles.into(),
            single_drain: array.pe.drain() == Drain::Single,
            ranks: array.pe.ranks().into(),
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
pub fn clock<P: EnginePeBench>((block, latency): (&TenderTopOf<P>, u32), window: &Window) -> anyhow::Result<Clock> {
    Ok(Clock::of(golden_of(block)?, window, timing(block, latency)))
}

/// Random chains that are right, each with an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<P: EnginePeBench>(p: &TenderTopOf<P>) -> anyhow::Result<Box<dyn sim::Bench>> {
    timing::bench(p, (golden_of(p)?, Waits::default()), 4, program::draw, timing)
}
